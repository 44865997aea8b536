/** The command `symbols`: output, exit codes, files. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { denoFolder, inFolder, runProgram, tool, type ToolResult } from "../support/tool.ts";
import { ignored, notInstalled } from "../support/ignored.ts";
import { noRecording } from "../support/recorded_program.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** An environment whose home is this folder. */
const homeIn = (folder: string) => ({ HOME: folder, DENO_DIR: denoFolder() });

/** Runs `symbols` in a folder that is also the user's home. */
const symbols = (
  folder: string,
  args: readonly string[],
  input?: Uint8Array,
): Promise<ToolResult> => tool("symbols", args, { cwd: folder, env: homeIn(folder), input });

Deno.test("symbols: wrong usage gives exit code 2, a missing file or a file that is no bundle 1, each with one line", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/text`, "this is no bundle");
    const cases: [string[], number, string][] = [
      [[], 2, "symbols: expected bundle, trust, fetch, table or show; see symbols --help\n"],
      [["show"], 2, "symbols: show: no bundle is given; see symbols --help\n"],
      [["trust", "a", "b"], 2, "symbols: 2 files are given, expected one; see symbols --help\n"],
      [
        ["mend", "a"],
        2,
        "symbols: unknown command mend, expected bundle, trust, fetch, table or show; see",
      ],
      [["trust", "--nope", "a"], 2, "symbols: unknown flag --nope"],
      [["trust", "gone"], 1, "symbols: gone: no such file or directory\n"],
      [
        ["show", `${ROOT}fixtures/recorded/callchain.perf.data`],
        1,
        "is a recording, not a symbol bundle; make one: perfdata symbols bundle",
      ],
      [["show", "gone"], 1, "symbols: gone: no such file or directory\n"],
      [["show", "text"], 1, "symbols: text: 0: no symbol bundle: expected PERFSYMS and 88 bytes\n"],
    ];
    for (const [args, code, message] of cases) {
      const result = await symbols(folder, args);
      assertEquals([result.code, result.out], [code, ""], args.join(" "));
      assertStringIncludes(result.err, message);
      assertEquals(result.err.trimEnd().split("\n").length, 1);
    }
    const help = await symbols(folder, ["--help"]);
    assertEquals([help.code, help.err], [0, ""]);
    assertStringIncludes(help.out, "--symbols FILE");
  });
});

Deno.test({
  name: "symbols bundle: a bundle replaces deleted binaries in funcs, addr2line and trust",
  ...ignored(noRecording() ?? notInstalled("readelf")),
  fn: () =>
    inFolder(async (folder) => {
      const built = await runProgram("gcc", [
        ...["-O2", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id"],
        ...["-o", `${folder}/program`, `${ROOT}tests/support/symbol_bundle/calls.c`],
      ]);
      assertEquals(built.code, 0, built.err);
      const recorded = await runProgram("sh", [
        "-c",
        'ulimit -v 8000000; exec timeout 300 perf --buildid-dir "$0" record -q -e cpu-clock -F 2000 -g -o perf.data -- ./program',
        `${folder}/.debug`,
      ], { cwd: folder });
      assertEquals(recorded.code, 0, recorded.err);

      const made = await symbols(folder, ["bundle", "perf.data"]);
      assertEquals([made.code, made.err], [0, ""]);
      assertMatch(made.out, /^perf\.symbols: \d+ bytes\n/);
      const again = await symbols(folder, ["bundle", "perf.data"]);
      assertEquals([again.code, again.out], [1, ""]);
      assertEquals(again.err, "symbols: perf.symbols: exists; --force overwrites it\n");
      const bytes = await Deno.readFile(`${folder}/perf.symbols`);
      const piped = await symbols(
        folder,
        ["bundle", "-o", "piped.symbols", "-"],
        await Deno.readFile(`${folder}/perf.data`),
      );
      assertEquals([piped.code, piped.err], [0, ""]);
      assertEquals(await Deno.readFile(`${folder}/piped.symbols`), bytes);

      const shown = await symbols(folder, ["show", "perf.symbols"]);
      assertEquals([shown.code, shown.err], [0, ""]);
      assertStringIncludes(shown.out, `elf ${folder}/program `);
      assertMatch(shown.out, /fibonacci at \/.*tests\/support\/symbol_bundle\/calls\.c:\d+\n/);
      const json = await symbols(folder, ["show", "--json", "perf.symbols"]);
      const rows = json.out.trimEnd().split("\n").map((line) => JSON.parse(line));
      assert(rows.some(({ frames }) => frames.at(-1)?.function === "fibonacci"));

      // The binary's addresses, translated by the bundle's segments.
      const addresses = rows.filter(({ path }) => path === `${folder}/program`).map(({ start }) =>
        Number(start)
      );
      const header = await runProgram("readelf", ["-lW", `${folder}/program`]);
      const [, offset, vaddr] = /LOAD\s+(0x\w+)\s+(0x\w+)\s.* R E /.exec(header.out) ?? [];
      const asked = addresses.map((at) => (at - Number(offset) + Number(vaddr)).toString(16));
      assert(asked.length > 3);
      const ask = (...more: string[]) =>
        tool("addr2line", ["-afiC", "-e", "program", ...more, ...asked, "0x1"], { cwd: folder });
      const fromBinary = await ask();
      assertEquals(fromBinary.code, 0, fromBinary.err);

      // Permissions decide whether the running kernel's symbols are read; those of the task allow
      // it.
      const functions = ["--csv", "--sort", "comm,dso,sym,srcline"];
      const there = { cwd: folder, env: homeIn(folder) };
      const ofBinary = await tool("funcs", [...functions, "perf.data"], there);
      assertEquals(ofBinary.code, 0, ofBinary.err);
      assert(ofBinary.out.split("\n").length > 5);

      const before = await symbols(folder, ["trust", "--json", "perf.data"]);
      await Deno.remove(`${folder}/program`);
      await Deno.remove(`${folder}/.debug`, { recursive: true });
      const after = await symbols(folder, [
        ...["trust", "--json", "--symbols", "perf.symbols", "perf.data"],
      ]);
      assertEquals([before.code, before.err, after.code, after.err], [0, "", 0, ""]);
      const [one, two] = [before.out, after.out].map((text) => JSON.parse(text));
      for (const key of ["all", "resolved", "lines", "unresolved"]) {
        assertEquals(two[key], one[key]);
      }
      const program = two.objects.find(({ path }: { path: string }) =>
        path === `${folder}/program`
      );
      assertEquals([program.bundled, program.resolved.samples], [true, program.all.samples]);
      assert(program.all.samples > 0);

      assertEquals(await ask("--symbols", "perf.symbols"), fromBinary);
      assertEquals((await ask()).code, 1);
      const filesOnly = ["run", "--no-prompt", "--allow-read", "--allow-env"];
      const ofBundle = await runProgram(Deno.execPath(), [
        ...[...filesOnly, `${ROOT}tools/funcs.ts`, ...functions],
        ...["--symbols", "perf.symbols", "perf.data"],
      ], there);
      assertEquals([ofBundle.code, ofBundle.out], [0, ofBinary.out]);

      const without = await symbols(folder, ["trust", "perf.data"]);
      assertEquals([without.code, without.err], [0, ""]);
      assertMatch(without.out, /^without: file missing +\d+ /m);

      // Another build at the path of the first one.
      await Deno.copyFile("/bin/sh", `${folder}/program`);
      const other = await symbols(folder, ["trust", "perf.data"]);
      assertEquals(other.code, 0);
      assertMatch(
        other.err,
        /^symbols: .*\/program: not used: build id differs \(it is \w+, recorded was \w+\)\n$/,
      );
      assertMatch(other.out, /^without: build id differs +\d+ /m);

      bytes[100] = (bytes[100] ?? 0) ^ 1;
      await Deno.writeFile(`${folder}/perf.symbols`, bytes);
      const damaged = await symbols(folder, ["trust", "--symbols", "perf.symbols", "perf.data"]);
      assertEquals([damaged.code, damaged.out], [1, ""]);
      assertMatch(
        damaged.err,
        /^symbols: perf\.symbols: 0xc: checksum .*: the bundle is damaged\n$/,
      );
    }),
});
