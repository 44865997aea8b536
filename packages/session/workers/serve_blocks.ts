import type { ByteSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import type { Consumer } from "../engine/engine_consumer.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import type { HistoryPart } from "../index/recording_index.ts";
import type { SampleFilter } from "../samples/resolve.ts";
import { BlockTaker } from "./block_taker.ts";
import { historyIndexOf, openEngine } from "./open_engine.ts";
import type { Shareable } from "./part.ts";
import { servePool } from "./pool.ts";

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

/** How a thread makes something of blocks. */
export interface BlockService<About> {
  /** Opens a recording: of that path, or what the maker is given. */
  open(path: string, about: About): ByteSource;
  /** Makes the consumer. */
  make(about: About): Shareable & Consumer;
  /** Finds the code of objects, so that stacks are unwound. */
  unwind?(about: About, engine: Engine): ReturnType<NonNullable<EngineOptions["unwind"]>>;
}

/** Serves the threads of `readWithWorkers` in a worker's module: reads stretches of a file as they are dealt out. */
export function serveBlocks<About>(service: BlockService<About>): void {
  servePool((task: ThreadTask) => openTaker(service, task));
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
