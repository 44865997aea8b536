/** Colors of tables: those of perf, on a terminal alone. */
import { assert, assertEquals } from "@std/assert";
import { painted, shareStyle } from "@perfdata/profile/colors";
import { paintedRow } from "../tools/_styled.ts";
import { ignored } from "./ignored.ts";
import { noPerf, perfText } from "./perf.ts";
import { tool } from "./tool.ts";

const FILE = new URL("../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;

Deno.test({
  name: "shares have the colors of perf report",
  ...ignored(noPerf()),
  async fn() {
    const seen = new Map<string, number>();
    for (const name of ["callchain", "all-cpus", "dwarf", "two-events", "switch", "regs"]) {
      const path = FILE.replace("callchain", name);
      const args = ["report", "--stdio", "--stdio-color=always", "--no-children", "-g", "none"];
      const out = (await perfText([...args, "--sort", "sym"], path))?.stdout ?? "";
      // deno-lint-ignore no-control-regex
      for (const [, color = "", share] of out.matchAll(/(?:\x1b\[(\d*)m)? *(\d+\.\d\d)%/g)) {
        const percent = Number(share);
        // At the thresholds the color depends on digits that are not printed.
        if (percent === 5 || percent === 0.5) continue;
        const ours = painted("x", shareStyle(percent), "colors");
        // deno-lint-ignore no-control-regex
        assertEquals(/^\x1b\[(\d+)m/.exec(ours)?.[1] ?? "", color, `${percent}% of ${name}`);
        seen.set(color, (seen.get(color) ?? 0) + 1);
      }
    }
    assert((seen.get("31") ?? 0) > 3 && (seen.get("32") ?? 0) > 3, JSON.stringify([...seen]));
  },
});

Deno.test("rows of tables are colored where their shares are, and nothing is added to their text", () => {
  const rows: readonly (readonly [string, string])[] = [
    [
      "  7.69%   0.60%        1  main",
      "\x1b[31m  7.69%\x1b[0m\x1b[32m   0.60%\x1b[0m        1  main",
    ],
    ["██▌          7.69%  demo", "\x1b[31m██▌        \x1b[0m\x1b[31m  7.69%\x1b[0m  demo"],
    ["             0.10%  demo", "             0.10%  demo"],
    ["  SHARE     SELF  SAMPLES  FUNCTION", "\x1b[1m  SHARE     SELF  SAMPLES  FUNCTION\x1b[0m"],
    ["cpu-clock: 13 samples, period 6500000", "cpu-clock: 13 samples, period 6500000"],
    ["        → 50.00% of nothing", "        → 50.00% of nothing"],
  ];
  for (const [row, wanted] of rows) {
    assertEquals(paintedRow(row, "colors"), wanted);
    // deno-lint-ignore no-control-regex
    assertEquals(paintedRow(row, "attributes").replace(/\x1b\[\d*m/g, ""), row);
    assertEquals(paintedRow(row, "none"), row);
  }
});

Deno.test("no color in a pipe", async () => {
  for (const [name, ...args] of [["funcs", FILE], ["tree", FILE], ["diff", FILE, FILE]] as const) {
    const { out } = await tool(name, args, { env: { NO_COLOR: "" } });
    assert(out.length > 50 && !out.includes("\x1b"), name);
  }
});
