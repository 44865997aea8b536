import { type Settleable, settleable } from "@perfdata/format/es2024";
import { OutOfMemory } from "@perfdata/format/memory";
import type { PerfDataReader } from "@perfdata/format";
import { BlockReader, readIndex, wantedBlocks } from "./any_order.ts";
import {
  type Consumer,
  type Engine,
  engineOf,
  type EngineOptions,
  type ThreadError,
  type ThreadMessage,
  type Workers,
  type WorkerThread,
} from "../engine.ts";
import { type IndexBlock, memoryOf, type RecordingIndex } from "../index/recording_index.ts";
import { openPass } from "../pass.ts";
import { Joiner, type Shareable, type StretchPart, type ThreadTotals } from "./part.ts";
import type { Answer, Stretch, ThreadTask } from "./serve_blocks.ts";
import { Turns } from "./turns.ts";

/** Maximum number of blocks in a stretch. */
const STRETCH = 16;
/** Stretches that this thread leaves behind, before others take those that are its share as well. */
const BEHIND = 2;

/**
 * Has several threads take a file, in stretches of blocks.
 *
 * This thread goes through the stretches in their order. Those that no other has taken it takes itself, right
 * into the engine and its consumer; of others it joins what was found, while they go on with the next.
 *
 * ```text
 * this thread   │ take 0 │join 1│ take 2 │join 3│ take 4 …
 * another one   │ take 1   │ take 3     │ take 5 …
 * ```
 */
export async function runWorkers(
  reader: PerfDataReader,
  about: Pick<Engine, "recorded" | "described">,
  consumer: Shareable & Consumer,
  workers: Workers,
  options: EngineOptions,
): Promise<Engine> {
  const { recorded, described } = about;
  // They load their code while the file is looked through.
  const threads = Array.from({ length: workers.jobs - 1 }, () => workers.start());
  try {
    const index = await readIndex(reader, [consumer], options);
    const engine = engineOf(reader, recorded, described, index);
    await takeStretches(engine, index, consumer, workers, threads, options);
    engine.places.finish();
    engine.stacks.seal();
    await consumer.finish?.();
    return engine;
  } finally {
    for (const thread of threads) thread.terminate();
  }
}

async function takeStretches(
  engine: Engine,
  index: RecordingIndex,
  consumer: Shareable & Consumer,
  { jobs, path, about, keptNodes }: Workers,
  threads: readonly WorkerThread[],
  options: EngineOptions,
): Promise<void> {
  const { reader } = engine;
  const { filter = {}, progress } = options;
  const blocks = wantedBlocks(index, filter);
  const size = Math.max(1, Math.min(STRETCH, Math.floor(blocks.length / (4 * jobs))));
  const stretches: IndexBlock[][] = [];
  for (let i = 0; i < blocks.length; i += size) stretches.push(blocks.slice(i, i + size));
  const shares = new Shares(stretches, jobs);
  const task: ThreadTask = { path, about, filter, past: index.historyPart(), keptNodes };
  const others = threads.slice(0, Math.max(0, stretches.length - 1)).map((thread) =>
    new OtherThread(thread, task, shares, new Joiner(engine, consumer))
  );
  const turns = new Turns();
  try {
    const pass = await openPass(engine, [consumer], options);
    const own = new BlockReader(reader);
    for (const [number, stretch] of stretches.entries()) {
      const thread = shares.takerOf(number);
      if (thread !== undefined) {
        thread.joiner.join(await thread.part(number));
        await turns.next();
      }
      for (const block of stretch) {
        if (thread === undefined) {
          await own.read(block, (run) => pass.take(run));
          await turns.next();
        }
        progress?.(block.to - block.from);
      }
    }
    const { leftOut, userChains } = pass.resolver;
    engine.leftOut = leftOut;
    engine.unjoined = userChains.unjoined;
    for (const { totals, joiner } of others) joiner.finish(await totals);
  } finally {
    turns.end();
  }
  reader.stats = index.stats;
}

/** Who takes which stretch. */
class Shares {
  readonly #stretches: readonly (readonly IndexBlock[])[];
  readonly #takers: (OtherThread | null | undefined)[];
  readonly #jobs: number;
  /** The stretch that is dealt out next, if it is not this thread's. */
  #next = 0;
  /** Stretches before it that were left to this thread, and not taken yet. */
  #left = 0;

  constructor(stretches: readonly (readonly IndexBlock[])[], jobs: number) {
    this.#stretches = stretches;
    this.#takers = new Array(stretches.length).fill(undefined);
    this.#jobs = jobs;
  }

  /** The next stretch of another thread, in the order of the file. */
  deal(to: OtherThread): Stretch | "end" {
    const takers = this.#takers;
    for (; this.#next < takers.length; this.#next++) {
      if (takers[this.#next] !== undefined) continue;
      if (this.#next % this.#jobs !== 0 || this.#left >= BEHIND) {
        takers[this.#next] = to;
        const number = this.#next++;
        return { number, blocks: this.#stretches[number] ?? [] };
      }
      this.#left++;
    }
    return "end";
  }

  /** Who has taken a stretch; if nobody has, it is this thread's now. */
  takerOf(stretch: number): OtherThread | undefined {
    const taker = this.#takers[stretch];
    if (taker !== undefined) return taker ?? undefined;
    this.#takers[stretch] = null;
    if (stretch < this.#next) this.#left--;
    return undefined;
  }
}

/** Another thread. */
class OtherThread {
  /** Joins what it finds. */
  readonly joiner: Joiner;
  /** What it counted. */
  readonly totals: Promise<ThreadTotals>;
  readonly #parts = new Map<number, Settleable<StretchPart>>();
  readonly #failed: (error: Error) => void;
  #error: Error | undefined;

  constructor(worker: WorkerThread, task: ThreadTask, shares: Shares, joiner: Joiner) {
    this.joiner = joiner;
    const totals = settleable<ThreadTotals>();
    this.totals = totals.promise;
    // It may fail before somebody asks.
    this.totals.catch(() => {});
    this.#failed = totals.reject;
    worker.onmessage = ({ data }: ThreadMessage<Answer>) => {
      if (data.kind === "more") this.#deal(worker, shares);
      else if (data.kind === "part") {
        this.#parts.get(data.stretch)?.resolve(data.part);
        this.#deal(worker, shares);
      } else if (data.kind === "end") totals.resolve(data.totals);
      else this.#fail(new (data.memory ? OutOfMemory : Error)(data.message));
    };
    worker.onerror = (event: ThreadError) => {
      event.preventDefault();
      this.#fail(new Error(event.message));
    };
    worker.postMessage(task);
  }

  /** What it found in a stretch that it has taken. */
  async part(stretch: number): Promise<StretchPart> {
    if (this.#error !== undefined) throw this.#error;
    const part = await this.#parts.get(stretch)?.promise;
    this.#parts.delete(stretch);
    return part as StretchPart;
  }

  #deal(worker: WorkerThread, shares: Shares): void {
    const stretch = shares.deal(this);
    if (stretch === "end") return worker.postMessage(stretch);
    const part = settleable<StretchPart>();
    part.promise.catch(() => {});
    this.#parts.set(stretch.number, part);
    const blocks = stretch.blocks.map(({ from, to, first, round, resume }) => ({
      from,
      to,
      first,
      round,
      resume,
    }));
    worker.postMessage({ ...stretch, blocks }, {
      transfer: stretch.blocks.flatMap((block) => [...memoryOf(block)]),
    });
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#failed(error);
    for (const part of this.#parts.values()) part.reject(error);
  }
}
