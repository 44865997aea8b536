import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  piece,
  putDecimal,
  putDecimal64,
  putDecimal64At,
  putHex,
  putHex16,
  putHex16At,
  putHex2,
  putPrefixedHex,
  putPrefixedHexAt,
  putUntilNul,
  type TextBytes,
  TimeText,
} from "./text.ts";

const bytes = new Uint8Array(64);
const out: TextBytes = { bytes, view: new DataView(bytes.buffer) };

/** What `put` writes, and whether it says where it ends. */
function written(put: (p: number) => number): string {
  bytes.fill(0x23);
  return new TextDecoder().decode(bytes.subarray(3, put(3)));
}

/** Words of all lengths: as many bits as the first number says. */
const word = fc.tuple(fc.integer({ min: 0, max: 64 }), fc.bigInt(0n, 2n ** 64n - 1n))
  .map(([bits, all]) => BigInt.asUintN(bits, all));

Deno.test("any 64-bit word in hexadecimal and decimal", () => {
  const record = new DataView(new ArrayBuffer(8));
  fc.assert(fc.property(word, fc.boolean(), (n, le) => {
    const hi = Number(n >> 32n);
    const lo = Number(n & 0xffff_ffffn);
    const hex = n.toString(16);
    const prefixed = n === 0n ? "0" : `0x${hex}`;
    record.setBigUint64(0, n, le);
    assertEquals(written((p) => putHex(out, p, hi, lo)), hex);
    assertEquals(written((p) => putHex16(out, p, hi, lo)), hex.padStart(16, "0"));
    assertEquals(written((p) => putHex16At(out, p, record, 0, le)), hex.padStart(16, "0"));
    assertEquals(written((p) => putPrefixedHex(out, p, hi, lo)), prefixed);
    assertEquals(written((p) => putPrefixedHexAt(out, p, record, 0, le)), prefixed);
    assertEquals(written((p) => putDecimal64(out, p, hi, lo)), `${n}`);
    assertEquals(written((p) => putDecimal64At(out, p, record, 0, le)), `${n}`);
  }));
});

Deno.test("any times, close to each other and not, in either byte order", () => {
  const record = new DataView(new ArrayBuffer(8));
  const near = fc.tuple(word, fc.array(fc.bigInt(-300_000_000n, 300_000_000n)))
    .map(([first, steps]) => {
      let now = first;
      return [first, ...steps.map((step) => now = BigInt.asUintN(64, now + step))];
    });
  fc.assert(fc.property(near, fc.boolean(), (times, le) => {
    const text = new TimeText();
    for (const time of times) {
      record.setBigUint64(0, time, le);
      assertEquals(written((p) => text.put(out, p, record, 0, le)), String(time));
    }
  }));
  // Where doubles end to be exact, and where the first digits change.
  const text = new TimeText();
  for (const time of [10n ** 8n, 2n ** 53n, 10n ** 16n, 10n ** 17n]) {
    for (const near of [time - 1n, time, time + 1n, time - 2n]) {
      record.setBigUint64(0, near, true);
      assertEquals(written((p) => text.put(out, p, record, 0, true)), String(near));
    }
  }
});

Deno.test("any integer in decimal", () => {
  fc.assert(fc.property(fc.maxSafeInteger(), fc.integer({ min: 0, max: 52 }), (n, shift) => {
    const shorter = Math.trunc(n / 2 ** shift);
    assertEquals(written((p) => putDecimal(out, p, shorter)), String(shorter));
  }));
  for (let n = 1; n < 1e16; n *= 10) {
    for (const near of [n - 1, n, n + 1]) {
      assertEquals(written((p) => putDecimal(out, p, near)), String(near));
    }
  }
});

Deno.test("pieces, bytes and names", () => {
  assertEquals(written((p) => piece("hello").put(out, p)), "hello");
  assertEquals(written((p) => piece("").put(out, p)), "");
  assertEquals(written((p) => putHex2(out, p, 0x0f)), "0f");
  const name = new TextEncoder().encode("name\0junk");
  assertEquals(written((p) => putUntilNul(out, p, name, 0, name.length)), "name");
  assertEquals(written((p) => putUntilNul(out, p, name, 5, name.length)), "junk");
});
