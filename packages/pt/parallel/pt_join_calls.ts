import type { AuxStream } from "@perfdata/session/auxtrace";
import type { CallRows } from "../calls/pt_call_log.ts";
import { CALL_OP, CallOpReader } from "../calls/pt_call_part.ts";
import {
  type CallFilter,
  type CallPart,
  type JoinedCalls,
  OneThreadOnly,
  PtCalls,
} from "../calls/pt_calls.ts";
import type { ThreadCode } from "../code/pt_code.ts";
import { type JoinedPt, joinRanges, type PtJoiner, type PtWorkers } from "./pt_join.ts";
import type { PtRangePart, PtWhole } from "./pt_ranges.ts";
import { PtClock } from "../decode/pt_run.ts";

/** A recording whose calls are summed up. */
export interface PtCallWhole extends PtWhole<CallPart> {
  /** Which part of it counts. */
  readonly filter: CallFilter;
  /** What calls are counted by. */
  readonly rows: CallRows;
  /** Whether to find what was executed by stack. */
  readonly tree: boolean;
}

/** A recording whose calls are summed up, with what takes its ranges. */
export function callWhole(
  { tree = false, ...whole }: Omit<PtCallWhole, "sink" | "tree"> & { readonly tree?: boolean },
): PtCallWhole {
  const { code, filter, rows } = whole;
  const sink: PtCallWhole["sink"] = (clock) =>
    new PtCalls(code, clock, { filter, rows, tree, part: true });
  return { ...whole, tree, sink };
}

/** What was decoded of calls. */
export interface JoinedPtCalls extends JoinedPt {
  /** The calls, finished. */
  readonly calls: PtCalls;
}

/**
 * Sums up the calls of a recording by several threads; see {@linkcode joinRanges}. Calls that are open at either end of
 * a range are operations on the calls of a thread (`CallOps`), which are applied in order of time.
 *
 * @returns `undefined` where one thread has to do all; see {@linkcode OneThreadOnly}, too.
 */
export async function joinCalls(
  whole: PtCallWhole,
  workers: PtWorkers,
): Promise<JoinedPtCalls | undefined> {
  const join = new CallJoin(whole);
  try {
    const found = await joinRanges(whole, workers, join);
    return found && { ...found, calls: join.finish() };
  } catch (error) {
    if (error instanceof OneThreadOnly) return undefined;
    throw error;
  }
}

/** A buffer whose operations are applied. */
interface Lane {
  readonly stream: AuxStream;
  readonly index: number;
  /** Nodes of the tree where parts begin that are not applied yet. */
  readonly roots: Map<number, number>;
  /** The step that comes next: since when, ns, and who runs. */
  position: number;
  tid: number;
  /** The code of the last step that was joined. */
  code: ThreadCode;
  /** The last time that was joined, ns. */
  time: number;
}

/** What may turn out to be a call of its address. */
const TARGETS: ReadonlySet<number> = new Set([CALL_OP.GO_ON, CALL_OP.ENABLED, CALL_OP.BASE]);

/** Joins sums, and applies what is left to be done to calls that are open. */
class CallJoin implements PtJoiner<CallPart, JoinedCalls> {
  readonly #whole: PtCallWhole;
  readonly #calls: PtCalls;
  readonly #lanes: readonly Lane[];
  readonly #isTimed: boolean;

  constructor(whole: PtCallWhole) {
    const { trace, code, filter, rows, tree, wants } = whole;
    this.#whole = whole;
    const clock = new PtClock(trace);
    this.#isTimed = clock.known;
    this.#calls = new PtCalls(code, clock, { filter, rows, tree });
    this.#lanes = trace.streams.filter(wants).map((stream, index) => ({
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

  /** Finds the places where calls may turn out to begin, so that it is known which functions they are. */
  #placeTargets(lane: Lane, { ops }: CallPart): void {
    const { code } = this.#whole;
    for (const reader = new CallOpReader(ops); reader.next();) {
      const { kind, low, high } = reader;
      if (kind === CALL_OP.STEP) lane.code = this.#codeOf(reader.a, reader.time);
      else if (TARGETS.has(kind)) code.place(lane.code, low, high);
    }
  }

  /** The code that a thread sees from a time on. */
  #codeOf(tid: number, position: number): ThreadCode {
    return this.#whole.code.space(tid, this.#isTimed ? Math.max(0, position) : Infinity);
  }

  apply(index: number, calls: JoinedCalls): number | undefined {
    const { ops } = calls;
    const lane = this.#lanes[index] as Lane;
    const { stream, tid, position } = lane;
    const code = this.#codeOf(tid, position);
    const buffer = { stream, index, tid, position, cycles: 0, code, toCode: code };
    this.#calls.apply(calls, buffer);
    if (ops.following !== CALL_OP.STEP) {
      const { tree } = this.#calls;
      if (tree !== undefined) calls.joinTree(tree);
      return undefined;
    }
    ops.next();
    lane.tid = ops.a;
    return lane.position = ops.time;
  }

  /** Ends what is open. */
  finish(): PtCalls {
    if (!this.#calls.isExact) throw new OneThreadOnly();
    for (const { index, time } of this.#lanes) this.#calls.endBuffer(index, time);
    this.#calls.finish();
    return this.#calls;
  }
}
