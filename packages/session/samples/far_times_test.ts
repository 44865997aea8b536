import { assertEquals, assertMatch } from "@std/assert";
import { FarTimes } from "./far_times.ts";

/** Number of units of the upper half in an hour; one unit is 4.29 s. */
const HOUR = Math.ceil(3600e9 / 2 ** 32);

function textOf(his: Iterable<number>): string | undefined {
  const times = new FarTimes();
  for (const hi of his) times.see(hi);
  return times.text();
}

/** `count` samples within 9 s. */
const near = (count: number, from = 1000) => Array.from({ length: count }, (_, i) => from + i % 2);

Deno.test("far times: one of 501 samples three hours after or before the others is named", () => {
  const wanted = /^1 of 501 samples has a time 3\.0 hours or more from all others, .*within 9 s/;
  assertMatch(textOf([...near(500), 1002 + 3 * HOUR]) ?? "", wanted);
  assertMatch(textOf([0, ...near(500, 3 * HOUR + 1)]) ?? "", wanted);
});

Deno.test("far times: samples on both sides are added, with the smaller of the two gaps", () => {
  const text = textOf([0, 1, ...near(900, 5 * HOUR), 7 * HOUR + 10]) ?? "";
  assertMatch(text, /^3 of 903 samples have times 2\.0 hours or more from all others/);
});

Deno.test("far times: two halves, few samples, a short gap or a long recording give no message", () => {
  assertEquals(textOf([...near(500), ...near(500, 9 * HOUR)]), undefined);
  assertEquals(textOf([...near(98), 9 * HOUR]), undefined);
  assertEquals(textOf([...near(500), 1000 + HOUR / 2]), undefined);
  const day = Array.from({ length: 24 * HOUR }, (_, i) => i);
  assertEquals(textOf([...day, 30 * HOUR]), undefined);
  assertEquals(textOf([]), undefined);
});

Deno.test("far times: the joined counts of several threads give the message of one, also with buckets of several lengths", () => {
  const his = [
    ...near(60_000),
    ...Array.from({ length: 500 }, (_, i) => 10_000_000 + 6000 * i),
  ];
  const one = new FarTimes();
  for (const hi of his) one.see(hi);
  const long = Array.from({ length: 10_000 }, (_, i) => i);
  const [first, second] = [new FarTimes(), new FarTimes()];
  for (const hi of his.slice(0, 30_000)) first.see(hi);
  for (const hi of [...his.slice(30_000), ...long]) second.see(hi);
  for (const hi of long) one.see(hi);
  first.join(second.part());
  assertMatch(one.text() ?? "", /^500 of 70500 samples/);
  assertEquals(first.text(), one.text());
  const empty = new FarTimes();
  empty.join(one.part());
  const sum = (times: FarTimes) => [...times.part().counts.values()].reduce((a, b) => a + b, 0);
  assertEquals([sum(empty), sum(first)], [70_500, 70_500]);
});
