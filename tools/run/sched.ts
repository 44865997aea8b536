/** Runs `sched`. */
import { jsonLine } from "@perfdata/format/bytes";
import {
  latencyLines,
  type SchedulerConsumer,
  SchedulerLatency,
} from "@perfdata/report/contention";
import { undescribedLine } from "@perfdata/session";
import { aboutAsync, complain, oneFile, UsageError, writeLines, writeOut } from "../shared/cli.ts";
import type { FlagsOf } from "../shared/flag_table.ts";
import { openRecording } from "../shared/open_recording.ts";
import { writeRow } from "../shared/styled.ts";
import type { FLAGS } from "../sched.ts";

/** Messages for recordings without wakeups, by view. */
const WITHOUT_WAKEUPS = {
  latency: "wakeups: waits count from preemption only",
  timehist: "wakeups: how long threads waited for a CPU is not known",
  wakeups: "wakeups: who woke whom is not known",
};

/** The names of the views. */
const VIEWS = ["latency", "timehist", "map", "wakeups"] as const;
type View = typeof VIEWS[number];

/** A view with its output. Rows are gathered until `flush`, because each write is a system call. */
interface PrintedView {
  readonly view: SchedulerConsumer;
  flush(): void;
  /** Prints views that need all records. */
  end?(): void;
}

/** Prints one row for each time that a thread ran on a CPU. */
async function timehistView(isJson: boolean): Promise<PrintedView> {
  const { Timehist } = await import("@perfdata/report/contention");
  const { TimehistText } = await import("@perfdata/report/contention");
  const view = new Timehist((row) => text.take(row), (loss) => text.lost(loss));
  const text = new TimehistText(view, { json: isJson }, (bytes) => writeOut(bytes));
  return { view, flush: () => text.flush() };
}

/** Prints, after each switch, the thread on each CPU. */
async function mapView(isJson: boolean): Promise<PrintedView> {
  const { mapLine, SchedulerMap } = await import("@perfdata/report/contention");
  let waiting = "";
  const view = new SchedulerMap((row) => {
    const { isNew, ...rest } = row;
    waiting += isJson ? `${jsonLine({ ...rest, new: isNew })}\n` : `${mapLine(row)}\n`;
  });
  return {
    view,
    flush() {
      if (waiting !== "") writeOut(waiting);
      waiting = "";
    },
  };
}

type SchedFlags = FlagsOf<typeof FLAGS>;

function viewOf({ on, operands }: SchedFlags): { shown: View; files: readonly string[] } {
  const [view, ...files] = operands;
  if (view === undefined) {
    throw new UsageError(`what to print is missing: ${VIEWS.join(", ")}`);
  }
  const shown = VIEWS.find((known) => known === view);
  if (shown === undefined) {
    throw new UsageError(`there is no sched ${view}: ${VIEWS.join(", ")}`, {
      word: view,
      known: VIEWS,
    });
  }
  if (on.threads && shown !== "latency" && shown !== "wakeups") {
    throw new UsageError("--threads is for latency and wakeups");
  }
  if (on.folded && shown !== "wakeups") throw new UsageError("--folded is for wakeups");
  return { shown, files };
}

/** Reports events that the recording lacks, and events that were skipped. */
function reportMissing(
  name: string,
  shown: View,
  view: SchedulerConsumer,
  latency: SchedulerLatency,
): void {
  const cannotRead = (event: string) => view.undescribed.some((of) => of.includes(event));
  const missing = [
    ...(view.hasWakeups || cannotRead("sched_wak") || shown === "map"
      ? []
      : [WITHOUT_WAKEUPS[shown]]),
    ...(latency.hasRuntimes || cannotRead("sched_stat_runtime") || shown !== "latency"
      ? []
      : ["sched_stat_runtime: runtimes are 0"]),
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
}

/** Prints which threads woke which, after all records. */
async function wakeupsView({ json, threads, folded }: SchedFlags["on"]): Promise<PrintedView> {
  const { foldedWakeups, wakeupLines, Wakeups } = await import("@perfdata/report/contention");
  const view = new Wakeups();
  return {
    view,
    flush() {},
    end() {
      const rows = view.all(threads);
      if (json) { for (const row of rows) writeOut(`${jsonLine({ ...row })}\n`); }
      else if (folded) writeLines(foldedWakeups(rows));
      else for (const line of wakeupLines(rows)) writeRow(line);
    },
  };
}

/** Prints how long threads ran and waited, after all records. */
function printLatencies(latency: SchedulerLatency, { json, threads }: SchedFlags["on"]): void {
  const rows = latency.latencies(threads);
  if (!json) {
    for (const line of latencyLines(rows, latency.base)) writeRow(line);
    return;
  }
  for (const { maxDelay, maxStart, maxEnd, ...row } of rows) {
    const start = latency.base + BigInt(maxStart);
    const end = latency.base + BigInt(maxEnd);
    const longest = maxDelay === 0
      ? { max_delay: 0, max_start: null, max_end: null }
      : { max_delay: maxDelay, max_start: start, max_end: end };
    writeOut(`${jsonLine({ ...row, ...longest })}\n`);
  }
}

async function printer(
  shown: View,
  latency: SchedulerLatency,
  on: SchedFlags["on"],
): Promise<PrintedView> {
  switch (shown) {
    case "latency":
      return { view: latency, flush() {}, end: () => printLatencies(latency, on) };
    case "wakeups":
      return await wakeupsView(on);
    case "map":
      return await mapView(on.json);
    case "timehist":
      return await timehistView(on.json);
  }
}

export async function run(flags: SchedFlags): Promise<number> {
  const { shown, files } = viewOf(flags);
  const name = oneFile(files);
  return await aboutAsync(name, async () => {
    const { recording, complaints, progress } = await openRecording("sched", name);
    const latency = new SchedulerLatency();
    const { view, flush, end } = await printer(shown, latency, flags.on);
    await recording.read([view, { needs: {}, rows: flush, finish: flush }]);
    progress.finish();
    complaints.finish();
    const undescribed = undescribedLine(view.undescribed);
    if (undescribed !== undefined) complain(`sched: ${name}: ${undescribed}`);
    if (!view.hasSwitches) {
      if (undescribed === undefined) {
        complain(
          `sched: ${name}: no context switches with their threads; record with perf sched record`,
        );
      }
      return 1;
    }
    reportMissing(name, shown, view, latency);
    end?.();
    return complaints.count > 0 || view.damaged > 0 ? 1 : 0;
  });
}
