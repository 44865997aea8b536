import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { decodeText } from "./text.ts";
import { visible, VisibleText } from "./visible.ts";

Deno.test("visible: control and direction characters are escaped, others stay", () => {
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

Deno.test("VisibleText: any bytes in any pieces give UTF-8 without control characters but tab and line feed", () => {
  const acting = [
    "\x1b[2J",
    "\x9b1A",
    "\u202e",
    "\u2066",
    "\u2028",
    "\r",
    "日",
    "🎉",
    "é",
    "\n",
    "\t",
  ]
    .map((text) => [...new TextEncoder().encode(text)]);
  const bytes = fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 6 }).map((all) => [...all]),
      fc.constantFrom(...acting, [0x9b]),
    ),
    { maxLength: 20 },
  ).map((parts) => Uint8Array.from(parts.flat()));
  let acted = 0;
  fc.assert(fc.property(bytes, fc.array(fc.nat(80)), (bytes, cuts) => {
    const show = (pieces: readonly Uint8Array[]): Uint8Array => {
      const text = new VisibleText();
      const out = pieces.flatMap((piece) => [...text.take(piece)]);
      return Uint8Array.from([...out, ...text.end()]);
    };
    const edges = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].sort((
      a,
      b,
    ) => a - b);
    const whole = show([bytes]);
    assertEquals(show(edges.slice(1).map((end, i) => bytes.slice(edges[i], end))), whole);
    // The decoder is strict, because some terminals interpret a byte that is not UTF-8 as an 8-bit control.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(whole).replace(/[\n\t]/g, "");
    assert(
      !/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(text),
      JSON.stringify(text),
    );
    if (whole.length !== bytes.length) acted++;
  }));
  assert(acted > 50, `only ${acted} had anything to show`);
  const plain = new TextEncoder().encode("日本語\t🎉 é\n");
  assertEquals(new VisibleText().take(plain), plain);
});
