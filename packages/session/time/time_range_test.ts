import { assertEquals, assertThrows } from "@std/assert";
import { parseLength, parseTime, resolveTime } from "./time_range.ts";

const LATEST = (1n << 64n) - 1n;

Deno.test("time range: clock, start and share give ns or millionths of a percent, exactly", () => {
  assertEquals(parseTime("12.5,13"), {
    from: "clock",
    first: 12_500_000_000n,
    last: 13_000_000_000n,
  });
  assertEquals(parseTime("1.000000001,"), {
    from: "clock",
    first: 1_000_000_001n,
    last: undefined,
  });
  assertEquals(parseTime("500ms-2s"), { from: "start", first: 500_000_000n, last: 2_000_000_000n });
  assertEquals(parseTime("-3us"), { from: "start", first: undefined, last: 3000n });
  assertEquals(parseTime("10%-20.5%"), { from: "percent", first: 10_000_000n, last: 20_500_000n });
  assertEquals(parseLength("1.5ms"), 1_500_000n);
});

Deno.test("time range: a text that is no range throws with the expected form", () => {
  for (const text of ["", "-", "5", "1s", "10%-2s", "1-2", "a,b"]) {
    assertThrows(() => parseTime(text), RangeError, `${text}, expected 12.5,13`);
  }
  assertThrows(() => parseTime("2s-1s"), RangeError, "2s-1s, which ends before it begins");
  assertThrows(() => parseLength("5"), RangeError, "5, expected 10ms");
});

Deno.test("time range: the span of the samples is read only if the range depends on it", async () => {
  let asked = 0;
  const span = () => {
    asked++;
    return Promise.resolve([1000n, 3000n] as const);
  };
  const resolved = async (text: string) => await resolveTime(parseTime(text), span);
  assertEquals(await resolved("0.000002,"), [2000n, LATEST]);
  assertEquals(await resolved(",0.000002"), [0n, 2000n]);
  assertEquals(asked, 0);
  assertEquals(await resolved("1us-"), [2000n, LATEST]);
  assertEquals(await resolved("-1us"), [1000n, 2000n]);
  assertEquals(await resolved("25%-50%"), [1500n, 2000n]);
  // The range includes the last sample.
  assertEquals(await resolved("-100%"), [1000n, LATEST]);
  assertEquals(asked, 4);
});
