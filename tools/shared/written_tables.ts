/** Writes recordings as tables in a directory, for `export parquet`, `export arrow` and `sql`. */
import { constants, zstdCompressSync } from "node:zlib";
import { type ByteSink, EventLoopTurns } from "@perfdata/format/bytes";
import { type NewFile, newFile, openSource } from "@perfdata/format/files";
import { listQueue, Pool, stacksText } from "@perfdata/session";
import {
  ASKED_TABLES,
  ParquetFile,
  type RecordingKey,
  type RowSink,
  type Table,
  TABLES,
  TABLES_VERSION,
} from "@perfdata/tables";
import { about, aboutAsync, complain, InputError, Progress } from "./cli.ts";
import type { Flags } from "./flag_table.ts";
import { openRecording, printItraceLoss, printTraceLoss, traceOptions } from "./open_recording.ts";
import { sampleFilter, type SampleFlags } from "./sample_flags.ts";
import { type SymbolFlags, symbolsOf } from "./symbol_flags.ts";
import { onSignals } from "./on_signals.ts";

/** A recording to write as tables. It can be sent to a worker. */
export interface TablesJob {
  /** The command's name, for messages. */
  readonly tool: string;
  readonly name: string;
  readonly folder: string;
  readonly format: TableFormat;
  /** Directories between the table's folder and the file: `date`, or `key=value`. */
  readonly partition: readonly string[];
  readonly names: boolean;
  /** Whether files may be replaced. */
  readonly force: boolean;
  /** The value of `--itrace`, to synthesize samples from Intel PT. */
  readonly itrace?: string | undefined;
  /** Whether to write the calls of Intel PT as a table. */
  readonly ptCalls?: boolean;
  /** Flags that locate symbols and filter samples. */
  readonly flags: SymbolFlags & SampleFlags & Flags<"stitch-lbr", never>;
  readonly groupRows?: number | undefined;
  /** Not 0 if the process is about to end: workers then neither create nor commit files. */
  readonly ended?: Int32Array;
}

/** The result of writing. */
export interface TablesDone {
  readonly samples: number;
  /** The size of all files. */
  readonly bytes: number;
  readonly isWhole: boolean;
}

/** The file formats. */
export type TableFormat = "parquet" | "arrow";

/** A table file being written. */
type TableRows = RowSink & { readonly bytes: number; finish(): void };

/** Writer of a file format. */
interface TableWriter {
  /** The file name extension. */
  readonly extension: string;
  /** Sample rows in a row group; by default as the tables define. */
  readonly groupRows?: number;
  begin(sink: ByteSink, table: Table): TableRows;
}

const METADATA = { "perfdata.tables": String(TABLES_VERSION) };

export const PARQUET: TableWriter = {
  extension: "parquet",
  begin: (sink, table) =>
    new ParquetFile(sink, table, {
      compress: (bytes) => zstdCompressSync(bytes, COMPRESSION),
      metadata: METADATA,
    }),
};

/** Writes Arrow streams. All batches stay in memory until the end. */
async function arrow(): Promise<TableWriter> {
  const { ArrowStream } = await import("@perfdata/tables");
  return {
    extension: "arrows",
    groupRows: 1 << 18,
    begin: (sink, table) => new ArrowStream(sink, table, { metadata: METADATA }),
  };
}

/** zstd level 1. Level 3 saves 5 % and takes 1.5 times as long. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** A table file that is not committed yet. */
export class NewTable implements Disposable {
  readonly rows: TableRows;
  readonly #path: string;
  readonly #file: NewFile;

  /**
   * Creates the file and its directories.
   *
   * @param path The path without extension.
   * @throws {InputError} If the file exists and `force` is not set.
   */
  constructor(path: string, table: Table, writer: TableWriter, force: boolean) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    about(folder, () => Deno.mkdirSync(folder, { recursive: true }));
    const name = this.#path = `${path}.${writer.extension}`;
    this.#file = about(name, () => newFile(name, { force }));
    this.rows = writer.begin(this.#file, table);
  }

  /** Renames the file to its final name, after the last row. */
  commit(): void {
    about(this.#path, () => this.#file.commit());
  }

  /** Removes the file if it was not committed. */
  [Symbol.dispose](): void {
    this.#file.close();
  }
}

/**
 * Writes the tables of a recording. Files are committed when all are complete, `recordings` last.
 *
 * @throws {InputError} If there are no samples, or a file exists.
 */
export async function writeTables(
  job: TablesJob,
  progress: Progress["add"],
): Promise<TablesDone> {
  const { tool, name, flags } = job;
  const files: NewTable[] = [];
  const writer = job.format === "arrow" ? await arrow() : PARQUET;
  const goOn = (): void => {
    if (job.ended !== undefined && Atomics.load(job.ended, 0) !== 0) throw new InputError("ended");
  };
  const open = (table: Table, key: RecordingKey): RowSink => {
    goOn();
    const folder = [job.folder, table.name, ...partsOf(job.partition, key)].join("/");
    const file = new NewTable(`${folder}/${key.id}`, table, writer, job.force);
    files.push(file);
    return file.rows;
  };
  try {
    return await aboutAsync(name, async () => {
      const { recording, complaints } = await openRecording(tool, name, {
        source: openSource(name, { interruptible: true }),
        turns: new EventLoopTurns(),
        itrace: job.itrace,
        symbols: symbolsOf(flags, name),
        // One thread: several recordings have a thread each.
        ...traceOptions(name, flags, 1),
        line: new PartProgress(progress),
      });
      const { engine, samples, leftOut, traced } = await recording.writeTables(open, {
        names: job.names,
        calls: job.ptCalls,
        groupRows: job.groupRows ?? writer.groupRows,
        filter: await sampleFilter(flags, recording),
        stitchLbr: flags.on["stitch-lbr"],
      });
      for (const { rows } of files) rows.finish();
      goOn();
      for (const file of files) file.commit();
      const isDecoded = traced === undefined || await printTraceLoss(tool, name, traced);
      const stacks = stacksText(engine);
      if (stacks !== undefined) complain(`${tool}: ${name}: ${stacks}`);
      if (leftOut > 0) {
        complain(`${tool}: ${name}: ${leftOut} samples are damaged or of no known event`);
      }
      complaints.finish();
      const bytes = files.reduce((sum, { rows }) => sum + rows.bytes, 0);
      const isSampled = await printItraceLoss(tool, name, recording);
      return { samples, bytes, isWhole: isSampled && isDecoded && complaints.count === 0 };
    });
  } finally {
    for (const file of files) file[Symbol.dispose]();
  }
}

/** Progress of one of several recordings, which is added to that of all. */
class PartProgress extends Progress {
  readonly #addTo: Progress["add"];
  #part = 0;
  #size: number | undefined;

  constructor(addTo: Progress["add"]) {
    super("", undefined);
    this.#addTo = addTo;
  }

  override readonly reach = (bytes: number, all: number | undefined): void => {
    // Bytes of the trace are counted before those of the recording.
    if (bytes < this.#part) [this.#part, this.#size] = [0, undefined];
    this.#addTo(bytes - this.#part, (all ?? 0) - (this.#size ?? all ?? 0));
    [this.#part, this.#size] = [bytes, all];
  };

  override readonly names = (): void => {};
}

function partsOf(partition: readonly string[], { date = "unknown" }: RecordingKey): string[] {
  return partition.map((part) => part === "date" ? `date=${date}` : part);
}

/**
 * Writes the tables of several recordings to one directory, in up to `threads` workers. Errors in one
 * recording do not stop the others.
 *
 * @returns The counts, and the number of recordings that could not be read.
 */
export async function writeAllTables(
  jobs: readonly TablesJob[],
  threads: number,
): Promise<TablesDone & { readonly failed: number }> {
  let [samples, bytes, failed, isWhole] = [0, 0, 0, true];
  const add = (done: TablesDone): void => {
    samples += done.samples;
    bytes += done.bytes;
    isWhole &&= done.isWhole;
  };
  const fail = (job: TablesJob, message: string): void => {
    failed++;
    progress.finish();
    complain(`${job.tool}: ${message}`);
  };
  const [{ tool = "", folder = "" } = {}] = jobs;
  using folders = new NewFolders(folder);
  const progress = new Progress(tool, sizeOf(jobs));
  using _ = { [Symbol.dispose]: () => progress.finish() };
  const done = () => {
    folders.isDone = failed === 0;
    return { samples, bytes, isWhole, failed };
  };
  if (threads === 1 || jobs.length === 1) {
    for (const job of jobs) {
      try {
        add(await writeTables(job, progress.add));
      } catch (error) {
        if (jobs.length === 1 || !(error instanceof InputError)) throw error;
        fail(job, error.message);
      }
    }
    return done();
  }
  // A busy worker cannot be stopped at once, so it checks this flag before it creates a file.
  const ended = new Int32Array(new SharedArrayBuffer(4));
  using _signals = onSignals(() => Atomics.store(ended, 0, 1));
  const rest = jobs.map((job) => ({ ...job, ended }));
  const answered = (answer: TablesAnswer, job: TablesJob): void =>
    "message" in answer ? fail(job, answer.message) : add(answer);
  const noted = (note: unknown): void => progress.add(...note as TablesProgress);
  using pool = new Pool<undefined, TablesJob, TablesAnswer>(
    Math.min(threads, jobs.length),
    () => new Worker(new URL("./tables_worker.ts", import.meta.url), { type: "module" }),
  );
  pool.begin(undefined, listQueue(rest, answered, noted));
  await pool.totals();
  return done();
}

/** The size of all recordings; `undefined` if one is not a plain file. */
function sizeOf(jobs: readonly TablesJob[]): number | undefined {
  let sum = 0;
  for (const { name } of jobs) {
    try {
      const { isFile, size } = Deno.statSync(name);
      if (!isFile) return undefined;
      sum += size;
    } catch {
      // Unknown for a pipe. A missing file is reported when it is read.
      if (name === "-") return undefined;
    }
  }
  return sum;
}

/** The answer of a worker: the result, or an error message. */
export type TablesAnswer = TablesDone | { readonly message: string };

/** Progress from a worker: arguments of {@linkcode Progress.add}. */
export type TablesProgress = readonly [bytes: number, more: number | undefined];

/** Directories of tables. If writing is interrupted, it removes those that it created. */
class NewFolders implements Disposable {
  isDone = false;
  readonly #folder: string;
  readonly #wasThere: boolean;
  readonly #signals: Disposable;

  /** Has to run before the first file is created. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#wasThere = kindOf(folder) !== "nothing";
    this.#signals = onSignals(() => this.#clean(true));
  }

  [Symbol.dispose](): void {
    this.#signals[Symbol.dispose]();
    if (!this.isDone) this.#clean(false);
  }

  /** Removes empty directories; on a signal also files that were not committed. */
  #clean(temporary: boolean): void {
    for (const { name } of [...TABLES, ...ASKED_TABLES]) {
      removeEmpty(`${this.#folder}/${name}`, temporary);
    }
    if (!this.#wasThere) removeIfEmpty(this.#folder);
  }
}

/** The kind of a path. Links are not followed. */
function kindOf(path: string): "folder" | "other" | "nothing" {
  try {
    return Deno.lstatSync(path).isDirectory ? "folder" : "other";
  } catch {
    return "nothing";
  }
}

function removeEmpty(folder: string, temporary: boolean): void {
  if (kindOf(folder) !== "folder") return;
  for (const entry of Deno.readDirSync(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) removeEmpty(path, temporary);
    else if (temporary && entry.name.endsWith(`.${Deno.pid}.tmp`)) Deno.removeSync(path);
  }
  removeIfEmpty(folder);
}

function removeIfEmpty(folder: string): void {
  if (kindOf(folder) !== "folder") return;
  try {
    Deno.removeSync(folder);
  } catch {
    // The directory is missing or not empty.
  }
}
