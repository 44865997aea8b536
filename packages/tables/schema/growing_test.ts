import { assertEquals } from "@std/assert";
import { WordColumn } from "./growing.ts";

Deno.test("WordColumn: rows without a number are 0, with or without a number after them", () => {
  for (const later of [0, 1]) {
    const words = new WordColumn();
    for (let i = 0; i < 100; i++) words.skip();
    for (let i = 0; i < later; i++) words.push(-1, 0x8000_0001 | 0);
    for (const at of [0, 99]) {
      assertEquals([words.lo(at), words.hi(at), words.has(at)], [0, 0, false]);
    }
    for (let at = 100; at < 100 + later; at++) {
      assertEquals([words.lo(at), words.hi(at), words.has(at)], [-1, 0x8000_0001 | 0, true]);
    }
  }
});
