/**
 * A bundle with code and lines: output of commands about functions without programs and sources.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { denoFolder, inFolder, tool } from "../support/tool.ts";

const FIXTURES = new URL("../../fixtures/", import.meta.url).pathname;
const RECORDING = `${FIXTURES}recorded/callchain.perf.data`;

Deno.test("symbols bundle --code --source: annotate and view have the same output without programs and sources", () =>
  inFolder(async (folder) => {
    Deno.mkdirSync(`${folder}/here/tmp/demo`, { recursive: true });
    Deno.mkdirSync(`${folder}/nothing`);
    Deno.copyFileSync(`${FIXTURES}demo/demo`, `${folder}/here/tmp/demo/demo`);
    Deno.copyFileSync(RECORDING, `${folder}/perf.data`);
    const options = { cwd: folder, env: { HOME: folder, DENO_DIR: denoFolder() } };
    const sources = ["--source", `${FIXTURES}demo`];
    const here = ["--symfs", `${folder}/here`];
    const made = await tool(
      "symbols",
      ["bundle", "--code", ...sources, ...here, "perf.data"],
      options,
    );
    assertEquals(made.code, 0, made.err);
    assertMatch(made.err, /code of [1-9]\d* of \d+ sampled functions\n/);
    assertMatch(made.err, /lines of 1 of 1 source files\n/);
    const elsewhere = ["--symbols", "perf.symbols", "--symfs", `${folder}/nothing`];
    for (const name of ["fib", "work", "main"]) {
      for (const form of ["--insns", "--lines", "--json"]) {
        const shown = async (where: readonly string[]) => {
          const { code, out, err } = await tool(
            "annotate",
            [form, ...where, "perf.data", name],
            options,
          );
          assertEquals(code, 0, err);
          return out;
        };
        const expected = await shown([...here, ...sources]);
        assert(expected.includes(name) && expected.split("\n").length > 2, expected);
        assertEquals(await shown(elsewhere), expected, `${name} ${form}`);
      }
    }
  }));

Deno.test("symbols bundle --source perf.data: the name of a recording is a file, not a folder of sources", () =>
  inFolder(async (folder) => {
    Deno.copyFileSync(RECORDING, `${folder}/a.data`);
    const { code, err } = await tool("symbols", ["bundle", "--source", "a.data"], { cwd: folder });
    assertEquals(code, 0, err);
    assertMatch(err, /a\.data: code of \d+ of \d+ sampled functions\n/);
  }));
