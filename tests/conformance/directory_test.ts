import { assert, assertEquals, assertMatch } from "@std/assert";
import { perfText, perfVersion } from "../support/perf.ts";
import { skipped } from "../support/ignored.ts";
import { tool, type ToolResult } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;

/** Runs a command in a folder. */
const run = (name: string, args: readonly string[], cwd: string): Promise<ToolResult> =>
  tool(name, args, { cwd });

/**
 * Makes the directory `at/name` from a recording in one file, with a third of its records in each
 * file.
 */
function split(file: string, directory: string): void {
  const bytes = Deno.readFileSync(file);
  const view = new DataView(bytes.buffer);
  const start = Number(view.getBigUint64(40, true)); // perf_file_header.data
  const end = start + Number(view.getBigUint64(48, true));
  const cuts = [start];
  for (let at = start; at < end;) {
    if (at >= start + (end - start) * cuts.length / 3) cuts.push(at);
    const isAuxtrace = view.getUint32(at, true) === 71;
    const payload = isAuxtrace ? Number(view.getBigUint64(at + 8, true)) : 0;
    at += view.getUint16(at + 6, true) + payload;
  }
  assertEquals(cuts.length, 3);
  const [, first = 0, second = 0] = cuts;
  Deno.mkdirSync(directory);
  Deno.writeFileSync(`${directory}/data.0`, bytes.subarray(first, second));
  Deno.writeFileSync(`${directory}/data.1`, bytes.subarray(second, end));
  const data = new Uint8Array([...bytes.subarray(0, first), ...bytes.subarray(end)]);
  const own = new DataView(data.buffer);
  own.setBigUint64(48, BigInt(first - start), true);
  for (let at = first; at < first + 16 * features(view); at += 16) {
    own.setBigUint64(at, own.getBigUint64(at, true) - BigInt(end - first), true);
  }
  Deno.writeFileSync(`${directory}/data`, data);
}

function features(header: DataView): number {
  let count = 0;
  for (let bit = 0; bit < 256; bit++) {
    count += header.getUint8(72 + (bit >> 3)) >> (bit & 7) & 1; // adds_features
  }
  return count;
}

Deno.test("extract-pt, records: a directory gives what its file gave before it was split", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-directory-" });
  try {
    const file = `${root}fixtures/synthesized/pt-cpus.perf.data`;
    split(file, `${folder}/parts`);
    for (const [name, input] of [["one", file], ["many", `${folder}/parts`]]) {
      Deno.mkdirSync(`${folder}/${name}`);
      const { code, err } = await run(
        "extract-pt",
        ["-o", `${folder}/${name}`, input ?? ""],
        folder,
      );
      assertEquals(code, 0, err);
    }
    const written = (name: string) =>
      [...Deno.readDirSync(`${folder}/${name}`)].filter((entry) => entry.name.endsWith(".pt"))
        .map((entry) => [
          entry.name.slice(entry.name.indexOf(".cpu")),
          Deno.readFileSync(`${folder}/${name}/${entry.name}`),
        ]).sort();
    assert(written("one").length > 1);
    assertEquals(written("many"), written("one"));
    assertEquals(
      (await run("records", ["parts"], folder)).out,
      (await run("records", [file], folder)).out,
    );
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("directory: a cut data file, or a directory without data, gives one line and exit code 1", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-directory-" });
  try {
    split(`${root}fixtures/synthesized/pt-cpus.perf.data`, `${folder}/parts`);
    const whole = (await run("records", ["parts"], folder)).out.split("\n");
    Deno.truncateSync(`${folder}/parts/data.0`, Deno.statSync(`${folder}/parts/data.0`).size - 8);
    const { code, out, err } = await run("records", ["parts"], folder);
    assertEquals(code, 1);
    assertMatch(err, /^records: parts: 0x[0-9a-f]+: .*\n$/);
    // data.1 is read: the last record is the last one of the recording.
    const name = (line = "") => line.slice(0, line.indexOf(","));
    assertEquals(name(out.split("\n").at(-2)), name(whole.at(-2)));

    Deno.mkdirSync(`${folder}/other`);
    for (const name of ["dump", "header", "hex"]) {
      const refused = await run(name, ["other"], folder);
      assertEquals([refused.code, refused.out], [1, ""]);
      assertEquals(
        refused.err,
        `${name}: other: directory has no 'data' file; not a perf recording\n`,
      );
    }
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("directory: kernel symbols come from the kallsyms in kcore_dir", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-directory-" });
  try {
    const file = `${root}fixtures/recorded/two-events.perf.data`;
    Deno.mkdirSync(`${folder}/rec/kcore_dir`, { recursive: true });
    Deno.copyFileSync(file, `${folder}/rec/data`);
    Deno.writeTextFileSync(
      `${folder}/rec/kcore_dir/kallsyms`,
      "ffffffff81000000 T _text\nffffffff81000000 T copied\nffffffffff000000 T end\n",
    );
    const named = (text = "") => [...text.matchAll(/\bcopied\b/g)].length;
    const found = named((await run("funcs", ["--csv", "rec"], folder)).out);
    assert(found > 0);
    assertEquals(named((await run("funcs", ["--csv", file], folder)).out), 0);
    const perf = await perfText(
      ["report", "--stdio", "-g", "none", "--no-children", "--no-group"],
      `${folder}/rec`,
    );
    if (perf !== undefined) assertEquals(found, named(perf.stdout));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

const canRecord = perfVersion() !== undefined;

Deno.test({
  name: "directory of perf record --threads: dump, header and funcs agree with perf",
  ignore: !canRecord,
  async fn(t) {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-directory-" });
    try {
      const { success, stderr } = new Deno.Command("perf", {
        args: [
          ...["record", "-q", "--threads", "-e", "cpu-clock", "-F", "2000", "-a"],
          ...["-o", `${folder}/rec`, "sh", "-c", "ls -lR /usr/share >/dev/null"],
        ],
      }).outputSync();
      if (!success) {
        await skipped(t, `perf cannot record so: ${new TextDecoder().decode(stderr).trim()}`);
        return;
      }
      assert([...Deno.readDirSync(`${folder}/rec`)].length > 2);
      const path = `${folder}/rec`;

      // Offsets are those in the joined files; perf prints those in each file.
      const unplaced = (text = "") =>
        text.replaceAll(/^0(x[0-9a-f]+)?@\S+/gm, "@")
          .replaceAll(/^(-?\d+ \d+ )0(x[0-9a-f]+)? \[/gm, "$1[");
      const perfDump = await perfText(["report", "-D", "--no-children", "-g", "none"], path);
      assertEquals(unplaced((await run("dump", ["rec"], folder)).out), unplaced(perfDump?.stdout));

      const perfHeader = await perfText(["report", "--header-only", "-I"], path);
      assertEquals((await run("header", ["--perf", "rec"], folder)).out, perfHeader?.stdout);

      const samples = (await run("funcs", ["--json", "rec"], folder)).out.split("\n").slice(0, -1)
        .map((line) => JSON.parse(line).samples as number);
      const stats = await perfText(["report", "--stats"], path);
      const counted = /cpu-clock\S* stats:\s+SAMPLE events:\s+(\d+)/.exec(stats?.stdout ?? "")?.[1];
      assertEquals(samples.reduce((sum, n) => sum + n, 0), Number(counted));
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test("merge: a directory becomes one file, and a recording named twice is wrong usage", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-directory-" });
  try {
    split(`${root}fixtures/recorded/two-events.perf.data`, `${folder}/parts`);
    const merged = await run("merge", ["-o", "one.data", "parts"], folder);
    assertEquals([merged.code, merged.err], [0, ""]);
    const samples = async (file: string) =>
      (await run("records", ["--type", "SAMPLE", file], folder)).out.split("\n").length - 1;
    const count = await samples("parts");
    assertEquals(await samples("one.data"), count);
    assert(count > 0);
    const twice = await run("merge", ["-o", "two.data", "parts", "one.data", "parts"], folder);
    assertEquals(twice.code, 2);
    assertMatch(twice.err, /^merge: parts is given twice; /);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
