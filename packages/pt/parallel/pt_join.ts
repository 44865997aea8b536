import { settleable } from "@perfdata/format/es2024";
import { OutOfMemory } from "@perfdata/format/memory";
import type { ThreadError, ThreadMessage, WorkerThread } from "@perfdata/session/engine";
import { Turns } from "@perfdata/session/workers";
import {
  type PtRange,
  PtRangeDecoder,
  type PtRangePart,
  ptRanges,
  type PtWhole,
} from "./pt_ranges.ts";
import { addPtCounts, noPtCounts, type PtCounts } from "../decode/pt_run.ts";
import { hasSparseTurns } from "../decode/pt_turns.ts";
import type { PtAnswer, PtTask } from "./serve_pt.ts";

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
  if ((whole.sideband.recorded?.jitdumpCount ?? 0) > 0) return undefined;
  if (hasSparseTurns(whole.trace, whole.sideband)) return undefined;
  const { jobs, rangeBytes } = workers;
  const size = whole.trace.streams.filter(whole.wants)
    .reduce((sum, { pieces }) => sum + pieces.reduce((n, piece) => n + piece.size, 0), 0);
  const bytes = rangeBytes ??
    Math.max(LEAST_RANGE, Math.min(RANGE, Math.floor(size / (SHARES * jobs))));
  const ranges = await ptRanges(whole, bytes);
  if (ranges.length < 2) return undefined;
  const join = new PtJoin(whole, ranges, joiner);
  const most = (joiner.waiting ?? Infinity) * jobs;
  const queue = new RangeQueue(ranges, () => join.unapplied < most);
  const others = Array.from(
    { length: Math.min(jobs, ranges.length) - 1 },
    () => new OtherThread(workers, queue, join, whole),
  );
  const turns = new Turns();
  try {
    while (!queue.isEmpty) {
      const number = queue.take();
      if (number === undefined) await queue.changed();
      else {
        const range = queue.of(number);
        join.add(number, await join.decoder.decode(range));
        queue.taken();
        await turns.next();
        await workers.progress?.(range.bytes);
      }
      await join.go();
      for (const other of others) other.check();
    }
    for (const other of others) await other.done();
    await join.go();
    return join.found;
  } finally {
    turns.end();
    for (const other of others) other.end();
  }
}

/** Ranges that no thread has taken yet. */
class RangeQueue {
  readonly #ranges: readonly PtRange[];
  readonly #hasRoom: () => boolean;
  #next = 0;
  /** Ranges that somebody decodes. */
  #busy = 0;
  #change = settleable<void>();

  /** @param hasRoom Whether what is found next may wait for its turn. */
  constructor(ranges: readonly PtRange[], hasRoom: () => boolean) {
    this.#ranges = ranges;
    this.#hasRoom = hasRoom;
  }

  /** Whether all are taken. */
  get isEmpty(): boolean {
    return this.#next === this.#ranges.length;
  }

  /** The number of the next one; nothing where others have to be applied first. */
  take(): number | undefined {
    // What all others wait for may be one that nobody has taken.
    if (this.isEmpty || (this.#busy > 0 && !this.#hasRoom())) return undefined;
    this.#busy++;
    return this.#next++;
  }

  /** A range is decoded. */
  taken(): void {
    this.#busy--;
    this.wake();
  }

  /** The range of a number. */
  of(number: number): PtRange {
    return this.#ranges[number] as PtRange;
  }

  /** Waits until another thread has answered. */
  changed(): Promise<void> {
    return this.#change.promise;
  }

  /** Says that one has. */
  wake(): void {
    this.#change.resolve();
    this.#change = settleable();
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
    for (const index of whole.trace.streams.filter(whole.wants).keys()) {
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
    const { code } = this.#whole;
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

  /** What was decoded, when all is. */
  get found(): JoinedPt {
    return { counts: this.#counts, ranges: this.#ranges, again: this.#again };
  }

  /** A part that was found in this thread. */
  #here(part: PtRangePart<Found>): Placed<Found> {
    const { count } = this.#whole.code.table;
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

/** Another thread. */
class OtherThread<Found, Joined> {
  readonly #worker: WorkerThread;
  readonly #queue: RangeQueue;
  readonly #done = settleable<void>();
  /** The places and objects here of those there. */
  #placeOf = new Int32Array(0);
  readonly #objects: number[] = [];
  /** Ranges that it has, once it is ready for any. */
  #left = 0;
  #isReady = false;
  #failed: unknown;

  constructor(
    { start, about, progress }: PtWorkers,
    queue: RangeQueue,
    join: PtJoin<Found, Joined>,
    whole: PtWhole<Found>,
  ) {
    this.#queue = queue;
    this.#worker = start();
    // It may fail before somebody asks.
    this.#done.promise.catch(() => {});
    const fail = (error: Error) => {
      this.#failed = error;
      this.#done.reject(error);
      queue.wake();
    };
    this.#worker.onmessage = ({ data }: ThreadMessage<PtAnswer>) => {
      if (data.kind === "error") {
        return fail(new (data.memory ? OutOfMemory : Error)(data.message));
      }
      if (data.kind === "ready") this.#isReady = true;
      else {
        const { number } = data;
        const part = data.part as PtRangePart<Found>;
        this.#left--;
        const { places } = part;
        for (const object of places?.objects ?? []) {
          this.#objects.push(whole.code.numberOf(object));
        }
        if (places !== undefined && places.object.length > 0) {
          const placeOf = new Int32Array(this.#placeOf.length + places.object.length);
          placeOf.set(this.#placeOf);
          placeOf.set(join.places(places, this.#objects), this.#placeOf.length);
          this.#placeOf = placeOf;
        }
        join.add(number, part, this.#placeOf);
        queue.taken();
        progress?.(part.range.bytes);
      }
      this.#deal();
      if (this.#left === 0 && queue.isEmpty) this.#done.resolve();
    };
    this.#worker.onerror = (event: ThreadError) => {
      event.preventDefault();
      fail(new Error(event.message));
    };
    const task: PtTask = { about };
    this.#worker.postMessage(task);
  }

  /**
   * Deals it what there is room for.
   *
   * @throws {Error} If it has failed.
   */
  check(): void {
    if (this.#failed !== undefined) throw this.#failed;
    this.#deal();
  }

  /** All that it has taken is found: nothing, where it was not ready before others had taken all. */
  async done(): Promise<void> {
    if (this.#left > 0) await this.#done.promise;
  }

  #deal(): void {
    while (this.#isReady && this.#left < AHEAD) {
      const number = this.#queue.take();
      if (number === undefined) return;
      this.#left++;
      const task: PtTask = { number, range: this.#queue.of(number) };
      this.#worker.postMessage(task);
    }
  }

  end(): void {
    this.#worker.terminate();
  }
}
