import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { NumberMap } from "./number_map.ts";

Deno.test("NumberMap: random keys have the values that a Map has", () => {
  const key = fc.oneof(fc.nat(40), fc.nat(), fc.maxSafeNat().map((n) => Math.min(n, 2 ** 53 - 2)));
  fc.assert(fc.property(fc.array(key, { maxLength: 400 }), (keys) => {
    const map = new NumberMap(), expected = new Map<number, number>();
    keys.forEach((key, i) => {
      assertEquals(map.get(key), expected.get(key) ?? -1);
      if (expected.has(key)) return;
      map.add(key, i);
      expected.set(key, i);
    });
    for (const [key, value] of expected) assertEquals(map.get(key), value);
  }));
});
