/** Messages about missing names, and their remedies. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ignored, notInstalled } from "../support/ignored.ts";
import { noRecording, runIn } from "../support/recorded_program.ts";
import { denoFolder, inFolder, tool } from "../support/tool.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
Deno.test("funcs, symbols trust: unresolved samples give a remedy and the searched folders", () =>
  inFolder(async (folder) => {
    const file = `${ROOT}fixtures/recorded/callchain.perf.data`;
    const env = { HOME: folder, DENO_DIR: denoFolder() };
    const told = await tool("symbols", ["trust", "--json", file], { env });
    const { objects, all, resolved } = JSON.parse(told.out);
    assert(resolved.samples < all.samples, "names are missing");
    let compared = 0;
    for (const { resolved, all, remedy, looked, origin, kind } of objects) {
      assertEquals(remedy === null, resolved.addresses === all.addresses);
      if (origin === null && kind === "elf") {
        assert(looked.length > 0);
        compared++;
      }
    }
    assert(compared > 0, "no object was looked for");
    const { err } = await tool("funcs", [file], { env });
    assertMatch(err, /; what helps most: .*; --verbose says more\n/);
    const text = await tool("symbols", ["trust", file], { env });
    assertMatch(text.out, /\nwhat helps:\n\d+\.\d+% of samples: /);
  }));

Deno.test("remedies: each command that names functions prints them on stderr", async () => {
  const file = `${ROOT}fixtures/recorded/callchain.perf.data`;
  await inFolder(async (folder) => {
    const options = { cwd: folder, env: { HOME: folder, DENO_DIR: denoFolder() } };
    const jobs = [
      ["funcs", file],
      ["readperf", file],
      ["tree", file],
      ["flame", "-o", "flame.html", file],
      ["export", "folded", "-o", "-", file],
      ["script", file],
    ] as const;
    for (const [name, ...args] of jobs) {
      const { err } = await tool(name, args, options);
      assertMatch(err, /; what helps most: perfdata symbols fetch/, name);
    }
  });
});

/** In `leaf` the frame pointer points to data, as in code without frame pointers. */
const NO_FRAMES = `
#include <stdlib.h>
unsigned long table[2] = { 0, 0x1234567 };
__attribute__((noinline)) void leaf(unsigned long n) {
  asm volatile("mov %%rbp, %%r8; mov %1, %%rbp; 1: dec %0; jnz 1b; mov %%r8, %%rbp"
               : "+r"(n) : "r"(table) : "r8", "memory");
}
__attribute__((noinline)) void middle(void) { leaf(100000); asm volatile(""); }
int main(int argc, char **argv) { for (int i = atoi(argv[1]); i > 0; i--) middle(); return 0; }
`;

Deno.test(
  "info, tree: a recording made as advised gives no warning",
  ignored(noRecording() ?? (Deno.build.arch === "x86_64" ? undefined : "x86 assembly")),
  () =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/a.c`, NO_FRAMES);
      runIn(folder, "gcc", "-O2", "-fomit-frame-pointer", "-Wl,--build-id", "-o", "a", "a.c");
      const record = (name: string, ...flags: string[]) => {
        const to = ["-e", "cpu-clock", "-F", "1999", "-o", name];
        runIn(folder, "perf", "record", "-q", "-N", ...flags, ...to, "./a", "4000");
        return `${folder}/${name}`;
      };
      const plain = record("plain");
      const pointers = record("pointers", "-g");
      const copies = record("copies", "--call-graph", "dwarf");

      const better = async (path: string) =>
        (await tool("info", [path])).out.split("\n").filter((line) => line.startsWith("better"));
      assertMatch(
        (await better(plain)).join(""),
        /No call chains.* perf record -g, or --call-graph/,
      );
      assertEquals(await better(pointers), []);
      assertEquals(await better(copies), []);

      const said = /callers where nothing was mapped.*; what helps most: .*--call-graph dwarf/;
      assertMatch((await tool("tree", [pointers])).err, said);
      const whole = await tool("tree", [copies]);
      assert(!whole.err.includes("nothing was mapped"), whole.err);
      assertMatch(whole.out, /main[^]*middle[^]*leaf/);
    }),
);

/** Runs for some tenths of a second. */
const HOT =
  `function hotter(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i * s); return s; }
let sum = 0;
const end = Date.now() + 700;
while (Date.now() < end) sum += hotter(1e5);
console.log(sum > 0);
`;

Deno.test(
  "funcs: the advised flags give names to JIT-compiled code",
  ignored(notInstalled("node") ?? noRecording()),
  () =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/hot.js`, HOT);
      const record = (name: string, ...flags: string[]) => {
        const to = ["-e", "cpu-clock", "-F", "1999", "-o", name];
        runIn(folder, "perf", "record", "-q", "-N", ...to, "node", ...flags, "hot.js");
        return `${folder}/${name}`;
      };
      const without = await tool("funcs", [record("without")]);
      assertMatch(
        without.err,
        /; what helps most: write \/tmp\/perf-PID\.map \(node --perf-basic-prof\)/,
      );
      assert(!without.out.includes("hotter"));
      const named = await tool("funcs", [record("with", "--perf-basic-prof")]);
      assertMatch(named.out, /hotter/);
    }),
);
