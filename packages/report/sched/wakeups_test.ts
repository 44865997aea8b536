import type { Run } from "@perfdata/session";
import { assertEquals } from "@std/assert";
import { wakeupLines, Wakeups } from "./wakeups.ts";

const SLEEPS = 1;
const PREEMPTED = 0;

/** The fields of an event's row that are read, for a thread. */
function by(tid: number): Run {
  return { tid: Int32Array.of(tid), comm: Int32Array.of(-1) } as unknown as Run;
}

/** Thread 7 sleeps at 100, is woken at `time` by another thread, and gets a CPU at 400. */
function wakeup(time: number, waker: number, isInterrupt = false): Wakeups {
  const wakeups = new Wakeups();
  wakeups.switched({ time: 100, cpu: 0, from: 7, state: SLEEPS, to: 0 }, by(7), 0);
  wakeups.woken(time, 7, by(waker), 0, isInterrupt);
  wakeups.switched({ time: 400, cpu: 0, from: 0, state: PREEMPTED, to: 7 }, by(0), 0);
  return wakeups;
}

Deno.test("Wakeups: a wait lasts from sleep to wakeup, a delay from there to the CPU", () => {
  assertEquals(wakeup(350, 9).all(false), [
    { waiter: ":7", waker: ":9", waits: 1, wait: 250, longest: 250, delay: 50 },
  ]);
});

Deno.test("Wakeups: an idle CPU and an interrupt are wakers without a thread", () => {
  assertEquals(wakeup(350, 0).all(true).map(({ waker, waker_tid }) => [waker, waker_tid]), [
    ["<idle>", 0],
  ]);
  assertEquals(wakeup(350, 9, true).all(true).map(({ waker, waker_tid }) => [waker, waker_tid]), [
    ["<interrupt>", 0],
  ]);
});

Deno.test("Wakeups: a preempted thread, a running one, and one woken earlier do not wait", () => {
  const wakeups = new Wakeups();
  wakeups.woken(5, 7, by(9), 0);
  wakeups.switched({ time: 100, cpu: 0, from: 7, state: PREEMPTED, to: 8 }, by(7), 0);
  wakeups.woken(150, 7, by(9), 0);
  wakeups.switched({ time: 200, cpu: 0, from: 8, state: SLEEPS, to: 7 }, by(8), 0);
  wakeups.woken(199, 8, by(9), 0);
  assertEquals(wakeups.all(false), []);
});

Deno.test("Wakeups: only the first wakeup of a sleep counts", () => {
  const wakeups = new Wakeups();
  wakeups.switched({ time: 100, cpu: 0, from: 7, state: SLEEPS, to: 0 }, by(7), 0);
  wakeups.woken(130, 7, by(9), 0);
  wakeups.woken(180, 7, by(5), 0);
  assertEquals(wakeups.all(false).map(({ waker, wait }) => [waker, wait]), [[":9", 30]]);
});

Deno.test("Wakeups: waits of a pair are added, pairs are sorted by sum", () => {
  const wakeups = new Wakeups();
  for (const [slept, woken, waker] of [[0, 10, 9], [100, 140, 9], [200, 300, 5]] as const) {
    wakeups.switched({ time: slept, cpu: 0, from: 7, state: SLEEPS, to: 0 }, by(7), 0);
    wakeups.woken(woken, 7, by(waker), 0);
    wakeups.switched({ time: woken + 3, cpu: 0, from: 0, state: PREEMPTED, to: 7 }, by(0), 0);
  }
  assertEquals(
    wakeups.all(true).map((
      { waker_tid, waits, wait, longest, delay },
    ) => [waker_tid, waits, wait, longest, delay]),
    [[5, 1, 100, 100, 3], [9, 2, 50, 40, 6]],
  );
});

Deno.test("Wakeups: a new thread with a reused id was not asleep", () => {
  const wakeups = new Wakeups();
  wakeups.switched({ time: 100, cpu: 0, from: 7, state: SLEEPS, to: 0 }, by(7), 0);
  wakeups.begun(150, 7);
  wakeups.woken(180, 7, by(9), 0);
  assertEquals(wakeups.all(false), []);
});

Deno.test("wakeupLines: durations are in ms, threads have name and id", () => {
  const [head, ...lines] = wakeupLines([{
    ...{ waiter: "reader", waiter_tid: 7, waker: "<idle>", waker_tid: 0 },
    ...{ waits: 2, wait: 1_500_000, longest: 1_000_400, delay: 20_600 },
  }]).map((line) => line.trim().split(/\s+/));
  assertEquals(head !== undefined, true);
  assertEquals(lines.at(-1), ["2", "1.500", "1.000", "0.021", "reader:7", "<idle>"]);
});
