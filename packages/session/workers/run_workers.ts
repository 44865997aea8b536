import type { Consumer } from "../engine/engine_consumer.ts";
import { type Engine, engineOf } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import { openPass } from "../engine/pass.ts";
import {
  type BlockRange,
  type IndexBlock,
  memoryOf,
  type RecordingIndex,
} from "../index/recording_index.ts";
import { BlockReader, readIndex, wantedBlocks } from "../reading/blocks.ts";
import type { Reading } from "../reading/strategy.ts";
import { Joiner, type Shareable, type StretchPart, type ThreadTotals } from "./part.ts";
import { Pool, type PoolQueue } from "./pool.ts";
import type { Stretch } from "./block_taker.ts";
import type { ThreadTask } from "./serve_blocks.ts";
import type { Workers } from "./thread.ts";

/** Maximum number of blocks in a stretch. */
const STRETCH = 16;
/** Stretches that another thread has at a time, so that it need not wait for the next one. */
const AHEAD = 2;
/** Number of skipped stretches of this thread from which on others read its share, too. */
const BEHIND = 2;

type BlockPool = Pool<ThreadTask, Stretch, StretchPart, ThreadTotals>;

/**
 * Reads samples in any order by several threads, which read stretches of blocks.
 *
 * This thread goes through the stretches in the order of the file. It reads a free stretch itself,
 * into the engine and its consumer. Results of a stretch of another thread are joined, while that
 * thread continues.
 *
 * ```text
 * this thread   │ read 0 │join 1│ read 2 │join 3│ read 4 …
 * other thread  │ read 1   │ read 3     │ read 5 …
 * ```
 */
export async function readWithWorkers(
  { reader, recorded, described, options }: Reading,
  consumer: Shareable & Consumer,
  workers: Workers,
): Promise<Engine> {
  using pool: BlockPool = new Pool(workers.jobs - 1, workers.start);
  const index = await readIndex(reader, [consumer], options);
  const stretches = stretchesOf(index, workers, options);
  const shares = new Shares(stretches, workers.jobs);
  // Other threads make their history while this one makes its own.
  begin(pool, index, { stretches, shares, workers, options });
  const engine = engineOf(reader, recorded, described, index);
  await takeStretches(engine, consumer, { pool, shares, stretches, workers, options });
  reader.stats = index.stats;
  return engine;
}

/** Threads, and the stretches that they share. */
interface SharedWork {
  readonly stretches: readonly (readonly IndexBlock[])[];
  readonly shares: Shares;
  readonly workers: Workers;
  readonly options: EngineOptions;
}

function stretchesOf(
  index: RecordingIndex,
  { jobs }: Workers,
  { filter = {} }: EngineOptions,
): IndexBlock[][] {
  const blocks = wantedBlocks(index, filter);
  const size = Math.max(1, Math.min(STRETCH, Math.floor(blocks.length / (4 * jobs))));
  const stretches: IndexBlock[][] = [];
  for (let i = 0; i < blocks.length; i += size) stretches.push(blocks.slice(i, i + size));
  return stretches;
}

function begin(
  pool: BlockPool,
  index: RecordingIndex,
  { stretches, shares, workers: { path, about, keptNodes }, options: { filter = {} } }: SharedWork,
): void {
  const task: ThreadTask = { path, about, filter, past: index.historyPart(), keptNodes };
  pool.begin(task, shares, {
    ahead: AHEAD,
    transfer: ({ number }) => (stretches[number] ?? []).flatMap((block) => [...memoryOf(block)]),
  });
}

async function takeStretches(
  engine: Engine,
  consumer: Shareable & Consumer,
  { pool, shares, stretches, workers: { jobs }, options }: SharedWork & {
    readonly pool: BlockPool;
  },
): Promise<void> {
  const joiners = Array.from({ length: jobs - 1 }, () => new Joiner(engine, consumer));
  const pass = await openPass(engine, [consumer], options);
  const own = new BlockReader(engine.reader);
  for (const [number, stretch] of stretches.entries()) {
    const thread = shares.takerOf(number);
    if (thread !== undefined) {
      joiners[thread]?.join(await pool.until(() => shares.partOf(number)));
      await pool.turn();
    }
    for (const block of stretch) {
      if (thread === undefined) {
        await own.read(block, (run) => pass.take(run));
        await pool.turn();
      }
      options.progress?.(block.to - block.from);
    }
  }
  pass.end();
  for (const [thread, totals] of await pool.totals()) joiners[thread]?.finish(totals);
}

/** Assigns stretches to threads. */
class Shares implements PoolQueue<Stretch, StretchPart> {
  readonly #stretches: readonly (readonly IndexBlock[])[];
  /** The thread of each stretch: its index, or "this" thread. */
  readonly #takers: (number | "this" | undefined)[];
  /** Results that are not joined yet, by stretch. */
  readonly #parts = new Map<number, StretchPart>();
  readonly #jobs: number;
  /** The next stretch to deal out, unless it is left to this thread. */
  #next = 0;
  /** Number of earlier stretches that are left to this thread and still free. */
  #left = 0;

  constructor(stretches: readonly (readonly IndexBlock[])[], jobs: number) {
    this.#stretches = stretches;
    this.#takers = new Array(stretches.length).fill(undefined);
    this.#jobs = jobs;
  }

  get isEmpty(): boolean {
    const takers = this.#takers;
    while (this.#next < takers.length && takers[this.#next] !== undefined) this.#next++;
    return this.#next === takers.length;
  }

  /** The next stretch for another thread, in the order of the file. */
  next(thread: number): Stretch | undefined {
    const takers = this.#takers;
    for (; !this.isEmpty; this.#next++) {
      if (this.#next % this.#jobs !== 0 || this.#left >= BEHIND) {
        const number = this.#next++;
        takers[number] = thread;
        const blocks = (this.#stretches[number] ?? []).map(rangeOf);
        return { number, blocks };
      }
      this.#left++;
    }
    return undefined;
  }

  found(part: StretchPart, { number }: Stretch): void {
    this.#parts.set(number, part);
  }

  /**
   * The index of the thread that reads a stretch; `undefined` if it was free, so that this thread
   * reads it.
   */
  takerOf(stretch: number): number | undefined {
    const taker = this.#takers[stretch];
    if (taker !== undefined) return taker === "this" ? undefined : taker;
    this.#takers[stretch] = "this";
    if (stretch < this.#next) this.#left--;
    return undefined;
  }

  /**
   * Returns the result of another thread's stretch, and removes it; `undefined` if it is not
   * finished.
   */
  partOf(stretch: number): StretchPart | undefined {
    const part = this.#parts.get(stretch);
    this.#parts.delete(stretch);
    return part;
  }
}

/** The fields of a block that another thread needs. */
function rangeOf({ from, to, first, round, resume }: IndexBlock): BlockRange {
  return { from, to, first, round, resume };
}
