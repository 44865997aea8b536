import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { sampleStream, snapshotStream } from "../../fixtures/synthesize/intel_pt.ts";
import { corpusFiles } from "../support/corpus.ts";
import { perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;
const fixtures = `${root}fixtures/synthesized`;

interface Ran {
  readonly code: number;
  readonly stdout: Uint8Array;
  readonly stderr: string;
}

/** Runs the tool with the permissions of its task. */
async function extract(
  args: readonly string[],
  options: { cwd?: string; stdin?: Uint8Array } = {},
): Promise<Ran> {
  const { cwd, stdin: input } = options;
  const { code, stdout, err } = await tool("extract-pt", args, { cwd, input });
  return { code, stdout, stderr: err };
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

const names = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

/** The files in an output directory: CPU or thread and extension, to bytes. */
function outputs(folder: string): Map<string, Uint8Array> {
  return new Map(
    names(folder).filter((name) => !name.endsWith(".json"))
      .map((name) => [
        name.replace(/^.*\.((?:cpu|tid)\d+\.\w+)$/, "$1"),
        Deno.readFileSync(`${folder}/${name}`),
      ]),
  );
}

/** Checks that standard error is one line with the tool's name, without a stack. */
function assertOneLine(stderr: string, part: string) {
  assertMatch(stderr, /^extract-pt: [^\n]+\n$/);
  assertStringIncludes(stderr, part);
}

/** The trace data that perf reports, by CPU or thread, cut out of the file. */
async function cutByPerf(path: string): Promise<Map<string, number[][]>> {
  const { stdout } = await new Deno.Command("sh", {
    args: [
      "-c",
      'ulimit -v 8000000; timeout 300 perf report -D -i "$0" 2>/dev/null | grep -a AUXTRACE',
      path,
    ],
    stdin: "null",
    stderr: "null",
  }).output();
  const file = Deno.readFileSync(path);
  const found = new Map<string, number[][]>();
  const line =
    /^[^\n]*?0x([0-9a-f]+)[^\n]* \[0x([0-9a-f]+)\]: PERF_RECORD_AUXTRACE size: (?:0x)?([0-9a-f]+) .* tid: (-?\d+) +cpu: (-?\d+)/gm;
  for (const [, offset = "", record = "", size = "", tid, cpu] of text(stdout).matchAll(line)) {
    const from = parseInt(offset, 16) + parseInt(record, 16);
    const key = cpu === "-1" ? `tid${tid}` : `cpu${cpu}`;
    const pieces = found.get(key) ?? [];
    pieces.push([...file.subarray(from, from + parseInt(size, 16))]);
    found.set(key, pieces);
  }
  return found;
}

for (const { name, path, row } of corpusFiles()) {
  const announced = Number(row["auxtrace_bytes"]);
  if (!(announced > 0)) continue;
  Deno.test(`extract-pt: ${name}`, () =>
    inFolder(async (folder) => {
      const { code, stderr, stdout } = await extract([
        "--all-aux",
        "--json",
        "-o",
        `${folder}/file`,
        path,
      ]);
      assertEquals([code, stderr], [0, ""]);
      const manifest = JSON.parse(text(stdout));
      const made = outputs(`${folder}/file`);
      const bytes = [...made.values()].reduce((sum, part) => sum + part.length, 0);
      assertEquals(bytes, announced);
      for (const output of manifest.outputs) {
        const data = Deno.readFileSync(`${folder}/file/${output.file}`);
        assertEquals(data.length, output.bytes);
        const source = Deno.readFileSync(path);
        for (const { offset, size, file_offset } of output.pieces) {
          assertEquals(
            data.subarray(offset, offset + size),
            source.subarray(file_offset, file_offset + size),
          );
        }
      }
      // As a stream, in pieces as large as a pipe.
      const piped = await extract(["--all-aux", "-o", `${folder}/pipe`, "-"], {
        stdin: Deno.readFileSync(path),
      });
      assertEquals([piped.code, piped.stderr], [0, ""]);
      assertEquals(outputs(`${folder}/pipe`), made);
      if (perfVersion() !== undefined) {
        const cut = await cutByPerf(path);
        assertEquals(
          [...made].map(([key, data]) => [key.replace(/\.\w+$/, ""), data.length]),
          [...cut].map(([key, pieces]) => [key, pieces.flat().length]).sort(),
        );
        for (const [key, data] of made) {
          const pieces = cut.get(key.replace(/\.\w+$/, "")) ?? [];
          assert(pieces.flat().every((byte, i) => data[i] === byte), key);
        }
      }
    }));
}

Deno.test({
  name: "extract-pt: bytes equal those that perf prints as packets",
  ignore: perfVersion() === undefined,
  async fn() {
    const { stdout } = await new Deno.Command("sh", {
      args: [
        "-c",
        'ulimit -v 8000000; timeout 300 perf report -D -i "$0"',
        `${fixtures}/pt-cpus.perf.data`,
      ],
      stdin: "null",
      stderr: "null",
    }).output();
    const printed = new Map<string, number[]>();
    let bytes: number[] = [];
    for (const line of text(stdout).split("\n")) {
      const record = /PERF_RECORD_AUXTRACE .* cpu: (\d+)/.exec(line);
      if (record !== null) {
        const key = `cpu${record[1]}.pt`;
        bytes = printed.get(key) ?? [];
        printed.set(key, bytes);
      }
      const packet = /^\. {2}[0-9a-f]{8}: {2}((?:[0-9a-f]{2} )+)/.exec(line);
      if (packet !== null) {
        bytes.push(...(packet[1] ?? "").trim().split(" ").map((byte) => parseInt(byte, 16)));
      }
    }
    await inFolder(async (folder) => {
      await extract(["-o", folder, `${fixtures}/pt-cpus.perf.data`]);
      const made = outputs(folder);
      assertEquals([...made.keys()], ["cpu0.pt", "cpu1.pt", "cpu3.pt"]);
      for (const [key, data] of made) assertEquals([...data], printed.get(key), key);
    });
  },
});

Deno.test("extract-pt: one trace in either byte order, file or pipe, gives the same bytes", () =>
  inFolder(async (folder) => {
    const made: Map<string, Uint8Array>[] = [];
    for (const dress of ["", "-be", "-pipe", "-pipe-be"]) {
      const path = `${fixtures}/pt-cpus${dress}.perf.data`;
      assertEquals((await extract(["-o", `${folder}/file${dress}`, path])).stderr, "");
      made.push(outputs(`${folder}/file${dress}`));
      const stdin = Deno.readFileSync(path);
      assertEquals((await extract(["-o", `${folder}/in${dress}`, "-"], { stdin })).stderr, "");
      made.push(outputs(`${folder}/in${dress}`));
    }
    const [first] = made;
    assertEquals(first?.size, 3);
    for (const other of made) assertEquals(other, first);
  }));

Deno.test("extract-pt: the manifest lists lost data and all that a decoder needs", async () => {
  const path = `${fixtures}/pt-cpus.perf.data`;
  const { code, stdout } = await extract(["--list", "--json", path]);
  assertEquals(code, 0);
  const manifest = JSON.parse(text(stdout));
  assertEquals(manifest.type, "intel_pt");
  assertEquals(manifest.command, ["/usr/bin/perf", "record", "-e", "intel_pt//u", "./demo"]);
  assertEquals(manifest.cpuid, "GenuineIntel,6,142,10");
  assertEquals(manifest.intel_pt.filter, "filter 0x1000/0x2000@/tmp/demo/demo");
  assertEquals(manifest.intel_pt.time_mult, 798915989);
  assertEquals(manifest.intel_pt.tsc_ctc_ratio, [84, 2]);
  assertEquals(manifest.intel_pt.event, {
    config: "0x300e603",
    tsc: true,
    noretcomp: false,
    mtc: true,
    mtc_period: 3,
    cyc: true,
  });
  assertEquals(manifest.outputs.map(({ cpu }: { cpu: number }) => cpu), [0, 1, 3]);
  const [, second] = manifest.outputs;
  assertEquals(second.flags, ["TRUNCATED", "PARTIAL", "COLLISION"]);
  assertEquals(second.aux_records, 6);
  const pieces: { gap: number; flags: string[] }[] = second.pieces;
  assertEquals(pieces.map(({ flags }) => flags), [[], ["TRUNCATED"], ["PARTIAL", "COLLISION"]]);
  assertEquals(pieces.map(({ gap }) => gap === 0), [true, true, false]);
  // 4096 bytes are lost; up to 7 bytes of padding before them count as data.
  const gap = pieces[2]?.gap ?? 0;
  assert(gap > 4096 - 8 && gap <= 4096, `${gap}`);
});

Deno.test("extract-pt: each thread has its own files", () =>
  inFolder(async (folder) => {
    const path = `${fixtures}/pt-threads.perf.data`;
    const { code, stderr } = await extract(["-o", folder, path]);
    assertEquals([code, stderr], [0, ""]);
    assertEquals(names(folder), [
      "pt-threads.perf.data.pt.json",
      "pt-threads.perf.data.tid1000.pt",
      "pt-threads.perf.data.tid1001.pt",
    ]);
    const one = await extract(["--tid", "1001", "-o", "-", path]);
    assertEquals(one.stdout, Deno.readFileSync(`${folder}/pt-threads.perf.data.tid1001.pt`));
  }));

/** The saved parts of a stream. The first part is padded, since its size is no multiple of 8. */
function saved({ bytes, ends, saved }: ReturnType<typeof snapshotStream>): Uint8Array {
  const [[, third], [from, to]] = saved as [[number, number], [number, number]];
  const first = ends[0] ?? 0;
  return Uint8Array.of(
    ...bytes.subarray(0, first),
    ...new Uint8Array(-first & 7),
    ...bytes.subarray(first, third),
    ...bytes.subarray(from, to),
  );
}

for (
  const [name, stream, cpu] of [
    ["pt-snapshot", snapshotStream(), 2],
    ["pt-snapshot-pipe", snapshotStream(), 2],
    ["pt-sample", sampleStream(), 1],
  ] as const
) {
  Deno.test(`extract-pt: ${name}: data saved twice is written once`, () =>
    inFolder(async (folder) => {
      const path = `${fixtures}/${name}.perf.data`;
      assertEquals((await extract(["-o", `${folder}/a`, path])).stderr, "");
      assertEquals(outputs(`${folder}/a`).get(`cpu${cpu}.pt`), saved(stream));
      const stdin = Deno.readFileSync(path);
      const piped = await extract(["-o", "-", "-"], { stdin });
      assertEquals(piped.stdout, saved(stream));
      const raw = await extract(["--raw", "-o", "-", path]);
      assert(raw.stdout.length > saved(stream).length);
    }));
}

Deno.test("extract-pt: works from a subfolder, by the name of its task", () =>
  inFolder(async (folder) => {
    Deno.mkdirSync(`${folder}/out`);
    const below = `${root}tests/checks`;
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "extract-pt", "--cpu", "0-1", "-o", `${folder}/out`],
        "../../fixtures/synthesized/pt-cpus.perf.data",
      ],
      cwd: below,
      // As from a shell in that directory, whichever task runs this test.
      env: { NO_COLOR: "1", INIT_CWD: below },
      stdin: "null",
    }).output();
    assertEquals(code, 0, text(stderr));
    assertEquals(text(stdout).split("\n").length, 5, text(stdout));
    assertEquals(names(`${folder}/out`), [
      "pt-cpus.perf.data.cpu0.pt",
      "pt-cpus.perf.data.cpu1.pt",
      "pt-cpus.perf.data.pt.json",
    ]);
  }));

Deno.test("extract-pt: writes to the current folder by default, and overwrites nothing", () =>
  inFolder(async (folder) => {
    const path = `${fixtures}/pt-cpus.perf.data`;
    assertEquals((await extract([path], { cwd: folder })).code, 0);
    const made = outputs(folder);
    assertEquals(made.size, 3);
    const again = await extract([path], { cwd: folder });
    assertEquals(again.code, 1);
    assertOneLine(again.stderr, "pt-cpus.perf.data.cpu0.pt: exists; --force overwrites it");
    const piped = await extract(["-"], { cwd: folder, stdin: Deno.readFileSync(path) });
    assertEquals([piped.code, piped.stderr], [0, ""]);
    const pipedAgain = await extract(["-"], { cwd: folder, stdin: Deno.readFileSync(path) });
    assertEquals(pipedAgain.code, 1);
    assertOneLine(pipedAgain.stderr, "stdin.cpu0.pt: exists");
    // Longer than the output, so a leftover would show.
    Deno.writeFileSync(`${folder}/pt-cpus.perf.data.cpu0.pt`, new Uint8Array(1 << 16));
    assertEquals((await extract(["--force", path], { cwd: folder })).code, 0);
    assertEquals(outputs(folder).get("cpu0.pt"), made.get("cpu0.pt"));
  }));

Deno.test("extract-pt: --list and -o - write no file", () =>
  inFolder(async (folder) => {
    const path = `${fixtures}/pt-cpus.perf.data`;
    const list = await extract(["--list", path], { cwd: folder });
    assertEquals([list.code, list.stderr, names(folder)], [0, "", []]);
    assertMatch(text(list.stdout), /^cpu1 +\d+ +3 +1 +0 +0 +TRUNCATED,PARTIAL,COLLISION$/m);
    const many = await extract(["-o", "-", path], { cwd: folder });
    assertEquals([many.code, many.stdout.length], [1, 0]);
    assertOneLine(many.stderr, "there are cpu0, cpu1, cpu3, and -o - takes one");
    assertEquals(names(folder), []);
    const stdin = Deno.readFileSync(path);
    const piped = await extract(["-o", "-", "-"], { cwd: folder, stdin });
    assertEquals(piped.code, 1);
    assertOneLine(piped.stderr, "-o - takes one");
  }));

Deno.test("extract-pt: a closed pipe causes no error", async () => {
  const { stdout, stderr } = await new Deno.Command("sh", {
    args: [
      "-c",
      `{ "$0" run -A "$1" "$2" -o - --cpu 1 "$3"; echo "$?" >&2; } | head -c 3`,
      Deno.execPath(),
      `${root}tools/extract_pt.ts`,
      "--raw",
      `${fixtures}/pt-cpus.perf.data`,
    ],
    stdin: "null",
  }).output();
  assertEquals([[...stdout], text(stderr)], [[0x02, 0x82, 0x02], "0\n"]);
});

Deno.test("extract-pt: wrong usage gives one line and exit code 2", async () => {
  for (
    const [args, part] of [
      [["a", "b"], "2 files are given"],
      [["--frob", "a"], "unknown flag --frob"],
      [["-x", "a"], "unknown flag -x"],
      [["--cpu", "zero", "a"], "--cpu is zero, expected numbers such as 0,3"],
      [["--cpu=3-1", "a"], "--cpu is 3-1"],
      [["a", "--tid"], "--tid needs a value"],
      [["-o", "-", "--list", "a"], "--list"],
    ] as const
  ) {
    const { code, stderr, stdout } = await extract(args);
    assertEquals([code, stdout.length], [2, 0], args.join(" "));
    assertOneLine(stderr, part);
  }
});

Deno.test("extract-pt: --help prints the usage", async () => {
  const { code, stdout, stderr } = await extract(["--help"]);
  assertEquals([code, stderr], [0, ""]);
  for (const flag of ["--output", "--cpu", "--tid", "--list", "--json", "--force", "--all-aux"]) {
    assertStringIncludes(text(stdout), flag);
  }
  assert(text(stdout).split("\n").every((line) => line.length <= 100));
});

Deno.test("extract-pt: input without Intel PT gives one line and exit code 1", () =>
  inFolder(async (folder) => {
    const recorded = `${root}fixtures/recorded/callchain.perf.data`;
    Deno.writeTextFileSync(`${folder}/text`, "this is no recording at all\n");
    Deno.writeTextFileSync(`${folder}/empty`, "");
    for (
      const [args, part] of [
        [[recorded], `no AUX data; record with "perf record -e intel_pt//u -- PROGRAM"`],
        [["none"], "none: no such file or directory"],
        [[folder], "directory has no 'data' file"],
        [["text"], "text: 0x0: file header: magic is"],
        [["empty"], "empty: 0x0: file header: 0 bytes"],
        [["--cpu", "2", `${fixtures}/pt-cpus.perf.data`], "there are cpu0, cpu1, cpu3"],
        [["-o", "text", `${fixtures}/pt-cpus.perf.data`], "text: "],
        [["-o", "text/sub", `${fixtures}/pt-cpus.perf.data`], "text/sub: "],
      ] as const
    ) {
      const { code, stderr, stdout } = await extract(args, { cwd: folder });
      assertEquals([code, stdout.length], [1, 0], args.join(" "));
      assertOneLine(stderr, part);
    }
    assertEquals(names(folder), ["empty", "text"]);
    const stdin = Deno.readFileSync(recorded);
    const piped = await extract(["-"], { cwd: folder, stdin });
    assertEquals(piped.code, 1);
    assertOneLine(piped.stderr, "-: no AUX data");
    const debug = await extract(["--debug", "none"], { cwd: folder });
    assertEquals(debug.code, 1);
    assertMatch(debug.stderr, / at .*cli\.ts:\d/);
  }));

Deno.test("extract-pt: a truncated file gives its complete data, and a message", () =>
  inFolder(async (folder) => {
    const whole = Deno.readFileSync(`${fixtures}/pt-cpus.perf.data`);
    Deno.writeFileSync(`${folder}/half`, whole.subarray(0, whole.length >> 1));
    await extract(["-o", `${folder}/whole`, `${fixtures}/pt-cpus.perf.data`]);
    const expected = outputs(`${folder}/whole`);
    for (const stdin of [undefined, whole.subarray(0, whole.length >> 1)]) {
      const out = `${folder}/${stdin === undefined ? "file" : "pipe"}`;
      const { code, stderr } = await extract(
        ["-o", out, stdin === undefined ? "half" : "-"],
        stdin === undefined ? { cwd: folder } : { cwd: folder, stdin },
      );
      assertEquals(code, 1, stderr);
      assertMatch(stderr, /^extract-pt: [^\n]*0x[0-9a-f]+: /m);
      assert(!stderr.includes("    at "), stderr);
      const made = outputs(out);
      assert(made.size > 0);
      for (const [key, data] of made) {
        assert(data.length > 0);
        assertEquals(data, expected.get(key)?.subarray(0, data.length), key);
      }
    }
    // A recording of a killed perf has all its data; only its header has no size.
    const killed = whole.slice();
    killed.fill(0, 48, 56);
    Deno.writeFileSync(`${folder}/killed`, killed.subarray(0, whole.length - 800));
    const { stderr } = await extract(["-o", `${folder}/k`, "killed"], { cwd: folder });
    assertStringIncludes(stderr, "the recording was not finished");
    assertEquals(outputs(`${folder}/k`).get("cpu0.pt"), expected.get("cpu0.pt"));
  }));
