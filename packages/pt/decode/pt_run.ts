import { FlowCache } from "@perfdata/intel-pt";
import type { PtTrace } from "../code/pt_trace.ts";
import { DecodedBuffer } from "./pt_buffer.ts";
import { addPtCounts, noPtCounts, type PtCounts } from "./pt_counts.ts";
import type { DecodePtOptions, PtSink } from "./pt_sink.ts";
import { hasSparseTurns } from "./pt_turns.ts";

/**
 * Decodes the Intel PT of a recording to executed code, thread by thread.
 *
 * Buffers of several CPUs are decoded alternately, in order of time, so that a thread that moves to
 * another CPU is decoded in order. Memory does not grow with the trace.
 *
 * @param sink Receives the result.
 */
export async function decodePt(
  trace: PtTrace,
  sink: PtSink,
  options: DecodePtOptions = {},
): Promise<PtCounts> {
  const cache = new FlowCache();
  const leftAt = hasSparseTurns(trace) ? new Map() : undefined;
  const buffers = trace.aux.streams.filter((stream) => options.wants?.(stream) ?? true)
    .map((stream, index) =>
      new DecodedBuffer(stream, index, { trace, sink, cache, leftAt }, options)
    );
  const { from } = options;
  if (from !== undefined && trace.clock.known) {
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
