/** `sched latency` compared with `perf sched latency`, on recordings made here. */
import { assert, assertEquals } from "@std/assert";
import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader, type PerfEvent, SampleFields } from "@perfdata/format/records";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import { SchedulerLatency, Timehist } from "@perfdata/report/contention";
import { EventNames, type Run } from "@perfdata/session";
import { schedulerRecording } from "../../packages/session/intervals/testing.ts";
import { perfText, perfVersion, scriptSwitch } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const EVENTS = ["switch", "wakeup", "wakeup_new", "stat_runtime"].map((name) =>
  `sched:sched_${name}`
);
const WORK = "for i in 1 2 3 4 5; do sleep 0.01; ls / | cat >/dev/null; done";

/** Records the scheduler on all CPUs. Returns `false` without permission. */
function record(path: string, events: readonly string[]): boolean {
  if (perfVersion() === undefined) return false;
  const { success } = new Deno.Command("perf", {
    args: ["record", "-q", "-B", "-a", "-R", "-c", "1", "-m", "1024", "-o", path]
      .concat("-e", events.join(","), "--", "sh", "-c", WORK),
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).outputSync();
  return success;
}

const records = ((): boolean => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-sched-" });
  try {
    const can = record(`${folder}/data`, EVENTS);
    if (!can) console.log("ignored: perf cannot record tracepoints of the scheduler here");
    return can;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
})();

/** Rows of a table by thread: `comm:tid | …`. */
function rowsOf(text: string): string[] {
  return text.split("\n").filter((line) => / avg: .* max start: /.test(line)).map((line) =>
    line.trim()
  );
}

/**
 * Changes preempted threads to runnable ones, as kernels before 4.14 write them: perf 6.1 takes the
 * new value for sleep. Returns the number of changed switches.
 */
async function withOldStates(path: string): Promise<number> {
  const PREEMPTED = 0x100n;
  const file = Deno.readFileSync(path);
  const bytes = new DataView(file.buffer);
  const reader = await PerfDataReader.open(bytesSource(file.slice()));
  const names = await new EventNames(reader).all();
  let changed = 0;
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      const start = batch.start(i);
      const end = start + batch.size(i);
      const of = reader.events.indexOf(batch.view, start, end, batch.type(i), true);
      if (batch.type(i) !== PERF_RECORD_SAMPLE || names[of] !== "sched:sched_switch") continue;
      const fields = new SampleFields((reader.events.all[of] as PerfEvent).attr);
      assert(fields.locate(batch.view, start, end, true));
      // common fields, prev_comm[16], prev_pid, prev_prio, prev_state
      const at = batch.offset + fields.raw + 32;
      if (bytes.getBigUint64(at, true) !== PREEMPTED) continue;
      bytes.setBigUint64(at, 0n, true);
      changed++;
    }
  }
  Deno.writeFileSync(path, file);
  return changed;
}

Deno.test({
  name: "sched latency: rows equal those of perf sched latency, from a file and from a pipe",
  ignore: !records,
  async fn() {
    await inFolder(async (folder) => {
      const path = `${folder}/sched.data`;
      assert(record(path, EVENTS));
      const preempted = await withOldStates(path);
      const perf = (await perfText(["sched", "latency", "-p"], path))?.stdout ?? "";
      const { out, code } = await tool("sched", ["latency", "--threads", path]);
      assertEquals(code, 0);
      const ours = rowsOf(out).toSorted();
      assertEquals(ours, rowsOf(perf).toSorted());
      console.log(`sched latency: ${ours.length} threads compared, ${preempted} times preempted`);
      assert(ours.length >= 5, "too few threads were compared");
      const stream = await tool("convert", ["-o", "-", path]);
      assertEquals(stream.code, 0);
      for (const input of [stream.stdout, Deno.readFileSync(path)]) {
        const piped = await tool("sched", ["latency", "--threads", "-"], { input });
        assertEquals([piped.code, piped.out], [0, out]);
      }
    });
  },
});

Deno.test({
  name: "sched latency: sched_waking is used if perf sched record has only that",
  ignore: !records,
  async fn() {
    await inFolder(async (folder) => {
      const path = `${folder}/both.data`;
      assert(record(path, [...EVENTS, "sched:sched_waking"]));
      const { out } = await tool("sched", ["latency", "--json", "--threads", path]);
      const rows = out.trim().split("\n").map((line) => JSON.parse(line));
      assert(rows.length >= 5);
      for (const row of rows) {
        assert(row.delay >= row.max_delay && row.delay <= row.switches * row.max_delay);
        if (row.max_start !== null) assertEquals(row.max_end - row.max_start, row.max_delay);
      }
    });
  },
});

/**
 * A row of timehist without the parts that depend on lost records: ids, which perf does not print
 * if the FORK was lost, and waits, which begin at a wakeup or switch of another CPU.
 */
function withoutWaits(line: string): string {
  return line.replace(/(\[\d+(?:\/\d+)?\])? +\d+\.\d+ +\d+\.\d+( +\d+\.\d+ )$/, "$2");
}

/** Lines of perf's output without its sums of losses, which it prints below a map. */
function rowsAndLosses(text: string): string[] {
  return text.split("\n").filter((line) => !/^ +INFO: .* lost events /.test(line));
}

Deno.test({
  name:
    "sched timehist and map: lines equal perf's, for a file, a pipe, and a recording with losses",
  ignore: !records,
  async fn() {
    await inFolder(async (folder) => {
      const path = `${folder}/all.data`;
      // A buffer of one page loses records; on a busy machine any buffer does.
      for (const pages of ["1024", "1"]) {
        const recorded = new Deno.Command("perf", {
          args: ["sched", "record", "-m", pages, "-o", path, "--", "sh", "-c", WORK],
          stdin: "null",
          stdout: "null",
          stderr: "null",
        }).outputSync();
        assert(recorded.success);
        const stream = (await tool("convert", ["-o", "-", path])).stdout;
        for (const view of ["timehist", "map"]) {
          const perf = rowsAndLosses((await perfText(["sched", view], path))?.stdout ?? "");
          const { code, out, err } = await tool("sched", [view, path]);
          const said = /^.*: (\d+) records were lost while it was recorded: .*\n( .*\n)*/m;
          assertEquals([code, err.replace(said, "")], [0, ""]);
          const lost = Number(said.exec(err)?.[1] ?? 0);
          const lines = out.split("\n");
          const all = (line: string): string => lost > 0 ? withoutWaits(line) : line;
          assertEquals(lines.map(all), perf.map(all));
          console.log(`sched ${view}: ${lines.length} lines compared, ${lost} records lost`);
          // The number of switches depends on the machine: some 95 on a quiet one.
          assert(lines.length > 30);
          const piped = await tool("sched", [view, "-"], { input: stream });
          assertEquals(piped.code, 0);
          assertEquals(piped.out, out);
          const json = (await tool("sched", [view, "--json", path])).out.trim().split("\n");
          const losses = perf.filter((line) => / lost \d+ events on cpu \d+$/.test(line)).length;
          assertEquals(json.length, perf.length - losses - (view === "map" ? 1 : 4));
          for (const line of json) JSON.parse(line);
        }
        // Intervals on a CPU never overlap.
        const ran = new Map<number, number>();
        const rows = (await tool("sched", ["timehist", "--json", path])).out.trim().split("\n")
          .map((line) => JSON.parse(line));
        for (const { cpu, run } of rows) ran.set(cpu, (ran.get(cpu) ?? 0) + run);
        const span = rows.at(-1).time - rows[0].time;
        for (const [cpu, time] of ran) assert(time <= span, `CPU ${cpu}: ${time} of ${span} ns`);
      }
    });
  },
});

Deno.test("sched latency: the idle task of CPU 0 is not an ended thread", () => {
  const waits: number[] = [];
  const timehist = new Timehist(({ wait }) => waits.push(wait));
  const ended = { tid: [-1], process: [-1], comm: [-1] } as unknown as Run;
  timehist.switched({ time: 100, cpu: 0, from: 0, state: 0, to: 5 }, ended, 0);
  timehist.switched({ time: 200, cpu: 0, from: 5, state: 0, to: 0 }, ended, 0);
  timehist.switched({ time: 300, cpu: 0, from: 0, state: 0, to: 6 }, ended, 0);
  // It left its CPU at 100, and got it again at 200.
  assertEquals(waits, [0, 0, 100]);
});

Deno.test("sched latency: a wait begins at the wakeup or preemption and ends at the switch", () => {
  const latency = new SchedulerLatency();
  latency.switched({ time: 100, cpu: 0, from: 7, state: 1, to: 8 }); // 7 sleeps; 8, so far unknown, runs
  latency.woken(150, 7);
  latency.woken(170, 7); // already waits
  latency.switched({ time: 180, cpu: 0, from: 8, state: 0, to: 7 }); // 8 is preempted
  latency.switched({ time: 200, cpu: 0, from: 7, state: 2, to: 8 });
  latency.woken(190, 7); // before it slept: an event out of order
  latency.ran(210, 8, 55);
  const rows = latency.latencies(true).map((
    { tid, switches, delay, maxStart, maxEnd, runtime },
  ) => [
    tid,
    switches,
    delay,
    maxStart,
    maxEnd,
    runtime,
  ]);
  assertEquals(rows, [[7, 1, 30, 150, 180, 0], [8, 2, 20, 180, 200, 55]]);
});

Deno.test("sched latency: lost records and reused ids give a line each", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/lost.data`;
    const bytes = await schedulerRecording([
      { time: 100n, tid: 7, to: [8, 1n] },
      { time: 140n, tid: 8, wakes: 7 },
      { time: 150n, tid: 8, to: [7, 0n] },
      { time: 160n, tid: 7, lost: 12n },
      { time: 170n, tid: 7, task: "exit" },
      { time: 180n, tid: 7, to: [8, 0x10n] },
      { time: 190n, tid: 7, task: "fork" },
      { time: 200n, tid: 8, wakes: 7 },
      { time: 205n, tid: 8, to: [7, 1n] },
    ]);
    Deno.writeFileSync(path, bytes);
    const { code, out, err } = await tool("sched", ["latency", "--json", "--threads", path]);
    const rows = out.trim().split("\n").map((line) => JSON.parse(line));
    const found = rows.map(({ tid, switches, delay }) => [tid, switches, delay]);
    assertEquals([code, found.toSorted()], [0, [[7, 2, 15], [8, 2, 30]]]);
    assert(/12 records were lost/.test(err), err);
    assert(/\b1 id of a thread was used again/.test(err), err);
  });
});

Deno.test("sched: wrong usage and missing tracepoints give one line", async () => {
  const unknown = await tool("sched", ["latencyy", "fixtures/recorded/callchain.perf.data"]);
  assertEquals(unknown.code, 2);
  assertEquals((await tool("sched", [])).code, 2);
  const none = await tool("sched", ["latency", "fixtures/recorded/callchain.perf.data"]);
  assertEquals([none.code, none.out], [1, ""]);
  assert(none.err.includes("no context switches") && none.err.includes("perf sched record"));
});

Deno.test("sched wakeups: a sleep counts for the thread that ends it, a preemption for none", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/woken.data`;
    Deno.writeFileSync(
      path,
      await schedulerRecording([
        { time: 50n, tid: 7, task: "seven" },
        { time: 60n, tid: 8, task: "eight" },
        { time: 100n, tid: 7, to: [8, 1n] }, // 7 sleeps
        { time: 140n, tid: 8, wakes: 7 },
        { time: 145n, tid: 8, wakes: 7 }, // is already awake
        { time: 150n, tid: 8, to: [7, 0n] }, // 8 is preempted
        { time: 170n, tid: 7, to: [8, 1n] },
        { time: 180n, tid: 8, wakes: 7 },
        { time: 200n, tid: 8, to: [7, 2n] },
        { time: 230n, tid: 7, wakes: 8 },
        { time: 240n, tid: 7, to: [8, 1n] },
      ]),
    );
    const { out } = await tool("sched", ["wakeups", "--json", path]);
    const rows = out.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(rows, [
      { waiter: "seven", waker: "eight", waits: 2, wait: 50, longest: 40, delay: 30 },
      { waiter: "eight", waker: "seven", waits: 1, wait: 30, longest: 30, delay: 10 },
    ]);
    const threads = await tool("sched", ["wakeups", "--threads", path]);
    assert(/^ +2 .* seven:7 +eight:8$/m.test(threads.out), threads.out);
    const folded = await tool("sched", ["wakeups", "--folded", path]);
    assertEquals([folded.code, folded.out], [0, ""]); // less than a microsecond each
    const wrong = await tool("sched", ["wakeupz", path]);
    assert(/there is no sched wakeupz: .*; did you mean wakeups\?/.test(wrong.err), wrong.err);
  });
});

Deno.test({
  name: "sched wakeups: counts equal those in the lines of perf script",
  ignore: !records,
  fn: () =>
    inFolder(async (folder) => {
      const path = `${folder}/data`;
      assert(record(path, ["sched:sched_switch", "sched:sched_waking"]));
      const script = await perfText(["script", "--ns", "-F", "tid,time,event,trace"], path);
      const lines = script?.stdout.split("\n") ?? [];
      const asleep = new Map<string, bigint>();
      const wanted = new Map<string, [number, bigint]>();
      for (const line of lines) {
        const [, tid = "", s = "", ns = "", event, rest = ""] =
          /^ *(-?\d+) +(\d+)\.(\d+): +sched:(\w+): (.*)$/.exec(line) ?? [];
        const time = BigInt(s) * 1_000_000_000n + BigInt(ns === "" ? 0 : ns);
        if (event === "sched_switch") {
          const { from, state, to } = scriptSwitch(rest);
          asleep.delete(to);
          // R, R+: runnable.
          if (/^R/.test(state)) asleep.delete(from);
          else if (from !== "0") asleep.set(from, time);
        } else if (event === "sched_waking") {
          const [, waiter = ""] = / pid=(\d+) /.exec(` ${rest}`) ?? /:(\d+) \[/.exec(rest) ?? [];
          const since = asleep.get(waiter);
          asleep.delete(waiter);
          if (since === undefined) continue;
          const [n, sum] = wanted.get(waiter) ?? [0, 0n];
          wanted.set(waiter, [n + 1, sum + time - since]);
          assert(tid !== "");
        }
      }
      const { out } = await tool("sched", ["wakeups", "--json", "--threads", path]);
      const found = new Map<string, [number, bigint]>();
      for (const line of out.trim().split("\n")) {
        const { waiter_tid, waits, wait } = JSON.parse(line);
        const [n, sum] = found.get(String(waiter_tid)) ?? [0, 0n];
        found.set(String(waiter_tid), [n + waits, sum + BigInt(wait)]);
      }
      assertEquals([...found].toSorted(), [...wanted].toSorted());
      assert(found.size >= 5, `${found.size} threads waited`);
      // An interrupt ends a sleep that a timer ends, or a wait of the kernel itself.
      assert(/"waker":"<interrupt>"/.test(out), out);
    }),
});

Deno.test("sched: tracepoints without formats are not reported as missing", async () => {
  const happenings = [
    { time: 100n, tid: 7, clock: 10n, chain: [0x1010n] },
    { time: 110n, tid: 7, to: [8, 1n] as const, chain: [0x1010n] },
    { time: 120n, tid: 8, wakes: 7 },
    { time: 130n, tid: 8, to: [7, 0n] as const },
  ];
  /** Additional records of switches, which are readable. */
  const switches = [
    { time: 111n, tid: 7, change: "out" as const },
    { time: 129n, tid: 7, change: "in" as const },
  ];
  let compared = 0;
  await inFolder(async (folder) => {
    const path = `${folder}/data`;
    const said = async (command: string, ...args: string[]): Promise<[number, string]> => {
      const { code, err } = await tool(command, [...args, path]);
      assert(!/not recorded|were recorded|recorded without|perf sched record/.test(err), err);
      compared++;
      return [code, err];
    };
    for (const names of [true, false]) {
      await Deno.writeFile(path, await schedulerRecording(happenings, { names, formats: false }));
      const what = names
        ? /sched:sched_switch, sched:sched_waking: recorded, and not to be read/
        : /tracepoint 301, tracepoint 302: recorded, and not to be read/;
      for (const view of ["latency", "timehist", "map", "wakeups"]) {
        const [code, err] = await said("sched", view);
        assertEquals(code, 1);
        assert(what.test(err), err);
      }
      for (
        const [command = "", ...args] of [
          ["funcs", "--weight", "off-cpu"],
          ["tree", "--weight", "wall"],
          ["funcs", "--weight", "latency"],
          ["funcs", "--sort", "parallelism"],
        ]
      ) {
        const [code, err] = await said(command, ...args);
        assertEquals(code, 1);
        assert(what.test(err), err);
      }
      // Readable parts are shown, and missing ones reported.
      const both = [...happenings, ...switches].sort((a, b) => Number(a.time - b.time));
      await Deno.writeFile(path, await schedulerRecording(both, { names, formats: false }));
      const [code, err] = await said("funcs", "--weight", "off-cpu");
      assertEquals(code, 0);
      assert(what.test(err), err);
    }
    // With the formats, there is no report.
    await Deno.writeFile(path, await schedulerRecording(happenings, { names: true }));
    const [code, err] = await said("funcs", "--weight", "off-cpu");
    assertEquals([code, /not to be read/.test(err)], [0, false]);
  });
  console.log(`${compared} answers compared`);
  assertEquals(compared, 19);
});
