import { assert, assertEquals } from "@std/assert";
import { SampleCollector } from "@perfdata/profile";
import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { runEngine } from "@perfdata/session";
import { functionTable } from "./functions.ts";
import { functionText, percentText } from "./function_text.ts";

Deno.test("functionLines: on a terminal of any width, the last column is shown", async () => {
  const url = new URL("../../../fixtures/recorded/callchain.perf.data", import.meta.url);
  const reader = await PerfDataReader.open(bytesSource(Deno.readFileSync(url)));
  const counts = new SampleCollector({});
  const engine = await runEngine(reader, [counts]);
  const table = await functionTable(counts, undefined);
  const { eventNames } = engine;
  const text = (width?: number, fullNames = true) =>
    [...functionText(table, { format: "table", eventNames, width, fullNames })].join("").trimEnd()
      .split("\n");
  const whole = text();
  assert(whole.length > 10);
  const longest = Math.max(...whole.slice(1).map((line) => line.length));
  const before = (whole[1] ?? "").indexOf("SYM");
  let [bars, cut] = [0, 0];
  for (let width = 1; width < longest + 20; width++) {
    for (const [i, line] of text(width).entries()) {
      const full = whole[i] ?? "";
      if (i === 0) continue;
      const isOf = (shown: string) =>
        shown === full || shown.endsWith("…") && full.startsWith(shown.slice(0, -1));
      const hasBar = !isOf(line);
      const shown = hasBar ? line.slice(11) : line;
      assert(isOf(shown), `${width} columns: ${line}`);
      if (hasBar) bars++;
      if (shown === full) continue;
      // A truncated cell shows at least its beginning.
      cut++;
      assertEquals(line.length, width);
      assert(shown.length >= before + 16, line);
    }
  }
  assert(bars > 50 && cut > 50, `${bars} lines with bars, ${cut} cut`);

  // Shortened lines are not longer, and all stay distinct.
  let shortened = 0;
  for (let width = before + 16; width < longest + 20; width++) {
    const lines = text(width, false);
    assertEquals(lines.length, whole.length);
    for (const line of lines.slice(2)) assert(line.length <= width, line);
    assertEquals(new Set(lines.slice(2)).size, new Set(whole.slice(2)).size, `${width} columns`);
    shortened += lines.filter((line, i) =>
      line.includes("…") && !(whole[i] ?? "").includes("…")
    ).length;
  }
  assert(shortened > 50, `${shortened} names shortened`);
});

Deno.test("percentText: shares are rounded as in C, exact ties to even", () => {
  let [compared, middles] = [0, 0];
  for (const scale of [1n, 500_000n, 2n ** 40n + 1n]) {
    for (let whole = 1n; whole <= 480n; whole++) {
      for (let part = 0n; part <= whole; part++) {
        // Hundredths of a percent, in integers.
        const [most, least] = [part * 10_000n / whole, part * 10_000n % whole * 2n];
        const isMiddle = least === whole;
        const up = least > whole || (isMiddle && most % 2n === 1n);
        const rounded = most + (up ? 1n : 0n);
        const expected = `${rounded / 100n}.${`${rounded % 100n}`.padStart(2, "0")}`;
        const share = Number(part * scale) / Number(whole * scale);
        // A tie that is no dyadic fraction is rounded before printing, in C too.
        if (isMiddle && part * 800n % whole !== 0n) continue;
        if (percentText(share) !== expected) {
          assertEquals(percentText(share), expected, `${part} of ${whole}, times ${scale}`);
        }
        compared++;
        if (isMiddle) middles++;
      }
    }
  }
  assert(compared > 300_000 && middles > 1000, `${compared} shares, ${middles} in the middle`);
});
