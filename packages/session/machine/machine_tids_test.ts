import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { TidTable } from "./machine_tids.ts";

Deno.test("thread ids: indices are in order of insertion", () => {
  const tid = fc.oneof(fc.integer({ min: -1, max: 300 }), fc.integer());
  fc.assert(
    fc.property(fc.array(tid, { maxLength: 2000 }), (tids) => {
      const table = new TidTable();
      const distinct = [...new Set(tids)];
      const numbers = tids.map((tid) => table.add(tid));
      assertEquals(numbers, tids.map((tid) => distinct.indexOf(tid)));
      assertEquals([...table.tids.subarray(0, table.count)], distinct);
      assertEquals(distinct.map((tid) => table.find(tid)), distinct.map((_, i) => i));
      assertEquals(table.find(0x1234_5678), distinct.indexOf(0x1234_5678));
    }),
    { numRuns: 50 },
  );
});
