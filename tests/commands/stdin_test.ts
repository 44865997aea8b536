/** Standard input: a recording in any form, without a FILE, and functions in either order. */
import { assert, assertEquals } from "@std/assert";
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

Deno.test("standard input from a file: read if no file is named and there is no perf.data", () =>
  inFolder((folder) => {
    const tools = new URL("../../tools/perfdata.ts", import.meta.url).pathname;
    const run = (redirected: string) =>
      new Deno.Command("sh", {
        args: ["-c", `exec "$0" run -A "$1" funcs --csv ${redirected}`, Deno.execPath(), tools],
        cwd: folder,
        env: { RECORDING },
      }).outputSync();
    const named = run('"$RECORDING"').stdout;
    assert(named.length > 0);
    assertEquals(run('< "$RECORDING"').stdout, named);
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
