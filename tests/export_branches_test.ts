/** Branches for the optimisers of LLVM: what these make of them, and of the text of perf. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { branchRecording, found, run } from "./branch_recording.ts";
import { cannotStep, encodeProgram, stepProgram } from "../fixtures/stepped/program.ts";
import { steppedFile } from "../fixtures/stepped/recording.ts";
import { ignored } from "./ignored.ts";
import { noPerf, perfText, perfVersion } from "./perf.ts";
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
        const shared = await tool("export", [
          ...["bolt", "--jobs", "2", "--binary", program, "-o", `${folder}/shared.pa`, data],
        ]);
        assertEquals(shared.code, 0, shared.err);
        assertEquals(Deno.readTextFileSync(`${folder}/shared.pa`), Deno.readTextFileSync(out));
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

/** The lines of `export bolt` by what perf prints of all branches of a trace, thread after thread. */
function boltLines(text: string): string[] {
  const branches = new Map<string, number>();
  const ranges = new Map<string, number>();
  let last = 0;
  for (const line of text.split("\n")) {
    const [, from, to] = /^ *([0-9a-f]+) => +([0-9a-f]+)/.exec(line) ?? [];
    if (from === undefined || to === undefined) {
      last = 0;
      continue;
    }
    const [source, target] = [parseInt(from, 16), parseInt(to, 16)];
    const add = (sums: Map<string, number>, key: string) => sums.set(key, (sums.get(key) ?? 0) + 1);
    if (last !== 0 && source >= last) add(ranges, `${last.toString(16)} ${from}`);
    if (source !== 0 || target !== 0) add(branches, `${from} ${to}`);
    last = target;
  }
  return [
    ...[...branches].map(([key, count]) => `B ${key} ${count} 0`),
    ...[...ranges].map(([key, count]) => `${key} ${count}`),
  ].sort();
}

Deno.test({
  name: "export bolt, export profgen: of Intel PT all branches that perf finds in it",
  ...ignored(cannotStep() ?? noPerf()),
  fn: () =>
    inFolder(async (folder) => {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      const variant = { psbEvery: 2000, compressReturns: true, tsc: true, mtc: true };
      const data = `${folder}/perf.data`;
      const encoded = encodeProgram(program, variant);
      Deno.writeFileSync(data, await steppedFile(program, encoded, variant));
      const of = (format: string) => [format, "--binary", program.path, "-f", "-o"];
      const out = `${folder}/calls.pa`;
      const { code, err } = await tool("export", [...of("bolt"), out, data]);
      assertEquals(code, 0, err);
      assertStringIncludes(err, "all of its Intel PT; 100.0% of their branches");
      const perf = await perfText(["script", "--itrace=be", "-F", "ip,addr"], data);
      const theirs = boltLines(perf?.stdout ?? "");
      // Whether a range was entered from another function is not in the lines of perf.
      const sums = new Map<string, number>();
      const ours: string[] = [];
      for (const line of Deno.readTextFileSync(out).trimEnd().split("\n")) {
        const [kind, from, to, count] = line.split(" ");
        if (kind === "B") ours.push(line);
        else sums.set(`${from} ${to}`, (sums.get(`${from} ${to}`) ?? 0) + Number(count));
      }
      for (const [range, count] of sums) ours.push(`${range} ${count}`);
      assertEquals(ours.sort(), theirs);
      console.log(`${ours.length} branches and ranges compared`);
      assert(ours.length > 1000);
      if (profgen === undefined) return;
      const counts = `${folder}/calls.up`;
      assertEquals((await tool("export", [...of("profgen"), counts, data])).code, 0);
      const profile = `${folder}/calls.prof`;
      run(profgen, `--binary=${program.path}`, "--format=text", "-o", profile, ...[
        `--unsymbolized-profile=${counts}`,
        "--use-offset=0",
      ]);
      assertStringIncludes(Deno.readTextFileSync(profile), "fib:");
    }),
});

Deno.test("export bolt: without a binary there is nothing to say", async () => {
  const usage = await tool("export", ["bolt", "nothing.data"]);
  assertEquals(usage.code, 2);
  assertStringIncludes(usage.err, "--binary FILE is missing");
});
