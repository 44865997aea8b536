/** Binaries of another machine in a folder, found by build id: `--symfs`. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ignored, notInstalled } from "../support/ignored.ts";
import { LEFT_AND_RIGHT, noRecording, recordProgram, runIn } from "../support/recorded_program.ts";
import { denoFolder, inFolder, tool } from "../support/tool.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const FIXTURE = `${ROOT}fixtures/recorded/callchain.perf.data`;

/** Only the folder has caches. */
const at = (folder: string) => ({ env: { HOME: folder, DENO_DIR: denoFolder() } });

Deno.test("--symfs: files with other names are found by build id", () =>
  inFolder(async (folder) => {
    const before = await tool("funcs", ["--csv", FIXTURE], at(folder));
    assert(!before.out.includes("spin"), "the program is not where it was recorded");
    Deno.mkdirSync(`${folder}/files/deep`, { recursive: true });
    const none = await tool(
      "symbols",
      ["trust", "--symfs", `${folder}/files`, FIXTURE],
      at(folder),
    );
    // Each object without a file lists the searched places and a remedy.
    assertStringIncludes(none.out, `of samples: perfdata symbols fetch ${FIXTURE}\n  /`);
    assertMatch(none.out, /\n {2}\/\S*\/demo \(\d+\.\d+%\): looked for as\n {4}\//);
    assertMatch(none.out, /\n {4}\S*\/files: any file of build id 8b035e73/);
    Deno.copyFileSync(`${ROOT}fixtures/demo/demo`, `${folder}/files/deep/b7.bin`);
    // Text files, a truncated program and a link into the folder are ignored.
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
  "--symfs: an archive of perf archive gives names, packed and unpacked",
  ignored(noRecording() ?? notInstalled("tar", "bzip2")),
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

      const wrong = await tool("funcs", ["--symbols", archive, data], at(folder));
      assertEquals(wrong.code, 1);
      assertStringIncludes(wrong.err, `--symfs take it: --symfs ${archive}`);
      const packed = await tool("funcs", ["--symfs", archive, data], at(folder));
      Deno.mkdirSync(`${folder}/files`);
      runIn(folder, "tar", "xf", archive, "-C", "files");
      const found = await tool("funcs", ["--symfs", `${folder}/files`, data], at(folder));
      assertMatch(found.out, /\bleaf\b/, found.err);
      assertEquals(packed.out, found.out, packed.err);
      // Another build with the same name is not used.
      Deno.removeSync(`${folder}/files`, { recursive: true });
      Deno.mkdirSync(`${folder}/files`);
      runIn(folder, "gcc", "-O0", "-g", "-Wl,--build-id", "-o", "files/a", "a.c");
      const other = await tool("funcs", ["--symfs", `${folder}/files`, data], at(folder));
      assert(!/\bleaf\b/.test(other.out), "another build was taken");
    }),
);

/** Extensions of archives that tar makes, with the compressor that each needs. */
const ARCHIVES = [
  ["tar"],
  ["tar.gz", "gzip"],
  ["tar.bz2", "bzip2"],
  ["tar.xz", "xz"],
  ["tar.zst", "zstd"],
].filter(([, program]) => program === undefined || notInstalled(program) === undefined);

Deno.test(
  "--symfs: an archive, compressed or not, gives the names of its folder",
  ignored(notInstalled("tar")),
  () =>
    inFolder(async (folder) => {
      const long = `${"deep".repeat(20)}/${"name".repeat(20)}`;
      Deno.mkdirSync(`${folder}/files/${long}`, { recursive: true });
      Deno.copyFileSync(`${ROOT}fixtures/demo/demo`, `${folder}/files/${long}/b7.bin`);
      Deno.writeTextFileSync(`${folder}/files/notes`, "no program");
      const here = { ...at(folder), cwd: folder };
      const asked = [
        ["funcs", "--csv"],
        ["script", "--jobs", "2"],
        ["tree"],
        ["symbols", "trust", "--json"],
        ["annotate"],
      ];
      let compared = 0;
      for (const [ending = ""] of ARCHIVES) {
        const name = `packed.${ending}`;
        runIn(folder, "tar", "-caf", name, "-C", "files", ".");
        for (const [command = "", ...flags] of asked) {
          const operands = command === "annotate" ? ["fib"] : [];
          if (command !== "funcs" && ending !== "tar" && ending !== "tar.bz2") continue;
          const ask = (symfs: string) =>
            tool(command, [...flags, "--symfs", symfs, FIXTURE, ...operands], here);
          const expected = await ask("files");
          assert(expected.code === 0 && /\bfib\b|b7\.bin/.test(expected.out), expected.err);
          const found = await ask(name);
          // The file's name is the archive's and its own.
          const called = found.out.replaceAll(`${name}/`, "files/");
          assertEquals([found.code, called], [0, expected.out], `${command} ${name}: ${found.err}`);
          compared++;
        }
        const whole = Deno.readFileSync(`${folder}/${name}`);
        Deno.writeFileSync(`${folder}/cut.${ending}`, whole.subarray(0, whole.length / 2));
        const cut = await tool("funcs", ["--symfs", `cut.${ending}`, FIXTURE], here);
        assertEquals([cut.code, cut.out], [1, ""], ending);
        assertMatch(cut.err, /^funcs: cut\.tar\S*: .* cut[^;\n]*\n$/);
      }
      console.log(`${compared} outputs compared`);
      assert(compared >= 5);
    }),
);
