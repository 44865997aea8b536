/** Branches for LLVM's optimizers: their results, and perf's text. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  branchRecording,
  found,
  recordingOf,
  run,
  steppedBranches,
} from "../support/branch_recording.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { ignored, notInstalled } from "../support/ignored.ts";
import { noPerf, perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const perf2bolt = found("perf2bolt");
const profgen = found("llvm-profgen");
const profdata = found("llvm-profdata");
const stepping = cannotStep();
const canMake = perfVersion() !== undefined && found("gcc") !== undefined &&
  found("objdump") !== undefined;

for (const pie of [false, true]) {
  const form = pie ? "position independent" : "fixed";
  Deno.test({
    name: `export bolt: perf2bolt makes the same profile as from the recording (${form})`,
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
    name: `export profgen: llvm-profgen makes the same profile as from the recording (${form})`,
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

/**
 * The lines of `export bolt`, computed from all branches that perf prints for a trace, by thread.
 */
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
  name: "export bolt, export profgen: an Intel PT trace gives all branches that perf finds",
  ...ignored(stepping ?? noPerf()),
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
      // perf's lines do not tell whether a range was entered from another function.
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

/**
 * Compilers with different debug information: inlining, discriminators, copies of loops, split
 * units.
 */
const COMPILERS: Readonly<Record<string, readonly string[]>> = {
  "g++, unrolled loops, DWARF 4": ["g++", "-O3", "-funroll-loops", "-gdwarf-4"],
  "clang++, split DWARF": ["clang++", "-O2", "-gsplit-dwarf", "-fdebug-info-for-profiling"],
  "clang++, discriminators of late passes": [
    ...["clang++", "-O2", "-fdebug-info-for-profiling", "-Xclang", "-mllvm", "-Xclang"],
    "-enable-fs-discriminator=true",
  ],
};

for (const [name, [compiler = "", ...flags]] of Object.entries(COMPILERS)) {
  Deno.test({
    name:
      `export autofdo: the profile equals that of llvm-profgen, from LBR and Intel PT (${name})`,
    ...ignored(
      stepping ?? noPerf() ?? notInstalled(compiler) ??
        (profgen === undefined || profdata === undefined
          ? "llvm-profgen and llvm-profdata are not installed (llvm-19)"
          : undefined),
    ),
    fn: () =>
      inFolder(async (folder) => {
        const at = (file: string) => `${folder}/${file}`;
        const text = (file: string) => Deno.readTextFileSync(at(file));
        const how = [...flags, "-static", "-fno-pie", "-no-pie", "-fno-jump-tables"];
        const program = stepProgram(folder, { program: "inlined", compiler, flags: how });
        const judge = (to: string, ...of: string[]) =>
          run(profgen as string, "-o", at(to), `--binary=${program.path}`, "--format=text", ...of);
        const ours = async (format: string, to: string, data: string, ...more: string[]) => {
          const args = [format, "--binary", program.path, "-f", "-o", at(to), ...more, at(data)];
          const { code, err } = await tool("export", args);
          assertEquals(code, 0, err);
          return err;
        };
        // Each recorded branch stack of 16 lacks the code before it, so there are fewer ranges than
        // branches.
        const branches = steppedBranches(program);
        Deno.writeFileSync(at("lbr.data"), await recordingOf(program.path, branches));
        const said = await ours("autofdo", "lbr.ours", "lbr.data");
        assertStringIncludes(said, "% of what ran there has debug information");
        judge("lbr.theirs", `--perfdata=${at("lbr.data")}`);
        assertEquals(text("lbr.ours"), text("lbr.theirs"));
        await ours("autofdo", "lbr.ext", "lbr.data", "--form", "extbinary");
        const { size } = Deno.statSync(at("lbr.ext"));
        assert(size < text("lbr.ours").length / 1.5, `${size} bytes`);
        const merge = ["merge", "--sample", "--text", "-o"];
        run(profdata as string, ...merge, at("lbr.merged"), at("lbr.ext"));
        run(profdata as string, ...merge, at("lbr.judged"), at("lbr.theirs"));
        assertEquals(text("lbr.merged"), text("lbr.judged"));
        const show = (file: string) =>
          run(profdata as string, "show", "--sample", "--detailed-summary", at(file));
        assertEquals(show("lbr.ext"), show("lbr.theirs"));
        const variant = { psbEvery: 3000, tsc: true, mtc: true };
        const traced = await steppedFile(program, encodeProgram(program, variant), variant);
        Deno.writeFileSync(at("pt.data"), traced);
        await ours("autofdo", "pt.ours", "pt.data");
        await ours("profgen", "pt.counts", "pt.data");
        judge("pt.theirs", `--unsymbolized-profile=${at("pt.counts")}`, "--use-offset=0");
        assertEquals(text("pt.ours"), text("pt.theirs"));
        const lines = text("pt.ours").split("\n").length;
        console.log(`${lines} lines compared, of ${branches.length} branches`);
        assert(lines > 300 && branches.length > 5000);
      }),
  });
}

Deno.test({
  name: "export autofdo: static functions of one name and position-independent code are supported",
  ...ignored(
    notInstalled("clang", "objdump") ?? noPerf() ??
      (profgen === undefined ? "llvm-profgen is not installed (llvm-19)" : undefined),
  ),
  fn: () =>
    inFolder(async (folder) => {
      const flags = ["-O2", "-g", "-fdebug-info-for-profiling", "-funique-internal-linkage-names"];
      const { program, data } = await branchRecording(folder, true, ["clang", ...flags]);
      const { code, out, err } = await tool("export", ["autofdo", "--binary", program, data]);
      assertEquals(code, 0, err);
      const to = `${folder}/theirs`;
      run(
        ...[profgen as string, "-o", to, `--binary=${program}`] as const,
        ...["--format=text", `--perfdata=${data}`],
      );
      assertEquals(out, Deno.readTextFileSync(to));
      assertStringIncludes(out, "work:");
      // llvm-profgen requests this text from perf script, and can read it directly.
      const script = await tool("script", ["--show-mmap-events", "-F", "ip,brstack", data]);
      assertEquals(script.code, 0, script.err);
      Deno.writeTextFileSync(`${folder}/script`, script.out);
      const read = [`--binary=${program}`, "--format=text", `--perfscript=${folder}/script`];
      run(profgen as string, "-o", to, ...read);
      assertEquals(out, Deno.readTextFileSync(to));
    }),
});

Deno.test({
  name: "export autofdo: a program without debug information is reported",
  ...ignored(notInstalled("gcc", "objdump", "readelf")),
  fn: () =>
    inFolder(async (folder) => {
      const how = ["gcc", "-O1", "-fcf-protection=none"];
      const { program, data } = await branchRecording(folder, false, how);
      const { code, out, err } = await tool("export", ["autofdo", "--binary", program, data]);
      assertEquals([code, out], [1, ""]);
      assertStringIncludes(err, `${program}: no debug information; compile it with -g`);
      const form = await tool("export", ["profgen", "--form", "text", "--binary", program, data]);
      assertEquals(form.code, 2);
      assertStringIncludes(form.err, "--form is not for profgen");
    }),
});

Deno.test({
  name:
    "export bolt --form samples: the profile equals that of perf2bolt from samples without branches",
  ...ignored(
    stepping ?? noPerf() ??
      (perf2bolt === undefined ? "perf2bolt is not installed (bolt-19)" : undefined),
  ),
  fn: () =>
    inFolder(async (folder) => {
      const flags = ["-O2", "-static", "-fno-pie", "-no-pie", "-Wl,-q"];
      const program = stepProgram(folder, { program: "calls", flags });
      const data = `${folder}/perf.data`;
      Deno.writeFileSync(data, await recordingOf(program.path, steppedBranches(program)));
      const form = ["bolt", "--form", "samples", "--binary", program.path];
      const { code, out, err } = await tool("export", [...form, data]);
      assertEquals(code, 0, err);
      assertStringIncludes(err, "% of them are in functions of");
      const theirs = `${folder}/theirs`;
      run(perf2bolt as string, program.path, "-p", data, "-nl", "-o", theirs, "-ignore-build-id");
      // PLT stubs are made by llvm-bolt, and are no functions of the program.
      const lines = (text: string) =>
        text.split("\n").filter((line) => !line.includes("__BOLT_PSEUDO_")).sort();
      assertEquals(lines(out), lines(Deno.readTextFileSync(theirs)));
      const shared = await tool("export", [...form, "--jobs", "2", data]);
      assertEquals(shared.out, out);
      console.log(`${lines(out).length} lines compared`);
      assert(lines(out).length > 80);
      // llvm-bolt accepts it.
      Deno.writeTextFileSync(`${folder}/samples`, out);
      const bolt = found("llvm-bolt") as string;
      const [profile, laid] = ["samples", "laid"].map((file) => `${folder}/${file}`) as [
        string,
        string,
      ];
      const said = run(bolt, program.path, "-data", profile, "-o", laid, "-reorder-blocks=ext-tsp");
      assertStringIncludes(said, "have non-empty execution profile");
    }),
});

Deno.test("export bolt: a missing binary is reported", async () => {
  const usage = await tool("export", ["bolt", "nothing.data"]);
  assertEquals(usage.code, 2);
  assertStringIncludes(usage.err, "--binary FILE is missing");
});
