/** Binaries of another machine in a folder, by build id, whatever they are called: `--symfs`. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ignored, notInstalled } from "./ignored.ts";
import { LEFT_AND_RIGHT, noRecording, recordProgram, runIn } from "./recorded_program.ts";
import { denoFolder, inFolder, tool } from "./tool.ts";

const ROOT = new URL("../", import.meta.url).pathname;
const FIXTURE = `${ROOT}fixtures/recorded/callchain.perf.data`;

/** With no caches but what the folder has. */
const at = (folder: string) => ({ env: { HOME: folder, DENO_DIR: denoFolder() } });

Deno.test("--symfs finds files by build id, whatever they are called", () =>
  inFolder(async (folder) => {
    const before = await tool("funcs", ["--csv", FIXTURE], at(folder));
    assert(!before.out.includes("spin"), "the program is not where it was recorded");
    Deno.mkdirSync(`${folder}/files/deep`, { recursive: true });
    Deno.copyFileSync(`${ROOT}fixtures/demo/demo`, `${folder}/files/deep/b7.bin`);
    // Neither text, nor half a program, nor a link into the folder itself is in the way.
    Deno.writeTextFileSync(`${folder}/files/demo`, "no program");
    const half = Deno.readFileSync(`${ROOT}fixtures/demo/demo`).subarray(0, 3000);
    Deno.writeFileSync(`${folder}/files/half`, half);
    Deno.symlinkSync("..", `${folder}/files/deep/up`);
    const files = ["--symfs", `${folder}/files`];
    const found = await tool("funcs", ["--csv", ...files, FIXTURE], at(folder));
    assertMatch(found.out, /\bspin\b/);
    assertMatch(found.out, /\bfib\b/);
    const { out } = await tool("symbols", ["trust", "--json", ...files, FIXTURE], at(folder));
    const objects: { path: string; origin: { path: string } | string | null }[] =
      JSON.parse(out).objects;
    const demo = objects.find(({ path }) => path.endsWith("/demo"));
    assertStringIncludes(JSON.stringify(demo), "files/deep/b7.bin");
  }));

Deno.test(
  "--symfs takes what perf archive has packed, and says how to unpack it",
  ignored(noRecording() ?? notInstalled("tar") ?? notInstalled("bzip2")),
  () =>
    inFolder(async (folder) => {
      const data = await recordProgram(folder, LEFT_AND_RIGHT, ["-e", "cpu-clock", "-F", "999"]);
      const archived = new Deno.Command("perf", {
        args: ["archive", "data"],
        cwd: folder,
        env: { PERF_BUILDID_DIR: `${folder}/.debug`, HOME: folder },
      }).outputSync();
      const archive = `${folder}/data.tar.bz2`;
      assert(Deno.statSync(archive).size > 0, new TextDecoder().decode(archived.stderr));
      Deno.removeSync(`${folder}/a`);
      Deno.removeSync(`${folder}/.debug`, { recursive: true });
      const without = await tool("funcs", [data], at(folder));
      assert(!/\bleaf\b/.test(without.out), "the program is gone");

      for (const flag of ["--symfs", "--symbols"]) {
        const { code, err } = await tool("funcs", [flag, archive, data], at(folder));
        assertEquals(code, 1, flag);
        assertStringIncludes(err, `tar xf ${archive} -C files, then --symfs files`);
      }
      Deno.mkdirSync(`${folder}/files`);
      runIn(folder, "tar", "xf", archive, "-C", "files");
      const found = await tool("funcs", ["--symfs", `${folder}/files`, data], at(folder));
      assertMatch(found.out, /\bleaf\b/, found.err);
      // Another build of the same name is none of it.
      Deno.removeSync(`${folder}/files`, { recursive: true });
      Deno.mkdirSync(`${folder}/files`);
      runIn(folder, "gcc", "-O0", "-g", "-Wl,--build-id", "-o", "files/a", "a.c");
      const other = await tool("funcs", ["--symfs", `${folder}/files`, data], at(folder));
      assert(!/\bleaf\b/.test(other.out), "another build was taken");
    }),
);
