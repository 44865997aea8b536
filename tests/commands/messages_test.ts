/** Messages name the subject, with the words of the format. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { FEATURE_NAMES } from "@perfdata/format/constants";
import { PerfDataReader } from "@perfdata/format/records";
import { fileSource } from "@perfdata/format/files";
import { inFolder, tool } from "../support/tool.ts";

const FIXTURES = new URL("../../fixtures/", import.meta.url).pathname;

/** A recorded file without the last bytes of one of its features. */
async function cutIn(feature: string, to: string): Promise<void> {
  const path = `${FIXTURES}recorded/callchain.perf.data`;
  using source = fileSource(path);
  const reader = await PerfDataReader.open(source);
  const found = reader.features.find(({ id }) => FEATURE_NAMES[id] === feature);
  assert(found !== undefined);
  const { offset, size } = found.section;
  await Deno.writeFile(to, (await Deno.readFile(path)).subarray(0, Number(offset + size) - 4));
}

Deno.test("a truncated feature section: header, info, funcs and dump name the feature", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/perf.data`;
    for (const feature of ["BUILD_ID", "HOSTNAME", "CMDLINE", "EVENT_DESC"]) {
      await cutIn(feature, file);
      for (const name of ["header", "info", "funcs", "dump"]) {
        const { code, err } = await tool("perfdata", [name, file]);
        assertEquals(code, 1, `${name}: ${err}`);
        assertMatch(err, new RegExp(`\\b${feature}\\b`), `${name}: ${err}`);
        assert(!/feature \d/.test(err), `${name}: ${err}`);
      }
    }
  });
});

Deno.test("a truncated AUX payload: dump, extract-pt, pt and hex give the bytes left and expected", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/perf.data`;
    const whole = await Deno.readFile(`${FIXTURES}synthesized/pt-cpus-pipe.perf.data`);
    await Deno.writeFile(file, whole.subarray(0, 2500));
    for (const words of [["dump"], ["extract-pt", "--list"], ["pt"], ["hex"]]) {
      const { code, out, err } = await tool("perfdata", [...words, file]);
      assertEquals(code, 1, `${words.join(" ")}: ${err}`);
      assertMatch(
        err + (words[0] === "hex" ? out : ""),
        /payload: \d+ bytes left of the data, expected \d+/,
      );
    }
  });
});

Deno.test("rate: a file without samples gives no advice to record times", async () => {
  const { code, err } = await tool("rate", [`${FIXTURES}recorded/stat.perf.data`]);
  assertEquals(code, 0);
  assertMatch(err, /^rate: \S+: no samples; it has counts: perfdata stat prints them\n$/);
});

Deno.test("pt --calls: a recording without code gives exit code 1 and names --packets", async () => {
  const { code, err } = await tool("pt", [
    "--calls",
    `${FIXTURES}synthesized/pt-threads.perf.data`,
  ]);
  assertEquals(code, 1);
  assertMatch(err, /^pt: \S+: nothing to print; --packets needs no code\n/);
});

/** Command lines with common mistakes, the exit code, and the expected line. */
const HURRIED: readonly (readonly [call: string, code: number, line: RegExp])[] = [
  ["funcs --limit -1 a", 2, /^--limit is -1, expected a number such as 20; see perfdata funcs/],
  ["records --limit 1e3 a", 2, /^--limit is 1e3, expected a number such as 20; see /],
  ["diff --limit x a a", 2, /^--limit is x, expected a number such as 20; see /],
  ["funcs --percent-limit 200 a", 2, /^--percent-limit is 200, expected 0 to 100; see /],
  ["tree --percent-limit x a", 2, /^--percent-limit is x, expected 0 to 100; see /],
  ["tree --lines -1 a", 2, /^--lines is -1, expected a number such as 20; see /],
  ["dump --jobs x a", 2, /^--jobs is x, expected 1 to 64; see /],
  ["funcs --jobs 0 a", 2, /^--jobs is 0, expected 1 to 64; see /],
  ["records --type , a", 2, /^--type: unknown record type ''; see /],
  ["funcs --time 5s-2s a", 2, /^--time is 5s-2s, which ends before it begins; see /],
  ["records --order file --comm x a", 2, /^--comm needs --order time: /],
  ["pt --latency a", 2, /^no FILE is given: a was taken as the value of --latency; see /],
  ["info ", 2, /^FILE is empty, expected the name of a file; see /],
  ["rate --cpu 99 a", 1, /^a: no samples: --cpu 99 matches nothing; there are 0-1$/],
  ["tree --vmlinux text a", 1, /^text: is no ELF file$/],
  ["funcs --vmlinux folder a", 1, /^folder: is a directory$/],
  ["script --kallsyms folder a", 1, /^folder: is a directory$/],
  ["slice --symbol x --symfs text -o - a", 1, /^text: is not a directory$/],
  ["info packed", 1, /^packed: gzip data is damaged or cut: /],
  ["script program", 1, /expected PERFILE2 or PERFFILE; it is an ELF file$/],
  ["hex text", 1, /^text: 1 problem, in lines that begin with !!$/],
  [
    "info a\uFFFD",
    1,
    /^a\uFFFD: its name is not UTF-8; give its content on standard input: - < FILE$/,
  ],
  ["hex --json text", 1, /^text: 1 problem, in members "problems"$/],
];

Deno.test("command lines: common mistakes give one line and exit code 1 or 2", async () => {
  await inFolder(async (cwd) => {
    Deno.copyFileSync(`${FIXTURES}recorded/all-cpus.perf.data`, `${cwd}/a`);
    Deno.mkdirSync(`${cwd}/folder`);
    Deno.writeTextFileSync(`${cwd}/text`, "this is no recording, and no program\n");
    Deno.writeFileSync(
      `${cwd}/packed`,
      Uint8Array.from({ length: 99 }, (_, i) => [0x1f, 0x8b, 8][i] ?? 0),
    );
    Deno.writeFileSync(
      `${cwd}/program`,
      Uint8Array.from({ length: 99 }, (_, i) => [127, 69, 76, 70][i] ?? 0),
    );
    for (const [call, code, expected] of HURRIED) {
      const words = call.split(" ");
      const { code: found, err } = await tool("perfdata", words, { cwd });
      const prefix = `${words[0]}: `;
      assert(err.startsWith(prefix) && err.indexOf("\n") === err.length - 1, `${call}: ${err}`);
      assertMatch(err.slice(prefix.length, -1), expected, call);
      assertEquals(found, code, call);
    }
    // An empty request is no fault.
    const { code, err } = await tool("records", ["--limit", "0", "a"], { cwd });
    assertEquals([code, err], [0, ""]);
  });
});
