import { assertEquals } from "@std/assert";
import { type LatencyRow, SchedulerLatency } from "./latency.ts";

const SLEEPS = 1;
const PREEMPTED = 0;
const IDLE = 0;

/** The latencies after switches `[time, from, state, to]` and wakeups `[time, tid]`. */
function latencies(
  events: readonly (readonly [number, number, number, number] | readonly [number, number])[],
): { readonly rows: readonly LatencyRow[] } {
  const latency = new SchedulerLatency();
  for (const event of events) {
    if (event.length === 2) latency.woken(event[0], event[1]);
    else {
      const [time, from, state, to] = event;
      latency.switched({ time, cpu: 0, from, state, to });
    }
  }
  return { rows: latency.latencies(true) };
}

Deno.test("SchedulerLatency: a woken thread waits from its wakeup to its switch", () => {
  const { rows } = latencies([[100, 7, SLEEPS, IDLE], [250, 7], [300, IDLE, PREEMPTED, 7]]);
  assertEquals(rows.length, 1);
  const { comm, tid, switches, delay, maxDelay, maxStart, maxEnd } = rows[0] ?? {};
  assertEquals([comm, tid, switches, delay, maxDelay, maxStart, maxEnd], [
    ...[":7", 7, 1, 50, 50, 250, 300],
  ]);
});

Deno.test("SchedulerLatency: a preempted thread waits from its switch, without a wakeup", () => {
  const { rows } = latencies([[100, 7, PREEMPTED, 8], [180, 8, SLEEPS, 7]]);
  assertEquals(rows.map(({ tid, delay }) => [tid, delay]), [[7, 80], [8, 0]]);
});

Deno.test("SchedulerLatency: a second wakeup, and one before the thread slept, change nothing", () => {
  const twice = latencies([[100, 7, SLEEPS, IDLE], [200, 7], [290, 7], [300, IDLE, PREEMPTED, 7]]);
  assertEquals(twice.rows[0]?.delay, 100);
  const early = latencies([[100, 7, SLEEPS, IDLE], [90, 7], [300, IDLE, PREEMPTED, 7]]);
  assertEquals(early.rows, []);
});

Deno.test("SchedulerLatency: the longest of several waits keeps its start and end", () => {
  const { rows } = latencies([
    [10, 7, PREEMPTED, 8],
    [40, 8, SLEEPS, 7],
    [50, 7, PREEMPTED, 8],
    [130, 8, SLEEPS, 7],
    [140, 7, PREEMPTED, 8],
    [150, 8, SLEEPS, 7],
  ]);
  const row = rows.find(({ tid }) => tid === 7);
  assertEquals([row?.switches, row?.delay, row?.maxDelay, row?.maxStart, row?.maxEnd], [
    ...[3, 30 + 80 + 10, 80, 50, 130],
  ]);
});

Deno.test("SchedulerLatency: rows are sorted by mean wait, and idle tasks have none", () => {
  const { rows } = latencies([
    [0, 5, PREEMPTED, 6],
    [10, 6, PREEMPTED, 5],
    [100, 5, SLEEPS, 6],
    [100, 6, SLEEPS, IDLE],
  ]);
  assertEquals(rows.map(({ tid, delay, switches }) => [tid, delay / switches]), [[6, 45], [5, 10]]);
});

Deno.test("SchedulerLatency: run times are added, also for a thread that was never switched", () => {
  const latency = new SchedulerLatency();
  latency.ran(0, 7, 30);
  latency.ran(50, 7, 12);
  latency.switched({ time: 60, cpu: 0, from: 1, state: SLEEPS, to: 7 });
  assertEquals(latency.latencies(true).map(({ tid, runtime, delay }) => [tid, runtime, delay]), [
    // It has been runnable since its first event.
    [7, 42, 60],
  ]);
});

Deno.test("SchedulerLatency: a thread with a reused id does not wait yet", () => {
  const latency = new SchedulerLatency();
  latency.switched({ time: 10, cpu: 0, from: 7, state: PREEMPTED, to: 8 });
  latency.begun(20, 7);
  latency.begun(20, 99);
  assertEquals(latency.reused, 1);
  latency.woken(70, 7);
  latency.switched({ time: 100, cpu: 0, from: 8, state: SLEEPS, to: 7 });
  assertEquals(latency.latencies(true).find(({ tid }) => tid === 7)?.delay, 30);
});

Deno.test("SchedulerLatency: lost records are added up", () => {
  const latency = new SchedulerLatency();
  latency.lost(0, 0, 3);
  latency.lost(9, 1, 4);
  assertEquals([latency.lostRecords, latency.hasSwitches, latency.hasRuntimes], [7, false, false]);
});
