import { assert, assertEquals } from "@std/assert";
import { orderOf, TimedRows } from "./timed_rows.ts";

/** A time of day, which is not exact as a double. */
const ORIGIN = 1_700_000_000_000_000_009n;

/** Marks times of rounds. */
const ROUNDS = -1;

/** Pseudo-random whole numbers, the same in each run. */
function* numbers(most: number): Generator<number, never, void> {
  for (let state = 12345;;) {
    state = Math.imul(state, 1664525) + 1013904223 | 0;
    yield Math.floor((state >>> 0) / 2 ** 32 * most);
  }
}

Deno.test("TimedRows: rows are sorted stably by time, with all of their columns", () => {
  let compared = 0;
  for (
    const [count, most, from] of [
      [0, 1, 0],
      [1, 1, 5],
      [13, 50, 0],
      [1000, 1, 7],
      [1000, 50, -20],
      [70_000, 65_536, 0],
      [140_000, 2 ** 33, -(2 ** 32)],
      [5000, 2 ** 52, 0],
      [20_100, ROUNDS, 0],
    ] as const
  ) {
    const next = numbers(most);
    // Rising stretches, as of two CPUs in each round, and rows in any order.
    const times = Array.from(
      { length: count },
      (_, i) => most === ROUNDS ? i - i % 400 + 2 * (i % 200) : next.next().value + from,
    );
    const rows = new TimedRows();
    for (const [i, time] of times.entries()) {
      const at = ORIGIN + BigInt(time);
      const [hi, lo] = [Number(at >> 32n) | 0, Number(at & 0xffff_ffffn) | 0];
      rows.push(i, -i, i % 3, 2 * i, hi, lo);
    }
    const expected = times.map((_, i) => i)
      .sort((a, b) => (times[a] as number) - (times[b] as number) || a - b);
    assertEquals([...orderOf(Float64Array.from(times)) ?? times.keys()], expected);
    const { node, context, cpu, period, time } = rows.inOrder(ORIGIN);
    assertEquals([...node], expected);
    assertEquals([...time], expected.map((i) => times[i]));
    for (const [k, i] of expected.entries()) {
      assert(context[k] === 0 - i && cpu[k] === i % 3 && period[k] === 2 * i);
    }
    assertEquals([rows.length, rows.part().timeHi.length], [0, 0]);
    compared += count;
  }
  assert(compared > 200_000);
});
