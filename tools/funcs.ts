/** Prints functions by their share of the samples: `deno run funcs FILE`. */
import { openSource } from "@perfdata/format/file-source";
import { PerfDataReader } from "@perfdata/format/reader";
import { SORT_KEYS, type SortKey } from "@perfdata/report/function-keys";
import { functionText } from "@perfdata/report/function-text";
import { functionTable } from "@perfdata/report/functions";
import { SampleCounts } from "@perfdata/report/sample-counts";
import { runEngine } from "@perfdata/session/engine";
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
      --jobs N           accepted as by other commands; one thread does all the work
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
  // docs/funcs.md says why it changes nothing.
  numberOf("jobs", value.jobs);
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
    const complaints = new Complaints(`funcs: ${name}`);
    const reader = await PerfDataReader.open(openSource(name, { interruptible: true }), {
      diagnostics: complaints.take,
    });
    const progress = new Progress("funcs", reader.fileSize);
    const counts = new SampleCounts({
      keys: { pid: sort.includes("pid"), tid: sort.includes("tid"), cpu: sort.includes("cpu") },
      stacks: on.children,
    });
    const engine = await runEngine(reader, [counts], {
      filter: { cpus, time, pids, tids },
      progress: progress.add,
      diagnostics: complaints.take,
    });
    progress.finish();
    const { eventNames } = engine;
    const resolver = await resolverOf(flags, name, {
      ...engine.recorded.machine,
      parameters: false,
      debugInformation: on.inline || sort.includes("srcline") || sort.includes("srcfile"),
    });
    const numbered = eventNames.map((name, number) => ({ name, number }));
    const table = await functionTable(engine, counts, resolver, {
      sort,
      inline: on.inline,
      limit,
      least: percent / 100,
      ...(value.event === undefined ? {} : {
        events: new Set(
          numbered.filter(({ name }) => name === value.event).map(({ number }) => number),
        ),
      }),
      ...((comms ?? dsos ?? functions) === undefined ? {} : {
        only: {
          ...(comms === undefined ? {} : { comm: comms }),
          ...(dsos === undefined ? {} : { dso: dsos }),
          ...(functions === undefined ? {} : { sym: functions }),
        },
      }),
    });
    const { stringify } = on.csv ? await import("@std/csv") : {};
    for (
      const text of functionText(table, {
        format: on.json ? "json" : on.csv ? "csv" : "table",
        eventNames,
        width: Deno.stdout.isTerminal() ? Deno.consoleSize().columns : undefined,
        csv: (rows) => stringify?.(rows, { headers: false }) ?? "",
      })
    ) writeOut(text);
    tellTrust("funcs", table.trust, on.verbose);
    complaints.finish();
    const leftOut = engine.leftOut + counts.leftOut;
    if (leftOut > 0) {
      complain(`funcs: ${name}: ${leftOut} samples left out: of no known event, or too short`);
    }
    if (counts.totals.every(({ samples }) => samples === 0)) {
      complain(`funcs: ${name}: no samples`);
      return 1;
    }
    return complaints.count > 0 ? 1 : 0;
  });
}

/** The command. */
export const tool: Command = command({ name: "funcs", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
