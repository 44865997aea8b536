// Uses Deno's workers, files and standard output; most of this package runs in any JavaScript runtime.
/**
 * The one way in which several threads work on a recording: the first one orders and resolves, and fills
 * blocks of shared memory; the others, and the first where they cannot keep up, make text of them and
 * write it to standard output, in the order of the blocks.
 *
 * @module
 */
import { PerfDataReader } from "@perfdata/format";
import { writeStdout } from "@perfdata/format/file-sink";
import { fileSource } from "@perfdata/format/file-source";
import { Blocks, type BlockTarget, type SharedBlocks, StoppedError } from "./blocks.ts";

/** Makes text of blocks. */
export interface BlockText {
  /** Writes the text of block `n`, in pieces that are valid during the call only. */
  put(n: number, write: (text: Uint8Array) => void): void;
}

/** Gets ready to make text of the blocks of a file. */
export type MakeBlockText<About> = (
  reader: PerfDataReader,
  about: About,
  blocks: Blocks,
) => BlockText | Promise<BlockText>;

/** What a thread is given: the blocks, the file, and what else its text depends on. */
interface BlockTask<About> {
  readonly shared: SharedBlocks;
  readonly path: string;
  /** The file's size at the start: it may be one that is still written. */
  readonly fileSize: number;
  readonly about: About;
}

/** What a thread answers: that all blocks are empty, or why they are not. */
type Answer =
  | { readonly kind: "done" }
  | { readonly kind: "stopped" }
  | { readonly kind: "error"; readonly message: string; readonly isBrokenPipe: boolean };

/** Which file several threads make text of, and how. */
export interface BlockWork<About, Result> {
  /** The file; what is wrong with it is reported once, by this reader. */
  readonly reader: PerfDataReader;
  /** The same file: each thread opens it for itself. */
  readonly path: string;
  /** Its size. */
  readonly fileSize: number;
  /** How many threads, this one included. */
  readonly jobs: number;
  /** Bytes of a block. */
  readonly blockBytes: number;
  /** Bytes that a block is handed over with, at least; the filler's choice by default. */
  readonly full?: number | undefined;
  /** Starts another thread: a module that calls {@linkcode emptyBlocks}. */
  readonly start: () => Worker;
  /** What the text depends on, besides the file: what can be sent to another thread. */
  readonly about: About;
  /** Gets ready to make text of blocks in this thread. */
  readonly make: MakeBlockText<About>;
  /** Fills all blocks in this thread, and closes them. */
  fill(target: BlockTarget): Promise<Result>;
}

/** Blocks that wait to be written: threads are now faster, now slower. */
const WAITING = 16;

/**
 * Writes the text of a file to standard output, by several threads. Runs on Deno.
 *
 * @returns What `fill` returned.
 * @throws {Error} What went wrong in one of them.
 */
export async function shareBlocks<About, Result>(work: BlockWork<About, Result>): Promise<Result> {
  const { reader, path, fileSize, jobs, full, about } = work;
  const blocks = Blocks.of(WAITING + 2 * jobs, work.blockBytes);
  const task: BlockTask<About> = { shared: blocks.shared, path, fileSize, about };
  const threads = Array.from({ length: jobs - 1 }, () => new BlockThread(work.start(), task));
  let result: Result | undefined;
  try {
    const empty = emptier(blocks, await work.make(reader, about, blocks));
    const help = (n: number): boolean => {
      if (n >= 0) empty(n);
      return n >= 0;
    };
    try {
      result = await work.fill({
        memory: (n) => blocks.memory(n),
        room: () => blocks.room(() => help(blocks.tryClaim())),
        fill: () => blocks.fill(),
        close: () => blocks.close(),
        ...(full === undefined ? {} : { full }),
      });
      while (help(blocks.claim()));
    } catch (error) {
      // Why it stopped is what the thread that failed answers.
      if (!(error instanceof StoppedError)) throw error;
      result = undefined;
    }
    const areDone = await Promise.all(threads.map(({ isDone }) => isDone));
    if (areDone.includes(false)) result = undefined;
  } finally {
    blocks.stop();
    for (const thread of threads) thread.end();
  }
  if (result === undefined) throw new Error("the file changed while it was read");
  return result;
}

/** Writes the text of a block when it is its turn. */
function emptier(blocks: Blocks, text: BlockText): (n: number) => void {
  return (n) => {
    text.put(n, (bytes) => {
      blocks.turn(n);
      writeStdout(bytes);
    });
    blocks.empty(n);
  };
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
 * @param make Gets ready to make text of them.
 */
export function emptyBlocks<About>(make: MakeBlockText<About>): void {
  const scope = globalThis as unknown as {
    onmessage: (event: { data: BlockTask<About> }) => void;
    postMessage(message: Answer): void;
  };
  scope.onmessage = async ({ data: { shared, path, fileSize, about } }) => {
    const blocks = new Blocks(shared);
    try {
      // Damage is reported by the thread that fills the blocks.
      const reader = await PerfDataReader.open({ ...fileSource(path), size: fileSize }, {
        diagnostics: () => {},
      });
      const empty = emptier(blocks, await make(reader, about, blocks));
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
