import { OutOfMemory } from "@perfdata/format/memory";
import { wantedBlocks } from "../any_order.ts";
import {
  type Consumer,
  Engine,
  type EngineOptions,
  type Workers,
  type WorkerThread,
} from "../engine.ts";
import type { RecordingIndex } from "../index/recording_index.ts";
import { joinParts, type Shareable, type ThreadPart } from "./part.ts";
import { BlockTaker } from "./block_taker.ts";
import type { Answer, ThreadTask } from "./serve_blocks.ts";

/** Blocks that another thread has before it asks for more. */
const AHEAD = 2;

/**
 * Has several threads take the blocks of a file: this one and others, each as many as it can. What they
 * found is joined into an engine and its consumer, as if one thread had read all of it.
 */
export async function runWorkers(
  engine: Engine,
  index: RecordingIndex,
  consumer: Shareable & Consumer,
  { jobs, path, start, about, make }: Workers,
  options: EngineOptions,
): Promise<void> {
  const { reader, recorded, described, past } = engine;
  const { filter = {}, progress } = options;
  const blocks = wantedBlocks(index, filter);
  let next = 0;
  const deal = (): number => {
    if (next === blocks.length) return -1;
    const { from, to } = blocks[next] as typeof blocks[number];
    progress?.(to - from);
    return next++;
  };
  const task: ThreadTask = {
    path,
    about,
    filter,
    blocks,
    past: index.historyPart(),
  };
  const others = Array.from(
    { length: Math.min(jobs - 1, blocks.length - 1) },
    () => new OtherThread(start(), task, deal),
  );
  try {
    const own = new Engine(reader, recorded, described, past);
    const taker = await BlockTaker.open(own, make(about as never), options);
    for (let number = deal(); number >= 0; number = deal()) {
      await taker.take(number, blocks[number] as typeof blocks[number]);
      await events();
    }
    const parts: ThreadPart[] = [taker.part()];
    for (const other of others) parts.push(await other.part);
    joinParts(engine, consumer, parts);
  } finally {
    for (const other of others) other.end();
  }
  reader.stats = index.stats;
}

/** Lets messages of other threads arrive. */
function events(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Another thread. */
class OtherThread {
  /** What it found. */
  readonly part: Promise<ThreadPart>;
  readonly #worker: WorkerThread;

  constructor(worker: WorkerThread, task: ThreadTask, deal: () => number) {
    this.#worker = worker;
    const part = Promise.withResolvers<ThreadPart>();
    this.part = part.promise;
    // It may fail before somebody asks.
    this.part.catch(() => {});
    worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      if (data.kind === "more") worker.postMessage(deal());
      else if (data.kind === "part") part.resolve(data.part);
      else part.reject(new (data.memory ? OutOfMemory : Error)(data.message));
    };
    worker.onerror = (event) => {
      event.preventDefault();
      part.reject(new Error(event.message));
    };
    worker.postMessage(task);
    for (let i = 0; i < AHEAD; i++) worker.postMessage(deal());
  }

  end(): void {
    this.#worker.terminate();
  }
}
