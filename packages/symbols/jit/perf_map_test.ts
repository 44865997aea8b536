import { assertEquals } from "@std/assert";
import { readPerfMap } from "./perf_map.ts";

Deno.test("names with spaces, 0x, carriage returns; later lines replace earlier ones", () => {
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
});
