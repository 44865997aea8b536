/** `report` in a terminal of tmux, whose screen can be read; and without a terminal. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { branchRecording, found } from "../support/branch_recording.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { kernelNames } from "../support/kernel_names.ts";
import { onTerminal, type TerminalOptions } from "../support/on_terminal.ts";
import { ignored, notInstalled } from "../support/ignored.ts";
import { noRecording } from "../support/recorded_program.ts";
import {
  denoFolder,
  inFolder,
  tool as runTool,
  type ToolOptions,
  type ToolResult,
} from "../support/tool.ts";

const FILE = new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;

/** Names for the recorded kernel, and no other files of this machine's user. */
const names = kernelNames();
const HOME = names.PERF_BUILDID_DIR;

function tool(
  name: string,
  args: readonly string[],
  options: ToolOptions = {},
): Promise<ToolResult> {
  return runTool(name, args, { ...options, env: { HOME, DENO_DIR: denoFolder(), ...names } });
}

Deno.test({
  name: "report on a terminal: keys, a resize and the end give the expected screens",
  ...ignored(notInstalled("tmux")),
  async fn() {
    await onTerminal([FILE], {}, async (tmux, folder) => {
      const first = await tmux.screen(/q quit/);
      const lines = first.trimEnd().split("\n");
      assertEquals(lines.length, 24);
      assertMatch(lines[0] ?? "", /^ callchain\.perf\.data · cpu-clock · 13 samples$/);
      assertMatch(lines[1] ?? "", /^ {2}TOTAL▼ {3}SELF +FUNCTION +OBJECT$/);
      // The shares of funcs.
      const funcs = await tool("funcs", [
        "--json",
        "--inline",
        "--children",
        "--sort",
        "dso,sym",
        FILE,
      ]);
      const rows = funcs.out.trim().split("\n").map((line) => JSON.parse(line));
      const fault = rows.find(({ sym }) => sym === "handle_mm_fault");
      const share = `${fault.children.toFixed(2)}%`.padStart(8);
      assert(lines.some((line) => line.startsWith(share) && / handle_mm_fault /.test(line)));

      await tmux.keys("/", "m", "m", "_", "f", "a", "u", "l", "t");
      const found = await tmux.screen(/search: mm_fault/);
      assertEquals(found.split("\n").filter((line) => line.includes("▸")).length, 2);
      await tmux.keys("Enter", "Enter");
      const menu = await tmux.screen(/Expand one level/);
      for (const entry of ["Annotate", "Zoom into a thread", "Focus on function", "Drop samples"]) {
        assertStringIncludes(menu, entry);
      }
      await tmux.keys("Enter");
      assertStringIncludes(await tmux.screen(/▾/), "exc_page_fault");
      await tmux.keys("Escape", "t");
      assertStringIncludes(await tmux.screen(/Narrow to a thread/), "all threads");
      await tmux.keys("Down", "Enter");
      await tmux.screen(/· thread \d+ demo/);
      await tmux.keys("u", "?");
      await tmux.screen(/Narrow\n +d +to the object/);
      await tmux.keys("q");
      await tmux.run("resize-window", "-x", "60", "-y", "12");
      const small = await tmux.screen(/r time/);
      assertEquals(small.trimEnd().split("\n").length, 12);
      for (const line of small.split("\n")) assert(line.length <= 60, line);
      await tmux.keys("|");
      await tmux.screen(/^\|/m);
      await tmux.keys(`cat >'${folder}/sent'`, "Enter");
      await tmux.screen(/done: Enter goes back/);
      await tmux.keys("Enter");
      await tmux.screen(/r time/);
      const sent = Deno.readTextFileSync(`${folder}/sent`);
      assertMatch(sent, /^ callchain\.perf\.data · cpu-clock · 13 samples\n/);
      // Unnamed code is one row per object here, and one per address in funcs.
      const named = rows.filter(({ sym }) => !/^0x/.test(sym));
      assert(named.length > 15);
      for (const { sym } of named) assertStringIncludes(sent, ` ${sym}`);
      await tmux.keys("q");
      const after = await tmux.screen(/ended/);
      // The previous screen is restored.
      assertMatch(after, /^before\n/);
      assertStringIncludes(after, "ended 0");
      assert(!after.includes("callchain"));
      assertMatch(
        Deno.readTextFileSync(`${folder}/err`),
        /^report: .* of samples have a function/,
      );
    });
  },
});

Deno.test({
  name: "perfdata FILE on a terminal: opens report",
  ...ignored(notInstalled("tmux")),
  fn: () =>
    onTerminal([FILE], { command: "perfdata" }, async (tmux) => {
      assertMatch(
        await tmux.screen(/q quit/),
        /^ callchain\.perf\.data · cpu-clock · 13 samples\n/,
      );
      await tmux.keys("q");
      assertMatch(await tmux.screen(/ended/), /^before\nended 0/);
    }),
});

Deno.test({
  name:
    "report on a terminal: transforms of flags and keys, P writes a file, Ctrl-Z suspends until fg",
  ...ignored(notInstalled("tmux")),
  fn: () =>
    onTerminal(
      ["--drop", "handle_mm_fault", FILE],
      { columns: 120, shell: true },
      async (tmux, folder) => {
        const flags = ["--drop", "handle_mm_fault"];
        const { out, err } = await tool("funcs", [...flags, "--json", FILE]);
        const rows = out.trim().split("\n").map((line) => JSON.parse(line));
        const samples = rows.reduce((sum, row) => sum + row.samples, 0);
        const first = await tmux.screen(/q quit/);
        assertStringIncludes(first, `· ${samples} samples · drop handle_mm_fault`);
        assert(!/ ▸ handle_mm_fault/.test(first), first);
        await tmux.keys("u");
        await tmux.screen(/nothing to undo/);
        await tmux.keys("Y");
        await tmux.screen(/ · only user/);
        await tmux.keys("u");
        await tmux.screen(/samples · drop handle_mm_fault *\n/);
        await tmux.keys("P");
        await tmux.screen(/written: perf\.hist\.0/);
        const saved = Deno.readTextFileSync(`${folder}/perf.hist.0`);
        assertStringIncludes(saved, `· ${samples} samples · drop handle_mm_fault`);
        await tmux.keys("C-z");
        const shell = await tmux.screen(/Stopped/);
        assert(!shell.includes("q quit"), shell);
        await tmux.keys("fg", "Enter");
        assertStringIncludes(await tmux.screen(/q quit/), "drop handle_mm_fault");
        await tmux.keys("j", "q");
        await tmux.screen(/Stopped[^]*ready fg[^]*ready\s*$/);
        const said = Deno.readTextFileSync(`${folder}/err`);
        const [dropped = ""] = /[\d.]+% of the period is dropped \(--drop\)/.exec(err) ?? [];
        assert(dropped !== "");
        assertStringIncludes(said, dropped);
      },
    ),
});

Deno.test({
  name: "report, key a: prints the lines of annotate for all samples",
  ...ignored(
    notInstalled("tmux") ??
      (found("gcc") && found("objdump") ? undefined : "gcc or objdump is not installed"),
  ),
  fn: () =>
    inFolder(async (made) => {
      const { data } = await branchRecording(made, false);
      const { out } = await tool("annotate", ["--context", "999", data, "work"]);
      const rows = (text: string) => text.trimEnd().split("\n").map((line) => line.trim());
      assertStringIncludes(out, "EXECUTED  CYCLES");
      await onTerminal([data], { columns: 120 }, async (tmux, folder) => {
        await tmux.screen(/q quit/);
        const send = async (name: string) => {
          await tmux.keys("|");
          await tmux.screen(/^\|/m);
          await tmux.keys(`cat >'${folder}/${name}'`, "Enter");
          await tmux.screen(/done: Enter goes back/);
          await tmux.keys("Enter");
          await tmux.screen(/q back/);
          return Deno.readTextFileSync(`${folder}/${name}`);
        };
        await tmux.keys("/", "w", "o", "r", "k", "Enter", "a");
        assertStringIncludes(await tmux.screen(/q back/), "EXECUTED  CYCLES  INSTRUCTION");
        const page = await send("page");
        assertMatch(page, /^ work\.data · .* 400 samples/);
        assertEquals(rows(page).slice(1), rows(out));
        assert(rows(page).length > 20);

        await tmux.keys("q", "r");
        await tmux.screen(/time/);
        await tmux.keys("0%-50%", "Enter");
        await tmux.screen(/· 2\d\d samples|· 20\d samples/);
        await tmux.keys("a");
        await tmux.screen(/of all samples that were read/);
        // Addresses and executed code are the same, shares are not.
        const ran = (text: string) =>
          [...text.matchAll(
            /^ *(?:[\d.]+% +[\d.]+%)? {2,}(\d+)? +([\d.]+)? {2}[ │├┼─╭╰┬┴>]* ([0-9a-f]{6}):/gm,
          )]
            .map(([, times, cycles, at]) => [at, times, cycles]);
        const half = await send("half");
        assertEquals(ran(half), ran(out));
        assert(ran(half).length > 20, `${ran(half).length}`);
      });
    }),
});

/** A recording without samples, and the output instead. */
const SCREENS: readonly {
  readonly what: string;
  readonly file: string;
  readonly args?: readonly string[];
  readonly options: TerminalOptions;
  readonly keys: readonly (readonly [string, RegExp])[];
}[] = [
  {
    what: "a terminal of 40 × 10",
    file: FILE,
    options: { columns: 40, rows: 10, term: "xterm" },
    keys: [["?", /Move|Open|Rows/], ["q", /FUNCTION/], ["t", /Narrow to a thread/], [
      "q",
      /FUNCTION/,
    ]],
  },
  {
    what: "a terminal of 200 × 60, TERM=vt100",
    file: FILE,
    options: { columns: 200, rows: 60, term: "vt100" },
    args: ["--no-children"],
    keys: [
      ["s", /TOTAL▼/],
      ["s", /SELF▼/],
      ["s", /TOTAL▼/],
      ["Tab", /tree of callers/],
      ["c", /tree/],
      ["Tab", /TOTAL▼/],
      ["s", /SELF▼/],
    ],
  },
  {
    what: "no colors",
    file: FILE,
    options: { noColor: true },
    keys: [["+", /▾/], ["v", /event/]],
  },
  {
    what: "two events",
    file: FILE.replace("callchain", "two-events"),
    options: {},
    keys: [
      ["v", /Samples of an event/],
      ["Down", /Samples of an event/],
      ["Enter", /perf\.data · (?!cpu-clock)\S+ · [\d,]+ samples/],
      ["u", /perf\.data · cpu-clock · [\d,]+ samples/],
    ],
  },
  {
    what: "no call chains",
    file: FILE.replace("callchain", "clock"),
    options: {},
    keys: [
      ["+", /no call chains were recorded/],
      ["Tab", /tree of callers/],
      ["a", /nothing names the code/],
    ],
  },
];

Deno.test({
  name: "report on a terminal: small, large, old and colorless ones give readable screens",
  ...ignored(notInstalled("tmux")),
  async fn(t) {
    let screens = 0;
    for (const { what, file, args = [], options, keys } of SCREENS) {
      await t.step(what, () =>
        onTerminal([...args, file], options, async (tmux) => {
          const { columns = 80, rows = 24 } = options;
          await tmux.screen(/FUNCTION[^]*▸|\[demo\]/);
          for (const [key, wanted] of keys) {
            await tmux.keys(key);
            const screen = await tmux.screen(wanted);
            const lines = screen.trimEnd().split("\n");
            assert(lines.length <= rows && lines.every((line) => line.length <= columns), screen);
            screens++;
          }
          const painted = await tmux.run("capture-pane", "-p", "-e");
          // deno-lint-ignore no-control-regex
          const isColored = /\x1b\[(?:\d+;)*3[1-7]m/.test(painted);
          // The row at the cursor is inverse.
          const rest = painted.split("\n").filter((line) => line.includes("%")).length > 1;
          assertEquals(isColored, rest && options.noColor !== true, what);
          await tmux.keys("C-c");
          assertMatch(await tmux.screen(/ended/), /^before\n+ended 0/);
        }));
    }
    assertEquals(screens, SCREENS.flatMap(({ keys }) => keys).length);
  },
});

Deno.test({
  name: "report of Intel PT: the screen has executed functions, callers and callees",
  ...ignored(notInstalled("tmux") ?? cannotStep()),
  fn: () =>
    inFolder(async (folder) => {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-g", "-static"] });
      const variant = { psbEvery: 2000, compressReturns: true, tsc: true, mtc: true };
      const data = `${folder}/perf.data`;
      const encoded = encodeProgram(program, variant);
      Deno.writeFileSync(data, await steppedFile(program, encoded, variant));
      await onTerminal([data], {}, async (tmux) => {
        assertMatch(await tmux.screen(/q quit/), /^ *100\.00% .* _start +calls$/m);
        await tmux.keys("/", "fib", "Enter");
        await tmux.screen(/\/fib\n/);
        await tmux.keys("+");
        assertMatch(await tmux.screen(/▾ fib/), /▾ fib.*\n.* main +calls$/m);
        await tmux.keys("a");
        const page = await tmux.screen(/q back/);
        assertStringIncludes(page, "source lines alone: nothing was sampled; pt --insns shows");
        assertMatch(page, /\d\d\.\d\d% +calls fib$/m);
      });
    }),
});

Deno.test({
  name: "report: a terminal without cursor movement, or no samples, gives text",
  ...ignored(notInstalled("tmux")),
  async fn() {
    const { out } = await tool("funcs", [FILE]);
    await onTerminal([FILE], { columns: 120, term: "dumb", noColor: true }, async (tmux) => {
      const shown = await tmux.screen(/ended 0/);
      // A terminal has bars before shares.
      const rows = (text: string) =>
        [...text.matchAll(/(?:OVERHEAD|\d+\.\d\d%) .*/g)].map(([row]) =>
          row.split(/\s+/).join(" ")
        );
      assertEquals(rows(shown).slice(0, 8), rows(out).slice(0, 8));
      assert(rows(shown).length >= 8, shown);
    });
    await onTerminal(["--comm", "nobody", FILE], {}, async (tmux, folder) => {
      assertMatch(await tmux.screen(/ended/), /^before\nended 1/);
      assertStringIncludes(Deno.readTextFileSync(`${folder}/err`), "--comm nobody matches nothing");
    });
  },
});

Deno.test({
  name: "report - on a terminal: reads keys from the terminal, and reports the end of the pipe",
  ...ignored(notInstalled("tmux")),
  async fn() {
    const pipe = FILE.replace("callchain", "pipe");
    await onTerminal(["-"], { columns: 100, from: `cat '${pipe}'` }, async (tmux) => {
      const screen = await tmux.screen(/· ended/);
      assertMatch(screen, /^ standard input · cpu-clock · 58 samples · ended/);
      await tmux.keys("z");
      await tmux.screen(/stopped: z goes on/);
      await tmux.keys("|");
      await tmux.keys(..."head -1", "Enter");
      assertMatch(await tmux.screen(/Enter goes back/), /58 samples/);
      await tmux.keys("Enter");
      await tmux.screen(/q quit/);
      await tmux.keys("q");
      await tmux.screen(/ended 0/);
      // The terminal has its old mode again, in which typed characters are shown.
      await tmux.keys("h", "e", "l", "l", "o");
      assertMatch(await tmux.screen(/hello/), /^ended 0\nhello$/m);
    });
  },
});

Deno.test({
  name: "report - on a terminal: q ends it before the end of the pipe",
  ...ignored(notInstalled("tmux")),
  async fn() {
    const file = FILE.replace("callchain", "pipe-zstd");
    // FINISHED_ROUND records without end, until the reader closes the pipe.
    const rounds = "while printf '\\104\\0\\0\\0\\0\\0\\010\\0'; do sleep 0.1; done";
    const from = `{ cat '${file}'; ${rounds}; }`;
    await onTerminal(["-"], { columns: 100, from }, async (tmux) => {
      await tmux.screen(/· (?:live|nothing for \d+ s)/);
      await tmux.keys("q");
      assertMatch(await tmux.screen(/ended/), /^ended 0$/m);
    });
  },
});

Deno.test({
  name:
    "top: shows the samples of perf record, and ends perf with q; if perf fails, prints its reason",
  ...ignored(notInstalled("tmux") ?? noRecording()),
  async fn() {
    const command = "top";
    const flags = ["--", "-e", "cpu-clock", "-F", "99", "sh", "-c", "while :; do :; done"];
    await onTerminal(flags, { columns: 100, command }, async (tmux) => {
      assertMatch(await tmux.screen(/· live/), /^ perf · cpu-clock · [\d,]+ samples · live/m);
      await tmux.keys("q");
      assertMatch(await tmux.screen(/ended/), /^ended 0$/m);
    });
    await onTerminal(["--", "-e", "nosuch"], { command }, async (tmux, folder) => {
      assertMatch(await tmux.screen(/ended/), /^ended 1$/m);
      assertStringIncludes(Deno.readTextFileSync(`${folder}/err`), "top: perf record:");
    });
  },
});

Deno.test("report: without a terminal, also from a pipe, prints the text of funcs", async () => {
  const flags = ["--comm", "demo", "--event", "cpu-clock"];
  const funcs = await tool("funcs", [...flags, FILE]);
  assert(funcs.out.split("\n").length > 10);
  assertEquals((await tool("report", [...flags, FILE])).out, funcs.out);
  const stdio = (...more: string[]) => tool("report", ["--stdio", ...flags, ...more, "-i", FILE]);
  assertEquals((await stdio("--no-children")).out, funcs.out);
  assertEquals(
    (await stdio("--children")).out,
    (await tool("funcs", ["--children", ...flags, FILE])).out,
  );
  const input = Deno.readFileSync(FILE.replace("callchain", "pipe"));
  const piped = await tool("report", ["-"], { input });
  assertEquals(piped.out, (await tool("funcs", ["-"], { input })).out);
  const wrong = await tool("report", ["--nosuch", FILE]);
  assertEquals(wrong.code, 2);
});
