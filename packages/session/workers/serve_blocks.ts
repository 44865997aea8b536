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

/** Task of a worker: the file, its history, and the consumer to make. */
export interface ThreadTask {
  /** The recording. */
  readonly path: string;
  /** Argument of the consumer's maker. */
  readonly about: unknown;
  /** Filter of samples. */
  readonly filter: SampleFilter;
  /** Inputs of the machine's history. */
  readonly past: HistoryPart;
  /** Approximate number of stack nodes to keep. */
  readonly keptNodes?: number | undefined;
}

/** Functions with which a worker reads blocks. */
export interface BlockService<About> {
  /** Opens the recording at `path`, or in `about`. */
  open(path: string, about: About): ByteSource;
  /** Creates the consumer. */
  make(about: About): Shareable & Consumer;
  /** Opens the finder of objects' code for unwinding. */
  unwind?(about: About, engine: Engine): ReturnType<NonNullable<EngineOptions["unwind"]>>;
}

/**
 * Serves the threads of `readWithWorkers` in a worker's module: reads the stretches that it
 * receives.
 */
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
