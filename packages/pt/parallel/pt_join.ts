import { JoinedPlaces, Pool, type PoolQueue, type WorkerThread } from "@perfdata/session";
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
/** Minimum size of a range, because a part before it is decoded as well. */
const LEAST_RANGE = 1 << 18;
/** Number of ranges per thread, so that all threads finish at about the same time. */
const SHARES = 8;
/** Number of ranges that a thread has at a time, so that it need not wait for the next one. */
const AHEAD = 2;

/** Threads that decode ranges in parallel. */
export interface PtWorkers {
  /** Number of threads, including this one. */
  readonly jobs: number;
  /** Starts a thread: a module that calls `servePt`. */
  readonly start: () => WorkerThread;
  /** Inputs for opening the recording, in a form that can be sent to another thread. */
  readonly about: unknown;
  /** Approximate size of a range in bytes; by default, it depends on the size of the trace. */
  readonly rangeBytes?: number | undefined;
  /** Called with the bytes that were decoded since the last call. */
  readonly progress?: (bytes: number) => Promise<void> | void;
}

/** Joins the results of ranges. */
export interface PtJoiner<Found, Joined> {
  /** Maximum number of waiting ranges per thread, if their results are large. */
  readonly waiting?: number;
  /**
   * Joins the next part of a buffer, as far as it is independent of other buffers.
   *
   * @param placeOf Places here, by places of the thread.
   * @returns The rest, to be applied in the order in which one thread decodes.
   */
  join(
    index: number,
    part: PtRangePart<Found>,
    placeOf: Int32Array,
  ): Promise<Joined> | Joined;
  /**
   * Applies the joined part of a buffer up to its next step.
   *
   * @returns The position of that step in ns; `undefined` at the end of the part.
   */
  apply(index: number, joined: Joined): number | undefined;
  /**
   * The position of a buffer in ns after all of a part is applied; by default, that of its last
   * step.
   */
  positionOf?(index: number): number;
}

/** Figures of decoding with several threads. */
export interface JoinedPt {
  /** Figures. */
  readonly counts: PtCounts;
  /** Number of ranges. */
  readonly ranges: number;
  /**
   * Number of ranges whose start did not match the end of the previous range, and which were
   * decoded again.
   */
  readonly again: number;
}

/**
 * Decodes a recording by several threads. Each decodes ranges of buffers, from one PSB to another,
 * and the results are joined in the order of a single thread.
 *
 * ```text
 * buffer of CPU 0   │ range 0 ├PSB┤ range 1 ├PSB┤ range 2 …
 * buffer of CPU 1   │ range 0 ├PSB┤ range 1 …
 *                      any thread     any other
 * ```
 *
 * A thread begins a little before its range, so that clocks and mode are known at the start of the
 * range. If they differ from those at the end of the previous range, the range is decoded again
 * from there.
 *
 * @returns `undefined` if one thread has to decode the trace: there is only one range; code of JIT
 * compilers depends on the time of its first use; or times are too sparse to tell the running
 * threads.
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

/** The ranges that are still to be decoded, and the receiver of other threads' results. */
class RangeQueue<Found, Joined> implements PoolQueue<PtOrder, PtRangePart<Found>> {
  readonly #ranges: readonly PtRange[];
  readonly #join: PtJoin<Found, Joined>;
  /** Maximum number of decoded ranges that wait to be applied. */
  readonly #most: number;
  readonly #code: PtWhole<Found>["trace"]["code"];
  readonly #progress: PtWorkers["progress"];
  /** Places here of each thread's places. */
  readonly #placesOf: JoinedPlaces[] = [];
  #next = 0;
  /** Number of ranges that are being decoded. */
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

  /**
   * The number of the next range; `undefined` if there is none, or if decoded ranges have to be
   * applied first.
   */
  deal(): number | undefined {
    // Decoded ranges may wait for one that is not dealt out yet, so deal one if no thread is busy.
    const hasRoom = this.#busy === 0 || this.#join.unapplied < this.#most;
    if (this.isEmpty || !hasRoom) return undefined;
    this.#busy++;
    return this.#next++;
  }

  /** Called after this thread has decoded a range. */
  decoded(): void {
    this.#busy--;
  }

  of(number: number): PtRange {
    return this.#ranges[number] as PtRange;
  }

  next(): PtOrder | undefined {
    const number = this.deal();
    return number === undefined ? undefined : { number, range: this.of(number) };
  }

  found(part: PtRangePart<Found>, { number }: PtOrder, thread: number): void {
    const places = this.#placesOf[thread] ??= new JoinedPlaces();
    if (part.places !== undefined) places.join(this.#code.places, part.places);
    this.#join.add(number, part, places.place);
    this.#busy--;
    this.#progress?.(part.range.bytes);
  }
}

interface Placed<Found> {
  readonly part: PtRangePart<Found>;
  readonly placeOf: Int32Array;
}

/** A buffer whose parts are joined. */
interface Lane<Found, Joined> {
  readonly index: number;
  /** Numbers of its ranges, in order. */
  readonly numbers: number[];
  /** The next range. `last` is the range before it, which is joined after the two were compared. */
  next: number;
  last: Placed<Found> | undefined;
  /**
   * Decodes ranges again whose start does not match the end of the range before; and the range at
   * which it ended.
   */
  repair: PtRangeDecoder<Found> | undefined;
  repaired: number;
  /** Joined parts that are still to be applied. */
  readonly joined: Joined[];
  /** Whether all parts were joined. */
  isWhole: boolean;
  /** Start time of the next step in ns. */
  position: number;
}

/** Joins the results of all threads. */
class PtJoin<Found, Joined> {
  readonly decoder: PtRangeDecoder<Found>;
  /** Number of ranges that are decoded but not applied. */
  unapplied = 0;
  readonly #whole: PtWhole<Found>;
  readonly #joiner: PtJoiner<Found, Joined>;
  readonly #counts = noPtCounts();
  readonly #found = new Map<number, Placed<Found>>();
  readonly #lanes: Lane<Found, Joined>[] = [];
  readonly #ranges: number;
  /** Places of this thread, which have the same numbers here. */
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
   * Adds the result of a range.
   *
   * @param placeOf Places here, by places of the thread; by default, they are the same.
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

  /** Joins and applies all results whose predecessors are there. */
  async go(): Promise<void> {
    for (const lane of this.#lanes) await this.#joinLane(lane);
    this.#apply();
  }

  /** The figures, after all ranges are applied. */
  get found(): JoinedPt {
    return { counts: this.#counts, ranges: this.#ranges, again: this.#again };
  }

  /** A part that this thread decoded. */
  #here(part: PtRangePart<Found>): Placed<Found> {
    const { count } = this.#whole.trace.code.places;
    if (this.#same.length < count) {
      this.#same = Int32Array.from({ length: 2 * count }, (_, place) => place);
    }
    return { part, placeOf: this.#same };
  }

  /** Joins consecutive parts of a buffer. */
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
        // The end of one range does not match the start of the next, so this thread continues from
        // there.
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

  /**
   * Applies steps in the order in which one thread decodes: first the buffer with the lowest
   * position.
   */
  #apply(): void {
    for (;;) {
      let lane: Lane<Found, Joined> | undefined;
      for (const one of this.#lanes) {
        const isOver = one.isWhole && one.joined.length === 0;
        if (!isOver && (lane === undefined || one.position < lane.position)) lane = one;
      }
      const [joined] = lane?.joined ?? [];
      // The next part is not decoded yet.
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
