import type { RandomAccessSource } from "@perfdata/format";
import type { FlowDecoder } from "@perfdata/intel-pt";
import type { AuxTrace } from "@perfdata/session/auxtrace";
import type { PtCode } from "../code/pt_code.ts";
import { PtClock } from "./pt_clock.ts";
import { decodePt } from "./pt_run.ts";
import type { PtBuffer, PtSink } from "./pt_sink.ts";
import { PtSeeker } from "./pt_seek.ts";
import type { PtSideband } from "../code/pt_sideband.ts";

/** Finds the last time of a trace. */
class LastTime implements PtSink {
  ns = -1;
  readonly #clock: PtClock;

  constructor(clock: PtClock) {
    this.#clock = clock;
  }

  flow(_: PtBuffer, { clock }: FlowDecoder): void {
    this.ns = Math.max(this.ns, this.#clock.ns(clock.time));
  }
}

/**
 * When a trace begins and ends, ns; `undefined` if its packets have no times. Only its first and last PSBs
 * are looked for, and what comes after the last ones.
 */
export async function ptSpan(
  trace: AuxTrace,
  source: RandomAccessSource,
  sideband: PtSideband,
  code: PtCode,
): Promise<readonly [number, number] | undefined> {
  const clock = new PtClock(trace);
  if (!clock.known) return undefined;
  let first = Infinity;
  for (const stream of trace.streams) {
    const time = await new PtSeeker(stream, source, clock).first();
    if (time !== undefined && time < first) first = time;
  }
  const last = new LastTime(clock);
  await decodePt(trace, source, sideband, code, last, { from: Infinity, quick: 1 });
  return first > last.ns ? undefined : [first, last.ns];
}
