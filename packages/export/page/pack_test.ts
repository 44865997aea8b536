import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { deflate, fromBase64, inflate, pack, toBase64, unpack } from "./pack.ts";

Deno.test("pack, unpack: values round-trip", async () => {
  const column = fc.oneof(
    fc.int32Array(),
    fc.float64Array({ noNaN: true }),
    fc.uint8Array(),
    // Times: large, and close together.
    fc.array(fc.nat(3_000_000), { maxLength: 50 }).map((steps) => {
      let time = 2 ** 50;
      return Float64Array.from(steps, (step) => time += step);
    }),
  );
  const value = fc.record({ text: fc.string(), list: fc.array(fc.string()), a: column, b: column });
  await fc.assert(fc.asyncProperty(value, async (given) => {
    assertEquals(unpack(pack(given)), given);
    assertEquals(unpack(await inflate(fromBase64(toBase64(await deflate(pack(given)))))), given);
  }));
});

Deno.test("pack: columns of small or close numbers take few bytes", () => {
  const size = (value: unknown) => pack(value).length;
  assert(size({ a: new Int32Array(1000).fill(7) }) < 1200);
  assert(size({ a: Float64Array.from({ length: 1000 }, (_, i) => 1e15 + 100 * i) }) < 8200);
  assert(size({ a: Float64Array.from({ length: 1000 }, (_, i) => 3e9 + 1000 * i) }) < 8200);
  assert(size({ a: Float64Array.from({ length: 1000 }, (_, i) => 1000 * i) }) < 2300);
});
