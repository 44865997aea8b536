import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { decodeText } from "./text.ts";
import { visible, visibleBytes } from "./visible.ts";

Deno.test("visible: what acts is shown, all else stays", () => {
  const cases: [string, string][] = [
    ["", ""],
    ["[kernel.kallsyms]_text", "[kernel.kallsyms]_text"],
    ["a b\\c", "a b\\c"],
    ["\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"],
    ["two\nlines\r\n", "two\\nlines\\r\\n"],
    ["\0\x7f\x9b1A", "\\x00\\x7f\\x9b1A"],
    ["user\u202egpj.exe", "user\\u202egpj.exe"],
    ["日本語 🎉 é", "日本語 🎉 é"],
    [decodeText(Uint8Array.of(0x61, 0xff, 0x62)), "a\\xffb"],
  ];
  for (const [text, expected] of cases) assertEquals(visible(text), expected);
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    assert(!/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u.test(visible(text)));
  }));
});

Deno.test("visibleBytes: whatever the bytes and their pieces, no control but tab and line end", () => {
  fc.assert(fc.property(
    fc.uint8Array({ maxLength: 60 }),
    fc.nat(60),
    (bytes, cut) => {
      const out = [...visibleBytes(bytes.slice(0, cut)), ...visibleBytes(bytes.slice(cut))];
      const text = new TextDecoder().decode(Uint8Array.from(out)).replace(/[\n\t]/g, "");
      assert(!/\p{Cc}/u.test(text), JSON.stringify(text));
    },
  ));
  const plain = new TextEncoder().encode("日本語\t🎉 é\n");
  assertEquals(visibleBytes(plain), plain);
});
