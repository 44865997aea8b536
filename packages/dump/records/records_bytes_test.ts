import { assertEquals } from "@std/assert";
import { putPlainText } from "./records_bytes.ts";

Deno.test("putPlainText: text that needs escapes, or has odd padding, is refused", () => {
  const put = (...bytes: number[]) => {
    const out = new Uint8Array(64);
    const end = putPlainText(
      new DataView(out.buffer),
      0,
      Uint8Array.from(bytes),
      0,
      bytes.length,
      8,
    );
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
