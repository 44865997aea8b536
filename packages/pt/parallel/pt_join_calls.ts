import type { AuxStream } from "@perfdata/session/auxtrace";
import type { CallEvents } from "../calls/pt_call_events.ts";
import type { CallRows } from "../calls/pt_call_log.ts";
import { CALL_OP, CallOpReader } from "../calls/pt_call_ops.ts";
import { type CallFilter, PtCalls } from "../calls/pt_calls.ts";
import { type CallPart, type JoinedCalls, OneThreadOnly } from "../calls/pt_joined_calls.ts";
import type { ThreadCode } from "../code/pt_code.ts";
import { type JoinedPt, joinRanges, type PtJoiner, type PtWorkers } from "./pt_join.ts";
import type { PtRangePart, PtWhole } from "./pt_ranges.ts";
import type { PtCounts } from "../decode/pt_counts.ts";
import { decodePt } from "../decode/pt_run.ts";
import type { DecodePtOptions } from "../decode/pt_sink.ts";

/** Maximum number of parts per thread that wait for their turn in a list of calls. */
const WAITING = 2;
/** Size of a range for lists of calls, whose rows are larger than the packets. */
const EVENT_RANGE = 1 << 18;

/** A recording whose calls are counted or listed. */
export interface PtCallWhole extends PtWhole<CallPart> {
  /** Filter for a part of the recording. */
  readonly filter: CallFilter;
  /** Key for counting calls. */
  readonly rows: CallRows;
  /** Whether to count executed code by stack. */
  readonly tree: boolean;
  /** Whether calls are listed, instead of counted. */
  readonly events: boolean;
}

/** Adds the receiver of ranges to a recording. */
export function callWhole(
  { tree = false, events = false, ...whole }:
    & Omit<PtCallWhole, "sink" | "tree" | "events">
    & Partial<Pick<PtCallWhole, "tree" | "events">>,
): PtCallWhole {
  const { trace, filter, rows } = whole;
  const sink: PtCallWhole["sink"] = () =>
    new PtCalls(trace, { filter, rows, tree, events, part: true });
  return { ...whole, tree, events, sink };
}

/** Result of decoding calls. */
export interface JoinedPtCalls extends JoinedPt {
  /** The calls, finished. */
  readonly calls: PtCalls;
}

/**
 * Counts the calls of a recording by several threads; see {@linkcode joinRanges}. Calls that are
 * open at either end of a range are operations on the calls of a thread (`CallOps`), which are
 * applied in order of time.
 *
 * @returns `undefined` if one thread has to decode the trace; see also {@linkcode OneThreadOnly}.
 */
export async function joinCalls(
  whole: PtCallWhole,
  workers: PtWorkers,
): Promise<JoinedPtCalls | undefined> {
  return await joined(whole, workers, new CallJoin(whole));
}

async function joined(
  whole: PtCallWhole,
  workers: PtWorkers,
  join: CallJoin,
): Promise<JoinedPtCalls | undefined> {
  try {
    const found = await joinRanges(whole, workers, join);
    return found && { ...found, calls: join.finish() };
  } catch (error) {
    if (error instanceof OneThreadOnly) return undefined;
    throw error;
  }
}

/** Result of listing calls. */
export interface ListedPtCalls {
  /** Figures. */
  readonly counts: PtCounts;
  /** 1 for each executed place; `undefined` if all places were executed. */
  readonly met: Uint8Array | undefined;
  /** With several threads, the number of ranges, and of those that were decoded again. */
  readonly joined: Omit<JoinedPt, "counts"> | undefined;
}

/**
 * Lists the calls of a recording in the order of their execution: by several threads, or by this
 * thread alone if that is not possible.
 *
 * Threads return rows of calls between operations. The depth of a call is known after the
 * operations before it are applied.
 *
 * @param whole The recording, with `events`.
 * @param workers The threads, if any.
 * @param options Options of decoding by one thread.
 * @param take Receives calls, which are valid during the call; the rows of their places are known.
 */
export async function listCalls(
  whole: PtCallWhole,
  workers: PtWorkers | undefined,
  options: DecodePtOptions,
  take: (events: CallEvents) => void,
): Promise<ListedPtCalls> {
  let taken = 0;
  if (workers !== undefined) {
    const join = new CallJoin(whole, (events) => {
      taken += events.count;
      take(events);
    });
    const found = await joined(whole, { rangeBytes: EVENT_RANGE, ...workers }, join);
    if (found !== undefined) {
      const { counts, ranges, again, calls } = found;
      return { counts, met: calls.met, joined: { ranges, again } };
    }
  }
  const { trace, filter, rows, wants } = whole;
  const idle = async () => {
    const { events } = calls;
    if (events === undefined) return;
    // Skip rows that several threads have already passed on before they gave up.
    const again = Math.min(taken, events.count);
    if (again > 0) events.drop(again);
    taken -= again;
    await rows.resolve();
    take(events);
    events.clear();
  };
  const calls: PtCalls = new PtCalls(trace, { filter, rows, idle });
  const counts = await decodePt(trace, calls, { ...options, wants });
  calls.finish();
  await idle();
  return { counts, met: undefined, joined: undefined };
}

/** A buffer whose operations are applied. */
interface Lane {
  readonly stream: AuxStream;
  readonly index: number;
  /** Nodes of the tree at which waiting parts begin. */
  readonly roots: Map<number, number>;
  /** Start time of the next step in ns, and its thread. */
  position: number;
  tid: number;
  /** The code of the last joined step. */
  code: ThreadCode;
  /** The last joined time in ns. */
  time: number;
}

/** Operations whose address may become the target of a call. */
const TARGETS: ReadonlySet<number> = new Set([CALL_OP.GO_ON, CALL_OP.ENABLED, CALL_OP.BASE]);

/** Joins sums, and applies operations to open calls. */
class CallJoin implements PtJoiner<CallPart, JoinedCalls> {
  readonly waiting: number;
  readonly #take: ((events: CallEvents) => void) | undefined;
  readonly #whole: PtCallWhole;
  readonly #calls: PtCalls;
  readonly #lanes: readonly Lane[];
  readonly #isTimed: boolean;

  /**
   * Prepares to join the calls of a recording.
   *
   * @param take Receives calls, if they are listed.
   */
  constructor(whole: PtCallWhole, take?: (events: CallEvents) => void) {
    const { trace, filter, rows, tree, events, wants } = whole;
    this.waiting = events ? WAITING : Infinity;
    this.#whole = whole;
    this.#take = take;
    this.#isTimed = trace.clock.known;
    this.#calls = new PtCalls(trace, { filter, rows, tree, events });
    this.#lanes = trace.aux.streams.filter(wants).map((stream, index) => ({
      stream,
      index,
      roots: new Map(),
      position: -1,
      tid: -1,
      code: this.#codeOf(-1, -1),
      time: -1,
    }));
  }

  async join(
    index: number,
    { found, time }: PtRangePart<CallPart>,
    placeOf: Int32Array,
  ): Promise<JoinedCalls> {
    const lane = this.#lanes[index] as Lane;
    if (found.hasGuest) throw new OneThreadOnly();
    this.#placeTargets(lane, found);
    await this.#whole.rows.resolve();
    lane.time = time;
    return this.#calls.join(found, placeOf, lane.roots);
  }

  /** Adds places for possible targets of calls, so that their functions are known. */
  #placeTargets(lane: Lane, { ops }: CallPart): void {
    const { code } = this.#whole.trace;
    for (const reader = new CallOpReader(ops); reader.next();) {
      const { kind, low, high } = reader;
      if (kind === CALL_OP.STEP) lane.code = this.#codeOf(reader.a, reader.time);
      else if (TARGETS.has(kind)) code.place(lane.code, low, high);
    }
  }

  #codeOf(tid: number, position: number): ThreadCode {
    return this.#whole.trace.code.space(tid, this.#isTimed ? Math.max(0, position) : Infinity);
  }

  apply(index: number, calls: JoinedCalls): number | undefined {
    const lane = this.#lanes[index] as Lane;
    const { stream, tid, position } = lane;
    const code = this.#codeOf(tid, position);
    const buffer = {
      ...{ stream, index, tid, position, code, toCode: code },
      ...{ begin: 0, cycles: 0, isUnsure: false },
    };
    calls.apply(buffer);
    const next = calls.nextStep();
    if (next === undefined) {
      calls.joinTree();
      this.#takeEvents();
      return undefined;
    }
    lane.tid = next.tid;
    return lane.position = next.position;
  }

  #takeEvents(): void {
    const { events } = this.#calls;
    if (events === undefined) return;
    this.#take?.(events);
    events.clear();
  }

  finish(): PtCalls {
    if (!this.#calls.isExact) throw new OneThreadOnly();
    for (const { index, time } of this.#lanes) this.#calls.endBuffer(index, time);
    this.#calls.finish();
    this.#takeEvents();
    return this.#calls;
  }
}
