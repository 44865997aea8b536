import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { putRawEvent } from "./raw_event.ts";

/** The expected lines, from a simple implementation. */
function lines(record: Uint8Array): string {
  let text = "";
  for (let at = 0; at < record.length; at += 16) {
    const part = [...record.subarray(at, at + 16)];
    const hex = part.map((byte) => ` ${byte.toString(16).padStart(2, "0")}`).join("");
    const shown = part.map((byte) => byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".");
    text += `.  ${at.toString(16).padStart(4, "0")}: ${hex.padEnd(48)}  ${
      shown.join("").padEnd(16)
    }\n`;
  }
  return `${text}\n`;
}

function written(buffer: Uint8Array<ArrayBuffer>, start: number, end: number): string {
  const bytes = new Uint8Array(1 << 20);
  const out = new DataView(bytes.buffer);
  const words = new Int32Array(buffer.buffer, 0, buffer.length >> 2);
  const p = putRawEvent(out, 5, buffer, words, start, end);
  return new TextDecoder("latin1").decode(bytes.subarray(5, p));
}

Deno.test("putRawEvent: a line has perf's format", () => {
  const record = Uint8Array.of(9, 0, 0, 0, 2, 0, 24, 0, 0x20, 0x7e, 0x7f, 0x41, 0xff, 0, 0, 0, 1);
  assertEquals(
    written(record, 0, 17),
    ".  0000:  09 00 00 00 02 00 18 00 20 7e 7f 41 ff 00 00 00  ........ ~.A....\n" +
      ".  0010:  01                                               .               \n\n",
  );
});

Deno.test("putRawEvent: records of any size at any position have the lines of the simple implementation", () => {
  const sizes = fc.tuple(fc.integer({ min: 0, max: 24 }), fc.integer({ min: 0, max: 70 }));
  fc.assert(fc.property(sizes, fc.uint8Array({ minLength: 96, maxLength: 112 }), (
    [start, size],
    random,
  ) => {
    // At the end of the buffer, and in the middle.
    const buffer = new Uint8Array(random.length & ~3);
    buffer.set(random.subarray(0, buffer.length));
    const end = Math.min(start + size, buffer.length);
    assertEquals(written(buffer, start, end), lines(buffer.subarray(start, end)));
    const from = buffer.length - size;
    assertEquals(written(buffer, from, buffer.length), lines(buffer.subarray(from)));
  }));
});

Deno.test("putRawEvent: a record of 64 KB has offsets of four digits", () => {
  const record = new Uint8Array(0xfff8).map((_, i) => i * 7);
  assertEquals(written(record, 0, record.length), lines(record));
});
