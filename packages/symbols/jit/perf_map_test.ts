import { assertEquals } from "@std/assert";
import { readPerfMap } from "./perf_map.ts";

Deno.test("readPerfMap: names with spaces, 0x and CRs are read, later lines replace earlier ones", () => {
  const { table, malformed } = readPerfMap(new TextEncoder().encode(
    "7f0000001000 100 LazyCompile:~main /app/a b.js:1\n" +
      "0x7f0000002000 0x40 stub\r\n" +
      "nonsense\n" +
      "7f0000003000 zz bad size\n" +
      "7f0000001080 10 Function:*hot\n" +
      "7f0000002000 20 replaced",
  ));
  assertEquals(malformed, 2);
  const at = (address: number): string => table.name(table.lookup(address));
  assertEquals(at(0x7f0000001000), "LazyCompile:~main /app/a b.js:1");
  assertEquals(at(0x7f0000001085), "Function:*hot");
  assertEquals(at(0x7f0000001090), "LazyCompile:~main /app/a b.js:1");
  assertEquals(at(0x7f000000201f), "replaced");
  assertEquals(at(0x7f0000002020), "stub");
  assertEquals(at(0x7f0000002040), "");
  const contested = (address: number): boolean => table.isContested(address);
  assertEquals([0x7f000000107f, 0x7f0000001080, 0x7f0000001090].map(contested), [
    false,
    true,
    false,
  ]);
  assertEquals([0x7f0000001fff, 0x7f000000201f, 0x7f0000002020].map(contested), [
    false,
    true,
    false,
  ]);
});

Deno.test("readPerfMap: an address is contested if lines with different names cover it, in any order", () => {
  const contested = (...names: string[]): boolean =>
    readPerfMap(new TextEncoder().encode(names.map((name) => `1000 10 ${name}\n`).join(""))).table
      .isContested(0x1008);
  assertEquals(contested("a"), false);
  // The same function, compiled again.
  assertEquals(contested("a", "a"), false);
  assertEquals(contested("a", "b"), true);
  assertEquals([contested("a", "b", "a"), contested("a", "a", "b"), contested("b", "a", "a")], [
    true,
    true,
    true,
  ]);
});
