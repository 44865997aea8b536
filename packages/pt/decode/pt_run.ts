import type { RandomAccessSource } from "@perfdata/format";
import { FlowCache } from "@perfdata/intel-pt/flow";
import type { AuxTrace } from "@perfdata/session/auxtrace";
import type { PtCode } from "../code/pt_code.ts";
import type { PtSideband } from "../code/pt_sideband.ts";
import { DecodedBuffer } from "./pt_buffer.ts";
import { clockRatios, PtClock } from "./pt_clock.ts";
import { addPtCounts, noPtCounts, type PtCounts } from "./pt_counts.ts";
import type { DecodePtOptions, PtSink } from "./pt_sink.ts";
import { hasSparseTurns } from "./pt_turns.ts";

/**
 * Decodes the Intel PT of a recording to what was executed, thread by thread.
 *
 * Buffers of several CPUs take turns in order of time, so that a thread that moves from one to another
 * is seen in order. Memory does not grow with the trace.
 *
 * @param trace What `readAuxTrace` found; stitched, if its pieces may have data in common.
 * @param source The file.
 * @param sideband What the records said, read to the end.
 * @param code Where the code is.
 * @param sink Takes the result.
 */
export async function decodePt(
  trace: AuxTrace,
  source: RandomAccessSource,
  sideband: PtSideband,
  code: PtCode,
  sink: PtSink,
  options: DecodePtOptions = {},
): Promise<PtCounts> {
  const clock = new PtClock(trace);
  const cache = new FlowCache();
  const ratios = clockRatios(trace);
  const leftAt = hasSparseTurns(trace, sideband) ? new Map() : undefined;
  const buffers = trace.streams.filter((stream) => options.wants?.(stream) ?? true)
    .map((stream, index) =>
      new DecodedBuffer(
        stream,
        index,
        { source, sideband, code, sink, clock, cache, ratios, leftAt },
        options,
      )
    );
  const { from } = options;
  if (from !== undefined && clock.known) {
    for (const buffer of buffers) await buffer.seek(from);
  }
  const waiting = new Set(buffers);
  while (waiting.size > 0 && sink.done?.() !== true) {
    // The buffer with the lowest position continues up to its next change.
    let next: DecodedBuffer | undefined;
    for (const buffer of waiting) {
      if (next === undefined || buffer.position < next.position) next = buffer;
    }
    if (next === undefined) break;
    sink.reached?.(next.position);
    if (!next.ended && !next.step()) {
      const n = await next.feed();
      await sink.idle?.();
      if (n > 0) await options.progress?.(n);
    }
    if (next.ended) {
      waiting.delete(next);
      sink.ended?.(next);
    }
  }
  await sink.idle?.();
  const counts = noPtCounts();
  for (const buffer of buffers) addPtCounts(counts, buffer.counts);
  return counts;
}
