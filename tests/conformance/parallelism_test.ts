/**
 * `--sort parallelism` and `--weight latency`, on recordings laid out by hand, and on a program
 * recorded here.
 */
import { assert, assertEquals } from "@std/assert";
import { type Happening, schedulerRecording } from "../../packages/session/intervals/testing.ts";
import { ignored, notInstalled, skipped } from "../support/ignored.ts";
import { noPerf, perfRecords } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

/** Rows of `funcs --json`. */
async function rows(...args: string[]): Promise<Record<string, unknown>[]> {
  const { code, out, err } = await tool("funcs", ["--json", ...args]);
  assertEquals(code, 0, err);
  return out.trim().split("\n").map((line) => JSON.parse(line));
}

/** A share without the digits that depend on the order of computation. */
function percent(value: unknown): number {
  return Number(Number(value).toFixed(9));
}

/** Four samples of one thread alone, then three of each of three concurrent threads. */
function phases(): Happening[] {
  const clock = 1_000_000n;
  const chain = [0x1010n];
  const found: Happening[] = [];
  for (const [k, task] of ["first", "second", "third"].entries()) {
    found.push({ time: BigInt(10 + k), tid: 7 + k, task });
  }
  for (let k = 0n; k < 4n; k++) found.push({ time: 100n + k, tid: 7, clock, chain });
  found.push({ time: 200n, tid: 8, cpu: 1, change: "in" });
  found.push({ time: 201n, tid: 9, cpu: 2, change: "in" });
  for (let k = 0n; k < 3n; k++) {
    for (const cpu of [0, 1, 2]) {
      found.push({ time: 300n + 10n * k + BigInt(cpu), tid: 7 + cpu, cpu, clock, chain });
    }
  }
  return found;
}

Deno.test("parallelism, latency: a serial and a parallel phase give exact values in all commands", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/data`;
    for (const cpus of [true, false]) {
      await Deno.writeFile(path, await schedulerRecording(phases(), { events: ["clock"], cpus }));
      const by = async (...args: string[]) =>
        (await rows("--sort", "comm,parallelism", ...args, path)).map((row) =>
          [row.comm, row.parallelism, row.samples, row.period].join(" ")
        ).sort();
      assertEquals(await by(), [
        "first 1 4 4000000",
        "first 3 3 3000000",
        "second 3 3 3000000",
        "third 3 3 3000000",
      ]);
      const latency = [
        "first 1 4 4000000",
        "first 3 3 1000000",
        "second 3 3 1000000",
        "third 3 3 1000000",
      ];
      assertEquals(await by("--weight", "latency"), latency);
      // Excluded samples still count for the parallelism of others.
      assertEquals(await by("--weight", "latency", "--comm", "second"), latency.slice(2, 3));
      assertEquals(await by("--weight", "latency", "--tid", "9"), latency.slice(3));
      const ms = "0.000000300,0.000000320";
      assertEquals(await by("--weight", "latency", "--time", ms), [
        "first 3 3 1000000",
        "second 3 2 666667",
        "third 3 2 666667",
      ]);
      const [first] = await rows("--sort", "comm", "--weight", "latency", path);
      assertEquals([first?.comm, first?.period, first?.overhead], ["first", 5e6, 500 / 7]);
      // Both columns; the serial phase is first by latency, though not by period.
      const columns = async (...args: string[]) =>
        (await rows("--latency", ...args, path)).map((row) => [
          row.parallelism ?? row.comm,
          ...[percent(row.latency), row.latency_period],
          ...[percent(row.overhead), row.period, row.samples],
        ]);
      assertEquals(await columns("--sort", "parallelism"), [
        [1, percent(400 / 7), 4e6, percent(400 / 13), 4e6, 4],
        [3, percent(300 / 7), 3e6, percent(900 / 13), 9e6, 9],
      ]);
      const levels = (await rows("--sort", "parallelism", path)).map((row) => row.parallelism);
      assertEquals(levels, [3, 1]);
      const byComm = [
        ["first", percent(500 / 7), 5e6, percent(700 / 13), 7e6, 7],
        ["second", percent(100 / 7), 1e6, percent(300 / 13), 3e6, 3],
        ["third", percent(100 / 7), 1e6, percent(300 / 13), 3e6, 3],
      ];
      // perf has the column among its keys.
      for (const how of [["--sort", "comm"], ["--sort", "latency,comm"]]) {
        assertEquals(await columns(...how), byComm);
      }
      assertEquals(await columns("--sort", "comm", "--tid", "8,9"), byComm.slice(1));
      assertEquals(await columns("--sort", "comm", "--percent-limit", "14.3"), byComm.slice(0, 1));
      assertEquals(await columns("--sort", "comm", "--limit", "2"), byComm.slice(0, 2));
      const callers = await rows("--latency", "--children", "--sort", "comm", path);
      assertEquals(
        callers.map((
          row,
        ) => [row.comm, percent(row.latency_children), row.latency_children_period]),
        byComm.map(([comm, share, latency]) => [comm, share, latency]),
      );
      // Samples excluded by --parallelism are in the totals.
      assertEquals(await columns("--sort", "comm", "--parallelism", "1"), [
        ["first", percent(400 / 7), 4e6, percent(400 / 13), 4e6, 4],
      ]);
      const parallel = await rows("--sort", "comm", "--parallelism", "2-3", path);
      assertEquals(parallel.map(({ samples }) => samples), [3, 3, 3]);
      const none = await tool("funcs", ["--parallelism", "2,4-8", path]);
      assertEquals([none.code, none.out.includes("first")], [1, false]);
      assert(/none was taken while 2,4-8 threads had a CPU/.test(none.err), none.err);
      const text = (await tool("funcs", ["--latency", "--sort", "comm", path])).out.split("\n");
      assert(/13 samples, period 13000000, latency 7000000$/.test(text[0] ?? ""), text[0]);
      assertEquals(text[1]?.split(/\s+/).filter((word) => word !== ""), [
        ...["LATENCY", "OVERHEAD", "SAMPLES", "PERIOD", "COMM"],
      ]);
      assert(/^ +71\.43% +53\.85% +7 +7000000 +first$/.test(text[2] ?? ""), text[2]);
      const folded = await tool("export", ["folded", "--weight", "latency", path]);
      const sums = new Map<string, number>();
      for (const line of folded.out.trim().split("\n")) {
        const [, comm = "", value] = /^([^;]+)(?:;.*)? (\d+)$/.exec(line) ?? [];
        sums.set(comm, (sums.get(comm) ?? 0) + Number(value));
      }
      assertEquals([...sums].sort(), [["first", 5e6], ["second", 1e6], ["third", 1e6]]);
      const tree = await tool("tree", ["--weight", "latency", path]);
      assert(/71\.43% .* first/.test(tree.out), tree.out);
      const page = await tool("flame", ["--weight", "latency", "--svg", "-o", "-", path]);
      assertEquals(page.code, 0, page.err);
      assert(page.out.includes("71.43%"), page.out.slice(0, 2000));
    }
  });
});

Deno.test("parallelism, latency: without context switches they are refused with the flags for recording", async () => {
  const path = "fixtures/recorded/callchain.perf.data";
  for (
    const args of [
      ["--sort", "parallelism"],
      ["--weight", "latency"],
      ["--latency"],
      ["--parallelism", "1"],
    ]
  ) {
    const { code, err, out } = await tool("funcs", [...args, path]);
    assertEquals([code, out], [1, ""]);
    assert(/no context switches were recorded: perf record --switch-events/.test(err), err);
  }
  const { code, err } = await tool("tree", ["--weight", "latency", path]);
  assertEquals(code, 1);
  assert(/no context switches were recorded: perf record --switch-events/.test(err), err);
  for (
    const both of [
      ["--sort", "parallelism", "--weight", "wall"],
      ["--latency", "--weight", "latency"],
      ["--latency", "--branches"],
      ["--latency", "--mem"],
      ["--latency", "--sort", "type"],
      ["--latency", "-g", "caller"],
      ["--parallelism", "1", "--weight", "off-cpu"],
      ["--parallelism", "1-x"],
    ]
  ) {
    const { code, err } = await tool("funcs", [...both, path]);
    assertEquals(code, 2, err);
  }
});

const PROGRAM = `
#include <pthread.h>
#include <time.h>
static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
static void spin(volatile long *n, long ns) {
  for (long end = now() + ns; now() < end;) for (int i = 0; i < 100000; i++) ++*n;
}
__attribute__((noinline)) void serial_phase(void) { volatile long n = 0; spin(&n, 200000000); }
__attribute__((noinline)) void *parallel_phase(void *p) { volatile long n = 0; spin(&n, 400000000); return p; }
int main(void) {
  pthread_t t[2];
  serial_phase();
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, parallel_phase, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
}
`;

/** Samples by "thread parallelism", from the text of `perf script`. */
function counted(script: string): Map<string, number> {
  const running = new Set<string>();
  const found = new Map<string, number>();
  for (const line of script.split("\n")) {
    const ended = /PERF_RECORD_EXIT\(\d+:(\d+)\)/.exec(line)?.[1];
    const tid = /^\s*\S+\s+(\d+)\s+[\d.]+:/.exec(line)?.[1];
    if (ended !== undefined) running.delete(ended);
    if (tid === undefined || ended !== undefined) continue;
    if (/PERF_RECORD_SWITCH\s+OUT/.test(line)) running.delete(tid);
    else if (/PERF_RECORD_SWITCH\s+IN/.test(line)) running.add(tid);
    else if (/cpu-clock/.test(line)) {
      running.add(tid);
      const key = `${tid} ${running.size}`;
      found.set(key, (found.get(key) ?? 0) + 1);
    }
  }
  return found;
}

/**
 * Latency of each function in a sample's chain: the sum of periods of a millisecond, each divided
 * by the number of threads on a CPU, from the text of `perf script`.
 */
function latencies(script: string): Map<string, number> {
  const running = new Set<string>();
  const found = new Map<string, number>();
  let seen: Set<string> | undefined;
  for (const line of script.split("\n")) {
    const frame = /^\s+[0-9a-f]+ (.+)$/.exec(line)?.[1];
    if (frame !== undefined) {
      if (seen === undefined || seen.has(frame)) continue;
      seen.add(frame);
      found.set(frame, (found.get(frame) ?? 0) + 1e6 / running.size);
      continue;
    }
    seen = undefined;
    const ended = /PERF_RECORD_EXIT\(\d+:(\d+)\)/.exec(line)?.[1];
    if (ended !== undefined) running.delete(ended);
    const tid = /^\s*\S+\s+(\d+)\s+[\d.]+:/.exec(line)?.[1];
    if (tid === undefined || ended !== undefined) continue;
    if (/PERF_RECORD_SWITCH\s+OUT/.test(line)) running.delete(tid);
    else if (/PERF_RECORD_SWITCH\s+IN/.test(line)) running.add(tid);
    else if (/cpu-clock/.test(line)) {
      running.add(tid);
      seen = new Set();
    }
  }
  return found;
}

Deno.test({
  name: "parallelism: phases of a program have the parallelism of the switches in perf script",
  ...ignored(noPerf() ?? notInstalled("cc")),
  async fn(t) {
    if (!perfRecords()) return await skipped(t, "perf cannot record here");
    await inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/phases.c`, PROGRAM);
      const run = (command: string, ...args: string[]) => {
        const { success, stdout } = new Deno.Command(command, {
          args,
          cwd: folder,
          stdin: "null",
          stderr: "null",
        }).outputSync();
        assert(success, `${command} ${args.join(" ")}`);
        return new TextDecoder().decode(stdout);
      };
      run("cc", "-O0", "-fno-omit-frame-pointer", "-o", "phases", "phases.c", "-lpthread");
      const path = `${folder}/data`;
      let compared = 0;
      // On a busy machine the threads may hardly have had two CPUs at a time; then it is recorded
      // again.
      for (let attempt = 1; attempt <= 3; attempt++) {
        const how = ["-e", "cpu-clock/period=1000000/u", "-g", "--switch-events", "-m", "1024"];
        run("perf", "record", "-q", "-B", "-o", "data", ...how, "--", "./phases");
        const fields = "comm,tid,time,event";
        const wanted = counted(
          run(
            ...["perf", "script", "-i", "data", "-F", fields, "--ns"] as const,
            ...["--show-switch-events", "--show-task-events"],
          ),
        );
        const of = await rows("--sort", "tid,parallelism", path);
        const found = new Map(of.map((row) => [`${row.tid} ${row.parallelism}`, row.samples]));
        assertEquals([...found].sort(), [...wanted].sort());
        const latency = await rows("--sort", "tid,parallelism", "--weight", "latency", path);
        for (const { tid, parallelism, period } of latency) {
          const samples = wanted.get(`${tid} ${parallelism}`) ?? 0;
          // Each row of a place is rounded.
          const near = Math.abs(Number(period) - samples * 1e6 / Number(parallelism));
          assert(near <= samples / 2, `${tid} ${parallelism}: ${period}, ${samples} samples`);
          compared++;
        }
        // Functions by name, with callees.
        const ofFunctions = latencies(
          run(
            ...[
              "perf",
              "script",
              "-i",
              "data",
              "-F",
              "comm,tid,time,event,ip,sym",
              "--ns",
            ] as const,
            ...["--no-inline", "--show-switch-events", "--show-task-events"],
          ),
        );
        const functions = new Map<unknown, number>();
        for (
          const row of await rows("--latency", "--children", "--no-inline", "--sort", "sym", path)
        ) {
          const sum = functions.get(row.sym) ?? 0;
          functions.set(row.sym, sum + Number(row.latency_children_period));
        }
        for (const name of ["main", "serial_phase", "parallel_phase", "spin", "now"]) {
          const [is, was] = [functions.get(name) ?? 0, ofFunctions.get(name) ?? 0];
          assert(Math.abs(is - was) <= 1, `${name}: ${is}, ${was}`);
          if (was > 0) compared++;
        }
        const serial = await rows("--children", "--sort", "sym,parallelism", path);
        const levels = serial.filter(({ sym }) => sym === "serial_phase");
        assertEquals(levels.map(({ parallelism }) => parallelism), [1]);
        compared += found.size;
        if ([...wanted].some(([key, samples]) => key.endsWith(" 2") && samples >= 50)) break;
        console.log(`recording ${attempt}: the threads hardly had two CPUs at a time`);
      }
      console.log(`${compared} rows compared`);
      assert(compared >= 10);
    });
  },
});
