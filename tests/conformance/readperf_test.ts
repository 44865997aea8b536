import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/csv";
import { perfText, perfVersion } from "../support/perf.ts";
import { skipped } from "../support/ignored.ts";
import { tool } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;

/** A list of kernel symbols with a single function. */
const KALLSYMS = "ffffffff81000000 T _text\nffffffff81000000 T low\nffffffffff000000 T high\n";

/** Runs a tool in another directory. */
async function run(
  name: string,
  args: string[],
  cwd: string,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, out, err } = await tool(name, args, { cwd });
  assert(code < 2, err);
  return { code, stdout: out, stderr: err };
}

Deno.test("readperf: records, processes and functions add up to perf's counts", async (t) => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-readperf-" });
  const file = `${root}fixtures/recorded/two-events.perf.data`;
  try {
    const { code, stdout } = await run("readperf", [file, "-o", `${folder}/out`], folder);
    assertEquals(code, 0);
    const table = (name: string) =>
      parse(Deno.readTextFileSync(`${folder}/out/${name}.csv`), { skipFirstRow: true });
    const stat = table("stat");
    const overview = table("overview");
    const processes = table("processes");
    const results = table("results");

    assertEquals(overview.map((row) => Number(row["nr"])), overview.map((_, i) => i));
    const counted = new Map<string, number>();
    for (const { type = "" } of overview) counted.set(type, (counted.get(type) ?? 0) + 1);
    assertEquals(
      Object.fromEntries(stat.map(({ type, count }) => [type, Number(count)])),
      Object.fromEntries(counted),
    );
    const times = overview.filter(({ time, type }) => time !== "" && type !== "FORK")
      .map(({ time }) => BigInt(time ?? "0"));
    assert(times.every((time, i) => i === 0 || time >= (times[i - 1] as bigint)));

    const sum = (rows: Record<string, string>[], column: string, event: string) =>
      rows.filter((row) => row["event"] === event)
        .reduce((total, row) => total + Number(row[column]), 0);
    const events = [...new Set(results.map((row) => row["event"] ?? ""))];
    assertEquals(events.length, 2);
    for (const event of events) {
      for (const column of ["samples", "period"]) {
        assertEquals(sum(processes, column, event), sum(results, column, event), event);
      }
    }
    if (perfVersion() === undefined) {
      return await skipped(t, "the same of perf, which is not installed");
    }
    const stats = await perfText(["report", "--stats"], file);
    let compared = 0;
    for (const [, type = "", count] of stats?.stdout.matchAll(/(\w+) events: +(\d+)/g) ?? []) {
      if (type !== "TOTAL") assertEquals([type, counted.get(type)], [type, Number(count)]);
      else assertEquals(overview.length, Number(count));
      compared++;
      // The last table is of the first event.
      if (type === "FINISHED_INIT") break;
    }
    assert(compared >= 5, `${compared} counts compared`);
    assert(stdout.startsWith(`${overview.length} records`));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("rate, funcs: flags give tables, CSV rows and lines of JSON", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-rate-" });
  const file = `${root}fixtures/recorded/two-events.perf.data`;
  try {
    const json = (await run("rate", ["--json", file, "--svg", "rate.svg"], folder)).stdout.trimEnd()
      .split("\n").map((line) => JSON.parse(line));
    const csv = parse((await run("rate", ["--csv", file], folder)).stdout, { skipFirstRow: true });
    const points = json.filter(({ type }) => type === "point");
    assertEquals(
      csv.map(({ time, rate }) => [time, Number(rate)]),
      points.map((point) => [
        String(point.time),
        point.rate,
      ]),
    );
    assert(points.length > 0);
    assert(Deno.readTextFileSync(`${folder}/rate.svg`).startsWith("<svg "));

    const rows = (await run("funcs", ["--json", file], folder)).stdout.trimEnd().split("\n")
      .map((line) => JSON.parse(line));
    const table = parse((await run("funcs", ["--csv", file], folder)).stdout, {
      skipFirstRow: true,
    });
    assertEquals(
      table.map(({ event, samples, period, comm, dso, sym }) => [
        event,
        Number(samples),
        Number(period),
        comm,
        dso,
        sym,
      ]),
      rows.map(({ event, samples, period, comm, dso, sym, inlined }) => [
        event,
        samples,
        period,
        comm,
        dso,
        inlined ? `${sym} (inlined)` : sym,
      ]),
    );
    const limited = (await run("funcs", ["--limit", "2", "--json", file], folder)).stdout.trimEnd();
    assertEquals(limited.split("\n").length, 4);
    const pids = (await run("funcs", ["--sort", "pid,cpu", "--json", file], folder)).stdout
      .trimEnd()
      .split("\n").map((line) => JSON.parse(line));
    assertEquals(
      pids.reduce((sum, { samples }) => sum + samples, 0),
      rows.reduce((sum, { samples }) => sum + samples, 0),
    );
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("funcs: --children and names from a list of kernel symbols work, and trust is reported", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-funcs-" });
  const file = `${root}fixtures/recorded/callchain.perf.data`;
  try {
    const rows = (await run("funcs", ["--json", "--children", file], folder)).stdout.trimEnd()
      .split(
        "\n",
      )
      .map((line) => JSON.parse(line));
    const csv = parse((await run("funcs", ["--csv", "--children", file], folder)).stdout, {
      skipFirstRow: true,
    });
    assertEquals(
      csv.map((row) => [Number(row["children_samples"]), Number(row["children_period"])]),
      rows.map((row) => [row.children_samples, row.children_period]),
    );
    for (const { children, overhead, children_period: all, period } of rows) {
      assert(children >= overhead && all >= period);
    }
    assert(rows.some(({ samples, children_samples: all }) => samples === 0 && all > 0));
    assert(rows.every((row, i) => i === 0 || rows[i - 1].children >= row.children));

    Deno.writeTextFileSync(`${folder}/kallsyms`, KALLSYMS);
    const named = await run("funcs", ["--json", "--kallsyms", "kallsyms", file], folder);
    const kernel = named.stdout.trimEnd().split("\n").map((line) => JSON.parse(line))
      .filter(({ dso }) => dso === "[kernel.kallsyms]");
    assertEquals(new Set(kernel.map(({ sym }) => sym)), new Set(["low"]));

    const flags = ["--symfs", folder, "--kallsyms", "kallsyms"];
    const brief = (await run("funcs", [...flags, file], folder)).stderr.trimEnd().split("\n");
    assertEquals(brief.length, 1);
    assert(
      /^funcs: \d+ of \d+ addresses \(.*% of samples\) have a function; without: file missing \(\d+\)/
        .test(brief[0] ?? ""),
      brief[0],
    );
    const verbose = (await run("funcs", [...flags, "--verbose", file], folder)).stderr.trimEnd()
      .split(
        "\n",
      );
    assert(verbose.length > 1);
    assertEquals(verbose.at(-1), brief[0]?.replace("; --verbose says more", ""));
    const same = (await run("readperf", [...flags, "-o", "out", file], folder)).stderr.trimEnd();
    assertEquals(same, brief[0]?.replace("funcs:", "readperf:"));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("funcs, readperf: damage before the first sample gives one line and exit code 1", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-readperf-" });
  try {
    const bytes = Deno.readFileSync(`${root}fixtures/recorded/two-events.perf.data`);
    const view = new DataView(bytes.buffer);
    // The second record has a size of 3 bytes.
    const first = Number(view.getBigUint64(40, true)); // perf_file_header.data.offset
    const second = first + view.getUint16(first + 6, true);
    view.setUint16(second + 6, 3, true);
    Deno.writeFileSync(`${folder}/damaged.data`, bytes);
    for (
      const [name, ...args] of [["funcs"], ["funcs", "--jobs", "2"], ["readperf", "-o", "out"]]
    ) {
      const { code, stderr } = await run(name ?? "", [...args, "damaged.data"], folder);
      const reported = stderr.split("\n").filter((line) =>
        line.includes(`0x${second.toString(16)}: `)
      );
      assertEquals([code, reported.length], [1, 1], `${name} ${args}: ${stderr}`);
    }
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
