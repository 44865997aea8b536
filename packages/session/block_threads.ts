// Uses Deno's workers; most of this package runs in any JavaScript runtime.
/**
 * The one way in which several threads work on a recording: the first one orders and resolves, and fills
 * blocks of shared memory; the others, and the first where they cannot keep up, empty them.
 *
 * @module
 */
import { Blocks, type SharedBlocks, StoppedError } from "./blocks.ts";

/** What a thread is given: the blocks, and what its consumer needs to know. */
export interface BlockTask<About> {
  /** Where the blocks are. */
  readonly shared: SharedBlocks;
  /** What can be sent to another thread. */
  readonly about: About;
}

/** What a thread answers: that all blocks are empty, or why they are not. */
type Answer =
  | { readonly kind: "done" }
  | { readonly kind: "stopped" }
  | { readonly kind: "error"; readonly message: string; readonly isBrokenPipe: boolean };

/** What is to be done by several threads. */
export interface BlockWork<About, Result> {
  /** The blocks. */
  readonly blocks: Blocks;
  /** How many threads, besides this one. */
  readonly others: number;
  /** Starts one: a module that calls {@link emptyBlocks}. */
  readonly start: () => Worker;
  /** What they need to know. */
  readonly about: About;
  /**
   * Fills all blocks in this thread, and closes them.
   *
   * @param room Gives the next block to fill, as `Blocks.room` does; this thread empties others while
   * there is none.
   */
  fill(room: () => number): Promise<Result>;
  /** Empties block `n` in this thread. */
  empty(n: number): void;
}

/**
 * Does some work by several threads.
 *
 * @returns What `fill` returned; `undefined` where a thread has stopped without an error.
 * @throws {Error} What went wrong in one of them.
 */
export async function shareBlocks<About, Result>(
  { blocks, others, start, about, fill, empty }: BlockWork<About, Result>,
): Promise<Result | undefined> {
  const help = (n: number): boolean => {
    if (n >= 0) empty(n);
    return n >= 0;
  };
  const task: BlockTask<About> = { shared: blocks.shared, about };
  const threads = Array.from({ length: others }, () => new BlockThread(start(), task));
  try {
    let result: Result | undefined;
    try {
      result = await fill(() => blocks.room(() => help(blocks.tryClaim())));
      while (help(blocks.claim()));
    } catch (error) {
      if (!(error instanceof StoppedError)) throw error;
      result = undefined;
    }
    const areDone = await Promise.all(threads.map(({ isDone }) => isDone));
    return areDone.includes(false) ? undefined : result;
  } finally {
    blocks.stop();
    for (const thread of threads) thread.end();
  }
}

/** Another thread. */
class BlockThread {
  /** Whether all is done: not where it stopped because another one failed. */
  readonly isDone: Promise<boolean>;
  readonly #worker: Worker;

  constructor(worker: Worker, task: BlockTask<unknown>) {
    this.#worker = worker;
    this.#worker.postMessage(task);
    const isDone = Promise.withResolvers<boolean>();
    this.#worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      if (data.kind === "error") {
        isDone.reject(
          data.isBrokenPipe ? new Deno.errors.BrokenPipe(data.message) : new Error(data.message),
        );
      } else {
        isDone.resolve(data.kind === "done");
      }
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      isDone.reject(new Error(event.message));
    };
    this.isDone = isDone.promise;
    // It may fail before somebody asks.
    this.isDone.catch(() => {});
  }

  end(): void {
    this.#worker.terminate();
  }
}

/**
 * What the module of a thread calls: empties blocks until there are no more.
 *
 * @param prepare Makes what empties block `n`.
 */
export function emptyBlocks<About>(
  prepare: (about: About, blocks: Blocks) => Promise<(n: number) => void>,
): void {
  const scope = globalThis as unknown as {
    onmessage: (event: { data: BlockTask<About> }) => void;
    postMessage(message: Answer): void;
  };
  scope.onmessage = async ({ data: { shared, about } }) => {
    const blocks = new Blocks(shared);
    try {
      const empty = await prepare(about, blocks);
      for (let n = blocks.claim(); n >= 0; n = blocks.claim()) empty(n);
      scope.postMessage({ kind: "done" });
    } catch (error) {
      blocks.stop();
      scope.postMessage(
        error instanceof StoppedError ? { kind: "stopped" } : {
          kind: "error",
          message: error instanceof Error ? error.message : String(error),
          isBrokenPipe: error instanceof Deno.errors.BrokenPipe,
        },
      );
    }
  };
}
