import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { Cells, orderOf, paint, RangeList } from "./paint.ts";

/** The owner of every address, painted one address at a time. */
function slowly(ranges: readonly (readonly [number, number])[], lastWins: boolean): number[] {
  const owner = new Array<number>(64).fill(-1);
  ranges.forEach(([low, high], i) => {
    for (let at = low; at < high; at++) {
      if (lastWins || owner[at] === -1) owner[at] = i;
    }
  });
  return owner;
}

const rangesOf = (most: number) =>
  fc.array(
    fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: 20 }))
      .map(([low, size]) => [low, Math.min(64, low + size)] as const),
    { maxLength: most },
  );

for (const lastWins of [true, false]) {
  Deno.test(`paint: overlapping ranges give each address the range that a search of all ranges finds, lastWins ${lastWins}`, () => {
    // More than 48 ranges use the radix sort.
    fc.assert(fc.property(rangesOf(12), check));
    fc.assert(fc.property(rangesOf(80), check), {
      numRuns: 50,
    });

    function check(ranges: readonly (readonly [number, number])[]): void {
      const list = new RangeList();
      list.push(1, 2, 99); // not painted, since `from` is 1
      ranges.forEach(([low, high], i) => list.push(low, high, i));
      const cells = new Cells();
      cells.push(-5, 7);
      paint(list, 1, lastWins, cells);
      const found = Array.from({ length: 64 }, (_, at) => cells.find(at, 1, cells.count));
      assertEquals(found, slowly(ranges, lastWins));
      assertEquals([cells.start[0], cells.owner[0]], [-5, 7]);
    }
  });
}

Deno.test("orderOf: random keys are in the order of a stable sort", () => {
  fc.assert(fc.property(
    fc.array(fc.oneof(fc.integer({ min: -9, max: 9 }), fc.maxSafeInteger()), { maxLength: 200 }),
    (keys) => {
      const expected = keys.map((_, i) => i).sort((a, b) =>
        (keys[a] ?? 0) - (keys[b] ?? 0) || a - b
      );
      const order = orderOf(Float64Array.from(keys), 0, keys.length).slice(0, keys.length);
      assertEquals([...order], expected);
    },
  ));
});
