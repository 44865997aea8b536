import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { partitionPoint } from "./partition_point.ts";

Deno.test("partitionPoint: in sorted numbers, the first index that is not before the wanted number", () => {
  const sorted = fc.array(fc.nat({ max: 20 })).map((values) => values.sort((a, b) => a - b));
  fc.assert(fc.property(sorted, fc.nat({ max: 21 }), fc.nat({ max: 5 }), (values, wanted, skip) => {
    const from = Math.min(skip, values.length);
    const found = values.findIndex((value, i) => i >= from && value >= wanted);
    assertEquals(
      partitionPoint(from, values.length, (i) => (values[i] ?? 0) < wanted),
      found < 0 ? values.length : found,
    );
  }));
});
