import { assert, assertEquals } from "@std/assert";
import { floatAt, intAt } from "@perfdata/format/bytes";
import { type LiveColumns, type LiveLimits, LiveRows } from "./live_rows.ts";

const LIMITS: LiveLimits = { recent: 100, step: 10, rows: 1000, stacks: 1000, threads: 1000 };

/** Samples of one thread and event, with their times and stacks. */
function part(rows: readonly (readonly [time: number, stack: number])[]): LiveColumns {
  const { length } = rows;
  return {
    stack: Int32Array.from(rows, ([, stack]) => stack),
    event: new Int32Array(length),
    thread: new Int32Array(length),
    cpu: new Int32Array(length),
    count: new Float64Array(length).fill(1),
    period: new Float64Array(length).fill(3),
    time: Float64Array.from(rows, ([time]) => time),
  };
}

/** Time, stack, count and period of each row. */
function lines({ time, stack, count, period }: LiveColumns): number[][] {
  return Array.from(
    time,
    (at, i) => [at, intAt(stack, i), floatAt(count, i), floatAt(period, i)],
  );
}

Deno.test("LiveRows: samples older than the recent period become sums at the start of their slice", () => {
  const rows = new LiveRows(LIMITS);
  rows.add(part([[11, 1], [12, 2], [15, 1], [21, 1]]));
  assertEquals(rows.until, -Infinity);
  rows.add(part([[130, 1]]));
  assertEquals(lines(rows.columns()), [[10, 1, 2, 6], [10, 2, 1, 3], [20, 1, 1, 3], [
    130,
    1,
    1,
    3,
  ]]);
  assertEquals([rows.step, rows.until, rows.forgotten, rows.heldFrom], [10, 30, 0, undefined]);
});

Deno.test("LiveRows: more samples than the limit become sums before they are old", () => {
  const rows = new LiveRows({ ...LIMITS, rows: 3 });
  rows.add(part([[11, 1], [12, 1]]));
  rows.add(part([[13, 1], [14, 1]]));
  assertEquals(lines(rows.columns()), [[10, 1, 2, 6], [13, 1, 1, 3], [14, 1, 1, 3]]);
});

Deno.test("LiveRows: samples that are added late are sorted by time", () => {
  const rows = new LiveRows(LIMITS);
  rows.add(part([[11, 1], [19, 1]]));
  rows.add(part([[15, 2]]));
  assertEquals(lines(rows.columns()).map(([time]) => time), [11, 15, 19]);
});

Deno.test("LiveRows: with more sums than the limit, slices become longer and no sample is lost", () => {
  const rows = new LiveRows({ ...LIMITS, rows: 100 });
  for (let at = 0; at < 20_000; at += 10) rows.add(part([[at, 1], [at + 5, 1]]));
  const { count, period, time } = rows.columns();
  assertEquals(rows.step, 320);
  assertEquals([rows.forgotten, count.reduce((a, b) => a + b), period.reduce((a, b) => a + b)], [
    ...[0, 4000, 12_000],
  ]);
  assert(time.length <= 200);
  assertEquals(time.every((at, i) => i === 0 || at >= floatAt(time, i - 1)), true);
});

Deno.test("LiveRows: above the limit of stacks, the oldest samples are forgotten and counted", () => {
  const rows = new LiveRows({ ...LIMITS, rows: 100 });
  for (let at = 0; at < 5000; at++) rows.add(part([[at, at]]));
  const { count, time } = rows.columns();
  assertEquals(rows.forgotten + count.length, 5000);
  assert(rows.forgotten > 0 && count.length <= 200);
  // The held samples begin at `heldFrom`.
  assert(floatAt(time, 0) >= (rows.heldFrom ?? Infinity));
  assert(floatAt(time, 0) < (rows.heldFrom ?? 0) + rows.step);
  assertEquals(floatAt(time, time.length - 1), 4999);
});
