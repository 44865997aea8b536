import { type ByteSource, PerfDataReader } from "@perfdata/format";
import { OutOfMemory } from "@perfdata/format/memory";
import type { Consumer, Engine, EngineOptions } from "../engine.ts";
import type { BlockRange, HistoryPart } from "../index/recording_index.ts";
import type { SampleFilter } from "../samples/resolve.ts";
import { BlockTaker } from "./block_taker.ts";
import { buffersOf } from "./buffers.ts";
import { historyIndexOf, openEngine } from "./open_engine.ts";
import type { Shareable, StretchPart, ThreadTotals } from "./part.ts";

/** Input of a worker: the file, its past, and what to make from samples. */
export interface ThreadTask {
  /** The recording. */
  readonly path: string;
  /** What the maker of the consumer is given. */
  readonly about: unknown;
  /** Which samples count. */
  readonly filter: SampleFilter;
  /** What the past of the machine is made of. */
  readonly past: HistoryPart;
  /** Nodes of stacks that it keeps, about. */
  readonly keptNodes?: number | undefined;
}

/** Blocks that are dealt out to a thread, one after the other in the file. */
export interface Stretch {
  /** Its number among the stretches of the file. */
  readonly number: number;
  /** Its blocks. */
  readonly blocks: readonly BlockRange[];
}

/** Stretches that a thread has at a time, so that there is one to go on with. */
const AHEAD = 2;

/** What it answers: when it is ready for a stretch, what it found in one, what it counted in all. */
export type Answer =
  | { readonly kind: "more" }
  | { readonly kind: "part"; readonly stretch: number; readonly part: StretchPart }
  | { readonly kind: "end"; readonly totals: ThreadTotals }
  | {
    readonly kind: "error";
    readonly message: string;
    /** Whether it is one of memory. */
    readonly memory: boolean;
  };

/** How a thread makes something of blocks. */
export interface BlockService<About> {
  /** Opens a recording: of that path, or what the maker is given. */
  open(path: string, about: About): ByteSource;
  /** Makes the consumer. */
  make(about: About): Shareable & Consumer;
  /** Finds the code of objects, so that stacks are unwound. */
  unwind?(about: About, engine: Engine): ReturnType<NonNullable<EngineOptions["unwind"]>>;
}

/**
 * What the module of a thread calls: takes stretches of a file as they are dealt out, and answers with what it
 * found in them.
 */
export function serveBlocks<About>(service: BlockService<About>): void {
  const scope = globalThis as unknown as {
    onmessage: ((event: { data: ThreadTask | Stretch | "end" }) => void) | null;
    postMessage(message: Answer, transfer?: ArrayBuffer[]): void;
  };
  let taker: Promise<BlockTaker> | undefined;
  // One stretch after the other, in the order in which they were dealt out.
  let last: Promise<void> = Promise.resolve();
  let ended = false;
  const fail = (error: unknown) =>
    scope.postMessage({
      kind: "error",
      message: error instanceof Error ? error.message : String(error),
      memory: error instanceof OutOfMemory,
    });
  const take = async (stretch: Stretch | "end"): Promise<void> => {
    if (ended || taker === undefined) return;
    const own = await taker;
    if (stretch === "end") {
      ended = true;
      scope.postMessage({ kind: "end", totals: own.totals() });
      return;
    }
    const part = await own.take(stretch.blocks);
    scope.postMessage({ kind: "part", stretch: stretch.number, part }, [...buffersOf(part)]);
  };
  scope.onmessage = ({ data }) => {
    if (data === "end" || "blocks" in data) last = last.then(() => take(data)).catch(fail);
    else {
      taker = openTaker(service, data);
      taker.then(() => {
        for (let i = 0; i < AHEAD; i++) scope.postMessage({ kind: "more" });
      }, fail);
    }
  };
}

async function openTaker<About>(
  { open, make, unwind }: BlockService<About>,
  { path, about, filter, past, keptNodes }: ThreadTask,
): Promise<BlockTaker> {
  const source = open(path, about as About);
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  const engine = await openEngine(reader, historyIndexOf(past), () => {});
  return await BlockTaker.open(engine, () => make(about as About), {
    filter,
    ...(unwind === undefined ? {} : { unwind: (of) => unwind(about as About, of) }),
  }, keptNodes);
}
