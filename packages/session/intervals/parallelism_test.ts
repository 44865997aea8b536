import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import { assert, assertEquals } from "@std/assert";
import { runEngine } from "../reading/run_engine.ts";
import type { Run } from "../order/run.ts";
import { Parallelism } from "./parallelism.ts";
import { type Happening, schedulerRecording } from "./testing.ts";

/** Number of threads that had a CPU at each sample of the clock, by the period of the sample. */
async function parallelismOf(
  happenings: readonly Happening[],
  recording: Parameters<typeof schedulerRecording>[1] = {},
): Promise<{ found: Record<number, number>; parallelism: Parallelism }> {
  const bytes = await schedulerRecording(happenings, recording);
  const reader = await PerfDataReader.open(bytesSource(bytes));
  const found: Record<number, number> = {};
  let parallelism: Parallelism | undefined;
  await runEngine(reader, [{
    needs: {},
    async start(engine) {
      parallelism = await Parallelism.open(engine);
    },
    rows(run: Run) {
      for (let i = 0; i < run.count; i++) {
        parallelism?.row(run, i);
        const period = run.period[i] as number;
        if (run.type[i] !== PERF_RECORD_SAMPLE || period === 1) continue;
        found[period] = parallelism?.threads ?? 0;
      }
    },
  }]);
  assert(parallelism !== undefined);
  return { found, parallelism };
}

Deno.test("Parallelism: SWITCH records, with and without CPUs, give the count of running threads", async () => {
  const happenings: Happening[] = [
    { time: 100n, tid: 7, clock: 10n },
    { time: 110n, tid: 8, task: "fork" },
    { time: 120n, tid: 8, cpu: 1, change: "in" },
    { time: 125n, tid: 7, clock: 20n },
    { time: 130n, tid: 9, task: "fork" },
    { time: 135n, tid: 9, cpu: 2, change: "in" },
    // A second record of the same switch adds no thread.
    { time: 136n, tid: 9, cpu: 2, change: "in" },
    { time: 140n, tid: 8, cpu: 1, clock: 30n },
    { time: 150n, tid: 7, change: "preempted" },
    { time: 155n, tid: 8, cpu: 1, clock: 40n },
    { time: 160n, tid: 8, cpu: 1, change: "out" },
    { time: 165n, tid: 9, cpu: 2, clock: 50n },
    // The last switch of a thread that ends is not recorded.
    { time: 170n, tid: 7, change: "in" },
    { time: 175n, tid: 9, cpu: 2, clock: 60n },
    { time: 180n, tid: 9, cpu: 2, task: "exit" },
    { time: 190n, tid: 7, clock: 70n },
  ];
  const wanted = { 10: 1, 20: 2, 30: 3, 40: 2, 50: 1, 60: 2, 70: 1 };
  for (const [cpus, wide] of [[true, false], [false, false], [true, true]] as const) {
    const recording = { events: ["clock"], cpus, wide } as const;
    const { found, parallelism } = await parallelismOf(happenings, recording);
    assertEquals(found, wanted, `cpus: ${cpus}, of all CPUs: ${wide}`);
    assert(parallelism.hasSwitches);
  }
});

Deno.test("Parallelism: sched_switch gives the number of recorded threads on a CPU, without idle tasks", async () => {
  const { found, parallelism } = await parallelismOf([
    { time: 90n, tid: 8, task: "eight" },
    { time: 100n, tid: 7, clock: 10n },
    // Thread 55 has no records of its own.
    { time: 110n, tid: 7, to: [55, 1n] },
    { time: 120n, tid: 9, cpu: 1, clock: 20n },
    { time: 130n, tid: 55, to: [8, 0n] },
    { time: 140n, tid: 9, cpu: 1, clock: 30n },
    { time: 150n, tid: 9, cpu: 1, to: [0, 1n] },
    { time: 160n, tid: 8, clock: 40n },
    // A switch is missing: CPU 0 no longer runs thread 8.
    { time: 170n, tid: 7, clock: 50n },
    { time: 180n, tid: 8, cpu: 1, clock: 60n },
  ]);
  assertEquals(found, { 10: 1, 20: 1, 30: 2, 40: 1, 50: 1, 60: 2 });
  assert(parallelism.hasSwitches);
  assertEquals(parallelism.lostRecords, 0);
});

Deno.test("Parallelism: after a LOST record, a thread counts again from its next record on", async () => {
  const happenings: Happening[] = [
    { time: 100n, tid: 7, clock: 10n },
    { time: 105n, tid: 8, cpu: 1, clock: 20n },
    { time: 110n, tid: 8, cpu: 1, lost: 3n },
    { time: 120n, tid: 7, clock: 30n },
    { time: 130n, tid: 8, cpu: 1, clock: 40n },
  ];
  const { found, parallelism } = await parallelismOf(happenings, { events: ["clock"] });
  assertEquals(found, { 10: 1, 20: 2, 30: 1, 40: 2 });
  assertEquals([parallelism.lostRecords, parallelism.hasSwitches], [3, false]);
});
