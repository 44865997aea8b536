/** `tools/symbols.ts` with the permissions of its task: output, exit codes, files. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { needs } from "../../packages/symbols/testing/toolchain.ts";
import { perfRecords } from "../support/perf.ts";
import { denoFolder, unwrapped } from "../support/tool.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; input?: Uint8Array } = {},
): Promise<Result> {
  const { input, ...others } = options;
  const child = new Deno.Command(program, {
    args: [...args],
    ...others,
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  if (input !== undefined) {
    const writer = child.stdin.getWriter();
    await writer.write(input);
    await writer.close();
  }
  const { code, stdout, stderr } = await output;
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: unwrapped(decoder.decode(stderr)) };
}

const DENO_DIR = denoFolder();

/** Runs the command that the task is, in a directory that is also the user's home. */
async function symbols(
  folder: string,
  args: readonly string[],
  input?: Uint8Array,
): Promise<Result> {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const command = `exec ${tasks.symbols.command} "$@"`.replace("deno run", '"$0" run');
  const env = {
    INIT_CWD: folder,
    HOME: folder,
    DENO_DIR,
    NO_COLOR: "1",
  };
  // The variables are set for what follows: `exec VAR=… command` is not shell.
  const script = command.replace(/^exec (\S+) /, "export $1; exec ");
  return await run("sh", ["-c", script, Deno.execPath(), ...args], {
    cwd: ROOT,
    env,
    ...(input === undefined ? {} : { input }),
  });
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "perfdata-symbols-" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const have = needs("symbols with a recording", "gcc") && perfRecords();

Deno.test("wrong usage is 2, a file that is not there or no bundle is 1, each one line", async () => {
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
  name: "a bundle is made, shown, and used where the binaries are not",
  ignore: !have,
  fn: () =>
    inFolder(async (folder) => {
      const built = await run("gcc", [
        ...["-O2", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id"],
        ...["-o", `${folder}/program`, `${ROOT}tests/support/symbol_bundle/calls.c`],
      ]);
      assertEquals(built.code, 0, built.err);
      const recorded = await run("sh", [
        "-c",
        'ulimit -v 8000000; exec timeout 300 perf --buildid-dir "$0" record -q -e cpu-clock -F 2000 -g -o perf.data -- ./program',
        `${folder}/.debug`,
      ], { cwd: folder });
      assertEquals(recorded.code, 0, recorded.err);

      const made = await symbols(folder, ["bundle", "perf.data"]);
      assertEquals([made.code, made.err], [0, ""]);
      assertMatch(made.out, /^perf\.symbols: \d+ bytes\n/);
      const again = await symbols(folder, ["bundle", "perf.data"]);
      assertEquals(again, {
        code: 1,
        out: "",
        err: "symbols: perf.symbols: exists; --force overwrites it\n",
      });
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

      // The binary's own addresses, through the bundle's segments.
      const addresses = rows.filter(({ path }) => path === `${folder}/program`).map(({ start }) =>
        Number(start)
      );
      const header = await run("readelf", ["-lW", `${folder}/program`]);
      const [, offset, vaddr] = /LOAD\s+(0x\w+)\s+(0x\w+)\s.* R E /.exec(header.out) ?? [];
      const asked = addresses.map((at) => (at - Number(offset) + Number(vaddr)).toString(16));
      assert(asked.length > 3);
      const ask = (...more: string[]) =>
        run(Deno.execPath(), [
          ...["run", "--no-prompt", "--allow-read", `${ROOT}tools/addr2line.ts`, "-afiC"],
          ...["-e", "program", ...more, ...asked, "0x1"],
        ], { cwd: folder });
      const fromBinary = await ask();
      assertEquals(fromBinary.code, 0, fromBinary.err);

      // What it may read decides whether it sees the running kernel's symbols: all, or files only.
      const functions = (permissions: readonly string[], ...more: string[]) =>
        run(Deno.execPath(), [
          ...["run", "--no-prompt", ...permissions, `${ROOT}tools/funcs.ts`, "--csv"],
          ...["--sort", "comm,dso,sym,srcline", ...more, "perf.data"],
        ], { cwd: folder, env: { HOME: folder, DENO_DIR } });
      const ofBinary = await functions(["-A"]);
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
      const filesOnly = ["--allow-read", "--allow-env"];
      const ofBundle = await functions(filesOnly, "--symbols", "perf.symbols");
      assertEquals([ofBundle.code, ofBundle.out], [0, ofBinary.out]);

      const without = await symbols(folder, ["trust", "perf.data"]);
      assertEquals([without.code, without.err], [0, ""]);
      assertMatch(without.out, /^without: file missing +\d+ /m);

      // Another build in the place of the first one.
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
