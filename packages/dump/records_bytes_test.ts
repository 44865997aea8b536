import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  putDecimal,
  putHex,
  putHexBytes,
  putPlainText,
  putSegment,
  putU64,
  segment,
} from "./records_bytes.ts";

function stored(put: (view: DataView) => number): string {
  const bytes = new Uint8Array(256);
  const end = put(new DataView(bytes.buffer));
  return new TextDecoder().decode(bytes.subarray(0, end));
}

const EDGES = [
  0n,
  9n,
  10n,
  99n,
  100n,
  999n,
  1000n,
  9999n,
  10000n,
  99999999n,
  100000000n,
  0xffff_ffffn,
  0x1_0000_0000n,
  (1n << 53n) - 1n,
  1n << 53n,
  (1n << 63n) - 1n,
  1n << 63n,
  (1n << 64n) - 1n,
  9999999999999999999n,
  10000000000000000000n,
];
const u64 = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
  fc.constantFrom(...EDGES),
  // As many short numbers as long ones.
  fc.tuple(fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), fc.integer({ min: 0, max: 63 }))
    .map(([word, shift]) => word >> BigInt(shift)),
);

Deno.test("64-bit integers are stored in decimal and in hexadecimal as JavaScript prints them", () => {
  const check = (value: bigint) => {
    const high = Number(value >> 32n) | 0;
    const low = Number(value & 0xffff_ffffn) | 0;
    assertEquals(stored((view) => putU64(view, 0, high, low)), value.toString());
    assertEquals(stored((view) => putHex(view, 0, high, low)), value.toString(16));
  };
  EDGES.forEach(check);
  fc.assert(fc.property(u64, check), { numRuns: 2000 });
});

Deno.test("integers up to 2^53 are stored in decimal", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (n) => {
      assertEquals(stored((view) => putDecimal(view, 0, n)), String(n));
    }),
  );
});

Deno.test("bytes are stored as pairs of digits", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const expected = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      assertEquals(stored((view) => putHexBytes(view, 0, bytes, 0, bytes.length)), expected);
    }),
  );
});

Deno.test("fixed text is stored as it is", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme-ascii", maxLength: 60 }), (text) => {
      assertEquals(stored((view) => putSegment(view, 0, segment(text))), text);
    }),
  );
});

Deno.test("text that needs an escape or has odd padding is refused", () => {
  const put = (...bytes: number[]) => {
    const out = new Uint8Array(64);
    const end = putPlainText(out, 0, Uint8Array.from(bytes), 0, bytes.length);
    return end < 0 ? undefined : new TextDecoder().decode(out.subarray(0, end));
  };
  assertEquals(put(0x61, 0x62, 0, 0, 0, 0, 0, 0), "ab");
  assertEquals(put(0x61, 0x62, 0, 0, 0, 0, 0, 1), undefined);
  assertEquals(put(0x61, 0x62, 0, 0), undefined);
  assertEquals(put(0x61, 0x62), undefined);
  assertEquals(put(0x22, 0, 0, 0, 0, 0, 0, 0), undefined);
  assertEquals(put(0x5c, 0, 0, 0, 0, 0, 0, 0), undefined);
  assertEquals(put(0xc3, 0xa4, 0, 0, 0, 0, 0, 0), undefined);
  assertEquals(put(0x0a, 0, 0, 0, 0, 0, 0, 0), undefined);
});
