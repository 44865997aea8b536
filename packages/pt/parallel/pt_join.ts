import { OutOfMemory } from "@perfdata/format/memory";
import type { AuxStream } from "@perfdata/session/auxtrace";
import type { WorkerThread } from "@perfdata/session/engine";
import { Turns } from "@perfdata/session/workers";
import { type JoinedCalls, OneThreadOnly, PtCalls } from "../calls/pt_calls.ts";
import { CALL_OP, CallOpReader } from "../calls/pt_call_part.ts";
import {
  type PtRange,
  PtRangeDecoder,
  type PtRangePart,
  ptRanges,
  type PtWhole,
} from "./pt_ranges.ts";
import type { ThreadCode } from "../code/pt_code.ts";
import { addPtCounts, noPtCounts, PtClock, type PtCounts } from "../decode/pt_run.ts";
import type { PtAnswer, PtTask } from "./serve_pt.ts";

/** Bytes of a range, about. */
const RANGE = 2 << 20;
/** No range is shorter than that: what is before it is decoded as well. */
const LEAST_RANGE = 1 << 18;
/** Ranges for each thread, so that all end at about the same time. */
const SHARES = 8;
/** Ranges that a thread has at a time, so that there is one to go on with. */
const AHEAD = 2;

/** Threads that decode ranges side by side. */
export interface PtWorkers {
  /** How many threads, this one included. */
  readonly jobs: number;
  /** Starts another one: a module that calls `servePt`. */
  readonly start: () => WorkerThread;
  /** What that opens the recording with: what can be sent to another thread. */
  readonly about: unknown;
  /** Bytes of a range, about; by the size of the trace without it. */
  readonly rangeBytes?: number | undefined;
  /** Called with the bytes that were decoded since the call before. */
  readonly progress?: (bytes: number) => Promise<void> | void;
}

/** What was decoded. */
export interface JoinedPt {
  /** The calls, finished. */
  readonly calls: PtCalls;
  /** Figures. */
  readonly counts: PtCounts;
  /** How many ranges there were. */
  readonly ranges: number;
  /** How many did not go with the one before, and were decoded again with it. */
  readonly again: number;
}

/**
 * Decodes the calls of a recording by several threads: each takes parts of buffers, from one PSB to another, and
 * what they found is joined in the order in which one thread would have found it.
 *
 * ```text
 * buffer of CPU 0   │ range 0 ├PSB┤ range 1 ├PSB┤ range 2 …
 * buffer of CPU 1   │ range 0 ├PSB┤ range 1 …
 *                      any thread     any other
 * ```
 *
 * A thread begins a little before its range, so that clocks and mode are known where that begins; where they
 * are not the same as at the end of the range before, it is decoded again from there. Calls that are open at
 * either end are operations on the calls of a thread (`CallOps`), which are applied in order of time.
 *
 * @returns `undefined` where one thread has to do all: there is one range, code of JIT compilers is found by when it was met first;
 *   see {@linkcode OneThreadOnly}, too.
 */
export async function joinPt(whole: PtWhole, workers: PtWorkers): Promise<JoinedPt | undefined> {
  if (whole.sideband.recorded?.hasJitdumps === true) return undefined;
  const { jobs, rangeBytes } = workers;
  const size = whole.trace.streams.filter(whole.wants)
    .reduce((sum, { pieces }) => sum + pieces.reduce((n, piece) => n + piece.size, 0), 0);
  const bytes = rangeBytes ??
    Math.max(LEAST_RANGE, Math.min(RANGE, Math.floor(size / (SHARES * jobs))));
  const ranges = await ptRanges(whole, bytes);
  if (ranges.length < 2) return undefined;
  const join = new PtJoin(whole, ranges);
  const queue = new RangeQueue(ranges);
  const others = Array.from(
    { length: Math.min(jobs, ranges.length) - 1 },
    () => new OtherThread(workers, queue, join, whole),
  );
  const turns = new Turns();
  try {
    for (;;) {
      const number = queue.take();
      if (number === undefined) break;
      const range = queue.of(number);
      join.add(number, await join.decoder.decode(range));
      await turns.next();
      await join.go();
      await workers.progress?.(range.bytes);
    }
    for (const other of others) await other.done();
    await join.go();
    return join.finish();
  } catch (error) {
    if (error instanceof OneThreadOnly) return undefined;
    throw error;
  } finally {
    turns.end();
    for (const other of others) other.end();
  }
}

/** Which ranges nobody has taken yet. */
class RangeQueue {
  readonly #ranges: readonly PtRange[];
  #next = 0;

  constructor(ranges: readonly PtRange[]) {
    this.#ranges = ranges;
  }

  /** The number of the next one. */
  take(): number | undefined {
    return this.#next < this.#ranges.length ? this.#next++ : undefined;
  }

  /** The range of a number. */
  of(number: number): PtRange {
    return this.#ranges[number] as PtRange;
  }
}

/** A part with what its places are called here. */
interface Placed {
  readonly part: PtRangePart;
  readonly placeOf: Int32Array;
}

/** A buffer whose operations are applied. */
interface Lane {
  readonly stream: AuxStream;
  readonly index: number;
  /** Its ranges, by number, in order. */
  readonly numbers: number[];
  /** The range that comes next: the one before it is `last`, which is joined when that one goes with it. */
  next: number;
  last: Placed | undefined;
  /** What decodes ranges again that do not go with the one before, and the range that it could go on with. */
  repair: PtRangeDecoder | undefined;
  repaired: number;
  /** What was joined and is still to be applied. */
  readonly joined: JoinedCalls[];
  /** Nodes of the tree where parts begin that are not applied yet. */
  readonly roots: Map<number, number>;
  /** Whether all was joined. */
  isWhole: boolean;
  /** The step that comes next: since when, ns, and who runs. */
  position: number;
  tid: number;
  /** The code of the last step that was joined. */
  code: ThreadCode;
  time: number;
}

/** What may turn out to be a call of its address. */
const TARGETS: ReadonlySet<number> = new Set([CALL_OP.GO_ON, CALL_OP.ENABLED, CALL_OP.BASE]);

/** Joins what all threads found. */
class PtJoin {
  /** Decodes ranges in this thread. */
  readonly decoder: PtRangeDecoder;
  readonly #whole: PtWhole;
  readonly #calls: PtCalls;
  readonly #counts = noPtCounts();
  readonly #found = new Map<number, Placed>();
  readonly #lanes: Lane[] = [];
  readonly #isTimed: boolean;
  readonly #ranges: number;
  #again = 0;

  constructor(whole: PtWhole, ranges: readonly PtRange[]) {
    const { trace, code, filter, rows, tree = false, wants } = whole;
    this.#whole = whole;
    this.#ranges = ranges.length;
    this.decoder = new PtRangeDecoder(whole);
    const clock = new PtClock(trace);
    this.#isTimed = clock.known;
    this.#calls = new PtCalls(code, clock, { filter, rows, tree });
    for (const [index, stream] of trace.streams.filter(wants).entries()) {
      this.#lanes.push({
        stream,
        index,
        numbers: [],
        next: 0,
        last: undefined,
        repair: undefined,
        repaired: -1,
        joined: [],
        roots: new Map(),
        isWhole: false,
        position: -1,
        tid: -1,
        code: this.#codeOf(-1, -1),
        time: -1,
      });
    }
    for (const [number, { buffer }] of ranges.entries()) this.#lanes[buffer]?.numbers.push(number);
  }

  /**
   * Takes what was found in a range.
   *
   * @param placeOf The place here of one of the thread; the same without it.
   */
  add(number: number, part: PtRangePart, placeOf?: Int32Array): void {
    const { code } = this.#whole;
    for (const [path, why] of part.missing) {
      if (!code.missing.has(path)) code.missing.set(path, why);
    }
    code.kernelFile ??= part.kernelFile;
    this.#found.set(number, { part, placeOf: placeOf ?? same(code.table.count) });
  }

  /** The places here of those that another thread has met. */
  places(
    { object, address, time }: NonNullable<PtRangePart["places"]>,
    objects: number[],
  ): Int32Array {
    const { table } = this.#whole.code;
    return object.map((of, i) =>
      table.of(of < 0 ? of : objects[of] as number, address[i] as number, time[i] as number)
    );
  }

  /** Joins and applies as far as what was found goes. */
  async go(): Promise<void> {
    for (const lane of this.#lanes) await this.#joinLane(lane);
    this.#apply();
  }

  /** A part that was found in this thread. */
  #here(part: PtRangePart): Placed {
    return { part, placeOf: same(this.#whole.code.table.count) };
  }

  /** Joins the parts of a buffer that follow each other. */
  async #joinLane(lane: Lane): Promise<void> {
    for (; lane.next < lane.numbers.length; lane.next++) {
      const number = lane.numbers[lane.next] as number;
      const found = this.#found.get(number);
      if (found === undefined) return;
      this.#found.delete(number);
      const { last } = lane;
      if (last === undefined) lane.last = found;
      else if (isSame(last.part.end, found.part.start)) {
        await this.#join(lane, last);
        lane.last = found;
      } else {
        // Where one ended is not where the other began: this thread goes on from there.
        lane.repair ??= new PtRangeDecoder(this.#whole);
        const repaired = lane.repaired === lane.next
          ? last
          : this.#here(await lane.repair.decode(last.part.range));
        await this.#join(lane, repaired);
        lane.last = this.#here(await lane.repair.goOn(found.part.range));
        lane.repaired = lane.next + 1;
        this.#again++;
      }
    }
    if (lane.last !== undefined) await this.#join(lane, lane.last);
    lane.last = undefined;
    lane.isWhole = true;
  }

  async #join(lane: Lane, { part, placeOf }: Placed): Promise<void> {
    this.#placeTargets(lane, part.calls);
    await this.#whole.rows.resolve();
    lane.joined.push(this.#calls.join(part.calls, placeOf, lane.roots));
    lane.time = part.time;
    addPtCounts(this.#counts, part.counts);
  }

  /** Finds the places where calls may turn out to begin, so that it is known which functions they are. */
  #placeTargets(lane: Lane, { ops }: PtRangePart["calls"]): void {
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

  /** Applies steps in the order in which one thread decodes: that of the buffer which is least far. */
  #apply(): void {
    for (;;) {
      let lane: Lane | undefined;
      for (const one of this.#lanes) {
        const isOver = one.isWhole && one.joined.length === 0;
        if (!isOver && (lane === undefined || one.position < lane.position)) lane = one;
      }
      if (lane === undefined || !this.#applyStep(lane)) return;
    }
  }

  /** Applies a step, or a part of it; false where the rest is not found yet. */
  #applyStep(lane: Lane): boolean {
    const [calls] = lane.joined;
    if (calls === undefined) return false;
    const { ops } = calls;
    const { stream, index, tid, position } = lane;
    const buffer = { stream, index, tid, position, cycles: 0, code: this.#codeOf(tid, position) };
    this.#calls.apply(calls, buffer);
    if (ops.following === CALL_OP.STEP) {
      ops.next();
      lane.position = ops.time;
      lane.tid = ops.a;
    } else {
      const { tree } = this.#calls;
      if (tree !== undefined) calls.joinTree(tree);
      lane.joined.shift();
    }
    return true;
  }

  /** Ends what is open. */
  finish(): JoinedPt {
    if (!this.#calls.isExact) throw new OneThreadOnly();
    for (const { index, time } of this.#lanes) this.#calls.endBuffer(index, time);
    this.#calls.finish();
    const [ranges, again] = [this.#ranges, this.#again];
    return { calls: this.#calls, counts: this.#counts, ranges, again };
  }
}

function isSame(a: readonly number[] | undefined, b: readonly number[] | undefined): boolean {
  return a !== undefined && a.length === b?.length && a.every((value, i) => value === b[i]);
}

/** Places that are called the same. */
function same(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, place) => place);
}

/** Another thread. */
class OtherThread {
  readonly #worker: WorkerThread;
  readonly #queue: RangeQueue;
  readonly #done = Promise.withResolvers<void>();
  /** The places and objects here of those there. */
  #placeOf = new Int32Array(0);
  readonly #objects: number[] = [];
  #left = 0;

  constructor(
    { start, about, progress }: PtWorkers,
    queue: RangeQueue,
    join: PtJoin,
    whole: PtWhole,
  ) {
    this.#queue = queue;
    this.#worker = start();
    // It may fail before somebody asks.
    this.#done.promise.catch(() => {});
    this.#worker.onmessage = ({ data }: MessageEvent<PtAnswer>) => {
      if (data.kind === "error") {
        this.#done.reject(new (data.memory ? OutOfMemory : Error)(data.message));
        return;
      }
      if (data.kind === "ready") { for (let i = 0; i < AHEAD; i++) this.#deal(); }
      else {
        const { number, part } = data;
        this.#left--;
        this.#deal();
        const { places } = part;
        if (places !== undefined) {
          for (const object of places.objects) this.#objects.push(whole.code.numberOf(object));
          const placeOf = new Int32Array(this.#placeOf.length + places.object.length);
          placeOf.set(this.#placeOf);
          placeOf.set(join.places(places, this.#objects), this.#placeOf.length);
          this.#placeOf = placeOf;
        }
        join.add(number, part, this.#placeOf);
        progress?.(part.range.bytes);
      }
      if (this.#left === 0) this.#done.resolve();
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#done.reject(new Error(event.message));
    };
    const task: PtTask = { about };
    this.#worker.postMessage(task);
  }

  /** All that it has taken is found: nothing, where it was not ready before others had taken all. */
  async done(): Promise<void> {
    if (this.#left > 0) await this.#done.promise;
  }

  #deal(): void {
    const number = this.#queue.take();
    if (number === undefined) return;
    this.#left++;
    const task: PtTask = { number, range: this.#queue.of(number) };
    this.#worker.postMessage(task);
  }

  end(): void {
    this.#worker.terminate();
  }
}
