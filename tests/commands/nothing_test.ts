/** Each filter without a match gives one line with the existing values, in all commands. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { inFolder, tool } from "../support/tool.ts";

const FIXTURES = new URL("../../fixtures/", import.meta.url).pathname;
const RECORDED = `${FIXTURES}recorded/all-cpus.perf.data`;
const TRACED = `${FIXTURES}synthesized/pt-cpus.perf.data`;

/** A filter, and the expected end of its line for a file. */
type Case = readonly [flag: string, word: string, expected: RegExp];

const CPU: Case = ["cpu", "99", /--cpu 99 matches nothing; there (is|are) \d[\d, -]*$/];
const PID: Case = ["pid", "1", /--pid 1 matches nothing; there (is|are) \d[\d, -]*$/];
const TID: Case = ["tid", "1", /--tid 1 matches nothing; there (is|are) \d[\d, -]*$/];
const TIME: Case = [
  "time",
  "0,1",
  /--time 0,1 matches nothing; samples are from \d+\.\d{6} to \d+\.\d{6}$/,
];
const COMM: Case = ["comm", "xyz", /--comm xyz matches nothing; there (is|are) \w[^;]*$/];
const DSO: Case = ["dso", "libq.so", /--dso libq\.so matches nothing; there (is|are) \S[^;]*$/];
const SYMBOL: Case = ["symbol", "qq", /--symbol qq matches nothing; there (is|are) \S[^;]*$/];
const EVENT: Case = ["event", "qq", /no event qq; there (?:is|are) cpu-clock/];
const TYPE: Case = ["type", "LOST", /--type LOST matches nothing; there are COMM, \w+, .*$/];
const FROM: Case = ["from", "0x7fffffff", /--from 0x7fffffff matches nothing$/];
const RECORD: Case = ["record", "99999", /nothing matches --record 99999$/];
const BOTH: Case = [
  "pid",
  "",
  /nothing matches --cpu .* and --time 0,1 together; samples are from .*$/,
];

const SAMPLES = [CPU, PID, TID, TIME, COMM, DSO, SYMBOL];

/** Arguments, exit code, filters, and recording. */
const TOOLS: readonly (readonly [words: string[], code: number, cases: Case[], file?: string])[] = [
  [["funcs"], 1, [...SAMPLES, EVENT]],
  [["tree"], 1, [PID, TIME, COMM, DSO, SYMBOL, EVENT]],
  [["script"], 1, SAMPLES],
  [["rate"], 1, [CPU, TIME, COMM]],
  [["readperf", "-o", "{}.csv"], 1, [PID, DSO]],
  [["annotate"], 1, [TIME, COMM]],
  [["export", "folded"], 1, [TID, COMM, EVENT]],
  [["export", "pprof", "-o", "-"], 1, [CPU]],
  [["flame", "-o", "-"], 1, [CPU, SYMBOL]],
  [["flame", "--svg", "-o", "-"], 1, [COMM, EVENT]],
  [["diff"], 1, [DSO, CPU, EVENT]],
  [["slice", "-f", "-o", "{}"], 1, [...SAMPLES, EVENT]],
  // A list of records may be empty.
  [["dump"], 0, [CPU, PID, TID, TIME, TYPE]],
  [["records"], 0, [CPU, PID, TID, TIME, COMM, DSO, SYMBOL, TYPE, FROM]],
  [["records"], 0, [["event", "qq", /--event qq matches nothing; there is cpu-clock$/]]],
  [["records", "--csv"], 0, [TYPE]],
  [["dump"], 0, [FROM]],
  [["hex"], 0, [TYPE, RECORD]],
  [["pt"], 0, [CPU], TRACED],
];

Deno.test("filters: no match gives a line with the values that exist, in each command", async () => {
  let compared = 0;
  await inFolder(async (folder) => {
    for (const [words, code, cases, file = RECORDED] of TOOLS) {
      const [name = ""] = words;
      const operands = name === "annotate"
        ? [file, "main"]
        : name === "diff"
        ? [file, file]
        : [file];
      await Promise.all(cases.map(async ([flag, word, expected], i) => {
        const call = words.map((word) => word.replace("{}", `${folder}/${i}.data`));
        const what = `${words.join(" ")} --${flag} ${word}`;
        const result = await tool("perfdata", [...call, `--${flag}`, word, ...operands]);
        assertEquals(result.code, code, `${what}: ${result.err}`);
        const lines = result.err.trimEnd().split("\n").filter((line) => expected.test(line));
        assertEquals(lines.length, 1, `${what}: ${result.err}`);
        assert(lines[0]?.startsWith(`${name}: `), what);
        compared++;
      }));
    }
  });
  console.log(`${compared} calls compared`);
  assertEquals(compared, TOOLS.reduce((sum, [, , cases]) => sum + cases.length, 0));
});

Deno.test("filters: matches that exclude each other are named together, also for a pipe", async () => {
  const together = await tool("funcs", ["--cpu", "0-1023", "--time", "0,1", RECORDED]);
  assertEquals(together.code, 1);
  assertMatch(together.err.trimEnd(), BOTH[2]);
  const input = await Deno.readFile(RECORDED);
  const without = `${FIXTURES}recorded/callchain.perf.data`;
  assertMatch((await tool("funcs", ["--cpu", "0", without])).err, /; its samples have no cpu\n/);
  const named = await tool("funcs", ["--comm", "xyz", "-"], { input });
  assertEquals(named.code, 1);
  assertMatch(named.err, /--comm xyz matches nothing; there are \w/);
  const numbered = await tool("funcs", ["--cpu", "99", "-"], { input });
  assertMatch(numbered.err, /no samples: --cpu 99 matches nothing\n/);
});

Deno.test("funcs --children, tree, folded, diff: without call chains a line suggests perf record -g", async () => {
  const file = `${FIXTURES}recorded/two-events.perf.data`;
  for (const words of [["funcs", "--children"], ["tree"], ["export", "folded"], ["diff", file]]) {
    const { err } = await tool("perfdata", [...words, file]);
    assertMatch(err, /no (?:stacks|call chains) were recorded; perf record -g/, words.join(" "));
  }
});

/** The trace of a fixture with another type: 4 is Arm SPE. */
function asSpe(): Uint8Array {
  const bytes = Deno.readFileSync(TRACED);
  const view = new DataView(bytes.buffer);
  const data = Number(view.getBigUint64(40, true));
  let changed = 0;
  for (let at = data; at < data + Number(view.getBigUint64(48, true));) {
    const type = view.getUint32(at, true);
    if (type === 70) {
      view.setUint32(at + 8, 4, true);
      changed++;
    }
    const size = view.getUint16(at + 6, true);
    at += size + (type === 71 ? Number(view.getBigUint64(at + 8, true)) : 0);
  }
  assertEquals(changed, 1, "AUXTRACE_INFO");
  return bytes;
}

Deno.test("perf stat record: other commands give a line with the command that prints counts", async () => {
  const path = new URL("../../fixtures/recorded/stat.perf.data", import.meta.url).pathname;
  const commands = [["funcs"], ["script"], ["tree"], ["rate"], ["flame", "-o", "-"]];
  for (const [command = "", ...args] of commands) {
    const { code, err } = await tool(command, [...args, path]);
    assertEquals(code, 0, err);
    assertMatch(err, /: no samples; it has counts: perfdata stat prints them\n$/, command);
  }
  const { code, out } = await tool("stat", [path]);
  assertEquals(code, 0);
  assertMatch(out, /cpu-clock .* CPUs utilized/);
});

Deno.test("AUX data without samples: commands give a line with the command that reads it", async () => {
  let compared = 0;
  await inFolder(async (cwd) => {
    Deno.writeFileSync(`${cwd}/spe.data`, asSpe());
    for (
      const [command = "", ...args] of [["funcs"], ["script"], ["tree"], ["rate"], [
        "flame",
        "-o",
        "-",
      ]]
    ) {
      const { code, err } = await tool(command, [...args, "spe.data"], { cwd });
      assertEquals(code, 0, err);
      assertMatch(
        err,
        /: no samples; perfdata convert --spe makes samples of its AUX data of type arm_spe\n$/,
        command,
      );
      compared++;
    }
    const { code } = await tool("extract-pt", ["--all-aux", "-o", "aux", "spe.data"], { cwd });
    assertEquals(code, 0);
    assert([...Deno.readDirSync(`${cwd}/aux`)].some(({ name }) => name.endsWith(".spe")));
    const traced = await tool("funcs", [TRACED], { cwd });
    assertMatch(traced.err, /no samples; what ran is in its Intel PT: perfdata pt, /);
  });
  assert(compared === 5, `${compared}`);
});
