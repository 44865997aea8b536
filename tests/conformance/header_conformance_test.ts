/**
 * `headerLines` compared with the installed perf: the bytes of `perf report --header-only -I`, for
 * every fixture and corpus file with a header that perf prints.
 */
import { assert, assertEquals } from "@std/assert";
import { headerLines } from "@perfdata/dump";
import { encodeText } from "../../packages/format/text/text.ts";
import { PerfDataReader } from "../../packages/format/mod.ts";
import { fileSource } from "../../packages/format/sources/file_source.ts";

const corpus = Deno.env.get("PERFDATA_CORPUS") ?? "../shared/corpus";

/** Files with intended differences, which `docs/header.md` explains. Keys are the ends of paths. */
const DEVIATIONS: Readonly<Record<string, string>> = {
  "recorded/killed.perf.data": "features of a recording that was not finished",
  "synthesized/pt-cpus-pipe-be.perf.data": "features of a big-endian pipe",
  "synthesized/records-pipe-be.perf.data": "features of a big-endian pipe",
  "synthesized/records-be.perf.data": "a mask that perf does not swap",
  "testdata/propeller_sample.perfdata@ad3e924": "CPU ids that perf misses",
  "testdata/ro_sample.perf": "CPU ids that perf misses",
  "testdata/perf.data.piped.host-3.2@5d24e0b": "libtraceevent prints into the header",
  "poc-4a52fdd4e9d5adcda85329e1f5fb6f425788e63cef41209f83bfd6edcfae4ff3":
    "a section that cannot be read",
  "poc-fd76c99f4c02a1e3bc42ef962111a3b9991b8a0798746475e894185642eb6679":
    "feature bits in neither byte order",
  "testdata/perf.data.armv7.perf_3.14-3.8": "an empty section, and what follows it",
  "testdata/report_test.data@3c5a2bd": "a section that perf cannot read, and what follows it",
};

async function perfAnswers(): Promise<string | undefined> {
  try {
    const { success } = await new Deno.Command("perf", { args: ["--version"] }).output();
    return success ? undefined : "perf does not run";
  } catch {
    return "no perf on this machine";
  }
}

/** The fixtures, and the corpus if it is installed. */
async function allFiles(): Promise<string[]> {
  const found: string[] = [];
  for (const folder of ["fixtures/recorded", "fixtures/synthesized"]) {
    for await (const { name, isFile } of Deno.readDir(folder)) {
      if (isFile && name.endsWith(".data")) found.push(`${folder}/${name}`);
    }
  }
  try {
    const rows = (await Deno.readTextFile(`${corpus}/INDEX.tsv`)).split("\n").slice(1);
    const recordings = rows.map((row) => row.split("\t")).filter(([, , , kind]) =>
      kind?.startsWith("PERF")
    );
    return [...found, ...recordings.map(([path]) => `${corpus}/${path}`)];
  } catch {
    console.log(`no corpus at ${corpus}: fixtures only`);
    return found;
  }
}

async function perfHeader(path: string, buildIds: string): Promise<Uint8Array> {
  const script = 'ulimit -v 8000000; exec timeout 300 perf report --header-only -I -i "$1"';
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", script, "sh", path],
    env: { LC_ALL: "C", PERF_BUILDID_DIR: buildIds },
    stdin: "null",
    stderr: "null",
  }).output();
  return stdout;
}

async function ourHeader(path: string): Promise<Uint8Array> {
  using source = fileSource(path);
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  const mtime = (await Deno.stat(path)).mtime ?? new Date(0);
  const lines = await Array.fromAsync(headerLines(reader, { mtime }));
  return encodeText(lines.map((line) => `${line}\n`).join(""));
}

/** Minimum share of the files whose header equals perf's; it was 0.81. */
const EXACT = 0.75;

const files = await allFiles();
const missing = await perfAnswers();
if (missing !== undefined) console.log(`ignored: header against perf: ${missing}`);

Deno.test({
  name: "headerLines: every file has perf's header",
  ignore: missing !== undefined,
  async fn() {
    const buildIds = await Deno.makeTempDir();
    const outcomes = new Map<string, string[]>();
    const note = (outcome: string, path: string) =>
      outcomes.set(outcome, [...outcomes.get(outcome) ?? [], path]);
    for (const path of files) {
      const theirs = await perfHeader(path, buildIds);
      const reason = Object.entries(DEVIATIONS).find(([end]) => path.endsWith(end))?.[1];
      if (theirs.length === 0) {
        note("perf prints nothing", path);
        continue;
      }
      const ours = await ourHeader(path);
      const same = ours.length === theirs.length && ours.every((byte, i) => byte === theirs[i]);
      if (same) note(reason === undefined ? "same" : "same, but listed as different", path);
      else note(reason === undefined ? "DIFFERENT" : `differs on purpose: ${reason}`, path);
    }
    await Deno.remove(buildIds, { recursive: true });
    for (const [outcome, paths] of outcomes) {
      console.log(`${outcome}: ${paths.length}`);
      if (outcome !== "same") { for (const path of paths) console.log(`  ${path}`); }
    }
    const compared = (outcomes.get("same") ?? []).length;
    assert(compared >= files.length * EXACT, `${compared} of ${files.length} files are the same`);
    assertEquals(outcomes.get("DIFFERENT") ?? [], []);
    assertEquals(outcomes.get("same, but listed as different") ?? [], []);
  },
});
