/** Recordings as tables in a directory, for `export parquet`, `export arrow` and `sql`. */
import { constants, zstdCompressSync } from "node:zlib";
import { type ByteSink, EventLoopTurns } from "@perfdata/format/bytes";
import { type NewFile, newFile, openSource } from "@perfdata/format/files";
import { PerfDataReader } from "@perfdata/format/records";
import {
  type Engine,
  listQueue,
  noStacksText,
  Pool,
  runEngine,
  unwoundText,
} from "@perfdata/session";
import {
  ASKED_TABLES,
  ParquetFile,
  PT_CALLS,
  type RecordingKey,
  RecordingTables,
  type RowSink,
  type Table,
  TABLES,
  TABLES_VERSION,
} from "@perfdata/tables";
import { about, aboutAsync, complain, Complaints, InputError, Progress } from "./cli.ts";
import type { Flags } from "./flag_table.ts";
import { titleOf } from "./open_profile.ts";
import { sampleFilter, type SampleFlags } from "./sample_flags.ts";
import { resolverOf, type SymbolFlags } from "./symbol_flags.ts";
import { onSignals } from "./on_signals.ts";

/** A recording whose tables are to be written; what can be sent to another thread. */
export interface TablesJob {
  /** The command, for messages. */
  readonly tool: string;
  /** The recording. */
  readonly name: string;
  /** Where the tables go: each has a folder there. */
  readonly folder: string;
  /** What they are written as. */
  readonly format: TableFormat;
  /** Parts of the path below that: `date`, or `key=value`. */
  readonly partition: readonly string[];
  /** Whether frames get their names. */
  readonly names: boolean;
  /** Whether files are replaced. */
  readonly force: boolean;
  /** Letters of `--itrace`: samples are made of its Intel PT. */
  readonly itrace?: string | undefined;
  /** Whether the calls of its Intel PT are a table as well. */
  readonly ptCalls?: boolean;
  /** How symbols are found, and which samples count. */
  readonly flags: SymbolFlags & SampleFlags & Flags<"stitch-lbr", never>;
  /** Rows of samples that are written at a time. */
  readonly groupRows?: number | undefined;
  /** Not 0 when the process is about to end: no file is begun, or gets its name, any more. */
  readonly ended?: Int32Array;
}

/** What was written. */
export interface TablesDone {
  /** Samples. */
  readonly samples: number;
  /** Bytes of all files. */
  readonly bytes: number;
  /** Whether all of the recording could be read. */
  readonly isWhole: boolean;
}

/** What tables are written as. */
export type TableFormat = "parquet" | "arrow";

/** A table that is being written. */
type TableRows = RowSink & { readonly bytes: number; finish(): void };

/** Makes files of a format. */
interface TableWriter {
  /** How their names end. */
  readonly extension: string;
  /** Rows of samples that are written at a time; as many as the tables have it without. */
  readonly groupRows?: number;
  /** Begins one. */
  begin(sink: ByteSink, table: Table): TableRows;
}

const METADATA = { "perfdata.tables": String(TABLES_VERSION) };

/** Writes Parquet files. */
export const PARQUET: TableWriter = {
  extension: "parquet",
  begin: (sink, table) =>
    new ParquetFile(sink, table, {
      compress: (bytes) => zstdCompressSync(bytes, COMPRESSION),
      metadata: METADATA,
    }),
};

/** Writes streams of Arrow, whose batches are all in memory while they are written. */
async function arrow(): Promise<TableWriter> {
  const { ArrowStream } = await import("@perfdata/tables");
  return {
    extension: "arrows",
    groupRows: 1 << 18,
    begin: (sink, table) => new ArrowStream(sink, table, { metadata: METADATA }),
  };
}

/** The level of compression: 3 saves 5 % and takes half as long again. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** A file of a table that has no name yet. */
export class NewTable implements Disposable {
  /** Takes its rows. */
  readonly rows: TableRows;
  readonly #path: string;
  readonly #file: NewFile;

  /**
   * Opens it, and makes the folders that it is in.
   *
   * @param path Without what ends the names of its format.
   * @throws {InputError} If there is a file of that name, without `force`.
   */
  constructor(path: string, table: Table, writer: TableWriter, force: boolean) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    about(folder, () => Deno.mkdirSync(folder, { recursive: true }));
    const name = this.#path = `${path}.${writer.extension}`;
    this.#file = about(name, () => newFile(name, { force }));
    this.rows = writer.begin(this.#file, table);
  }

  /** Gives it its name, after its last row. */
  commit(): void {
    about(this.#path, () => this.#file.commit());
  }

  /** Removes it where it has no name. */
  [Symbol.dispose](): void {
    this.#file.close();
  }
}

/**
 * Writes the tables of a recording. Each file gets its name when all of them are whole, the one of
 * `recordings` last.
 *
 * @throws {InputError} If there are no samples, or a file is there already.
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
      const complaints = new Complaints(`${tool}: ${name}`);
      const itraced = job.itrace === undefined
        ? undefined
        : await (await import("./itraced.ts")).itraced(tool, name, {
          letters: job.itrace,
          where: flags.value,
        });
      const source = itraced?.source ?? openSource(name, { interruptible: true });
      const reader = await PerfDataReader.open(source, { diagnostics: complaints.take });
      const filter = await sampleFilter(flags, reader);
      const resolver = (debugInformation: boolean) => ({ recorded }: Engine) =>
        resolverOf(flags, name, { machine: recorded, parameters: false, debugInformation });
      const tables = new RecordingTables(reader, {
        name: titleOf(name),
        open,
        groupRows: job.groupRows ?? writer.groupRows,
        pause: new EventLoopTurns().turn,
        resolver: job.names ? resolver(true) : undefined,
      });
      const engine = await runEngine(reader, [tables], {
        filter,
        unwind: resolver(false),
        stitchLbr: flags.on["stitch-lbr"],
        diagnostics: complaints.take,
        progress,
      });
      await tables.write();
      const isDecoded = job.ptCalls !== true || await writeCalls(job, tables.key, open);
      for (const { rows } of files) rows.finish();
      goOn();
      for (const file of files) file.commit();
      const stacks = unwoundText(engine, false) ?? noStacksText(engine);
      if (stacks !== undefined) complain(`${tool}: ${name}: ${stacks}`);
      if (tables.leftOut > 0) {
        complain(`${tool}: ${name}: ${tables.leftOut} samples are damaged or of no known event`);
      }
      complaints.finish();
      const bytes = files.reduce((sum, { rows }) => sum + rows.bytes, 0);
      const isWhole = itraced?.report() !== false && complaints.count === 0 && isDecoded;
      return { samples: tables.samples, bytes, isWhole };
    });
  } finally {
    for (const file of files) file[Symbol.dispose]();
  }
}

/** Writes the calls of a trace; returns whether all was decoded. */
async function writeCalls(
  { tool, name, flags }: TablesJob,
  key: RecordingKey,
  open: (table: Table, key: RecordingKey) => RowSink,
): Promise<boolean> {
  const { eachPtCall } = await import("./pt_stack_profile.ts");
  const { PtCallRows } = await import("@perfdata/tables");
  const calls = new PtCallRows(open(PT_CALLS, key), key.id);
  const isWhole = await eachPtCall(
    tool,
    name,
    flags,
    (events, names, { sideband }) => calls.take(events, names, sideband.history),
  );
  calls.finish();
  return isWhole;
}

/** The folders of a partition. */
function partsOf(partition: readonly string[], { date = "unknown" }: RecordingKey): string[] {
  return partition.map((part) => part === "date" ? `date=${date}` : part);
}

/**
 * Writes the tables of several recordings to one directory, some at a time in threads of their own. What one
 * of them lacks does not stop the others.
 *
 * @returns What was written, and how many recordings could not be read.
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
  // A thread that is busy goes on for a while, whoever ends it: it looks here before it begins a file.
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

/** Bytes of recordings; not known where one is no plain file. */
function sizeOf(jobs: readonly TablesJob[]): number | undefined {
  let sum = 0;
  for (const { name } of jobs) {
    try {
      const { isFile, size } = Deno.statSync(name);
      if (!isFile) return undefined;
      sum += size;
    } catch {
      // A pipe; or what is not there, which is said when it is read.
      if (name === "-") return undefined;
    }
  }
  return sum;
}

/** What a thread answers: what it wrote, or why it did not. */
export type TablesAnswer = TablesDone | { readonly message: string };

/** What it says before: arguments of {@linkcode Progress.add}. */
export type TablesProgress = readonly [bytes: number, more: number | undefined];

/** Folders that tables are written to: where that ends too early, nothing is left that was not there. */
class NewFolders implements Disposable {
  /** Whether all of it was written. */
  isDone = false;
  readonly #folder: string;
  readonly #wasThere: boolean;
  readonly #signals: Disposable;

  /** Begins, before there is a file. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#wasThere = kindOf(folder) !== "nothing";
    this.#signals = onSignals(() => this.#clean(true));
  }

  [Symbol.dispose](): void {
    this.#signals[Symbol.dispose]();
    if (!this.isDone) this.#clean(false);
  }

  /** Removes folders without a file, and on a signal files that have no name yet. */
  #clean(temporary: boolean): void {
    for (const { name } of [...TABLES, ...ASKED_TABLES]) {
      removeEmpty(`${this.#folder}/${name}`, temporary);
    }
    if (!this.#wasThere) removeIfEmpty(this.#folder);
  }
}

/** What a path is; a link is no folder, wherever it leads. */
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
    // It has files, or is not there.
  }
}
