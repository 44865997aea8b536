import { Pool, type PoolQueue, type WorkerThread } from "@perfdata/session";
import {
  type PtRange,
  PtRangeDecoder,
  type PtRangePart,
  ptRanges,
  type PtWhole,
} from "./pt_ranges.ts";
import { addPtCounts, noPtCounts, type PtCounts } from "../decode/pt_counts.ts";
import { hasSparseTurns } from "../decode/pt_turns.ts";
import type { PtOrder } from "./serve_pt.ts";

/** Approximate size of a range in bytes. */
const RANGE = 2 << 20;
/** No range is shorter than that: what is before it is decoded as well. */
const LEAST_RANGE = 1 << 18;
/** Ranges for each thread, so that all end at about the same time. */
const SHARES = 8;
/** Number of ranges that a thread has at a time, so that it can continue with one. */
const AHEAD = 2;

/** Threads that decode ranges side by side. */
export interface PtWorkers {
  /** How many threads, this one included. */
  readonly jobs: number;
  /** Starts another one: a module that calls `servePt`. */
  readonly start: () => WorkerThread;
  /** Inputs for opening the recording, in a form that can be sent to another thread. */
  readonly about: unknown;
  /** Bytes of a range, about; by the size of the trace without it. */
  readonly rangeBytes?: number | undefined;
  /** Called with the bytes that were decoded since the call before. */
  readonly progress?: (bytes: number) => Promise<void> | void;
}

/** Joins the results of ranges. */
export interface PtJoiner<Found, Joined> {
  /** Ranges for each thread that may wait for their turn, where what they hold is large. */
  readonly waiting?: number;
  /**
   * Takes the next part of a buffer: what does not depend on the other buffers.
   *
   * @param placeOf The place here of one of the thread.
   * @returns What is to be applied in the order in which one thread decodes.
   */
  join(
    index: number,
    part: PtRangePart<Found>,
    placeOf: Int32Array,
  ): Promise<Joined> | Joined;
  /**
   * Applies what is joined of a buffer up to its next step.
   *
   * @returns The position of that step, ns; `undefined` if nothing is left.
   */
  apply(index: number, joined: Joined): number | undefined;
  /** Where a buffer is when all of a part is applied, ns; where its last step was without it. */
  positionOf?(index: number): number;
}

/** What was decoded. */
export interface JoinedPt {
  /** Figures. */
  readonly counts: PtCounts;
  /** How many ranges there were. */
  readonly ranges: number;
  /** How many did not go with the one before, and were decoded again with it. */
  readonly again: number;
}

/**
 * Decodes a recording by several threads: each takes parts of buffers, from one PSB to another, and
 * what they found is joined in the order in which one thread would have found it.
 *
 * ```text
 * buffer of CPU 0   │ range 0 ├PSB┤ range 1 ├PSB┤ range 2 …
 * buffer of CPU 1   │ range 0 ├PSB┤ range 1 …
 *                      any thread     any other
 * ```
 *
 * A thread begins a little before its range, so that clocks and mode are known where that begins; where they
 * are not the same as at the end of the range before, it is decoded again from there.
 *
 * @returns `undefined` if one thread has to do all: there is one range, code of JIT compilers is found by when it was
 *   met first, or times are too sparse to say who ran where.
 */
export async function joinRanges<Found, Joined>(
  whole: PtWhole<Found>,
  workers: PtWorkers,
  joiner: PtJoiner<Found, Joined>,
): Promise<JoinedPt | undefined> {
  if ((whole.trace.sideband.recorded?.jitdumpCount ?? 0) > 0) return undefined;
  if (hasSparseTurns(whole.trace)) return undefined;
  const { jobs, rangeBytes } = workers;
  const size = whole.trace.bytesOf(whole.wants);
  const bytes = rangeBytes ??
    Math.max(LEAST_RANGE, Math.min(RANGE, Math.floor(size / (SHARES * jobs))));
  const ranges = await ptRanges(whole, bytes);
  if (ranges.length < 2) return undefined;
  const join = new PtJoin(whole, ranges, joiner);
  const most = (joiner.waiting ?? Infinity) * jobs;
  const queue = new RangeQueue(ranges, join, most, whole, workers);
  using pool: PtPool<Found> = new Pool(Math.min(jobs, ranges.length) - 1, workers.start);
  pool.begin(workers.about, queue, { ahead: AHEAD });
  while (!queue.isEmpty) {
    const number = queue.deal();
    if (number === undefined) await pool.changed();
    else {
      const range = queue.of(number);
      join.add(number, await join.decoder.decode(range));
      queue.decoded();
      await pool.turn();
      await workers.progress?.(range.bytes);
    }
    await join.go();
  }
  await pool.totals();
  await join.go();
  return join.found;
}

type PtPool<Found> = Pool<unknown, PtOrder, PtRangePart<Found>>;

/** Ranges that no thread has taken yet, and the receiver of what other threads find. */
class RangeQueue<Found, Joined> implements PoolQueue<PtOrder, PtRangePart<Found>> {
  readonly #ranges: readonly PtRange[];
  readonly #join: PtJoin<Found, Joined>;
  /** Maximum number of decoded ranges that wait to be applied. */
  readonly #most: number;
  readonly #code: PtWhole<Found>["trace"]["code"];
  readonly #progress: PtWorkers["progress"];
  /** By thread: the places here of the thread's places. */
  readonly #placeOf: Int32Array[] = [];
  /** By thread: the objects here of the thread's objects. */
  readonly #objects: number[][] = [];
  #next = 0;
  /** Ranges that are being decoded. */
  #busy = 0;

  constructor(
    ranges: readonly PtRange[],
    join: PtJoin<Found, Joined>,
    most: number,
    { trace: { code } }: PtWhole<Found>,
    { progress }: PtWorkers,
  ) {
    this.#ranges = ranges;
    this.#join = join;
    this.#most = most;
    this.#code = code;
    this.#progress = progress;
  }

  get isEmpty(): boolean {
    return this.#next === this.#ranges.length;
  }

  /** The number of the next range; `undefined` if there is none, or decoded ranges have to be applied first. */
  deal(): number | undefined {
    // The range that decoded ones wait for may be one that nobody has taken.
    const hasRoom = this.#busy === 0 || this.#join.unapplied < this.#most;
    if (this.isEmpty || !hasRoom) return undefined;
    this.#busy++;
    return this.#next++;
  }

  /** Called after this thread has decoded a range. */
  decoded(): void {
    this.#busy--;
  }

  /** The range of a number. */
  of(number: number): PtRange {
    return this.#ranges[number] as PtRange;
  }

  next(): PtOrder | undefined {
    const number = this.deal();
    return number === undefined ? undefined : { number, range: this.of(number) };
  }

  found(part: PtRangePart<Found>, { number }: PtOrder, thread: number): void {
    const objects = this.#objects[thread] ??= [];
    const { places } = part;
    for (const object of places?.objects ?? []) objects.push(this.#code.numberOf(object));
    let placeOf = this.#placeOf[thread] ?? new Int32Array(0);
    if (places !== undefined && places.object.length > 0) {
      const more = this.#join.places(places, objects);
      const all = new Int32Array(placeOf.length + more.length);
      all.set(placeOf);
      all.set(more, placeOf.length);
      placeOf = all;
    }
    this.#placeOf[thread] = placeOf;
    this.#join.add(number, part, placeOf);
    this.#busy--;
    this.#progress?.(part.range.bytes);
  }
}

/** A part with what its places are called here. */
interface Placed<Found> {
  readonly part: PtRangePart<Found>;
  readonly placeOf: Int32Array;
}

/** A buffer whose parts are joined. */
interface Lane<Found, Joined> {
  readonly index: number;
  /** Its ranges, by number, in order. */
  readonly numbers: number[];
  /** The range that comes next: the one before it is `last`, which is joined when that one goes with it. */
  next: number;
  last: Placed<Found> | undefined;
  /** What decodes ranges again that do not go with the one before, and the range that it could go on with. */
  repair: PtRangeDecoder<Found> | undefined;
  repaired: number;
  /** What was joined and is still to be applied. */
  readonly joined: Joined[];
  /** Whether all was joined. */
  isWhole: boolean;
  /** Since when the step is that comes next, ns. */
  position: number;
}

/** Joins the results of all threads. */
class PtJoin<Found, Joined> {
  /** Decodes ranges in this thread. */
  readonly decoder: PtRangeDecoder<Found>;
  /** Ranges that are decoded and not applied. */
  unapplied = 0;
  readonly #whole: PtWhole<Found>;
  readonly #joiner: PtJoiner<Found, Joined>;
  readonly #counts = noPtCounts();
  readonly #found = new Map<number, Placed<Found>>();
  readonly #lanes: Lane<Found, Joined>[] = [];
  readonly #ranges: number;
  /** Places that are called the same. */
  #same = new Int32Array(0);
  #again = 0;

  constructor(
    whole: PtWhole<Found>,
    ranges: readonly PtRange[],
    joiner: PtJoiner<Found, Joined>,
  ) {
    this.#whole = whole;
    this.#joiner = joiner;
    this.#ranges = ranges.length;
    this.decoder = new PtRangeDecoder(whole);
    for (const index of whole.trace.aux.streams.filter(whole.wants).keys()) {
      this.#lanes.push({
        index,
        numbers: [],
        next: 0,
        last: undefined,
        repair: undefined,
        repaired: -1,
        joined: [],
        isWhole: false,
        position: -1,
      });
    }
    for (const [number, { buffer }] of ranges.entries()) this.#lanes[buffer]?.numbers.push(number);
  }

  /**
   * Takes what was found in a range.
   *
   * @param placeOf The place here of one of the thread; the same without it.
   */
  add(number: number, part: PtRangePart<Found>, placeOf?: Int32Array): void {
    const { code } = this.#whole.trace;
    for (const [path, why] of part.missing) {
      if (!code.missing.has(path)) code.missing.set(path, why);
    }
    code.kernelFile ??= part.kernelFile;
    this.unapplied++;
    this.#found.set(number, placeOf === undefined ? this.#here(part) : { part, placeOf });
  }

  /** The places here of those that another thread has met. */
  places(
    { object, address, time }: NonNullable<PtRangePart<Found>["places"]>,
    objects: number[],
  ): Int32Array {
    const { table } = this.#whole.trace.code;
    return object.map((of, i) =>
      table.of(of < 0 ? of : objects[of] as number, address[i] as number, time[i] as number)
    );
  }

  /** Joins and applies as far as what was found goes. */
  async go(): Promise<void> {
    for (const lane of this.#lanes) await this.#joinLane(lane);
    this.#apply();
  }

  /** What was decoded, when all is. */
  get found(): JoinedPt {
    return { counts: this.#counts, ranges: this.#ranges, again: this.#again };
  }

  /** A part that was found in this thread. */
  #here(part: PtRangePart<Found>): Placed<Found> {
    const { count } = this.#whole.trace.code.table;
    if (this.#same.length < count) {
      this.#same = Int32Array.from({ length: 2 * count }, (_, place) => place);
    }
    return { part, placeOf: this.#same };
  }

  /** Joins the parts of a buffer that follow each other. */
  async #joinLane(lane: Lane<Found, Joined>): Promise<void> {
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
        // Where one ended is not where the other began: this thread continues from there.
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

  async #join(lane: Lane<Found, Joined>, { part, placeOf }: Placed<Found>): Promise<void> {
    lane.joined.push(await this.#joiner.join(lane.index, part, placeOf));
    addPtCounts(this.#counts, part.counts);
  }

  /** Applies steps in the order in which one thread decodes: that of the buffer which is least far. */
  #apply(): void {
    for (;;) {
      let lane: Lane<Found, Joined> | undefined;
      for (const one of this.#lanes) {
        const isOver = one.isWhole && one.joined.length === 0;
        if (!isOver && (lane === undefined || one.position < lane.position)) lane = one;
      }
      const [joined] = lane?.joined ?? [];
      // The rest is not found yet.
      if (lane === undefined || joined === undefined) return;
      const position = this.#joiner.apply(lane.index, joined);
      if (position !== undefined) lane.position = position;
      else {
        lane.joined.shift();
        lane.position = this.#joiner.positionOf?.(lane.index) ?? lane.position;
        this.unapplied--;
      }
    }
  }
}

function isSame(a: readonly number[] | undefined, b: readonly number[] | undefined): boolean {
  return a !== undefined && a.length === b?.length && a.every((value, i) => value === b[i]);
}
