/** Standard input: a recording in any form, without a FILE, and functions in either order. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { ignored, notInstalled } from "../support/ignored.ts";
import { inFolder, tool } from "../support/tool.ts";

const RECORDING = new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;

Deno.test(
  "standard input: compressed recordings and archives give the rows of the file",
  ignored(
    notInstalled("gzip", "bzip2", "xz", "tar"),
  ),
  () =>
    inFolder(async (folder) => {
      Deno.copyFileSync(RECORDING, `${folder}/perf.data`);
      const expected = await tool("funcs", ["--csv", RECORDING], { cwd: folder });
      const packers: readonly (readonly string[])[] = [
        ["gzip", "-c", "perf.data"],
        ["bzip2", "-c", "perf.data"],
        ["xz", "-c", "perf.data"],
        ["tar", "c", "perf.data"],
        ["tar", "cj", "perf.data"],
      ];
      for (const [program = "", ...args] of packers) {
        const packed = new Deno.Command(program, { args, cwd: folder }).outputSync();
        assertEquals(packed.code, 0);
        const { code, out, err } = await tool("funcs", ["--csv", "-"], { input: packed.stdout });
        assertEquals([code, out], [expected.code, expected.out], `${program} ${args}: ${err}`);
      }
    }),
);

Deno.test("no FILE: a file on standard input is read instead of perf.data", () =>
  inFolder((folder) => {
    Deno.copyFileSync(RECORDING.replace("callchain", "clock"), `${folder}/perf.data`);
    const tools = new URL("../../tools/perfdata.ts", import.meta.url).pathname;
    const run = (script: string) =>
      new Deno.Command("sh", {
        args: ["-c", script.replace("COMMAND", 'exec "$0" run -A "$1" funcs --csv')].concat(
          ...[Deno.execPath(), tools],
        ),
        cwd: folder,
        env: { RECORDING },
      }).outputSync().stdout;
    const named = run('COMMAND "$RECORDING"');
    assert(named.length > 0);
    assertEquals(run('COMMAND < "$RECORDING"'), named);
    assertEquals(run('COMMAND -i "$RECORDING"'), named);
    const other = run("COMMAND perf.data");
    assertNotEquals(other, named);
    assertEquals(run("COMMAND < /dev/null"), other);
    return Promise.resolve();
  }));

Deno.test("annotate NAME FILE: gives what annotate FILE NAME gives", () =>
  inFolder(async (folder) => {
    Deno.copyFileSync(RECORDING, `${folder}/a.data`);
    const [one, other] = await Promise.all(
      [["a.data", "fib"], ["fib", "a.data"]].map((operands) =>
        tool("annotate", ["--lines", ...operands], { cwd: folder })
      ),
    );
    assertEquals([other?.code, other?.out], [one?.code, one?.out]);
  }));
