/** `report` in a terminal, by tmux, which shows what is on the screen; and where there is none. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ignored, notInstalled } from "./ignored.ts";
import { denoFolder, inFolder, tool, toolArguments } from "./tool.ts";

const FILE = new URL("../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;

/** A terminal of tmux that runs a command. */
class Tmux {
  readonly #socket: string;

  constructor(socket: string) {
    this.#socket = socket;
  }

  async run(...args: readonly string[]): Promise<string> {
    const { stdout } = await new Deno.Command("tmux", {
      args: ["-S", this.#socket, "-f", "/dev/null", ...args],
      env: { LC_ALL: "C.UTF-8" },
      stderr: "null",
    }).output();
    return new TextDecoder().decode(stdout);
  }

  /** The screen, as soon as it fits. */
  async screen(fits: RegExp, ...more: readonly string[]): Promise<string> {
    let text = "";
    for (let i = 0; i < 300; i++) {
      text = await this.run("capture-pane", "-p", ...more);
      if (fits.test(text)) return text;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`no ${fits} on the screen:\n${text}`);
  }

  async keys(...keys: readonly string[]): Promise<void> {
    await this.run("send-keys", ...keys);
  }
}

Deno.test({
  name: "report on a terminal: what is on the screen after keys, a resize and the end",
  ...ignored(notInstalled("tmux")),
  async fn() {
    await inFolder(async (folder) => {
      const tmux = new Tmux(`${folder}/tmux`);
      const deno = [Deno.execPath(), ...toolArguments("report"), FILE];
      const words = deno.map((word) => `'${word}'`).join(" ");
      const env = `NO_COLOR= HOME='${folder}' PERFDATA_CWD= DENO_DIR='${denoFolder()}'`;
      try {
        await tmux.run(
          ...["new-session", "-d", "-x", "80", "-y", "24"],
          `echo before; ${env} ${words} 2>'${folder}/err'; echo "ended $?"; exec sleep 60`,
        );
        const first = await tmux.screen(/q quit/);
        const lines = first.trimEnd().split("\n");
        assertEquals(lines.length, 24);
        assertMatch(lines[0] ?? "", /^ callchain\.perf\.data · cpu-clock · 13 samples$/);
        assertMatch(lines[1] ?? "", /^ {2}TOTAL▼ {3}SELF +FUNCTION +OBJECT$/);
        // The shares that funcs gives.
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
        // Code that nothing names is one row an object here, and one an address there.
        const named = rows.filter(({ sym }) => !/^0x/.test(sym));
        assert(named.length > 15);
        for (const { sym } of named) assertStringIncludes(sent, ` ${sym}`);
        await tmux.keys("q");
        const after = await tmux.screen(/ended/);
        // What was there before is there again.
        assertMatch(after, /^before\n/);
        assertStringIncludes(after, "ended 0");
        assert(!after.includes("callchain"));
        assertMatch(
          Deno.readTextFileSync(`${folder}/err`),
          /^report: .* of samples have a function/,
        );
      } finally {
        await tmux.run("kill-server");
      }
    });
  },
});

Deno.test("report without a terminal, or of a pipe, prints what funcs prints", async () => {
  const flags = ["--comm", "demo", "--event", "cpu-clock"];
  const funcs = await tool("funcs", [...flags, FILE]);
  assert(funcs.out.split("\n").length > 10);
  assertEquals((await tool("report", [...flags, FILE])).out, funcs.out);
  assertEquals((await tool("report", ["--stdio", ...flags, FILE])).out, funcs.out);
  const input = Deno.readFileSync(FILE.replace("callchain", "pipe"));
  const piped = await tool("report", ["-"], { input });
  assertEquals(piped.out, (await tool("funcs", ["-"], { input })).out);
  const wrong = await tool("report", ["--nosuch", FILE]);
  assertEquals(wrong.code, 2);
});
