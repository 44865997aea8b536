import { assert, assertEquals } from "@std/assert";
import { perfText, perfVersion } from "./perf.ts";
import { inFolder } from "./tool.ts";
import { ourStacks, perfStacks, type PlainStack, PROGRAM, runs } from "./unwound.ts";

const FLAVOURS: readonly (readonly [name: string, compiler: string, ...flags: string[]])[] = [
  ["-O2", "g++", "-O2"],
  ["-O0, frame pointers", "g++", "-O0"],
  ["-O3, not PIE", "g++", "-O3", "-no-pie"],
  ["clang, lld", "clang++", "-O2", "-fuse-ld=lld"],
  ["static", "g++", "-O2", "-static"],
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
        stacks.forEach(({ key, frames }, i) => {
          const theirs = perf[i]?.frames ?? [];
          compared++;
          if (frames.length === theirs.length && isPrefix(theirs, frames)) equal++;
          // perf takes the frame pointer from below the stack after `pop`, knows no static
          // program, and loses what is mapped twice. Whoever reached the start went right.
          else if (frames.length < 3 || !isPrefix(theirs, frames)) {
            const start = /_start|\/lib/.test(frames.at(-1) ?? "") || name === "static";
            assert(
              start && frames.length >= theirs.length,
              `${name} ${key}\n${frames.join("\n")}\n--\n${theirs.join("\n")}`,
            );
          }
        });
        // The rest is what was interrupted on its way into a program, or out of the kernel.
        const complete = all.ends[0] as number;
        assert(
          complete > all.stacks * 0.9,
          `${name}: ${complete} of ${all.stacks} reach the start`,
        );
        flavours++;
      }
      console.log(`${flavours} flavours, ${compared} stacks, ${equal} with exactly perf's frames`);
      assert(flavours === 0 || compared > 100);
      assert(flavours < 4 || equal > compared / 2);
    }),
});
