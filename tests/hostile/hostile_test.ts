/** Well-formed recordings with nonsensical contents, in every tool, with its task's permissions. */
import { assert, assertEquals } from "@std/assert";
import { SymbolBundle } from "@perfdata/symbols";
import { parse } from "@std/csv";
import { synthesizeHostile } from "../../fixtures/synthesize.ts";
import { inFolder, tool } from "../support/tool.ts";

const FOLDER = new URL("../../fixtures/hostile/", import.meta.url).pathname;
const FILES = [
  "acting-names",
  "names-of-no-file",
  "far-addresses",
  "many-of-all",
  "huge-attr",
] as const;

// deno-lint-ignore no-control-regex
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;

/**
 * 48 KB of zstd that expand to 1.5 GB: damaged, and so covered by the fuzzer and the table in
 * SECURITY.md.
 */
const BOMB = "zstd-bomb";

Deno.test("hostile recordings: synthesize.ts makes the bytes in the repository", async () => {
  const made = await synthesizeHostile();
  assertEquals([...made.keys()].sort(), [...FILES, BOMB].map((name) => `${name}.perf.data`).sort());
  for (const [name, bytes] of made) assertEquals(Deno.readFileSync(FOLDER + name), bytes, name);
});

for (const name of FILES) {
  Deno.test(`${name}: every tool succeeds, and its tables do not control the terminal`, () =>
    inFolder(async (folder) => {
      const file = `${FOLDER}${name}.perf.data`;
      const jobs: [string, ...string[]][] = [
        ["dump", "--limit", "100"],
        ["header"],
        ["info"],
        ["records"],
        ["records", "--csv"],
        ["hex"],
        ["funcs", "--verbose"],
        ["funcs", "--csv"],
        ["rate"],
        ["symbols", "trust"],
        ["symbols", "bundle", "-o", `${folder}/perf.symbols`],
        ["readperf", "-o", folder],
        ["convert", "-o", `${folder}/pipe.data`, "--pipe"],
        ["slice", "-o", `${folder}/slice.data`, "--pid", "1"],
      ];
      const ends = await Promise.all(jobs.map(([job, ...args]) => tool(job, [...args, file])));
      for (const [i, { code, out, err }] of ends.entries()) {
        const job = jobs[i]?.join(" ");
        // An attr longer than its section is damage that only `hex` reports.
        const expected = name === "huge-attr" && job === "hex" ? 1 : 0;
        assertEquals(code, expected, `${job}: ${err}`);
        assert(!CONTROLS.test(err), `${job}: ${err}`);
        // perf's output, and data, have unchanged names.
        if (job?.startsWith("dump") || job?.endsWith("--csv")) continue;
        assert(!CONTROLS.test(out), `${job}: ${JSON.stringify(out)}`);
        assert(!out.split("\n").some((line) => line.startsWith("NAME")), out);
      }
      // All samples are in the result, named or not.
      const funcs = ends[jobs.findIndex(([job]) => job === "funcs")]?.out ?? "";
      const [, samples = "0"] = /: (\d+) samples/.exec(funcs) ?? [];
      const rows = funcs.split("\n").slice(2).filter((line) => line !== "");
      const counted = rows.map((line) => Number(line.trim().split(/\s+/)[1]));
      assertEquals(counted.reduce((sum, n) => sum + n, 0), Number(samples), funcs);
      SymbolBundle.open(await Deno.readFile(`${folder}/perf.symbols`));
    }));
}

Deno.test("hostile names: events and functions do not control the terminal in any command", () =>
  inFolder(async (folder) => {
    const file = `${FOLDER}acting-names.perf.data`;
    await Deno.mkdir(`${folder}/tmp`);
    await Deno.writeTextFile(`${folder}/tmp/perf-1.map`, "3000 100 fn\x1b[2J\x07\n");
    const jobs: [string, ...string[]][] = [
      ["funcs", file],
      ["funcs", "--children", file],
      ["tree", file],
      ["tree", "--callers", file],
      ["diff", "--all", file, file],
      ["annotate", file, "/fn/"],
    ];
    for (const [job, ...args] of jobs) {
      const { code, out, err } = await tool(job, ["--symfs", folder, ...args]);
      assertEquals(code, 0, `${job}: ${err}`);
      assert(!CONTROLS.test(out + err), `${job}: ${JSON.stringify(out + err)}`);
      assert(out.includes("fn\\x1b[2J\\x07"), `${job}: ${out}`);
      // The event's name, in the line above the table.
      assert(out.includes("\\nNAME,=1+1"), `${job}: ${out}`);
    }
    // Instructions need code, which is missing here: the message names the function.
    const { code, out, err } = await tool("annotate", ["--symfs", folder, "--insns", file, "/fn/"]);
    assertEquals(code, 1, err);
    assert(!CONTROLS.test(out + err), JSON.stringify(out + err));
  }));

Deno.test("CSV: no cell is a formula for a spreadsheet", () =>
  inFolder(async (folder) => {
    const file = `${FOLDER}acting-names.perf.data`;
    const texts = [
      (await tool("funcs", ["--csv", file])).out,
      (await tool("records", ["--csv", file])).out,
    ];
    await tool("readperf", ["-o", folder, file]);
    for (const { name } of Deno.readDirSync(folder)) {
      texts.push(await Deno.readTextFile(`${folder}/${name}`));
    }
    let guarded = 0;
    for (const cell of texts.flatMap((text) => parse(text)).flat()) {
      assert(!/^[=+@]/.test(cell) && !/^-[^\d]/.test(cell), cell);
      if (cell.startsWith("'=")) guarded++;
    }
    // A command in funcs and processes, an object in funcs and results, both in overview and
    // records.
    assert(guarded >= 6, `${guarded} cells`);
  }));

Deno.test("no samples: an intact recording without samples is reported as such, without an error", async () => {
  const file = new URL("../../fixtures/recorded/switch.perf.data", import.meta.url).pathname;
  for (const job of ["funcs", "tree", "script", "rate", "info", "records", "header"]) {
    const { code, err } = await tool(job, [file]);
    assertEquals(code, 0, `${job}: ${err}`);
    if (["funcs", "tree", "script", "rate"].includes(job)) {
      assertEquals(err, `${job}: ${file}: no samples\n`);
    }
  }
});
