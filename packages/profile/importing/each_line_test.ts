import { assertEquals, assertRejects } from "@std/assert";
import { bytesSource, PerfDataError, type StreamSource } from "@perfdata/format/bytes";
import { eachLine } from "./each_line.ts";

/** A stream that returns `step` bytes per read. */
function steps(bytes: Uint8Array, step: number): StreamSource {
  let at = 0;
  return {
    read(into) {
      const part = bytes.subarray(at, at + Math.min(step, into.length));
      into.set(part);
      at += part.length;
      return part.length;
    },
  };
}

Deno.test("eachLine: lines are the same however the text is cut", async () => {
  const text = "one\n\nthrée\n\u{1f600} four\nlast";
  const bytes = new TextEncoder().encode(text);
  const expected = text.split("\n").map((line, i) => [line, i + 1]);
  for (const source of [bytesSource(bytes), steps(bytes, 1), steps(bytes, 5)]) {
    const found: (string | number)[][] = [];
    await eachLine(source, (line, number) => found.push([line, number]));
    assertEquals(found, expected);
  }
});

Deno.test("eachLine: an end of line at the end is not one more line", async () => {
  const found: string[] = [];
  await eachLine(bytesSource(new TextEncoder().encode("a\nb\n")), (line) => found.push(line));
  assertEquals(found, ["a", "b"]);
});

Deno.test("eachLine: a line of more than 16 million letters throws with its number", async () => {
  const endless: StreamSource = { read: (into) => into.fill(0x61).length };
  const error = await assertRejects(() => eachLine(endless, () => {}), PerfDataError);
  assertEquals(error.message, "line 1 is longer than 16777216 letters");
});
