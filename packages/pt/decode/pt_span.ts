import type { FlowDecoder } from "@perfdata/intel-pt";
import type { PtTrace } from "../code/pt_trace.ts";
import type { PtClock } from "./pt_clock.ts";
import { decodePt } from "./pt_run.ts";
import type { PtBuffer, PtSink } from "./pt_sink.ts";
import { PtSeeker } from "./pt_seek.ts";

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
 * First and last time of a trace in ns; `undefined` if its packets have no times. Reads only the
 * first and last PSBs of each buffer, and the packets after the last ones.
 */
export async function ptSpan(
  trace: PtTrace,
): Promise<readonly [number, number] | undefined> {
  const { aux, clock, source } = trace;
  if (!clock.known) return undefined;
  let first = Infinity;
  for (const stream of aux.streams) {
    const time = await new PtSeeker(stream, source, clock).first();
    if (time !== undefined && time < first) first = time;
  }
  const last = new LastTime(clock);
  await decodePt(trace, last, { from: Infinity, quick: 1 });
  return first > last.ns ? undefined : [first, last.ns];
}
