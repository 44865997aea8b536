/** Branches for the optimisers of LLVM: what these make of them, and of the text of perf. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { branchRecording, found, run } from "./branch_recording.ts";
import { perfVersion } from "./perf.ts";
import { inFolder, tool } from "./tool.ts";

const perf2bolt = found("perf2bolt");
const profgen = found("llvm-profgen");
const canMake = perfVersion() !== undefined && found("gcc") !== undefined &&
  found("objdump") !== undefined;

for (const pie of [false, true]) {
  const form = pie ? "position independent" : "fixed";
  Deno.test({
    name: `export bolt: perf2bolt makes the same of it as of the recording (${form})`,
    // perf2bolt is not installed.
    ignore: perf2bolt === undefined || !canMake,
    fn: () =>
      inFolder(async (folder) => {
        const { program, data } = await branchRecording(folder, pie);
        const out = `${folder}/work.pa`;
        const { code, err: stderr } = await tool("export", [
          "bolt",
          "--binary",
          program,
          "-o",
          out,
          data,
        ]);
        assertEquals(code, 0, stderr);
        assertStringIncludes(stderr, "100.0% of their branches");
        const bolt = perf2bolt as string;
        run(bolt, program, "-p", data, "-o", `${folder}/theirs`, "-ignore-build-id");
        run(bolt, program, "-p", out, "-pa", "-o", `${folder}/ours`);
        const lines = (file: string) =>
          Deno.readTextFileSync(`${folder}/${file}`).split("\n").sort();
        assertEquals(lines("ours"), lines("theirs"));
        assert(lines("ours").length > 8, `${lines("ours").length} lines`);
      }),
  });

  Deno.test({
    name: `export profgen: llvm-profgen makes the same of it as of the recording (${form})`,
    // llvm-profgen is not installed.
    ignore: profgen === undefined || !canMake,
    fn: () =>
      inFolder(async (folder) => {
        const { program, data } = await branchRecording(folder, pie);
        const out = `${folder}/work.up`;
        const { code, err: stderr } = await tool("export", [
          "profgen",
          "--binary",
          program,
          "-o",
          out,
          data,
        ]);
        assertEquals(code, 0, stderr);
        const to = (
          file: string,
        ) => ["-o", `${folder}/${file}`, `--binary=${program}`, "--format=text"];
        run(profgen as string, ...to("theirs"), `--perfdata=${data}`);
        run(profgen as string, ...to("ours"), `--unsymbolized-profile=${out}`, "--use-offset=0");
        const text = Deno.readTextFileSync(`${folder}/ours`);
        assertEquals(text, Deno.readTextFileSync(`${folder}/theirs`));
        assertStringIncludes(text, "work:");
        assertStringIncludes(text, "next:");
      }),
  });
}

Deno.test("export bolt: without a binary there is nothing to say", async () => {
  const usage = await tool("export", ["bolt", "nothing.data"]);
  assertEquals(usage.code, 2);
  assertStringIncludes(usage.err, "--binary FILE is missing");
});
