/** Prints functions by their share of the samples: `deno run funcs FILE`. */
// Not all of the packages: what is loaded takes longer than to count a short recording.
import { openSource } from "../packages/format/file_source.ts";
import { PerfDataReader } from "../packages/format/reader.ts";
import { isRandomAccess } from "../packages/format/source.ts";
import { EventNames } from "../packages/session/event_names.ts";
import {
  type FunctionRow,
  functionRows,
  percentText,
  SORT_KEYS,
  type SortKey,
} from "../packages/report/functions.ts";
import { aggregateFile } from "../packages/report/parallel.ts";
import { jsonLine } from "../packages/report/rate_rows.ts";
import { readRecordedObjects } from "../packages/session/recorded_objects.ts";
import { visible } from "@perfdata/format/visible";
import {
  aboutAsync,
  type Command,
  command,
  complain,
  Complaints,
  type FlagsOf,
  main,
  oneFile,
  parseNumbers,
  Progress,
  UsageError,
  writeOut,
} from "./_cli.ts";
import { resolverOf, SYMBOL_FLAGS, SYMBOL_HELP, tellTrust } from "./_symbol_flags.ts";

const HELP = `funcs: prints the functions of a perf.data file by their share of each event's period

usage: perfdata funcs [flags] [FILE]

FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

A row has the share, samples, period, command, object and function; the numbers are those of
perf report --no-children -g none. docs/funcs.md explains the columns.

      --sort KEYS        group rows by these (default: comm,dso,sym); any of
                         ${SORT_KEYS.join(",")}
      --srcline          also group by source file and line: --sort …,srcline
      --children         also count callees, from call chains
      --inline           count a sample for the function that is inlined at its address
      --csv              print all rows as CSV
      --json             print all rows as lines of JSON
      --limit N          print at most N rows of each event
      --percent-limit P  only rows of at least P percent
      --comm NAMES       only samples of these commands: a,b
      --dso NAMES        only samples in these objects
      --symbol NAMES     only samples in these functions
      --pid LIST         only samples of these processes: 12 or 12,14-16
      --tid LIST         only samples of these threads
      --cpu LIST         only samples of these CPUs
      --event NAME       only samples of this event
      --time A,B         only samples between these times, in seconds; either may be omitted
      --jobs N           number of threads (default: the number of processors)
${SYMBOL_HELP}\
      --verbose          report which addresses have no function, and which files were not used
      --debug            print the stack trace of an error
  -h, --help             print this help

examples:
  perfdata funcs --limit 20 perf.data
  perfdata funcs --children --percent-limit 1 perf.data
  perfdata funcs --json perf.data | jq -r 'select(.dso == "libc.so.6") | [.period, .sym] | @tsv'
  perf record -o - -- ./program | perfdata funcs -

Exit codes: 0 done; 1 the file is damaged (what can be read is counted); 2 wrong usage.
`;

/** Rows that are written at once. */
const BLOCK = 4096;

function timeOf(text: string): readonly [bigint, bigint] {
  const match = /^(\d+(?:\.\d{1,9})?)?,(\d+(?:\.\d{1,9})?)?$/.exec(text);
  if (match === null) throw new UsageError(`--time is ${text}, expected seconds such as 1.5,2`);
  const ns = (seconds: string | undefined, otherwise: bigint) => {
    if (seconds === undefined) return otherwise;
    const [whole = "0", part = ""] = seconds.split(".");
    return BigInt(whole) * 1_000_000_000n + BigInt(part.padEnd(9, "0"));
  };
  return [ns(match[1], 0n), ns(match[2], (1n << 64n) - 1n)];
}

function numberOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!(value >= 0)) throw new UsageError(`--${flag} is ${text}, expected a number`);
  return value;
}

function sortKeys(text: string | undefined): SortKey[] {
  return (text ?? "comm,dso,sym").split(",").map((key) => {
    const found = SORT_KEYS.find((known) => known === key);
    if (found === undefined) {
      throw new UsageError(`--sort: unknown key ${key}`, { word: key, known: SORT_KEYS });
    }
    return found;
  });
}

/** Cells of a row of CSV after the event. */
function cells(
  row: FunctionRow,
  sort: readonly SortKey[],
  withCallees: boolean,
): (string | number)[] {
  const { overhead, samples, period, children = { overhead, samples, period } } = row;
  return [
    ...(withCallees ? [percentText(children.overhead)] : []),
    percentText(overhead),
    samples,
    period,
    ...(withCallees ? [children.samples, children.period] : []),
    ...sort.map((key) => key === "sym" ? symText(row) : row[key] ?? ""),
  ];
}

function symText({ sym = "", inlined }: FunctionRow): string {
  return inlined ? `${sym} (inlined)` : sym;
}

/** Makes the padded cells of a column. What is in it repeats: the last cell is kept. */
class Column<T extends string | number> {
  width = 0;
  readonly title: string;
  readonly #value: (row: FunctionRow) => T;
  readonly #text: (value: T) => string;
  readonly #right: boolean;
  #last: T | undefined;
  #cell = "";

  constructor(
    title: string,
    right: boolean,
    value: (row: FunctionRow) => T,
    text: (value: T) => string = String,
  ) {
    this.title = title;
    this.#right = right;
    this.#value = value;
    this.#text = text;
  }

  /** Takes the width that the first of some rows need. */
  fit(rows: readonly FunctionRow[]): void {
    let most = this.title.length;
    for (const row of rows) most = Math.max(most, this.#text(this.#value(row)).length);
    this.width = Math.min(40, most);
  }

  /** Leaves the cells of the last column as long as they are. */
  endLine(): void {
    if (!this.#right) this.width = 0;
  }

  pad(text: string): string {
    return this.#right ? text.padStart(this.width) : text.padEnd(this.width);
  }

  cell(row: FunctionRow): string {
    const value = this.#value(row);
    if (value !== this.#last) {
      this.#last = value;
      this.#cell = this.pad(this.#text(value));
    }
    return this.#cell;
  }
}

/** The table of an event, with bars where it goes to a terminal. */
function* tableLines(
  rows: readonly FunctionRow[],
  sort: readonly SortKey[],
  withCallees: boolean,
  width: number | undefined,
): Generator<string, void, void> {
  const shown = (row: FunctionRow) => (row.children ?? row).overhead;
  const percent = (share: number) => `${percentText(share)}%`;
  const columns = [
    ...(withCallees
      ? [
        new Column("CHILDREN", true, shown, percent),
        new Column("SELF", true, (row) => row.overhead, percent),
      ]
      : [new Column("OVERHEAD", true, (row) => row.overhead, percent)]),
    new Column("SAMPLES", true, (row) => row.samples),
    new Column("PERIOD", true, (row) => row.period),
    ...sort.map((key) =>
      new Column<string | number>(
        key.toUpperCase(),
        typeof rows[0]?.[key] === "number",
        key === "sym" ? (row) => `[${row.level}] ${symText(row)}` : (row) => row[key] ?? "",
        (value) => visible(String(value)),
      )
    ),
  ];
  for (const column of columns) column.fit(rows.slice(0, 1000));
  columns.at(-1)?.endLine();
  const most = rows[0] === undefined ? 0 : shown(rows[0]);
  const BAR = 10;
  for (let i = -1; i < rows.length; i++) {
    const row = rows[i];
    let line = "";
    for (const column of columns) {
      if (line !== "") line += "  ";
      line += row === undefined ? column.pad(column.title) : column.cell(row);
    }
    if (line.endsWith(" ")) line = line.trimEnd();
    if (width === undefined) {
      yield line;
      continue;
    }
    const share = row === undefined || most === 0 ? 0 : shown(row) / most;
    const eighths = Math.round(share * BAR * 8);
    const bar = "█".repeat(eighths >> 3) + (eighths & 7 ? " ▏▎▍▌▋▊▉"[eighths & 7] : "");
    yield `${bar.padEnd(BAR)} ${line}`.slice(0, width);
  }
}

const FLAGS = {
  boolean: ["csv", "json", "srcline", "inline", "children", "verbose", ...SYMBOL_FLAGS.boolean],
  string: [
    "sort",
    "limit",
    "percent-limit",
    "comm",
    "dso",
    "symbol",
    "pid",
    "tid",
    "cpu",
    "event",
    "time",
    "jobs",
    ...SYMBOL_FLAGS.string,
  ],
} as const;

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, value, operands } = flags;
  if (on.json && on.csv) throw new UsageError("--json and --csv exclude each other");
  const sort = sortKeys(value.sort);
  if (on.srcline && !sort.includes("srcline")) sort.push("srcline");
  const limit = numberOf("limit", value.limit) ?? Infinity;
  const percent = numberOf("percent-limit", value["percent-limit"]) ?? 0;
  const jobs = numberOf("jobs", value.jobs) ?? navigator.hardwareConcurrency;
  const time = value.time === undefined ? undefined : timeOf(value.time);
  const numbers = (flag: "pid" | "tid" | "cpu") =>
    value[flag] === undefined ? undefined : parseNumbers(flag, value[flag]);
  const pids = numbers("pid");
  const tids = numbers("tid");
  const cpus = numbers("cpu");
  const list = (flag: "comm" | "dso" | "symbol") => value[flag]?.split(",");
  const [comms, dsos, functions] = [list("comm"), list("dso"), list("symbol")];
  const name = oneFile(operands);
  return await aboutAsync(name, async () => {
    const source = openSource(name);
    const complaints = new Complaints(`funcs: ${name}`);
    const reader = await PerfDataReader.open(source, { diagnostics: complaints.take });
    const objects = await readRecordedObjects(reader, complaints.take);
    const names = new EventNames(reader);
    const progress = new Progress("funcs", reader.fileSize);
    const found = await aggregateFile(reader, isRandomAccess(source) ? name : undefined, jobs, {
      filter: { cpus, time, pids, tids },
      keys: { pid: sort.includes("pid"), tid: sort.includes("tid"), cpu: sort.includes("cpu") },
      calls: on.children,
      progress: progress.add,
      again: () => complaints.muted = true,
      // Only what is read in one pass comes here, and a stream tells nothing before.
      ...(reader.isPipe || reader.fileSize === undefined
        ? {
          record: ({ bytes, view }, start, end) => {
            objects.record(bytes, view, start, end);
            names.record(bytes, view, start, end);
          },
          payload: async (payload) => void await names.payload(payload),
        }
        : {}),
    });
    progress.finish();
    if (reader.fileSize === undefined) await objects.readFeatures(reader);
    const events = await names.all();
    const filtered = comms ?? dsos ?? functions;
    const resolver = await resolverOf(flags, name, {
      ...objects.machine,
      parameters: false,
      debugInformation: on.inline || sort.includes("srcline") || sort.includes("srcfile"),
    });
    const { rows, trust } = await functionRows(found, { objects, resolver }, {
      sort,
      inline: on.inline,
      ...(filtered === undefined ? {} : {
        keep: (row) =>
          (comms?.includes(row.comm) ?? true) && (dsos?.includes(row.dso) ?? true) &&
          (functions?.includes(row.sym) ?? true),
      }),
    });
    const columns = [
      "event",
      ...(on.children ? ["children"] : []),
      ...["overhead", "samples", "period"],
      ...(on.children ? ["children_samples", "children_period"] : []),
      ...sort,
    ];
    let lines: string[] = [];
    let table: unknown[][] = on.csv ? [columns] : [];
    const { csvText } = on.csv ? await import("./_csv.ts") : {};
    const flush = () => {
      if (lines.length > 0) writeOut((on.json ? lines : lines.map(visible)).join("\n") + "\n");
      if (table.length > 0 && csvText !== undefined) writeOut(csvText(table));
      lines = [];
      table = [];
    };
    let first = true;
    for (const [event, { samples, period }] of found.totals.entries()) {
      if (samples === 0 || (value.event !== undefined && events[event] !== value.event)) continue;
      const own = rows.filter((row) =>
        row.event === event && (row.children ?? row).overhead * 100 >= percent
      ).slice(0, limit);
      if (on.json) {
        for (const { event: _, children, overhead, samples, period, ...row } of own) {
          lines.push(jsonLine({
            event: events[event] ?? "",
            event_index: event,
            overhead,
            samples,
            period,
            ...(children === undefined ? {} : {
              children: children.overhead,
              children_samples: children.samples,
              children_period: children.period,
            }),
            ...row,
          }));
          if (lines.length >= BLOCK) flush();
        }
      } else if (on.csv) {
        for (const row of own) {
          if (table.push([events[event] ?? "", ...cells(row, sort, on.children)]) >= BLOCK) flush();
        }
      } else {
        if (!first) lines.push("");
        first = false;
        lines.push(`${events[event]}: ${samples} samples, period ${period}`);
        const terminal = Deno.stdout.isTerminal();
        for (
          const line of tableLines(
            own,
            sort,
            on.children,
            terminal ? Deno.consoleSize().columns : undefined,
          )
        ) {
          lines.push(line);
          if (lines.length >= BLOCK) flush();
        }
      }
    }
    flush();
    tellTrust("funcs", trust, on.verbose);
    complaints.finish();
    if (found.leftOut > 0) {
      complain(
        `funcs: ${name}: ${found.leftOut} samples left out: of no known event, or too short`,
      );
    }
    if (found.totals.every(({ samples }) => samples === 0)) {
      complain(`funcs: ${name}: no samples`);
      return 1;
    }
    return complaints.count > 0 ? 1 : 0;
  });
}

/** The command. */
export const tool: Command = command({ name: "funcs", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
