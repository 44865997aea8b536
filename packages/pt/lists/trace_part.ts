/** Selects the part of a trace to decode: its end, what ran around a moment, or a range of times. */
import { intAt } from "@perfdata/format/bytes";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import {
  type Consumer,
  type Engine,
  type EngineOptions,
  parseLength,
  parseTime,
  resolveTime,
  type Run,
  type TimeRange,
} from "@perfdata/session";
import type { AuxStream } from "@perfdata/session/auxtrace";
import type { CallFilter } from "../calls/pt_calls.ts";
import type { PtTrace } from "../code/pt_trace.ts";
import { snapshotTimes } from "../decode/pt_snapshots.ts";
import { ptSpan } from "../decode/pt_span.ts";
import type { TimeOrigin } from "../decode/pt_time.ts";

/** The test whether a buffer is of one of these CPUs; all are without CPUs. */
export function ofCpus(cpus: ReadonlySet<number> | undefined): (stream: AuxStream) => boolean {
  return ({ cpu }) => cpus === undefined || (cpu !== undefined && cpus.has(cpu));
}

/** A filter by process, thread and time, in thread ids and in ns since the clock's origin. */
export function traceFilter(
  { clock: { origin }, sideband }: PtTrace,
  { time, ...threads }: NonNullable<EngineOptions["filter"]>,
): CallFilter {
  const tids = sideband.threads.chosen(threads);
  return time === undefined
    ? { tids }
    : { tids, from: origin.since(time[0]), to: origin.since(time[1]) };
}

/** A moment, and the distance to both sides. */
export interface Around {
  /** The name of an event, whose last sample is meant; `snapshot:N`; or a time. */
  readonly what: string;
  /** Distance to both sides in ns. */
  readonly length: bigint;
}

/** The wanted part: one of three, or all of the trace. */
export interface TracePartChoice {
  /** A range of times; one relative to the start is relative to that of the trace. */
  readonly time: TimeRange | undefined;
  /** Length of the end of the trace to decode, in ns. */
  readonly last: bigint | undefined;
  /** A moment, and the distance to both sides. */
  readonly around: Around | undefined;
}

/** The selected part, in ns since the clock's origin. */
export interface TracePart {
  /** The start; the trace's if missing. */
  readonly from?: number;
  /** The end; the trace's if missing. */
  readonly to?: number;
  /** A remark about the part. */
  readonly note?: string;
}

/** A snapshot in the value of `--around`. */
const SNAPSHOT = /^snapshot:\d+$/;
/** Maximum number of snapshots whose times are printed. */
const SHOWN = 8;

/** Lists the times of the snapshots in a line; `undefined` if there are none. */
export function snapshotsText({ aux, clock }: PtTrace): string | undefined {
  const taken = snapshotTimes(aux, clock);
  if (taken.length === 0) return undefined;
  const shown = taken.slice(0, SHOWN).map((time) => clock.origin.secondsText(time)).join(", ");
  const more = taken.length > SHOWN ? ` and ${taken.length - SHOWN} more` : "";
  const count = taken.length === 1 ? "a snapshot" : `${taken.length} snapshots`;
  return `${count}, taken at ${shown}${more}`;
}

/** The default distance to both sides, in ns. */
const AROUND = 5_000_000n;

/**
 * Parses a moment and a distance, such as `sched:sched_switch±5ms`, `12.5+-1ms` or `snapshot:1`.
 *
 * @throws {RangeError} If there is no moment, or the distance is not a duration.
 */
export function parseAround(text: string): Around {
  const [, what = "", length] = /^(.*?)(?:(?:±|\+-|\+\/-)(.*))?$/s.exec(text) ?? [];
  if (what.trim() === "") throw new RangeError(`${text}, expected EVENT or TIME, and ±5ms`);
  return {
    what: what.trim(),
    length: length === undefined ? AROUND : parseLength(length.trim()),
  };
}

/** Counts the samples of each event, and keeps the time of the last one. */
export class EventTimes implements Consumer {
  /** Records in order of time, without the state of the machine. */
  readonly needs = { machine: false } as const;
  readonly #found = new Map<number, { count: number; high: number; low: number }>();
  #engine: Engine | undefined;

  /** Stores the engine, whose event names {@link EventTimes.last} needs. */
  start(engine: Engine): void {
    this.#engine = engine;
  }

  /** Counts a run of records in order of time. */
  rows({ count, type, event, timeHi, timeLo }: Run): void {
    for (let i = 0; i < count; i++) {
      if (type[i] !== PERF_RECORD_SAMPLE) continue;
      const number = intAt(event, i);
      let found = this.#found.get(number);
      if (found === undefined) this.#found.set(number, found = { count: 0, high: 0, low: 0 });
      found.count++;
      found.high = intAt(timeHi, i);
      found.low = intAt(timeLo, i);
    }
  }

  /**
   * The time of the last sample of an event, and the number of its samples.
   *
   * @throws {RangeError} If the event has no samples.
   */
  last(name: string, origin: TimeOrigin): { readonly time: number; readonly count: number } {
    const { eventNames = [] } = this.#engine ?? {};
    let last: { time: number; count: number } | undefined;
    for (const [number, { count, high, low }] of this.#found) {
      if (
        eventNames[number]?.replace(/:[ukhHGpPDSWIe]+$/, "") !== name && eventNames[number] !== name
      ) {
        continue;
      }
      const time = origin.sinceHalves(high, low);
      last = { time: Math.max(last?.time ?? 0, time), count: count + (last?.count ?? 0) };
    }
    if (last !== undefined) return last;
    const names = [...this.#found.keys()].map((number) => eventNames[number]);
    throw new RangeError(
      `${name}: no sample of such an event; ${
        names.length === 0 ? "there are none" : `there are ${names.join(", ")}`
      }`,
    );
  }
}

/** A recording in which {@link momentOf} looks up a moment. */
export interface MomentSource {
  /** The trace. */
  readonly trace: PtTrace;
  /** The samples of events, read with the trace. */
  readonly events: EventTimes;
  /** First and last time of the trace in ns. */
  readonly span: readonly [number, number];
}

/**
 * The time of a moment in ns: a time, the last sample of an event, or a snapshot; and a remark about
 * it.
 *
 * @throws {RangeError} If there is no such snapshot, or no sample of the event.
 */
export async function momentOf(
  what: string,
  { trace: { aux, clock }, events, span }: MomentSource,
): Promise<{ readonly time: number; readonly about: string }> {
  const { origin } = clock;
  if (/^\d+(\.\d+)?(s|ms|us|ns|%)?$/.test(what)) {
    const range = parseTime(/\d$/.test(what) ? `${what},` : `${what}-`);
    const [first, end] = span;
    const whole = [BigInt(origin.exact(first)), BigInt(origin.exact(end))] as const;
    const [from] = await resolveTime(range, () => Promise.resolve(whole));
    return { time: origin.since(from), about: "" };
  }
  if (SNAPSHOT.test(what)) {
    const taken = snapshotTimes(aux, clock);
    const number = Number(what.slice(what.indexOf(":") + 1));
    const time = taken[number - 1];
    if (time === undefined) {
      const count = taken.length === 0 ? "no snapshots" : `snapshots 1 to ${taken.length}`;
      throw new RangeError(`${what}: the recording has ${count}`);
    }
    const at = origin.secondsText(time);
    return { time, about: `; snapshot ${number} of ${taken.length} was taken at ${at}` };
  }
  const { time, count } = events.last(what, origin);
  const of = count === 1 ? `; ${what} at ` : `; the last of ${count} ${what} at `;
  return { time, about: of + origin.secondsText(time) };
}

/**
 * Computes the selected part.
 *
 * @throws {RangeError} If the trace has no times, or nothing of it is in the part.
 */
export async function tracePart(
  { time, last, around }: TracePartChoice,
  trace: PtTrace,
  events: EventTimes,
): Promise<TracePart> {
  const { origin } = trace.clock;
  if (time?.from === "clock") {
    const [from, to] = await resolveTime(time, () => Promise.reject(new TypeError("no span")));
    return { from: origin.since(from), to: origin.since(to) };
  }
  if (time === undefined && last === undefined && around === undefined) return {};
  const span = await ptSpan(trace);
  if (span === undefined) throw new RangeError("the trace has no times");
  const [first, end] = span;
  const whole = () => [BigInt(origin.exact(first)), BigInt(origin.exact(end))] as const;
  if (time !== undefined) {
    const [from, to] = await resolveTime(time, () => Promise.resolve(whole()));
    return { from: origin.since(from), to: origin.since(to) };
  }
  let part: { from: number; to: number };
  let about = "";
  if (last !== undefined) part = { from: Math.max(first, end - Number(last)), to: end };
  else {
    const { what, length } = around as Around;
    const moment = await momentOf(what, { trace, events, span });
    const middle = moment.time;
    ({ about } = moment);
    part = { from: Math.max(0, middle - Number(length)), to: middle + Number(length) };
    if (part.to < first || part.from > end) {
      throw new RangeError(
        `${what}: the trace is from ${origin.secondsText(first)} to ${origin.secondsText(end)}`,
      );
    }
  }
  const note = `from ${origin.secondsText(part.from)} to ${origin.secondsText(part.to)}${about}; ` +
    "calls that were open before are not known";
  return { ...part, note };
}
