import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  decimalDigits,
  hexDigits,
  OVERSHOOT,
  piece,
  putAscii,
  putBytes,
  putDecimal,
  putDecimal4,
  putDecimal64,
  putDecimal64At,
  putDecimal8,
  putHex,
  putHex16,
  putHex16At,
  putHex2,
  putHex4,
  putHex8,
  putHexBytes,
  putPrefixedHex,
  putPrefixedHexAt,
  putSigned64,
  putUntilNul,
  restOfSeconds,
  wholeSeconds,
} from "./text_bytes.ts";

const bytes = new Uint8Array(256);
const out = new DataView(bytes.buffer);

/** Returns the text that `put` writes; checks its end, and that the overshoot stays within the limit. */
function written(put: (p: number) => number): string {
  bytes.fill(0x23);
  const end = put(3);
  assertEquals([...bytes.subarray(0, 3)], [0x23, 0x23, 0x23]);
  assertEquals(bytes.subarray(end + OVERSHOOT).every((byte) => byte === 0x23), true);
  return new TextDecoder().decode(bytes.subarray(3, end));
}

const EDGES = [
  0n,
  1n << 32n,
  1n << 53n,
  1n << 63n,
  ...Array.from({ length: 20 }, (_, i) => 10n ** BigInt(i)),
]
  .flatMap((n) => [n, n + 1n, n === 0n ? (1n << 64n) - 1n : n - 1n]);
/** Words of all lengths: the first number is the number of bits. */
const word = fc.oneof(
  fc.tuple(fc.integer({ min: 0, max: 64 }), fc.bigInt(0n, 2n ** 64n - 1n))
    .map(([bits, all]) => BigInt.asUintN(bits, all)),
  fc.constantFrom(...EDGES),
);

Deno.test("putHex, putDecimal64 and others: any 64-bit word from signed or unsigned halves gives its digits", () => {
  const record = new DataView(new ArrayBuffer(8));
  const check = (n: bigint, le: boolean): void => {
    const hex = n.toString(16);
    const prefixed = n === 0n ? "0" : `0x${hex}`;
    record.setBigUint64(0, n, le);
    for (
      const [hi, lo] of [
        [Number(n >> 32n), Number(n & 0xffff_ffffn)],
        [Number(n >> 32n) | 0, Number(n & 0xffff_ffffn) | 0],
      ] as const
    ) {
      assertEquals(written((p) => putHex(out, p, hi, lo)), hex);
      assertEquals(written((p) => putHex16(out, p, hi, lo)), hex.padStart(16, "0"));
      assertEquals(written((p) => putPrefixedHex(out, p, hi, lo)), prefixed);
      assertEquals(written((p) => putDecimal64(out, p, hi, lo)), `${n}`);
      assertEquals(written((p) => putSigned64(out, p, hi, lo)), `${BigInt.asIntN(64, n)}`);
    }
    assertEquals(written((p) => putHex16At(out, p, record, 0, le)), hex.padStart(16, "0"));
    assertEquals(written((p) => putPrefixedHexAt(out, p, record, 0, le)), prefixed);
    assertEquals(written((p) => putDecimal64At(out, p, record, 0, le)), `${n}`);
  };
  for (const n of EDGES) check(n, true);
  fc.assert(fc.property(word, fc.boolean(), check), { numRuns: 1000 });
});

Deno.test("wholeSeconds, restOfSeconds: any time gives its seconds and nanoseconds", () => {
  const check = (n: bigint): void => {
    const [hi, lo] = [Number(n >> 32n) | 0, Number(n & 0xffff_ffffn) | 0];
    const seconds = wholeSeconds(hi, lo);
    assertEquals(BigInt(seconds), n / 1_000_000_000n);
    assertEquals(BigInt(restOfSeconds(lo, seconds)), n % 1_000_000_000n);
  };
  for (const edge of EDGES) check(BigInt.asUintN(64, edge));
  // Near whole seconds, a rounded quotient is off by one.
  for (let second = 1n; second < 1n << 34n; second *= 2n) {
    for (let ns = -3n; ns <= 3n; ns++) check((second + 1n) * 1_000_000_000n + ns);
  }
  fc.assert(fc.property(word, check));
});

Deno.test("putHex8, putDecimal8 and others: any 32-bit word gives its digits", () => {
  fc.assert(fc.property(word, (big) => {
    const n = Number(big & 0xffff_ffffn);
    const hex = n.toString(16);
    assertEquals(hexDigits(n), hex.length);
    assertEquals(decimalDigits(n), String(n).length);
    for (const same of [n, n | 0]) {
      assertEquals(written((p) => putHex8(out, p, same)), hex.padStart(8, "0"));
      assertEquals(written((p) => putHex4(out, p, same)), hex.slice(-4).padStart(4, "0"));
      assertEquals(written((p) => putHex2(out, p, same)), hex.slice(-2).padStart(2, "0"));
    }
    const digits = (count: number): string => String(n % 10 ** count).padStart(count, "0");
    assertEquals(written((p) => putDecimal4(out, p, n % 1e4)), digits(4));
    assertEquals(written((p) => putDecimal8(out, p, n % 1e8)), digits(8));
  }));
});

Deno.test("putDecimal: any integer gives its digits", () => {
  fc.assert(fc.property(fc.maxSafeInteger(), fc.integer({ min: 0, max: 52 }), (n, shift) => {
    const shorter = Math.trunc(n / 2 ** shift);
    assertEquals(written((p) => putDecimal(out, p, shorter)), String(shorter));
  }));
  for (let n = 1; n < 1e16; n *= 10) {
    for (const near of [n - 1, n, n + 1, -n]) {
      assertEquals(written((p) => putDecimal(out, p, near)), String(near));
    }
  }
});

Deno.test("putHexBytes, putBytes: any bytes give their digits, or themselves", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), (from) => {
    const hex = Array.from(from, (byte) => byte.toString(16).padStart(2, "0")).join("");
    assertEquals(written((p) => putHexBytes(out, p, from, 0, from.length)), hex);
    assertEquals(putBytes(out, 9, from), 9 + from.length);
    assertEquals(bytes.slice(9, 9 + from.length), from);
  }));
});

Deno.test("piece, putAscii, putUntilNul: write their text", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), (text) => {
    assertEquals(written((p) => piece(text).put(out, p)), text);
  }));
  // The eight bytes of a NaN, which is not preserved as a number.
  assertEquals(piece("\x01\x02\x03\x04\x05\x06\u07ff").length, 8);
  assertEquals(
    written((p) => piece("\x01\x02\x03\x04\x05\x06\u07ff").put(out, p)),
    "\x01\x02\x03\x04\x05\x06\u07ff",
  );
  assertEquals(written((p) => putAscii(out, p, "hello")), "hello");
  const name = new TextEncoder().encode("name\0junk");
  assertEquals(written((p) => putUntilNul(out, p, name, 0, name.length)), "name");
  assertEquals(written((p) => putUntilNul(out, p, name, 5, name.length)), "junk");
  const lines = new TextEncoder().encode("a\nb\n");
  assertEquals(written((p) => putUntilNul(out, p, lines, 0, lines.length)), "a\\nb\\n");
});
