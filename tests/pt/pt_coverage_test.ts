/** `export lcov` of Intel PT: the counts of gcov, of programs that were stepped. */
import { assert, assertEquals } from "@std/assert";
import {
  cannotStep,
  encodeProgram,
  type StepOptions,
  stepProgram,
} from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { ignored } from "../support/ignored.ts";
import { inFolder, tool } from "../support/tool.ts";

const VARIANT = { psbEvery: 5000, compressReturns: true, tsc: true, mtc: true };
const SOURCES = "fixtures/stepped/programs";

function run(folder: string, command: string, ...args: string[]): string {
  const { success, stdout, stderr } = new Deno.Command(command, { args, cwd: folder }).outputSync();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

function noGcov(): string | undefined {
  try {
    return new Deno.Command("gcov", { args: ["--version"], stdout: "null" }).outputSync().success
      ? undefined
      : "gcov fails";
  } catch {
    return "no gcov";
  }
}

/** How often each line ran, as gcov counts it in an instrumented program. */
function gcovLines(folder: string, program: string): Map<number, number> {
  const source = Deno.realPathSync(`${SOURCES}/${program}.c`);
  run(folder, "gcc", "-O0", "-static", "--coverage", "-o", "counted", source, "-lpthread");
  run(folder, `${folder}/counted`);
  const [data] = [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".gcda"));
  const lines = new Map<number, number>();
  for (const line of run(folder, "gcov", "-t", `${data?.name}`).split("\n")) {
    const [, count, number] = /^ *(\d+|#####|=====)\*?: *(\d+):/.exec(line) ?? [];
    if (number !== undefined) lines.set(Number(number), Number(count?.replace(/\D+/, "") || 0));
  }
  return lines;
}

const CASES: readonly [options: StepOptions, repeated: readonly number[], least: number][] = [
  // Line 44 is one instruction of the processor, which loops by itself: 20 times.
  [{ program: "calls", flags: ["-O0", "-static"] }, [44], 45],
  [{ program: "dispatch", flags: ["-O0", "-static"] }, [], 12],
];

for (const [options, repeated, least] of CASES) {
  Deno.test(
    `export lcov: lines of ${options.program} ran as often as gcov counts`,
    ignored(cannotStep() ?? noGcov()),
    async () => {
      await inFolder(async (folder) => {
        const program = stepProgram(folder, options);
        const path = `${folder}/perf.data`;
        Deno.writeFileSync(
          path,
          await steppedFile(program, encodeProgram(program, VARIANT), VARIANT),
        );
        const { out, err, code } = await tool("export", ["lcov", "--binary", program.path, path]);
        assertEquals(code, 0, err);
        const own = out.split("end_of_record\n").find((file) =>
          file.includes(`/${options.program}.c\n`)
        ) ?? "";
        const lines = new Map(
          [...own.matchAll(/^DA:(\d+),(\d+)$/gm)].map(([, line, count]) => [
            Number(line),
            Number(count),
          ]),
        );
        // gcov has the line of a function's name where the line table has that of its body.
        const both = [...gcovLines(folder, options.program)].filter(([line]) =>
          lines.has(line) && !repeated.includes(line)
        );
        assert(both.length >= least, `${both.length} lines compared`);
        assertEquals(both.map(([line]) => [line, lines.get(line)]), both);
        console.log(
          `${both.length} lines compared, ${
            both.filter(([, n]) => n === 0).length
          } of them did not run`,
        );
        assertEquals(own.match(/^FNDA:1,main$/gm)?.length, 1, own);
      });
    },
  );
}
