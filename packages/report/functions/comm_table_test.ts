import { assert, assertEquals } from "@std/assert";
import { CommTable } from "./comm_table.ts";

/** Names and thread ids whose texts interleave. */
const TIDS = [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 2147483647, -1, -10, -2, 4194304, 42];
const NAMES: readonly (readonly string[])[] = [
  ["zsh", "bash", "9", "", "-", "~", "A"],
  ["zsh", ":", ":abc", ":007", ":1a", ":5", ":", ":99999999999", ":-0"],
  [],
];

Deno.test("CommTable: commands are sorted by text, and each text has one number", () => {
  let compared = 0;
  for (const names of NAMES) {
    const table = new CommTable();
    const numbers = [
      ...TIDS.map((tid) => table.numberOf(undefined, tid)),
      ...names.map((name) => table.numberOf(name, 7)),
      // Equals the text of an unnamed thread.
      table.numberOf(":42", 8),
      table.numberOf(undefined, 1000),
    ];
    const texts = [...TIDS.map((tid) => `:${tid}`), ...names, ":42", ":1000"];
    assertEquals(numbers.map((number) => table.text(number)), texts);
    assertEquals(new Set(numbers).size, new Set(texts).size);
    const columns = table.ranks(Int32Array.from(numbers));
    const sorted = numbers.toSorted((a, b) => {
      for (const column of columns) {
        if (column[a] !== column[b]) return (column[a] as number) - (column[b] as number);
      }
      return 0;
    });
    assertEquals(sorted.map((number) => table.text(number)), texts.toSorted());
    compared += texts.length;
  }
  assert(compared >= 60);
});
