import { assert, assertEquals } from "@std/assert";
import { PerfDataReader } from "@perfdata/format";
import { openSource } from "@perfdata/format/file-source";
import { runEngine } from "@perfdata/session/engine";
import { corpusFiles } from "./corpus.ts";
import { perfText, perfVersion } from "./perf.ts";
import { inFolder, tool } from "./tool.ts";
import { ourStacks, perfStacks, type PlainStack, PROGRAM, runs } from "./unwound.ts";

const FLAVOURS: readonly (readonly [name: string, compiler: string, ...flags: string[]])[] = [
  ["-O2", "g++", "-O2"],
  ["-O0, frame pointers", "g++", "-O0"],
  ["-O3, not PIE", "g++", "-O3", "-no-pie"],
  ["clang, lld", "clang++", "-O2", "-fuse-ld=lld"],
  ["static", "g++", "-O2", "-static"],
  // perf 6.1 on x86-64 unwinds no 32-bit programs, and keeps no copy of their vdso.
  ["i386", "g++", "-O2", "-m32"],
];

/** Whether a stack begins, at its innermost frame, with all of another. */
function isPrefix(part: PlainStack, whole: PlainStack): boolean {
  return part.every((frame, i) => frame === whole[i]);
}

Deno.test({
  name:
    "unwound stacks have the frames that perf finds, and where it stops they go on to the start",
  ignore: perfVersion() === undefined,
  fn: () =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/a.cc`, PROGRAM);
      let compared = 0, equal = 0, flavours = 0;
      for (const [name, compiler, ...flags] of FLAVOURS) {
        const program = `${folder}/a`, data = `${folder}/perf.data`;
        const failed = runs(compiler, ...flags, "-pthread", "-o", program, `${folder}/a.cc`) ??
          runs(
            ...["perf", "--buildid-dir", `${folder}/debug`, "record", "-q", "-e", "cpu-clock"],
            ...["-F", "2999", "--call-graph", "dwarf,24576", "-o", data, program, "500"],
          );
        if (failed !== undefined) {
          console.log(`skipped: ${name}: ${failed}`);
          continue;
        }
        const args = ["script", "--no-inline", "--ns", "-F", "tid,time,ip,dso"];
        const perf = perfStacks((await perfText(args, data))?.stdout ?? "");
        const { stacks, engine } = await ourStacks(data, `${folder}/debug`);
        assertEquals(stacks.map(({ key }) => key), perf.map(({ key }) => key), name);
        const { all } = engine.unwound ?? {};
        assert(all !== undefined && all.stacks > 20, `${name}: ${all?.stacks} stacks`);
        let missing = 0, shorter = 0;
        stacks.forEach(({ key, frames }, i) => {
          const theirs = perf[i]?.frames ?? [];
          compared++;
          if (frames.length === theirs.length && isPrefix(theirs, frames)) equal++;
          else if (name === "i386") missing += Number(frames.at(-1)?.endsWith("[vdso]"));
          // perf takes the frame pointer from below the stack after `pop`, knows no static
          // program, and loses what is mapped twice. Whichever reached the start is right.
          else if (frames.length < 3 || !isPrefix(theirs, frames)) {
            const start = /_start|\/lib/.test(frames.at(-1) ?? "") || name === "static";
            assert(start, `${name} ${key}\n${frames.join("\n")}\n--\n${theirs.join("\n")}`);
            if (frames.length < theirs.length) shorter++;
          }
        });
        // In code without information, as _init and _fini, a guess may leave out a caller.
        assert(shorter <= all.guessed, `${name}: ${shorter} stacks are shorter than perf's`);
        // The rest is what was interrupted on its way into a program, or out of the kernel.
        const complete = all.ends[0] as number;
        assert(
          complete > (all.stacks - missing) * 0.9,
          `${name}: ${complete} of ${all.stacks} reach the start`,
        );
        flavours++;
      }
      console.log(`${flavours} flavours, ${compared} stacks, ${equal} with exactly perf's frames`);
      assert(flavours === 0 || compared > 100);
      assert(flavours < 4 || equal > compared / 2);
    }),
});

Deno.test({
  name: "a symbol bundle keeps what its stacks are unwound with",
  ignore: perfVersion() === undefined,
  fn: () =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/a.cc`, PROGRAM);
      const program = `${folder}/a`, data = `${folder}/perf.data`;
      const failed = runs("g++", "-O2", "-pthread", "-o", program, `${folder}/a.cc`) ??
        runs(
          ...["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "1999"],
          ...["--call-graph", "dwarf", "-o", data, program, "200"],
        );
      if (failed !== undefined) {
        console.log(`skipped: ${failed}`);
        return;
      }
      const bundle = `${folder}/perf.symbols`, gone = `${folder}/gone`;
      const tree = async (...flags: string[]) =>
        (await tool("tree", ["--json", ...flags, data])).out;
      assertEquals((await tool("symbols", ["bundle", "-o", bundle, data])).code, 0);
      Deno.mkdirSync(gone);
      const here = await tree();
      assert(here.split("\n").length > 50);
      assertEquals(await tree("--symbols", bundle, "--symfs", gone), here);
      // Without the bundle nothing is known there, and that is said.
      const without = await tool("tree", ["--symfs", gone, data], {
        env: { HOME: gone, DENO_DIR: denoFolder() },
      });
      assert(/stacks reach the start.* in files that are missing/.test(without.err), without.err);
      const trust = await tool("symbols", ["trust", "--json", data]);
      const { rows } = JSON.parse(trust.out).stacks;
      assert(rows[0].of === "all" && rows[0].complete > rows[0].stacks * 0.5, trust.out);
    }),
});

/** Where deno keeps its cache: a test that changes HOME keeps that. */
function denoFolder(): string {
  const { stdout } = new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).outputSync();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

Deno.test({
  name: "call stacks from branch records (--call-graph lbr) are those of perf script",
  ignore: perfVersion() === undefined,
  async fn() {
    const file = corpusFiles().find(({ name }) => name.endsWith("/perf.lbr.data"));
    if (file === undefined) {
      console.log("skipped: no recording with --call-graph lbr");
      return;
    }
    const args = ["script", "--no-inline", "--ns", "-F", "tid,time,ip,dso"];
    const perf = perfStacks((await perfText(args, file.path))?.stdout ?? "");
    const { stacks } = await ourStacks(file.path, "/nowhere");
    // Branches out of the kernel: perf prints their addresses as they are.
    const plain = (frames: PlainStack) =>
      frames.map((frame) => frame.startsWith("ffffffff") ? "kernel" : frame);
    // Of a sample without branches perf 6.1 shows what follows them as an address; the chain has the
    // user's frame.
    const branches: number[] = [];
    await runEngine(await PerfDataReader.open(openSource(file.path)), [{
      needs: { branches: true },
      rows({ count, type, branchStart }) {
        for (let i = 0; i < count; i++) {
          if (type[i] === 9) branches.push((branchStart[i + 1] ?? 0) - (branchStart[i] ?? 0));
        }
      },
    }]);
    const some = <T>(all: readonly T[]) => all.filter((_, i) => (branches[i] ?? 0) > 0);
    // What was sampled itself stands before a chain that does not begin with it.
    const theirs = some(perf).map(({ key, frames }) => [key, ...plain(frames)]);
    const ours = some(stacks).map(({ key, frames }, i) => {
      const extra = frames.length === (theirs[i]?.length ?? 0);
      return [key, ...plain(extra ? frames.slice(1) : frames)];
    });
    assertEquals(ours, theirs);
    assert(some(stacks).length > 20, String(some(stacks).length));
  },
});
