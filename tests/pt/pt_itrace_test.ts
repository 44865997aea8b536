/**
 * `--itrace` of commands that read samples: the counts of `perf report --itrace`, of programs that were stepped, and the
 * same counts in all of these commands.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { EncodeOptions } from "../../fixtures/stepped/encode.ts";
import {
  cannotStep,
  encodeProgram,
  type StepOptions,
  stepProgram,
} from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { ignored } from "../support/ignored.ts";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const ALL = { psbEvery: 2000, compressReturns: true, tsc: true, mtc: true };

const CASES: readonly [StepOptions, EncodeOptions][] = [
  [{ program: "calls", flags: ["-O1", "-static"] }, { ...ALL, psbEvery: 5000 }],
  [{ program: "processes", flags: ["-O1", "-static"], quantum: 300 }, { ...ALL, cyc: true }],
];

const reason = cannotStep() ?? (perfVersion() === undefined ? "no perf" : undefined);

/** Samples and period by function, as `perf report` or `funcs --json` has them. */
type Sums = readonly string[];

/** Rows by name; stubs of the PLT, which have no symbols for perf, are one. */
function sumsOf(rows: readonly (readonly [name: string, samples: number, period: number])[]): Sums {
  const sums = new Map<string, [number, number]>();
  for (const [name, samples, period] of rows) {
    const key = name.replace(/^(?:\*ABS\*.*@plt|_init)$/, "PLT").replace(
      /^0x(?=[0-9a-f]{16}$)/,
      "",
    );
    const [s, p] = sums.get(key) ?? [0, 0];
    sums.set(key, [s + samples, p + period]);
  }
  return [...sums].map(([name, counts]) => `${name} ${counts.join(" ")}`).sort();
}

async function perfSums(path: string, args: readonly string[]): Promise<Sums> {
  const fields = ["-F", "sample,period,sym", "--sort", "sym", "-g", "none", "--no-children"];
  const found = await perfText(["report", "--stdio", ...fields, ...args], path);
  const rows = (found?.stdout ?? "").matchAll(/^ +(\d+) +(\d+) +\[[.k]\] (.+?) *$/gm);
  return sumsOf([...rows].map(([, n, period, name = ""]) => [name, Number(n), Number(period)]));
}

async function ownSums(path: string, args: readonly string[]): Promise<Sums> {
  const { out, err } = await tool("funcs", [
    "--json",
    "--sort",
    "sym",
    "--no-inline",
    ...args,
    path,
  ]);
  const rows = out.trim().split("\n").flatMap((line) => line === "" ? [] : [JSON.parse(line)]);
  const counted = rows.filter(({ samples, sym }) => samples > 0 && sym !== undefined);
  assert(counted.length > 0, `${out.slice(0, 300)} ${err}`);
  return sumsOf(counted.map(({ sym, samples, period }) => [sym, samples, Number(period)]));
}

Deno.test(
  "funcs --itrace: functions have the samples and periods of perf report",
  ignored(reason),
  async () => {
    let compared = 0;
    for (const [options, variant] of CASES) {
      await inFolder(async (folder) => {
        const program = stepProgram(folder, options);
        const path = `${folder}/perf.data`;
        Deno.writeFileSync(
          path,
          await steppedFile(program, encodeProgram(program, variant), variant),
        );
        for (const letters of ["i10us", "i1000ig", "b", "c"]) {
          const theirs = await perfSums(path, [`--itrace=${letters}`]);
          assertEquals(await ownSums(path, ["--itrace", letters]), theirs, letters);
          compared += theirs.length;
        }
      });
    }
    console.log(`${compared} functions compared`);
    assert(compared > 100);
  },
);

Deno.test(
  "--itrace: commands count the samples that the converted recording has",
  ignored(reason),
  async () => {
    await inFolder(async (folder) => {
      const [[options, variant]] = CASES as [[StepOptions, EncodeOptions]];
      const program = stepProgram(folder, options);
      const path = `${folder}/perf.data`;
      Deno.writeFileSync(
        path,
        await steppedFile(program, encodeProgram(program, variant), variant),
      );
      const made = `${folder}/made.data`;
      const letters = ["--itrace", "i500ig"];
      assertEquals((await tool("convert", [...letters, "-o", made, path])).code, 0);
      for (
        const [command, ...args] of [
          ["funcs", "--json"],
          ["funcs", "--children"],
          ["tree"],
          ["export", "folded", "-o", "-"],
          ["annotate", "--lines", "fib"],
          ["diff", path],
          ["report", "--stdio"],
          ["sql", "select event, count(*), sum(period) from samples group by event"],
        ] as const
      ) {
        const own = await tool(command, [...args.map((arg) => arg), ...letters, path]);
        const other = args.map((arg) => arg === path ? made : arg);
        const wanted = await tool(command, [...other, made]);
        assertEquals([own.code, own.out], [wanted.code, wanted.out], `${command}: ${own.err}`);
        assert(own.out.length > 20 || command === "diff", command);
      }
      const branches = await tool("export", ["autofdo", ...letters, path]);
      assertEquals(branches.code, 2, branches.err);
      const picture = await tool("flame", [...letters, "-o", `${folder}/flame.svg`, path]);
      assertEquals(picture.code, 0, picture.err);
      assertStringIncludes(Deno.readTextFileSync(`${folder}/flame.svg`), "fib");
    });
  },
);

Deno.test("--itrace: letters without samples, letters of script alone and --pt are wrong usage", async () => {
  for (
    const [args, text] of [
      [["--itrace", "e"], "no samples"],
      [["--itrace", "w"], "script"],
      [["--itrace", "k"], "no such letter"],
      [["--itrace="], "needs a value"],
      [["--itrace", "b", "--pt"], "--pt"],
    ] as const
  ) {
    const { code, err } = await tool("funcs", [...args, "fixtures/recorded/callchain.perf.data"]);
    assertEquals(code, 2, err);
    assertStringIncludes(err, text);
  }
});
