/** Prints how long threads waited for a CPU: `deno run sched latency FILE`. */
import { openSource } from "@perfdata/format/file-source";
import { PerfDataReader } from "@perfdata/format/reader";
import { jsonLine } from "@perfdata/report/json-line";
import { SchedulerLatency } from "@perfdata/report/sched-latency";
import type { SchedulerConsumer } from "@perfdata/report/sched-consumer";
import { latencyLines } from "@perfdata/report/sched-latency-text";
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
  parseWord,
  Progress,
  UsageError,
  writeLines,
  writeOut,
} from "./_cli.ts";
import { writeRow } from "./_styled.ts";
import { featuresFirst } from "./_spool.ts";

const HELP = `sched: prints when threads had a CPU, and how long they waited for one

usage: perfdata sched VIEW [flags] [FILE]

FILE is a perf.data file or directory, or - for a pipe (default: perf.data), recorded with
perf sched record, or with -e sched:sched_switch,sched:sched_waking,sched:sched_stat_runtime.

  latency              per name of threads: time run, switches, average and longest wait, as
                       perf sched latency prints them
  timehist             a line for each time on a CPU when it ends: how long the thread waited, how
                       long of that for a CPU, how long it ran, as perf sched timehist prints it
  map                  a line for each switch: what each CPU runs, as perf sched map draws it

      --threads        latency: a row for each thread instead of each name
      --json           print a line of JSON for each row, times in ns
      --color WHEN     color tables: auto, on a terminal (default), always, never
      --debug          print the stack trace of an error
  -h, --help           print this help

examples:
  perfdata sched latency perf.data
  perfdata sched latency --threads --json perf.data | jq .max_delay
  perfdata sched timehist perf.data

Exit codes: 0 done; 1 the file is damaged, or has no context switches; 2 wrong usage.
`;

const FLAGS = { boolean: ["json", "threads"], string: ["color"], alias: {} } as const;

/** What is said where no wakeups were recorded. */
const WITHOUT_WAKEUPS = {
  latency: "wakeups: waits count from preemption only",
  timehist: "wakeups: how long threads waited for a CPU is not known",
};

/** Prints times on a CPU as they end. */
async function timehistView(isJson: boolean): Promise<SchedulerConsumer> {
  const { Timehist, TIMEHIST_HEAD, timehistText } = await import("@perfdata/report/sched-timehist");
  const line = timehistText();
  let isFirst = true;
  return new Timehist((row) => {
    if (isJson) return writeOut(`${jsonLine({ ...row })}\n`);
    if (isFirst) writeLines(TIMEHIST_HEAD);
    isFirst = false;
    writeOut(`${line(row)}\n`);
  });
}

/** Prints what CPUs run after each switch. */
async function mapView(isJson: boolean): Promise<SchedulerConsumer> {
  const { mapLine, SchedulerMap } = await import("@perfdata/report/sched-map");
  return new SchedulerMap((row) => {
    const { isNew, ...rest } = row;
    writeOut(isJson ? `${jsonLine({ ...rest, new: isNew })}\n` : `${mapLine(row)}\n`);
  });
}

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, operands } = flags;
  const [view, ...files] = operands;
  if (view === undefined) {
    throw new UsageError("what to print is missing: latency, timehist or map");
  }
  const shown = parseWord("view", view, ["latency", "timehist", "map"]);
  if (on.threads && shown !== "latency") throw new UsageError("--threads is for latency");
  const name = oneFile(files);
  return await aboutAsync(name, async () => {
    const complaints = new Complaints(`sched: ${name}`);
    const reader = await PerfDataReader.open(await featuresFirst(openSource(name)), {
      diagnostics: complaints.take,
    });
    const progress = new Progress("sched", reader.fileSize);
    const latency = new SchedulerLatency();
    const view = shown === "latency"
      ? latency
      : await (shown === "map" ? mapView : timehistView)(on.json);
    await runEngine(reader, [view], { progress: progress.add, diagnostics: complaints.take });
    progress.finish();
    complaints.finish();
    if (!view.hasSwitches) {
      complain(
        `sched: ${name}: no context switches with their threads; record with perf sched record`,
      );
      return 1;
    }
    const missing = [
      ...(view.hasWakeups || shown === "map" ? [] : [WITHOUT_WAKEUPS[shown]]),
      ...(latency.hasRuntimes || shown !== "latency" ? [] : ["sched_stat_runtime: runtimes are 0"]),
    ];
    for (const what of missing) complain(`sched: ${name}: recorded without ${what}`);
    const { damaged, lostRecords } = view;
    const { reused } = latency;
    if (lostRecords > 0) {
      complain(
        `sched: ${name}: ${lostRecords} records were lost while it was recorded: waits may be missing or ` +
          `too long; record with a larger buffer (-m)`,
      );
    }
    if (reused > 0) {
      const what = reused === 1 ? "id of a thread was" : "ids of threads were";
      complain(`sched: ${name}: ${reused} ${what} used again: a row of it is of several threads`);
    }
    if (damaged > 0) complain(`sched: ${name}: ${damaged} events are cut, and left out`);
    if (shown !== "latency") return complaints.count > 0 || damaged > 0 ? 1 : 0;
    const rows = latency.latencies(on.threads);
    if (on.json) {
      for (const { maxDelay, maxStart, maxEnd, ...row } of rows) {
        const start = latency.base + BigInt(maxStart);
        const end = latency.base + BigInt(maxEnd);
        const longest = maxDelay === 0
          ? { max_delay: 0, max_start: null, max_end: null }
          : { max_delay: maxDelay, max_start: start, max_end: end };
        writeOut(`${jsonLine({ ...row, ...longest })}\n`);
      }
    } else for (const line of latencyLines(rows, latency.base)) writeRow(line);
    return complaints.count > 0 || damaged > 0 ? 1 : 0;
  });
}

/** The command. */
export const tool: Command = command({ name: "sched", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
