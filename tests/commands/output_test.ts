/** Output files: complete, the old one, or none; and a full standard output. */
import { assert, assertEquals } from "@std/assert";
import { inFolder, tool, toolArguments } from "../support/tool.ts";
import { skipped } from "../support/ignored.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const RECORDING = `${ROOT}fixtures/recorded/clock.perf.data`;
const PT = `${ROOT}fixtures/synthesized/pt-cpus.perf.data`;

const COUNTS = RECORDING.replace(/[^/]+$/, "stat.perf.data");

interface Writer {
  readonly name: string;
  /** Arguments that write into a folder. */
  readonly args: (folder: string) => string[];
  /** Written files. */
  readonly files: readonly string[];
}

const WRITERS: readonly Writer[] = [
  {
    name: "readperf",
    args: (folder) => ["-o", folder, RECORDING],
    files: ["overview.csv", "processes.csv", "results.csv", "stat.csv"],
  },
  {
    name: "rate",
    args: (folder) => ["--svg", `${folder}/rate.svg`, RECORDING],
    files: ["rate.svg"],
  },
  {
    name: "stat",
    args: (folder) => ["--svg", `${folder}/stat.svg`, COUNTS],
    files: ["stat.svg"],
  },
  {
    name: "symbols",
    args: (folder) => ["bundle", "-o", `${folder}/perf.symbols`, RECORDING],
    files: ["perf.symbols"],
  },
  {
    name: "extract-pt",
    args: (folder) => ["-o", folder, PT],
    files: ["cpu0.pt", "cpu1.pt", "cpu3.pt", "pt.json"].map((name) => `pt-cpus.perf.data.${name}`),
  },
  {
    name: "slice",
    args: (folder) => ["-o", `${folder}/slice.data`, RECORDING],
    files: ["slice.data"],
  },
];

const names = (folder: string): string[] =>
  [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

for (const { name, args, files } of WRITERS) {
  Deno.test(`${name}: existing files are not overwritten unasked, and links are not followed`, () =>
    inFolder(async (folder) => {
      const first = await tool(name, args(folder));
      assertEquals([first.code, names(folder)], [0, [...files]], first.err);
      for (const file of files) {
        for (const other of names(folder)) await Deno.remove(`${folder}/${other}`);
        await Deno.writeTextFile(`${folder}/${file}`, "old");
        const { code, err } = await tool(name, args(folder));
        assertEquals([code, err.trimEnd().split("\n").length], [1, 1], err);
        assert(err.includes(`${file}: exists; --force overwrites it`), err);
        assertEquals(await Deno.readTextFile(`${folder}/${file}`), "old");
        assertEquals(names(folder), [file]);
        const forced = await tool(name, [...args(folder), "-f"]);
        assertEquals(forced.code, 0, forced.err);
        assert(await Deno.readTextFile(`${folder}/${file}`) !== "old");

        // A link is not followed, even if its target does not exist.
        await Deno.remove(`${folder}/${file}`);
        await Deno.symlink(`${folder}/aim`, `${folder}/${file}`);
        const linked = await tool(name, [...args(folder), "-f"]);
        assertEquals(linked.code, 1);
        assert(linked.err.includes(`${file}: is not a regular file`), linked.err);
        assertEquals(names(folder), [...files]);
        await Deno.remove(`${folder}/${file}`);
        assertEquals((await tool(name, [...args(folder), "-f"])).code, 0);
      }
    }));
}

Deno.test("output: an unwritable target is reported before the recording is read", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/old.html`, "old");
    for (
      const words of [["view"], ["flame"], ["diff", "base"], ["export", "pprof"], [
        "export",
        "bolt",
      ]]
    ) {
      const [name = "", ...args] = words;
      // Neither exists, so the first one that is checked is reported.
      const ask = (output: string) => tool(name, [...args, "-o", output, `${folder}/no.data`]);
      const taken = await ask(`${folder}/old.html`);
      assertEquals([taken.code, taken.err], [
        1,
        `${name}: ${folder}/old.html: exists; --force overwrites it\n`,
      ]);
      const lost = await ask(`${folder}/no/new.html`);
      assertEquals([lost.code, lost.err], [
        1,
        `${name}: ${folder}/no/new.html: no such file or directory\n`,
      ]);
    }
    assertEquals(names(folder), ["old.html"]);
  }));

/** Mounts a file system of 64 KB. Throws if the program is missing. */
async function mountFolder(folder: string): Promise<boolean> {
  const { success } = await new Deno.Command("mount", {
    args: ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder],
    stderr: "null",
  }).output();
  return success;
}

/** Calls `use` with a folder on a full file system of 64 KB, if one can be mounted. */
async function onFullDisk(
  t: Deno.TestContext,
  use: (folder: string, fill: () => void) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    const isMounted = await mountFolder(folder).catch(() => false);
    if (!isMounted) {
      return await skipped(t, "a full disk: nothing can be mounted here");
    }
    try {
      await use(folder, () => {
        using file = Deno.openSync(`${folder}/filler`, { write: true, create: true });
        try {
          for (;;) file.writeSync(new Uint8Array(4096));
        } catch {
          // It is full.
        }
      });
    } finally {
      await new Deno.Command("umount", { args: [folder] }).output();
    }
  });
}

Deno.test("output: a full disk leaves the old files or none, and the message names the output", (t) =>
  onFullDisk(t, async (folder, fill) => {
    for (const { name, args, files } of WRITERS) {
      for (const file of files) await Deno.writeTextFile(`${folder}/${file}`, "old");
      fill();
      const { code, err } = await tool(name, [...args(folder), "-f"]);
      assertEquals(code, 1, err);
      assert(err.includes("no space left on device"), err);
      assert(!err.includes("perf.data: no space"), err);
      for (const file of files) {
        assertEquals(await Deno.readTextFile(`${folder}/${file}`), "old", `${name}: ${file}`);
        await Deno.remove(`${folder}/${file}`);
      }
      assertEquals(names(folder), ["filler"], name);
      await Deno.remove(`${folder}/filler`);
    }
  }));

Deno.test("output: standard output that cannot be written gives one line and exit code 1", async () => {
  const jobs: [string, ...string[]][] = [
    ["dump"],
    ["records"],
    ["hex"],
    ["header"],
    ["funcs"],
    ["rate"],
    ["symbols", "trust"],
    ["extract-pt", "--list"],
  ];
  for (const [name, ...args] of jobs) {
    const file = name === "extract-pt" ? PT : RECORDING;
    const { code, stderr } = await new Deno.Command("sh", {
      args: [
        "-c",
        '"$@" > /dev/full',
        "sh",
        Deno.execPath(),
        ...toolArguments(name),
        ...args,
        file,
      ],
      env: { NO_COLOR: "1", PERFDATA_CWD: "" },
    }).output();
    const err = new TextDecoder().decode(stderr);
    assertEquals(code, 1, name);
    const expected = `${name}: standard output: cannot be written: no space left on device\n`;
    assert(err.endsWith(expected), err);
  }
});

for (const { name, args, files } of WRITERS) {
  Deno.test(`${name}: interrupted, it leaves the old files and nothing else`, () =>
    inFolder(async (folder) => {
      for (const file of files) await Deno.writeTextFile(`${folder}/${file}`, "old");
      const own = args(folder).slice(0, -1);
      const input = await Deno.readFile(name === "extract-pt" ? PT : RECORDING);
      const child = new Deno.Command(Deno.execPath(), {
        args: [...toolArguments(name), ...own, "-f", "-"],
        env: { NO_COLOR: "1", PERFDATA_CWD: "" },
        stdin: "piped",
        stdout: "null",
        stderr: "null",
      }).spawn();
      const writer = child.stdin.getWriter();
      // A part of it, so that the command waits for the rest.
      await writer.write(input.subarray(0, input.length - 2000));
      // Other files mean that writing has begun; extract-pt knows its names late.
      for (let turn = 0; turn < 40 && names(folder).length === files.length; turn++) {
        await new Promise((done) => setTimeout(done, 50));
      }
      child.kill("SIGINT");
      await child.status;
      await writer.close().catch(() => {});
      assertEquals(names(folder), [...files]);
      for (const file of files) assertEquals(await Deno.readTextFile(`${folder}/${file}`), "old");
    }));
}

Deno.test("output: a command ended by SIGTERM or SIGHUP leaves the old file", () =>
  inFolder(async (folder) => {
    if (Deno.build.os === "windows") return;
    const file = `${folder}/out.data`;
    await Deno.writeTextFile(file, "old");
    const flags = [...toolArguments("convert"), "-f", "-o", file];
    for (const [signal, code] of [["SIGTERM", 143], ["SIGHUP", 129]] as const) {
      const child = new Deno.Command(Deno.execPath(), {
        args: [...flags, "-"],
        stdin: "piped",
        stdout: "null",
        stderr: "null",
      }).spawn();
      const writer = child.stdin.getWriter();
      await writer.write((await Deno.readFile(RECORDING)).subarray(0, -2000));
      let ended = false;
      child.status.then(() => ended = true);
      while (!ended && names(folder).length === 1) {
        await new Promise((done) => setTimeout(done, 20));
      }
      assert(!ended, "it ended before it wrote");
      child.kill(signal);
      assertEquals((await child.status).code, code);
      await writer.close().catch(() => {});
      assertEquals([names(folder), await Deno.readTextFile(file)], [["out.data"], "old"]);
    }
  }));

Deno.test("output: a written recording has the file mode of perf's", {
  ignore: Deno.build.os === "windows",
}, () =>
  inFolder(async (folder) => {
    const commands = [
      ["slice", "--sample-every", "2", RECORDING],
      ["convert", "--pipe", RECORDING],
      ["redact", "--keep", ".", RECORDING],
      ["repair", RECORDING],
      ["merge", RECORDING, `${ROOT}fixtures/recorded/callchain.perf.data`],
    ];
    for (const [name = "", ...words] of commands) {
      const path = `${folder}/${name}.data`;
      // An old file that others could read is replaced.
      Deno.writeTextFileSync(path, "old", { mode: 0o644 });
      const { code, err } = await tool(name, [...words, "-f", "-o", path]);
      assertEquals(code, 0, err);
      assertEquals((Deno.statSync(path).mode ?? 0) & 0o777, 0o600, name);
    }
  }));

Deno.test("output: /dev/null and /dev/stdout are written without --force", async () => {
  for (const name of ["convert", "slice"]) {
    const nowhere = await tool(name, ["-o", "/dev/null", RECORDING]);
    assertEquals([nowhere.code, nowhere.out], [0, ""], nowhere.err);
    assert(!Deno.lstatSync("/dev/null").isFile);
    const [named, dash] = await Promise.all(
      ["/dev/stdout", "-"].map((output) => tool(name, ["-o", output, RECORDING])),
    );
    assert((named?.stdout.length ?? 0) > 1000);
    assertEquals(named?.stdout, dash?.stdout);
  }
});
