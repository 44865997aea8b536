/** Prints how long threads waited for a CPU: `deno run sched latency FILE`. */
import { openSource } from "@perfdata/format/file-source";
import { PerfDataReader } from "@perfdata/format/reader";
import { jsonLine } from "@perfdata/report/json-line";
import { SchedulerLatency } from "@perfdata/report/sched-latency";
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
import { featuresFirst } from "./_spool.ts";

const HELP = `sched: prints how long threads waited for a CPU

usage: perfdata sched latency [flags] [FILE]

FILE is a perf.data file or directory, or - for a pipe (default: perf.data), recorded with
perf sched record, or with -e sched:sched_switch,sched:sched_waking,sched:sched_stat_runtime.

  latency              per name of threads: time run, switches, average and longest wait, as
                       perf sched latency prints them

      --threads        a row for each thread instead of each name
      --json           print a line of JSON for each row, times in ns
      --debug          print the stack trace of an error
  -h, --help           print this help

examples:
  perfdata sched latency perf.data
  perfdata sched latency --threads --json perf.data | jq .max_delay

Exit codes: 0 done; 1 the file is damaged, or has no context switches; 2 wrong usage.
`;

const FLAGS = { boolean: ["json", "threads"], string: [], alias: {} } as const;

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const { on, operands } = flags;
  const [view, ...files] = operands;
  if (view === undefined) throw new UsageError("what to print is missing: latency");
  parseWord("view", view, ["latency"]);
  const name = oneFile(files);
  return await aboutAsync(name, async () => {
    const complaints = new Complaints(`sched: ${name}`);
    const reader = await PerfDataReader.open(await featuresFirst(openSource(name)), {
      diagnostics: complaints.take,
    });
    const progress = new Progress("sched", reader.fileSize);
    const latency = new SchedulerLatency();
    await runEngine(reader, [latency], { progress: progress.add, diagnostics: complaints.take });
    progress.finish();
    complaints.finish();
    if (!latency.hasSwitches) {
      complain(
        `sched: ${name}: no context switches with their threads; record with perf sched record`,
      );
      return 1;
    }
    const missing = [
      ...(latency.hasWakeups ? [] : ["wakeups: waits count from preemption only"]),
      ...(latency.hasRuntimes ? [] : ["sched_stat_runtime: runtimes are 0"]),
    ];
    for (const what of missing) complain(`sched: ${name}: recorded without ${what}`);
    const { damaged, lostRecords, reused } = latency;
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
    } else writeLines(latencyLines(rows, latency.base));
    return complaints.count > 0 || damaged > 0 ? 1 : 0;
  });
}

/** The command. */
export const tool: Command = command({ name: "sched", help: HELP, flags: FLAGS, run });

if (import.meta.main) await main(tool);
