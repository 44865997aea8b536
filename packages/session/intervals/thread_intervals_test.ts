import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { runEngine } from "../reading/run_engine.ts";
import type { SampleFilter } from "../samples/resolve.ts";
import type { Run } from "../order/run.ts";
import type { Engine } from "../engine/engine.ts";
import { type ThreadInterval, ThreadIntervals } from "./thread_intervals.ts";
import { type Happening, schedulerRecording } from "./testing.ts";

interface Found {
  readonly off: string[];
  readonly ran: string[];
  readonly intervals: ThreadIntervals;
  /** Number of samples with a stack. */
  readonly stacks: number;
}

/**
 * Intervals as text: `tid from-runnable-to stack waker`; a stack of the sampled address alone is
 * `-`. Checks that they are the same with stacks of all samples and with stacks of needed samples
 * only.
 */
async function intervalsOf(
  happenings: readonly Happening[],
  filter: SampleFilter = {},
  recording: Parameters<typeof schedulerRecording>[1] = {},
): Promise<Found> {
  const bytes = await schedulerRecording(happenings, recording);
  const all = await collected(bytes, filter, false, true);
  const own = await collected(bytes, filter, true, true);
  assertEquals([own.off, own.ran], [all.off, all.ran]);
  const off = await collected(bytes, filter, true, false);
  assertEquals(off.off, all.off);
  assert(off.stacks <= own.stacks && own.stacks <= all.stacks);
  return own;
}

async function collected(
  bytes: Uint8Array,
  filter: SampleFilter,
  isOwn: boolean,
  withRan: boolean,
): Promise<Found> {
  const reader = await PerfDataReader.open(bytesSource(bytes));
  const off: string[] = [];
  const ran: string[] = [];
  let stacks = 0;
  let intervals: ThreadIntervals | undefined;
  const looksAt = (run: Run, i: number): boolean => intervals?.looksAt(run, i) ?? true;
  const consumer = {
    needs: { stacks: true, ...(isOwn ? { looksAt } : {}) },
    async start(engine: Engine) {
      const stack = (node: number): string => (engine.stacks.parent[node] ?? -1) < 0 ? "-" : "s";
      const moment = (time: number): string => String((intervals?.base ?? 0n) + BigInt(time));
      intervals = await ThreadIntervals.open(engine, {
        off: ({ tid, from, runnable, to, stack: at, waker }) =>
          off.push(
            `${tid} ${moment(from)}-${moment(runnable)}-${moment(to)} ${stack(at)} ${waker}`,
          ),
        ...(withRan
          ? {
            ran: ({ tid, from, to, stack: at }: ThreadInterval) =>
              ran.push(`${tid} ${moment(from)}-${moment(to)} ${stack(at)}`),
          }
          : {}),
      }, { filter });
    },
    applied: (run: Run, i: number) => intervals?.applied(run, i),
    rows(run: Run) {
      stacks += run.stack.subarray(0, run.count).filter((stack) => stack >= 0).length;
      intervals?.rows(run);
    },
    finish: () => intervals?.finish(),
  };
  await runEngine(reader, [consumer]);
  assert(intervals !== undefined);
  return { off, ran, intervals, stacks };
}

const CHAIN = [0x1010n, 0x1020n];

Deno.test("ThreadIntervals: a sleep ends at the wakeup, with its waker, then the wait for a CPU begins", async () => {
  const { off, ran, intervals } = await intervalsOf([
    { time: 100n, tid: 7, to: [8, 1n], chain: CHAIN },
    { time: 130n, tid: 8, wakes: 7 },
    { time: 140n, tid: 8, wakes: 7 },
    { time: 150n, tid: 8, to: [7, 0n] },
    { time: 165n, tid: 7, clock: 10n, chain: CHAIN },
    { time: 180n, tid: 7, to: [8, 2n], chain: CHAIN },
    { time: 200n, tid: 8, to: [0, 1n] },
  ]);
  assertEquals(off, ["7 100-130-150 s 8", "8 150-150-180 - -1", "7 180-200-200 s -1"]);
  assertEquals(ran, ["8 100-150 -", "7 150-165 s", "7 165-180 s", "8 180-200 -"]);
  assertEquals([intervals.count, intervals.withStack, intervals.withWaker], [3, 2, 1]);
});

Deno.test("ThreadIntervals: a switch without a call chain has the stack of the thread's last sample, another its own", async () => {
  const found = async (
    happenings: readonly Happening[],
    standIns: boolean,
    events: "clock"[] | undefined,
  ) => {
    const bytes = await schedulerRecording(happenings, events === undefined ? {} : { events });
    const reader = await PerfDataReader.open(bytesSource(bytes));
    const marks: string[] = [];
    let intervals: ThreadIntervals | undefined;
    await runEngine(reader, [{
      needs: { stacks: true, looksAt: (run: Run, i: number) => intervals?.looksAt(run, i) ?? true },
      async start(engine: Engine) {
        intervals = await ThreadIntervals.open(engine, {
          off: ({ tid, stack, isStandIn }) => marks.push(`${tid} ${stack >= 0} ${isStandIn}`),
        }, { standIns });
      },
      applied: (run: Run, i: number) => intervals?.applied(run, i),
      rows: (run: Run) => intervals?.rows(run),
      finish: () => intervals?.finish(),
    }]);
    return [marks, intervals?.count, intervals?.withStack, intervals?.standIns];
  };
  const records: Happening[] = [
    { time: 100n, tid: 7, clock: 10n, chain: CHAIN },
    { time: 120n, tid: 7, change: "out" },
    { time: 150n, tid: 7, change: "in" },
    { time: 160n, tid: 8, change: "out" },
    { time: 170n, tid: 8, change: "in" },
    { time: 180n, tid: 7, change: "out" },
    { time: 190n, tid: 7, change: "in" },
  ];
  assertEquals(await found(records, true, ["clock"]), [
    ["7 true true", "8 false false", "7 true true"],
    ...[3, 0, 2],
  ]);
  assertEquals(await found(records, false, ["clock"]), [
    ["7 false false", "8 false false", "7 false false"],
    ...[3, 0, 0],
  ]);
  const both: Happening[] = [
    { time: 100n, tid: 7, clock: 10n, chain: CHAIN },
    { time: 120n, tid: 7, to: [8, 1n], chain: CHAIN },
    { time: 120n, tid: 7, change: "out" },
    { time: 150n, tid: 8, to: [7, 1n] },
  ];
  assertEquals((await found(both, true, undefined))[0], ["7 true false"]);
});

Deno.test("ThreadIntervals: stacks of wakeups and of idle tasks are not read", async () => {
  const happenings: Happening[] = [
    { time: 100n, tid: 7, to: [0, 1n], chain: CHAIN },
    { time: 130n, tid: 0, wakes: 7, chain: CHAIN },
    { time: 150n, tid: 0, to: [7, 0n], chain: CHAIN },
    { time: 165n, tid: 7, clock: 10n, chain: CHAIN },
    { time: 180n, tid: 7, to: [0, 2n], chain: CHAIN },
  ];
  const bytes = await schedulerRecording(happenings);
  const counts: number[] = [];
  for (const [isOwn, withRan] of [[false, true], [true, true], [true, false]] as const) {
    const { off, stacks } = await collected(bytes, {}, isOwn, withRan);
    assertEquals(off, ["7 100-130-150 s 0"]);
    counts.push(stacks);
  }
  assertEquals(counts, [5, 3, 2]);
});

Deno.test("ThreadIntervals: a switch is counted once, from SWITCH records with and without the tracepoint", async () => {
  const records: Happening[] = [
    { time: 105n, tid: 7, change: "out" },
    { time: 155n, tid: 7, change: "in" },
    { time: 205n, tid: 7, change: "preempted" },
    { time: 215n, tid: 7, change: "in" },
    { time: 220n, tid: 7, change: "out" },
  ];
  const alone = await intervalsOf(records);
  assertEquals(alone.off, ["7 105-155-155 - -1", "7 205-205-215 - -1"]);
  const wide = await intervalsOf(records, {}, { events: ["clock"], wide: true });
  assertEquals(wide.off, alone.off);
  assert(wide.intervals.hasSwitches);
  const switches: Happening[] = [
    { time: 100n, tid: 7, to: [9, 1n], chain: CHAIN },
    { time: 200n, tid: 7, to: [9, 0n], chain: CHAIN },
  ];
  const both = await intervalsOf(
    [...switches, ...records].sort((a, b) => Number(a.time - b.time)),
  );
  assertEquals(both.off, ["7 100-155-155 s -1", "7 200-200-215 s -1"]);
  // Switches away alone have no recorded end.
  const ends = await intervalsOf(
    [100n, 200n, 300n].map((time) => ({ time, tid: 7, to: [9, 1n] as const })),
  );
  assertEquals([ends.off, ends.intervals.missing, ends.intervals.unknown], [[], 2, 200]);
});

Deno.test("ThreadIntervals: without the switch to a thread, its wait ends at the last time it provably waited", async () => {
  const { off, ran, intervals } = await intervalsOf([
    { time: 100n, tid: 7, to: [8, 1n] },
    { time: 130n, tid: 8, wakes: 7 },
    { time: 140n, tid: 8, clock: 1n, chain: CHAIN },
    // Thread 8 leaves here, and thread 7 comes.
    { time: 160n, tid: 7, to: [9, 1n] },
    { time: 170n, tid: 9, to: [8, 1n] },
    { time: 180n, tid: 8, to: [9, 1n] },
  ]);
  assertEquals(off, ["7 100-130-140 - 8", "9 170-180-180 - -1", "7 160-180-180 - -1"]);
  assertEquals(ran, ["8 100-140 s", "9 160-170 -", "8 170-180 -"]);
  assertEquals([intervals.missing, intervals.unknown], [2, 20 + 30]);
});

Deno.test("ThreadIntervals: a LOST record ends intervals at the last record of its CPU before", async () => {
  const { off, intervals } = await intervalsOf([
    { time: 100n, tid: 7, to: [8, 1n] },
    { time: 120n, tid: 8, clock: 1n, chain: CHAIN },
    { time: 160n, tid: 8, lost: 5n },
    { time: 180n, tid: 8, to: [7, 1n] },
    { time: 190n, tid: 7, to: [8, 1n] },
    { time: 195n, tid: 8, to: [7, 1n] },
  ]);
  assertEquals(off, ["7 100-120-120 - -1", "8 180-190-190 - -1", "7 190-195-195 - -1"]);
  assertEquals([intervals.lostRecords, intervals.cut], [5, 1]);
});

Deno.test("ThreadIntervals: an ended thread does not wait; a new thread with its id is another one", async () => {
  const { off } = await intervalsOf([
    { time: 100n, tid: 7, task: "exit" },
    { time: 110n, tid: 7, to: [8, 0x20n] },
    { time: 200n, tid: 7, task: "fork" },
    { time: 210n, tid: 8, to: [7, 0n] },
    { time: 250n, tid: 7, to: [8, 0x10n] },
    { time: 300n, tid: 8, to: [9, 1n] },
  ]);
  assertEquals(off, ["8 210-210-250 - -1"]);
});

Deno.test("ThreadIntervals: a thread preempted after its EXIT waits until it is on a CPU again, and no longer", async () => {
  const records: Happening[] = [
    { time: 90n, tid: 7, clock: 1n },
    { time: 100n, tid: 7, task: "exit" },
    { time: 120n, tid: 7, change: "preempted" },
    { time: 130n, tid: 7, change: "in" },
    { time: 140n, tid: 7, change: "out" },
    { time: 900n, tid: 8, clock: 1n },
  ];
  const alone = await intervalsOf(records);
  assertEquals(alone.off, ["7 120-120-130 - -1"]);
  assertEquals(alone.ran, ["7 90-100 -", "7 100-120 -", "7 130-140 -"]);
  const switches: Happening[] = [
    { time: 119n, tid: 7, to: [9, 0n] },
    { time: 129n, tid: 9, to: [7, 1n] },
    { time: 139n, tid: 7, to: [9, 0x10n] },
  ];
  const both = await intervalsOf(
    [...records, ...switches].sort((a, b) => Number(a.time - b.time)),
  );
  assertEquals(both.off.filter((line) => line.startsWith("7 ")), ["7 119-119-129 - -1"]);
  // Another thread with the id of a dead one, without a recorded beginning.
  const again = await intervalsOf([
    ...switches,
    { time: 500n, tid: 9, to: [7, 1n] },
    { time: 510n, tid: 7, to: [9, 1n] },
    { time: 520n, tid: 9, to: [0, 1n] },
  ]);
  assertEquals(again.off.filter((line) => line.startsWith("7 ")), [
    "7 119-119-129 - -1",
    "7 510-520-520 - -1",
  ]);
});

Deno.test("ThreadIntervals: no thread runs or waits before its FORK or after its last record", async () => {
  const step = fc.record({
    tid: fc.integer({ min: 7, max: 9 }),
    change: fc.constantFrom("out" as const, "preempted" as const, "in" as const),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 12 }),
      fc.array(step, { maxLength: 4 }),
      async (before, after) => {
        const happenings: Happening[] = [7, 8, 9].map((tid) => ({
          time: 100n,
          tid,
          task: "fork",
        }));
        let time = 110n;
        const last = new Map<number, bigint>();
        const add = (what: Omit<Happening, "time">): void => {
          happenings.push({ ...what, time });
          last.set(what.tid, time);
          time += 10n;
        };
        for (const what of before) add(what);
        for (const tid of [7, 8, 9]) add({ tid, task: "exit" });
        for (const what of after) add(what);
        happenings.push({ time: 100_000n, tid: 20, clock: 1n });
        const { off, ran } = await intervalsOf(happenings, {}, { events: ["clock"] });
        for (const line of [...off, ...ran]) {
          const [tid, times = ""] = line.split(" ");
          const [from, ...to] = times.split("-").map(BigInt);
          if (tid === "20") continue;
          assert(from !== undefined && from >= 100n, line);
          assert(to.every((moment) => moment <= (last.get(Number(tid)) ?? 0n)), line);
        }
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("ThreadIntervals: a thread without a switch at its EXIT has no interval after it", async () => {
  const { ran, intervals } = await intervalsOf([
    { time: 100n, tid: 7, change: "out" },
    { time: 150n, tid: 8, to: [7, 1n] },
    { time: 160n, tid: 7, task: "exit" },
    { time: 400n, tid: 8, change: "in" },
    { time: 410n, tid: 8, to: [9, 1n] },
    { time: 420n, tid: 8, lost: 1n },
  ]);
  assertEquals(ran, ["7 150-160 -", "8 400-410 -"]);
  assertEquals(intervals.missing, 0);
});

Deno.test("ThreadIntervals: a time filter cuts intervals at both ends, and sums do not exceed its span", async () => {
  const happenings: Happening[] = [
    { time: 100n, tid: 7, to: [8, 1n] },
    { time: 150n, tid: 8, wakes: 7 },
    { time: 200n, tid: 8, to: [7, 0n] },
    { time: 300n, tid: 7, to: [8, 1n] },
  ];
  const window = await intervalsOf(happenings, { time: [120n, 260n] });
  assertEquals(window.off, ["7 120-150-200 - 8", "8 200-200-260 - -1"]);
  assertEquals(window.ran, ["8 120-200 -", "7 200-260 -"]);
  const thread = await intervalsOf(happenings, { tids: new Set([8]) });
  assertEquals(thread.off, ["8 200-200-300 - -1"]);
});

Deno.test("ThreadIntervals: switches of simpleperf without a format have stacks; threads wait until SWITCH or a sample", async () => {
  const recording = { formats: false, simpleperf: true };
  const away = { tid: 7, chain: CHAIN, to: [0, 1n] } as const;
  const switches: Happening[] = [
    { time: 100n, ...away },
    { time: 101n, tid: 7, change: "out" },
    { time: 150n, tid: 7, change: "in" },
    { time: 160n, tid: 7, clock: 10n },
    { time: 170n, ...away },
    { time: 171n, tid: 7, change: "preempted" },
    { time: 190n, tid: 7, change: "in" },
  ];
  const recorded = await intervalsOf(switches, {}, recording);
  assertEquals(recorded.off, ["7 100-150-150 s -1", "7 170-170-190 s -1"]);
  // No record tells when a thread gets a CPU, so the wait ends at its next sample.
  const samples = switches.filter(({ change }) => change === undefined);
  const sampled = await intervalsOf(samples, {}, recording);
  assertEquals(sampled.off, ["7 100-160-160 s -1"]);
  assertEquals([sampled.intervals.missing, sampled.intervals.unknown], [0, 0]);
  // The same data from perf with lost formats is not decoded.
  assertEquals((await intervalsOf(samples, {}, { formats: false })).intervals.hasSwitches, false);
});
