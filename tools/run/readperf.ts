/** Runs `readperf`. */
import type { Engine } from "@perfdata/session";
import { type ProfileTotal, SampleCollector, trustLines } from "@perfdata/profile";
import {
  type NewFile,
  type NewFolder,
  newFolder,
  openSource,
  tempFile,
} from "@perfdata/format/files";
import { type FunctionTable, functionTable, percentText } from "@perfdata/report";
import { Overview } from "@perfdata/report/figures";
import {
  about,
  aboutAsync,
  complain,
  complainAll,
  oneFile,
  openOutput,
  UsageError,
  writeLines,
} from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { choosesSamples, chosenFilter, givenFilters, nameFilters } from "../shared/sample_flags.ts";
import { openRecording } from "../shared/open_recording.ts";
import { symbolsOf } from "../shared/symbol_flags.ts";
import { complainRounded } from "../shared/periods.ts";
import { csvText } from "../shared/csv.ts";
import { whyNothing } from "../shared/nothing.ts";
import type { FLAGS } from "../readperf.ts";

/** Rows that are gathered before each write. */
const BLOCK = 1024;

/** The names of the files, in the order of their renaming at the end. */
const FILES = ["stat.csv", "overview.csv", "processes.csv", "results.csv"] as const;

/** The CSV files. They all get their names when the last one is complete. */
class CsvFiles implements Disposable {
  readonly #folder: string;
  readonly #made: NewFolder;
  readonly #files = new Map<string, NewFile>();

  constructor(folder: string, force: boolean) {
    this.#folder = folder;
    this.#made = about(folder, () => newFolder(folder));
    try {
      for (const name of FILES) this.#files.set(name, openOutput(`${folder}/${name}`, force));
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  open(name: typeof FILES[number], columns: string[]): CsvFile {
    return new CsvFile(this.#files.get(name) as NewFile, columns);
  }

  commit(): void {
    for (const [name, file] of this.#files) about(`${this.#folder}/${name}`, () => file.commit());
    this.#made.commit();
  }

  [Symbol.dispose](): void {
    for (const file of this.#files.values()) file.close();
    this.#made[Symbol.dispose]();
  }
}

/** A CSV file that is written in blocks. */
class CsvFile {
  readonly #file: NewFile;
  #rows: unknown[][];

  constructor(file: NewFile, columns: string[]) {
    this.#file = file;
    this.#rows = [columns];
  }

  row(cells: unknown[]): void {
    if (this.#rows.push(cells) >= BLOCK) this.#flush();
  }

  /** Writes the rows that remain. */
  end(): void {
    this.#flush();
  }

  #flush(): void {
    if (this.#rows.length === 0) return;
    this.#file.write(new TextEncoder().encode(csvText(this.#rows)));
    this.#rows = [];
  }
}

function* overviewLines(
  { types, processes, time }: Overview,
  totals: readonly ProfileTotal[],
  names: readonly string[],
): Generator<string, void, void> {
  const records = types.reduce((sum, { count }) => sum + count, 0);
  const seconds = time === undefined ? undefined : Number(time[1] - time[0]) / 1e9;
  yield `${records} records${seconds === undefined ? "" : ` in ${seconds.toFixed(3)} s`}, ` +
    `${processes.length} ${processes.length === 1 ? "process" : "processes"}`;
  for (const { type, count, bytes } of types) {
    yield `  ${String(count).padStart(10)}  ${type} (${bytes} bytes)`;
  }
  for (const [event, total] of totals.entries()) {
    if (total.samples === 0) continue;
    yield `${names[event] ?? event}: ${total.samples} samples, period ${total.period}`;
    const most = processes
      .map((process) => ({ process, period: process.periods[event] ?? 0 }))
      .filter(({ period }) => period > 0)
      .sort((a, b) => b.period - a.period)
      .slice(0, 5);
    for (const { process, period } of most) {
      yield `  ${
        percentText(period / total.period).padStart(6)
      }%  ${process.name} (${process.pid})`;
    }
  }
}

/** The cells that tell the event of a row. Empty if only one event has samples. */
class EventCells {
  readonly #names: readonly string[];
  readonly #isShown: boolean;

  constructor({ totals }: SampleCollector, names: readonly string[]) {
    this.#names = names;
    this.#isShown = totals.filter(({ samples }) => samples > 0).length > 1;
  }

  get head(): readonly string[] {
    return this.#isShown ? ["event"] : [];
  }

  of(event: number | undefined): readonly (string | number)[] {
    if (!this.#isShown) return [];
    return [event === undefined ? "" : this.#names[event] ?? event];
  }
}

/** Writes the number and the size of the records by type. */
function writeStat(files: CsvFiles, { types }: Overview): void {
  const stat = files.open("stat.csv", ["type", "count", "bytes"]);
  for (const { type, count, bytes } of types) stat.row([type, count, bytes]);
  stat.end();
}

function writeProcesses(files: CsvFiles, overview: Overview, cells: EventCells): void {
  const head = ["pid", "name", "mmaps", "fork", "exit", "samples", "period", ...cells.head];
  const processes = files.open("processes.csv", head);
  for (const process of overview.processes) {
    const { pid, name, mmaps, forkTime, exitTime, samples, periods } = process;
    const row = [pid, name, mmaps, forkTime ?? "", exitTime ?? ""];
    const events = [...samples.keys()].filter((index) => samples[index] !== undefined);
    if (events.length === 0) processes.row([...row, 0, 0, ...cells.of(undefined)]);
    for (const index of events) {
      processes.row([...row, samples[index], periods[index], ...cells.of(index)]);
    }
  }
  processes.end();
}

function writeResults(files: CsvFiles, table: FunctionTable, cells: EventCells): void {
  const head = ["function", "source", "object", "samples", "period", ...cells.head];
  const results = files.open("results.csv", head);
  for (const number of table.rows) {
    const { sym, srcfile, dso, samples, period, event } = table.row(number);
    results.row([sym, srcfile, dso, samples, period, ...cells.of(event)]);
  }
  results.end();
}

export async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  const name = oneFile(operands);
  const folder = value.output ?? ".";
  if (folder === "-") throw new UsageError("-o names a directory: there are four files");
  const named = nameFilters(flags);
  const isChosen = choosesSamples(flags);
  return await aboutAsync(name, async () => {
    const symbols = symbolsOf(flags, name);
    const { recording, complaints, progress } = await openRecording("readperf", name, {
      source: openSource(name, { interruptible: true }),
      symbols,
      temp: tempFile,
    });
    using _ = recording;
    const filter = await chosenFilter(flags, recording, named);
    using files = new CsvFiles(folder, on.force);
    // Rows of this file are written while records are read.
    const records = files.open("overview.csv", ["nr", "type", "pid", "tid", "time", "info"]);
    const known = (id: number) => id < 0 ? "" : id;
    const overview = new Overview(
      ({ nr, type, pid, tid, time, info }) =>
        records.row([nr, type, known(pid), known(tid), time ?? "", info]),
      isChosen,
    );
    const counts = new SampleCollector();
    const resolverFor = ({ recorded }: Engine) => symbols({ machine: recorded, lines: true });
    const engine = await recording.read([overview, counts], { filter, jit: resolverFor });
    records.end();
    progress.finish();
    const cells = new EventCells(counts, engine.eventNames);
    writeStat(files, overview);
    writeProcesses(files, overview, cells);
    const resolver = await resolverFor(engine);
    const table = await functionTable(counts, resolver, {
      sort: ["dso", "sym", "srcfile"],
      srcfile: "function",
      progress: progress.names,
    });
    progress.finish();
    writeResults(files, table, cells);
    files.commit();

    writeLines([...overviewLines(overview, counts.totals, engine.eventNames)]);
    complainAll("readperf", trustLines(table.trust, { verbose: on.verbose }));
    complaints.finish();
    complainRounded("readperf", name, counts.totals);
    const leftOut = engine.leftOut + counts.leftOut;
    if (leftOut > 0) {
      complain(`readperf: ${name}: ${leftOut} samples of no known event`);
    }
    if (isChosen && table.rows.length === 0) {
      complain(
        `readperf: ${name}: no samples: ${await whyNothing(name, givenFilters(flags), named)}`,
      );
      return 1;
    }
    return complaints.count > 0 ? 1 : 0;
  });
}
