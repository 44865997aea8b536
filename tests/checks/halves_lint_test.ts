import { assertEquals } from "@std/assert";
import plugin from "./halves_lint.ts";

function found(file: string, source: string): string[] {
  return Deno.lint.runPlugin(plugin, file, source).map(({ id }) => id);
}

Deno.test("halves lint: joined halves are found in code that makes text", () => {
  const joined = [
    "const n = hi * 2 ** 32 + lo;",
    "const n = lo + (hi >>> 0) * 4294967296;",
    "const n = 0x1_0000_0000 * hi + lo;",
  ];
  for (const source of joined) {
    assertEquals(found("/a/packages/dump/x.ts", source), ["perfdata/halves"], source);
    assertEquals(found("/a/packages/profile/names/x.ts", source), ["perfdata/halves"], source);
    assertEquals(found("/a/tools/x.ts", source), ["perfdata/halves"], source);
    assertEquals(found("/a/packages/session/x.ts", source), ["perfdata/halves"], source);
    // These folders print nothing, or only addresses of code below 2^48.
    assertEquals(found("/a/packages/symbols/x.ts", source), [], source);
  }
  const others = [
    "const hi = Math.floor(n / 2 ** 32);",
    "const n = BigInt(hi) << 32n | lo;",
    "2 ** 31 * n + 1;",
    "n - hi * 2 ** 32;",
  ];
  for (const source of others) assertEquals(found("/a/packages/dump/x.ts", source), [], source);
});
