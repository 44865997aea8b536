/**
 * `extract-pt --ptxed`: sideband and options compared with the output of the installed perf for the
 * same recordings, and with libipt's own ptxed, if they are installed.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { corpusFiles } from "../support/corpus.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { steppedFile } from "../../fixtures/stepped/recording.ts";
import { ignored, notInstalled } from "../support/ignored.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { runProgram, tool, toolArguments, type ToolResult } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;
const fixtures = `${root}fixtures/synthesized`;

const extract = (args: readonly string[], cwd: string): Promise<ToolResult> =>
  tool("extract-pt", args, { cwd });

/**
 * Extracts a recording into a temporary directory, and calls back with the files by their
 * extensions.
 */
async function extracted(
  path: string,
  flags: readonly string[],
  use: (files: Map<string, Uint8Array>, ran: ToolResult, folder: string) => void | Promise<void>,
): Promise<void> {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-ptxed-" });
  try {
    Deno.copyFileSync(path, `${folder}/r`);
    const ran = await extract(["--ptxed", ...flags, "r"], folder);
    const files = new Map(
      [...Deno.readDirSync(folder)].filter(({ name }) => name.startsWith("r."))
        .map(({ name }) => [name.slice(2), Deno.readFileSync(`${folder}/${name}`)]),
    );
    await use(files, ran, folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** The options in a file of options: values by name, in order. */
function options(bytes: Uint8Array | undefined): Map<string, string[]> {
  const words = new TextDecoder().decode(bytes).trim().split(" ");
  const found = new Map<string, string[]>();
  for (let i = 0; i < words.length; i += 2) {
    const values = found.get(words[i] ?? "") ?? [];
    values.push(words[i + 1] ?? "");
    found.set(words[i] ?? "", values);
  }
  return found;
}

const recordings = corpusFiles()
  .filter(({ row }) => row["aux"] === "intel_pt" && !row["path"]?.startsWith("derived"));
const ptxed = Deno.env.get("PTXED") ?? "ptxed";
const noRecordings = recordings.length > 0 ? undefined : "the corpus has no Intel PT";

Deno.test({
  name: "sideband: holds the records that perf delivers, by CPU and in perf's order",
  ...ignored(noRecordings ?? noPerf()),
  async fn() {
    let compared = 0;
    for (const { path, name } of recordings) {
      const bytes = Deno.readFileSync(path);
      const text = (await perfText(["script", "--no-itrace", "-D"], path))?.stdout ?? "";
      // `1 889131512943 0x1d98 [0x80]: PERF_RECORD_COMM: …`; perf's own records have no time.
      const expected = new Map<string, number[]>();
      const line = /^(?:(-?\d+) \d+ )0x([0-9a-f]+) \[0x([0-9a-f]+)\]: PERF_RECORD_(\w+)/gm;
      for (const [, cpu = "", at = "", size = "", type = ""] of text.matchAll(line)) {
        if (type === "SAMPLE" || type.startsWith("AUXTRACE")) continue;
        const key = Number(cpu) >>> 0 === 0xffff_ffff ? "pevent" : `cpu${cpu}.pevent`;
        const start = parseInt(at, 16);
        const record = bytes.subarray(start, start + parseInt(size, 16));
        if (new DataView(record.buffer, record.byteOffset).getUint32(0, true) >= 64) continue;
        const all = expected.get(key) ?? [];
        all.push(...record);
        expected.set(key, all);
        compared++;
      }
      await extracted(path, [], (files, { code, err }) => {
        assertEquals(code, 0, err);
        const written = [...files].filter(([key]) => key.endsWith("pevent"));
        assertEquals(
          new Map(written.map(([key, bytes]) => [key, [...bytes]])),
          new Map([...expected].sort()),
          name,
        );
      });
    }
    assert(compared > 500, `${compared} records`);
    console.log(`${compared} sideband records of ${recordings.length} recordings compared`);
  },
});

Deno.test({
  name: "options: equal perf's output for AUXTRACE_INFO, processor and events",
  ...ignored(noRecordings ?? noPerf()),
  async fn() {
    for (const { path, name } of recordings) {
      const dump = (await perfText(["script", "--no-itrace", "-D"], path))?.stdout ?? "";
      const header = (await perfText(["script", "--header-only"], path))?.stdout ?? "";
      const info = (title: string): string =>
        String(BigInt(new RegExp(`^ +${title} +(\\S+)`, "m").exec(dump)?.[1] ?? 0));
      const cpu = /^# cpuid : GenuineIntel,(\d+),(\d+),(\d+)/m.exec(header) ?? [];
      await extracted(path, [], (files) => {
        const streams = [...files.keys()].filter((key) => key.endsWith(".opts"));
        assert(streams.length > 0);
        for (const stream of streams) {
          const found = options(files.get(stream));
          const expected: [string, string][] = [
            ["--cpu", cpu.slice(1).join("/")],
            ["--pevent:time-shift", info("Time Shift")],
            ["--pevent:time-mult", info("Time Mu[a-z]*iplier")],
            ["--pevent:time-zero", info("Time Zero")],
            ["--cpuid-0x15.ebx", info("TSC:CTC numerator")],
            ["--cpuid-0x15.eax", info("TSC:CTC denominator")],
            ["--nom-freq", info("Max non-turbo ratio")],
          ];
          for (const [option, value] of expected) {
            assertEquals(
              found.get(option),
              value === "0" ? undefined : [value],
              `${name} ${option}`,
            );
          }
          const ids = [...header.matchAll(/, id = \{ ([^}]*) \}/g)]
            .flatMap(([, list = ""]) => list.split(",").map((id) => id.trim()));
          assertEquals(
            found.get("--pevent:sample-config")?.map((value) => value.split(":")[0]),
            ["0", ...ids],
            name,
          );
          const own = stream.replace("opts", "pevent");
          assertEquals(
            found.get("--pevent:primary"),
            files.has(own) ? [`r.${own}`] : undefined,
            name,
          );
        }
      });
    }
  },
});

Deno.test({
  name: "ptxed of libipt: reads options and sideband",
  ...ignored(noRecordings ?? notInstalled(ptxed)),
  async fn() {
    let read = 0;
    for (const { path, name } of recordings) {
      await extracted(path, [], async (files, _, folder) => {
        for (const [key, bytes] of files) {
          if (!key.endsWith(".opts")) continue;
          const words = new TextDecoder().decode(bytes).trim().split(" ");
          const trace = `r.${key.replace(".opts", ".pt")}`;
          const { code, out, err } = await runProgram(ptxed, [...words, "--pt", trace], {
            cwd: folder,
          });
          assertEquals(code, 0, `${name}: ${err}`);
          // The mapped files and the vdso are missing here; any other error would be a fault of
          // this project.
          const errors = (out + err).split("\n").filter((line) => / error: /.test(line))
            .filter((line) => !/error: (bad file|bad configuration|no memory mapped)/.test(line));
          assertEquals(errors, [], name);
          read++;
        }
      });
    }
    assert(read > 3, `${read} traces`);
  },
});

Deno.test(
  "--ptxed: a trace without TSC packets gets its code by name, since no time orders its records",
  ignored(cannotStep()),
  async () => {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-ptxed-" });
    try {
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      for (const tsc of [true, false]) {
        const variant = { psbEvery: 5000, tsc };
        const encoded = encodeProgram(program, variant);
        Deno.writeFileSync(`${folder}/r`, await steppedFile(program, encoded, variant));
        const { code, err } = await extract(["--ptxed", "--force", "r"], folder);
        assertEquals(code, 0, err);
        const options = Deno.readTextFileSync(`${folder}/r.cpu0.opts`);
        assertEquals(options.includes("--pevent:primary"), tsc, options);
        assertEquals(options.includes(`--raw ${program.path}:`), !tsc, options);
        assertEquals(
          /no sideband: the trace was recorded without TSC packets/.test(err),
          !tsc,
          err,
        );
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);

Deno.test("--ptxed: needs Intel PT in a file, and names what is missing", async () => {
  for (
    const [args, err] of [
      [["--ptxed", "--list", "x"], "--ptxed and --list exclude each other"],
      [["--ptxed", "-o", "-", "x"], "-o - excludes --list, --json and --ptxed"],
      [["--ptxed", "-"], "--ptxed reads the recording twice, so that it cannot be a pipe"],
      [["--symfs", "x", "y"], "--symfs needs --ptxed"],
    ] as const
  ) {
    const ran = await extract(args, root);
    assertEquals([ran.code, ran.err], [2, `extract-pt: ${err}; see extract-pt --help\n`]);
  }
  await extracted(`${fixtures}/pt-cpus.perf.data`, [], async (files, ran, folder) => {
    assertEquals(ran.code, 0, ran.err);
    assert(files.has("cpu0.opts"));
    const again = await extract(["--ptxed", "r"], folder);
    assertEquals([again.code, again.out], [1, ""]);
    assertMatch(again.err, /^extract-pt: r\.cpu0\.pt: exists; --force overwrites it\n$/);
  });
});

Deno.test({
  name: "-o -: refuses a terminal",
  ...ignored(notInstalled("script")),
  async fn() {
    const command = [Deno.execPath(), ...toolArguments("extract-pt"), "-o", "-"].join(" ");
    const file = `${fixtures}/pt-cpus.perf.data`;
    const { code, out } = await runProgram("script", ["-qec", `${command} ${file}`, "/dev/null"]);
    assertEquals(code, 2);
    assertStringIncludes(out, "-o - writes binary data, and standard output is a terminal");
  },
});
