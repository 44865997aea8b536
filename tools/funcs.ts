/** Prints functions by their share of the samples: `deno run funcs FILE`. */
import { stringify } from "@std/csv";
import { isRandomAccess, PerfDataReader } from "../packages/format/mod.ts";
import { openSource } from "../packages/format/file_source.ts";
import {
  eventNames,
  type FunctionRow,
  functionRows,
  jsonLine,
  knownBinaries,
  osrelease,
  percentText,
  SORT_KEYS,
  type SortKey,
} from "../packages/report/mod.ts";
import { aggregateFile } from "../packages/report/parallel.ts";
import { SymbolFiles } from "../packages/report/symbol_files.ts";
import { recordedKernel } from "../packages/session/symbols.ts";
import { defaultPlaces } from "../packages/symbols/find_file.ts";
import { openBundle } from "../packages/symbols/open_resolver.ts";
import {
  about,
  aboutAsync,
  complain,
  Complaints,
  main,
  parseFlags,
  parseNumbers,
  Progress,
  UsageError,
  writeOut,
} from "./_cli.ts";

const HELP = `Usage: deno run funcs [FILE]

Prints functions by their share of the period of each event: overhead, samples, period,
command, object, function. The numbers are those of perf report --no-children -g none.

FILE is perf.data where not given; - is standard input.

  --sort KEYS          what rows are told apart by: ${SORT_KEYS.join(",")}; default comm,dso,sym
  --srcline            also by source file and line: --sort …,srcline
  --csv                all rows as CSV
  --json               all rows as lines of JSON
  --limit N            at most N rows of each event
  --percent-limit P    only rows of at least P percent
  --comm, --dso, --symbol NAMES  only what is of these commands, objects, functions: a,b
  --pid, --tid, --cpu LIST       only these: 0,3 or 0-3
  --event NAME         only this event
  --time A,B           only samples between these times in seconds; either may be left out
  --symbols FILE       a symbol bundle, asked first: see "symbols bundle"
  --symfs DIR          look for binaries under DIR
  --kallsyms FILE      a copy of the recorded machine's /proc/kallsyms
  --jobs N             threads to use; as many as there are processors by default
  --no-demangle        names as they are in the binaries
  --verbose            tell which files were not used for symbols, and why
  --help               this text
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
      throw new UsageError(`--sort is ${key}, expected some of ${SORT_KEYS.join(",")}`);
    }
    return found;
  });
}

/** Cells of a row, in the order of {@link columns}. */
function cells(row: FunctionRow, sort: readonly SortKey[]): (string | number)[] {
  return [
    percentText(row.overhead),
    row.samples,
    row.period,
    ...sort.map((key) => row[key] ?? ""),
  ];
}

function symText(row: FunctionRow): string {
  return `[${row.level}] ${row.sym}`;
}

/** The table of an event, with bars where it goes to a terminal. */
function* tableLines(
  rows: readonly FunctionRow[],
  sort: readonly SortKey[],
  width: number | undefined,
): Generator<string, void, void> {
  const titles = ["OVERHEAD", "SAMPLES", "PERIOD", ...sort.map((key) => key.toUpperCase())];
  const text = rows.map((row) => {
    const [overhead, samples, period, ...rest] = cells(row, sort);
    return [
      `${overhead}%`,
      String(samples),
      String(period),
      ...rest.map((cell, i) => sort[i] === "sym" ? symText(row) : String(cell)),
    ];
  });
  const widths = titles.map((title, i) =>
    Math.min(40, Math.max(title.length, ...text.slice(0, 1000).map((row) => row[i]?.length ?? 0)))
  );
  const most = rows[0]?.overhead ?? 0;
  const BAR = 10;
  for (const [i, row] of [titles, ...text].entries()) {
    const line = row.map((cell, k) =>
      k < 3 || typeof rows[0]?.[sort[k - 3] ?? "sym"] === "number"
        ? cell.padStart(widths[k] ?? 0)
        : cell.padEnd(widths[k] ?? 0)
    ).join("  ").trimEnd();
    if (width === undefined) {
      yield line;
      continue;
    }
    const share = i === 0 || most === 0 ? 0 : (rows[i - 1]?.overhead ?? 0) / most;
    const eighths = Math.round(share * BAR * 8);
    const bar = "█".repeat(eighths >> 3) + (eighths & 7 ? " ▏▎▍▌▋▊▉"[eighths & 7] : "");
    yield `${bar.padEnd(BAR)} ${line}`.slice(0, width);
  }
}

await main("funcs", async (argv) => {
  const { on, value, operands } = parseFlags(argv, {
    boolean: ["csv", "json", "no-demangle", "srcline", "verbose"],
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
      "symbols",
      "symfs",
      "kallsyms",
      "jobs",
    ],
  });
  if (on.help) {
    writeOut(HELP);
    return 0;
  }
  if (operands.length > 1) throw new UsageError(`found ${operands.length} files, expected one`);
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
  const names = (flag: "comm" | "dso" | "symbol") => value[flag]?.split(",");
  const [comms, dsos, functions] = [names("comm"), names("dso"), names("symbol")];
  const name = operands[0] ?? "perf.data";
  return await aboutAsync(name, async () => {
    const source = openSource(name);
    const complaints = new Complaints(`funcs: ${name}`);
    const reader = await PerfDataReader.open(source, { diagnostics: complaints.take });
    const progress = new Progress("funcs", reader.fileSize);
    const found = await aggregateFile(reader, isRandomAccess(source) ? name : undefined, jobs, {
      filter: { cpus, time, pids, tids },
      keys: { pid: sort.includes("pid"), tid: sort.includes("tid"), cpu: sort.includes("cpu") },
      progress: progress.add,
    });
    progress.finish();
    const events = await eventNames(reader);
    const buildIds = new Map<string, string>();
    for (const { filename, buildId } of await knownBinaries(reader)) {
      if (!buildIds.has(filename)) buildIds.set(filename, buildId);
    }
    const told = new Set<string>();
    const places = {
      ...defaultPlaces(),
      ...(value.symfs === undefined ? {} : { symfs: value.symfs }),
    };
    const bundle = value.symbols;
    const symbols = new SymbolFiles({
      ...(bundle === undefined ? {} : {
        bundle: about(bundle, () => openBundle(bundle)),
        kernelReference: await recordedKernel(reader),
      }),
      buildIds,
      kallsyms: value.kallsyms,
      osrelease: await osrelease(reader),
      demangle: !on["no-demangle"],
      places,
      refused: (path, reason) => void told.add(`${path}: ${reason}`),
    });
    const filtered = comms ?? dsos ?? functions;
    const rows = functionRows(found, symbols, {
      sort,
      ...(filtered === undefined ? {} : {
        keep: (row) =>
          (comms?.includes(row.comm) ?? true) && (dsos?.includes(row.dso) ?? true) &&
          (functions?.includes(row.sym) ?? true),
      }),
    });
    if (on.verbose) { for (const line of told) complain(`funcs: ${line}`); }
    else if (told.size > 0) {
      complain(`funcs: ${told.size} files were not used for symbols; --verbose tells why`);
    }
    const columns = ["event", "overhead", "samples", "period", ...sort];
    let lines: string[] = [];
    let table: unknown[][] = on.csv ? [columns] : [];
    const flush = () => {
      if (lines.length > 0) writeOut(lines.join("\n") + "\n");
      if (table.length > 0) writeOut(stringify(table, { headers: false }));
      lines = [];
      table = [];
    };
    let first = true;
    for (const [event, { samples, period }] of found.totals.entries()) {
      if (samples === 0 || (value.event !== undefined && events[event] !== value.event)) continue;
      const own = rows.filter((row) => row.event === event && row.overhead * 100 >= percent)
        .slice(0, limit);
      if (on.json) {
        for (const { event: _, ...row } of own) {
          lines.push(jsonLine({ event: events[event] ?? "", event_index: event, ...row }));
          if (lines.length >= BLOCK) flush();
        }
      } else if (on.csv) {
        for (const row of own) {
          if (table.push([events[event] ?? "", ...cells(row, sort)]) >= BLOCK) flush();
        }
      } else {
        if (!first) lines.push("");
        first = false;
        lines.push(`${events[event]}: ${samples} samples, period ${period}`);
        const terminal = Deno.stdout.isTerminal();
        for (
          const line of tableLines(own, sort, terminal ? Deno.consoleSize().columns : undefined)
        ) {
          lines.push(line);
          if (lines.length >= BLOCK) flush();
        }
      }
    }
    flush();
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
});
