import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { windowedSource } from "./binary_source.ts";
import { SymbolsError } from "../errors.ts";

/** A file whose bytes depend on their offset. It ends `early` bytes before `size`. */
function source(size: number, early = 0) {
  const bytes = Uint8Array.from({ length: size }, (_, i) => i * 31 >> 4);
  const there = bytes.subarray(0, size - early);
  const readAt = (into: Uint8Array, offset: number): number => {
    const part = there.subarray(offset, offset + into.length);
    into.set(part);
    return part.length;
  };
  return { bytes, windowed: windowedSource("file", size, readAt) };
}

Deno.test("windowedSource: reads in any order return the file's bytes", () => {
  const { bytes, windowed } = source(200_000);
  const at = fc.nat(bytes.length);
  const length = fc.oneof(fc.nat(64), fc.nat(40_000));
  let compared = 0;
  fc.assert(fc.property(fc.array(fc.tuple(at, length), { minLength: 4 }), (reads) => {
    for (const [offset, n] of reads) {
      if (offset + n > bytes.length) {
        assertThrows(() => windowed.read(offset, n), SymbolsError, "the source ends at 200000");
        continue;
      }
      assertEquals(windowed.read(offset, n), bytes.subarray(offset, offset + n));
      const into = new Uint8Array(n);
      windowed.readInto(offset, into);
      assertEquals(into, bytes.subarray(offset, offset + n));
      compared++;
    }
  }));
  assertEquals(compared > 100, true);
});

Deno.test("windowedSource: a file that was truncated after opening, or is unreadable, is an error", () => {
  const { windowed } = source(100_000, 10);
  assertThrows(() => windowed.read(99_995, 2), SymbolsError, "of file: the file was cut short");
  assertThrows(() => windowed.read(80_000, 20_000), SymbolsError, "cut short");
  assertThrows(() => windowed.readInto(99_000, new Uint8Array(1000)), SymbolsError, "cut short");
  const broken = windowedSource("file", 9, () => {
    throw new Error("input/output error");
  });
  assertThrows(() => broken.read(0, 1), SymbolsError, "Cannot read file: input/output error");
});
