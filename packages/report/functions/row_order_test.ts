import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { stableOrder } from "./row_order.ts";
import { textRanks, Texts } from "../numbered_texts.ts";

Deno.test("stableOrder: rows are in the order of a stable sort by all columns", () => {
  const value = fc.oneof(fc.integer({ min: -2, max: 2 }), fc.double({ noNaN: true }));
  const table = fc.integer({ min: 0, max: 60 }).chain((rows) =>
    fc.tuple(
      fc.array(fc.array(value, { minLength: rows, maxLength: rows }), { maxLength: 4 }),
      fc.subarray([...Array(rows).keys()]),
    )
  );
  fc.assert(fc.property(table, ([columns, rows]) => {
    const typed = columns.map((column) => (row: number) => column[row] as number);
    const expected = rows.toSorted((a, b) => {
      for (const column of columns) {
        const [x = 0, y = 0] = [column[a], column[b]];
        if (x !== y) return x < y ? -1 : 1;
      }
      return 0;
    });
    assertEquals([...stableOrder(Uint32Array.from(rows), typed)], expected);
  }));
});

Deno.test("ranks: texts have the ranks of the sorted texts, equal texts the same one", () => {
  fc.assert(fc.property(fc.array(fc.string({ maxLength: 2 })), (words) => {
    const texts = new Texts();
    const numbers = words.map((word) => texts.numberOf(word));
    const ranks = textRanks(Int32Array.from(numbers), (number) => texts.text(number));
    const sorted = [...new Set(words)].sort();
    assertEquals(numbers.map((number) => ranks[number]), words.map((word) => sorted.indexOf(word)));
  }));
});
