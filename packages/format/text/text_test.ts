import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { decodeText, encodeText } from "./text.ts";

Deno.test("encodeText: restores any bytes from decodeText", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
    assertEquals(encodeText(decodeText(bytes)), bytes);
  }));
});

Deno.test("decodeText: valid UTF-8 gives the same text as TextDecoder", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 100 }), (text) => {
    const bytes = new TextEncoder().encode(text);
    assertEquals(decodeText(bytes), new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
  }));
});

Deno.test("decodeText: encoded surrogates, overlong forms and cut sequences are escaped byte by byte", () => {
  // ED A0 80 would be U+D800, C0 80 an overlong NUL, E2 82 the start of a euro sign.
  const bytes = Uint8Array.of(0xed, 0xa0, 0x80, 0xc0, 0x80, 0xe2, 0x82);
  assertEquals(decodeText(bytes), "\udced\udca0\udc80\udcc0\udc80\udce2\udc82");
});

Deno.test("encodeText: a long text with a byte that is not UTF-8 is restored", () => {
  const bytes = new Uint8Array(1_000_000).fill(0x61).with(3, 0xf0).with(999_999, 0xff);
  const again = encodeText(decodeText(bytes));
  assertEquals(again.length, bytes.length);
  assert(again.every((byte, i) => byte === bytes[i]));
});
