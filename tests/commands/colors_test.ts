/** Colors of tables: those of perf, and only on a terminal. */
import { assert, assertEquals } from "@std/assert";
import { painted, shareStyle } from "@perfdata/profile";
import { paintedRow } from "../../tools/shared/styled.ts";
import { ignored, notInstalled } from "../support/ignored.ts";
import { kernelNames } from "../support/kernel_names.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { tool, toolArguments } from "../support/tool.ts";

const FILE = new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;

Deno.test({
  name: "funcs --color: shares have the colors of perf report",
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

Deno.test("funcs --color: a share gets a color and its text stays", () => {
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

Deno.test("colors: output to a pipe has none", async () => {
  for (const [name, ...args] of [["funcs", FILE], ["tree", FILE], ["diff", FILE, FILE]] as const) {
    const { out } = await tool(name, args, { env: { NO_COLOR: "" } });
    assert(out.length > 50 && !out.includes("\x1b"), name);
  }
});

/** Commands that print tables, run on a small recording. */
const TABLES: readonly (readonly string[])[] = [
  ["funcs", FILE],
  ["tree", FILE],
  ["diff", FILE.replace("callchain", "clock"), FILE],
  ["hex", "--at", "0x100", FILE],
  ["rate", FILE],
  ["stat", FILE.replace("callchain", "stat")],
  ["pt", FILE.replace("recorded/callchain", "synthesized/pt-cpus")],
  ["sched", "latency", FILE.replace("callchain", "switch")],
];

Deno.test("--color always: tables of all commands get colors and keep their text", async () => {
  let colored = 0;
  // No file on this machine surely has the kernel's names.
  const env = kernelNames();
  const tables = [...TABLES, ["annotate", FILE, "handle_mm_fault"]];
  for (const [name = "", ...args] of tables) {
    const [plain, always, never] = [
      await tool(name, args, { env }),
      await tool(name, ["--color=always", ...args], { env }),
      await tool(name, ["--color", "never", ...args], { env }),
    ];
    assertEquals(always.code, plain.code, `${name}: ${always.err}`);
    assertEquals(never.out, plain.out, name);
    // deno-lint-ignore no-control-regex
    const text = always.out.replace(/\x1b\[\d*m/g, "");
    assertEquals(text.replaceAll(/ +$/gm, ""), plain.out.replaceAll(/ +$/gm, ""), name);
    if (always.out.includes("\x1b[")) colored++;
  }
  assert(colored >= 6, `${colored} of ${tables.length} are colored`);
  const { code, err } = await tool("funcs", ["--color", "blue", FILE]);
  assertEquals([code, err.split(";")[0]], [
    2,
    "funcs: --color is blue, expected auto, always or never",
  ]);
});

Deno.test(
  "colors: output to a terminal equals that to a pipe with colors",
  ignored(notInstalled("script")),
  async () => {
    let compared = 0;
    // On a terminal, tree prints only nodes with a relevant share.
    const same = TABLES.filter(([name]) => name !== "tree");
    for (const [name = "", ...args] of same) {
      const called = [Deno.execPath(), ...toolArguments(name), "--full-names", ...args];
      // A wide terminal, so that no name is truncated. hex and sched have no such flag.
      const command = called.filter((word) =>
        word !== "--full-names" || ["funcs", "diff"].includes(name)
      ).map((word) => `'${word}'`).join(" ");
      const { stdout } = await new Deno.Command("script", {
        args: ["-qec", `stty cols 400; ${command} 2>/dev/null`, "/dev/null"],
        env: { TERM: "xterm", PERFDATA_CWD: "" },
        clearEnv: false,
        stdin: "null",
      }).output();
      const shown = new TextDecoder().decode(stdout).replaceAll("\r", "");
      const { out } = await tool(name, args);
      // deno-lint-ignore no-control-regex
      const text = shown.replace(/\x1b\[\d*[mK]/g, "");
      // On a terminal columns may be wider, and shares have bars.
      const words = (of: string) =>
        of.split("\n").map((line) =>
          line.replace(/^[█▏▎▍▌▋▊▉ ]+/, "").trim().split(/\s+/).join(" ")
        );
      assertEquals(words(text), words(out), name);
      compared++;
    }
    assertEquals(compared, same.length);
  },
);
