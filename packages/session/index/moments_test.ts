import { assertEquals } from "@std/assert";
import { Moments } from "./moments.ts";

/** Keys as text: step, time, position. */
function keysOf({ count, step, hi, lo, position }: Moments): string[] {
  return Array.from({ length: count }, (_, i) => `${step[i]} ${hi[i]}:${lo[i]} ${position[i]}`);
}

Deno.test("Moments.order: keys in any order are sorted by step, then time, then position", () => {
  const moments = new Moments();
  moments.add(4, 0, 1, 0);
  moments.add(2, 1, 5, 1);
  moments.add(2, 0, 0xffff_ffff, 2);
  moments.add(2, 1, 5, 9);
  moments.add(2, 1, 4, 8);
  moments.add(1, 9, 9, 7);
  assertEquals([...moments.order()], [5, 2, 4, 1, 3, 0]);
});

Deno.test("Moments.append: it appends all keys of a list, or the keys of the given indices in their order", () => {
  const first = new Moments();
  for (let i = 0; i < 100; i++) first.add(2, 0, i, i);
  const second = new Moments();
  for (let i = 0; i < 3; i++) second.add(4, 1, i, 100 + i);
  const all = new Moments();
  all.append(first);
  all.append(second, Int32Array.of(2, 0));
  assertEquals(keysOf(all), [
    ...Array.from({ length: 100 }, (_, i) => `2 0:${i} ${i}`),
    "4 1:2 102",
    "4 1:0 100",
  ]);
});
