/**
 * `script --itrace=G` and `L` add call chains and branch stacks from the trace to samples recorded
 * without them; compared with perf.
 */
import { assert, assertEquals } from "@std/assert";
import type { EncodeOptions } from "../../fixtures/stepped/encode.ts";
import {
  cannotStep,
  encodeProgram,
  type StepOptions,
  stepProgram,
} from "../../fixtures/stepped/program.ts";
import { steppedRecording, withSamples } from "../../fixtures/stepped/recording.ts";
import { asFile } from "../../fixtures/synthesize/recording.ts";
import { perfText, perfVersion, trimmedLines } from "../support/perf.ts";
import { tool } from "../support/tool.ts";
import { ignored } from "../support/ignored.ts";

/** Number of instructions between two samples, chosen to be no multiple of a loop in the trace. */
const PERIOD = 331;

const CASES: readonly [StepOptions, EncodeOptions, readonly (readonly string[])[]][] = [
  [{ program: "calls", flags: ["-O1", "-static"] }, {
    psbEvery: 5000,
    compressReturns: true,
    tsc: true,
    mtc: true,
  }, [["--itrace=Ge"]]],
  [{ program: "processes", flags: ["-O1", "-static"], quantum: 300 }, {
    psbEvery: 2000,
    compressReturns: true,
    tsc: true,
    mtc: true,
    cyc: true,
  }, [["--itrace=GL4ce", "-F", "+brstack"], ["--itrace=L2gi500i", "-F", "time,ip,brstacksym"]]],
];

/** Writes the trace of a program with samples of a clock; returns their number. */
async function write(path: string, options: StepOptions, variant: EncodeOptions): Promise<number> {
  const program = stepProgram(path.slice(0, path.lastIndexOf("/")), options);
  const encoded = encodeProgram(program, variant);
  const { recording, samples } = withSamples(
    steppedRecording(program, encoded, variant),
    program,
    encoded,
    PERIOD,
  );
  Deno.writeFileSync(path, await asFile(recording, true));
  return samples;
}

Deno.test(
  "script --itrace=G and L: call chains and branch stacks equal perf's",
  ignored(cannotStep() ?? (perfVersion() === undefined ? "no perf" : undefined)),
  async () => {
    let compared = 0;
    let samples = 0;
    for (const [options, variant, runs] of CASES) {
      const folder = Deno.makeTempDirSync({ prefix: "perfdata-pt-added-" });
      try {
        const path = `${folder}/perf.data`;
        samples += await write(path, options, variant);
        for (const args of runs) {
          const theirs = trimmedLines((await perfText(["script", ...args], path))?.stdout ?? "");
          const ours = trimmedLines((await tool("script", [...args, path])).out);
          for (const [i, line] of theirs.entries()) {
            // perf names few entries of the PLT, or gives them the function before.
            if (line === ours[i] || ours[i]?.includes("@plt")) continue;
            assertEquals(ours[i], line, `${args.join(" ")}: line ${i + 1}`);
          }
          assertEquals(ours.length, theirs.length, args.join(" "));
          compared += ours.length;
        }
      } finally {
        Deno.removeSync(folder, { recursive: true });
      }
    }
    console.log(`${compared} lines compared, of ${samples} samples`);
    assert(samples > 150 && compared > 10 * samples, `${compared} lines of ${samples} samples`);
  },
);

Deno.test("script --itrace=G: adds no call chains if the trace has no times", async () => {
  const path = new URL("../../fixtures/synthesized/pt-cpus.perf.data", import.meta.url).pathname;
  const { err } = await tool("script", ["--itrace=GZ", path]);
  assert(err.includes("G and L need times"), err);
});
