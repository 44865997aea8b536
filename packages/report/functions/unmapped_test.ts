import { assertEquals } from "@std/assert";
import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { functions } from "./testing.ts";

Deno.test("functions: an unmapped address is one row, even if it was sampled in several modes", async () => {
  for (const name of ["records", "records-be", "records-pipe"]) {
    const url = new URL(`../../../fixtures/synthesized/${name}.perf.data`, import.meta.url);
    const reader = await PerfDataReader.open(bytesSource(Deno.readFileSync(url)));
    const rows = await functions(reader, {});
    const found = rows.filter(({ event, sym }) => event === 0 && sym === "0x0000000000401234");
    // One sample in the kernel and one in a process: `perf report` prints one row, [.].
    assertEquals(found.map(({ samples, level }) => [samples, level]), [[2, "."]], name);
  }
});
