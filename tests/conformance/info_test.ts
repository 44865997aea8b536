/** Counts of `info` compared with perf's output. */
import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader, RecordCodec } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { infoLines, recordingInfo } from "@perfdata/report/figures";
import { ALL_RECORDS } from "@perfdata/user-records";
import { assert, assertEquals } from "@std/assert";
import { corpusFiles } from "../support/corpus.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { ignored } from "../support/ignored.ts";

const recorded = new URL("../../fixtures/recorded/", import.meta.url).pathname;

function open(path: string): Promise<PerfDataReader> {
  const source = bytesSource(Deno.readFileSync(path));
  return PerfDataReader.open(source, { diagnostics: () => {} });
}

Deno.test(
  "info: samples, processes, threads and times are those of perf script",
  ignored(noPerf()),
  async () => {
    const paths = [
      ...["all-cpus", "callchain", "two-events", "switch", "dwarf", "zstd", "rounds", "pipe"].map(
        (name) => `${recorded}${name}.perf.data`,
      ),
      ...corpusFiles()
        .filter(({ row, sound }) => sound && row["D_rc"] === "0" && row["D_err"] === "")
        .filter(({ row }) => Number(row["bytes"]) < 600_000)
        .map(({ path }) => path),
    ];
    let compared = 0;
    for (const path of paths) {
      const text = await perfText(["script", "--ns", "-F", "pid,tid,time,event"], path);
      const lines = text?.stdout.split("\n").filter((line) => line !== "") ?? [];
      const parts = lines.map((line) => /^ *(-?\d+)\/(-?\d+) +(\d+)\.(\d{9}): +(.+):/.exec(line));
      if (parts.length === 0 || parts.includes(null)) continue;
      const info = await recordingInfo(await open(path));
      // perf prints a sample with READ values once for each event of the group.
      if (info.events.length > 1 && info.samples !== lines.length) continue;
      const column = (n: number) => parts.map((part) => part?.[n] ?? "");
      const times = parts.map((part) => BigInt(`${part?.[3]}${part?.[4]}`));
      assertEquals(info.samples, lines.length, path);
      assertEquals(info.threads, new Set(column(2)).size, path);
      const [first, last] = times.reduce(
        ([a, b], time) => [time < a ? time : a, time > b ? time : b],
        [times[0] as bigint, 0n],
      );
      assertEquals(info.span, [first, last], path);
      compared++;
    }
    console.log(`${compared} files compared`);
    assert(compared >= 6);
  },
);

Deno.test("info: recordings with a clock, with AUX data, and without samples have their lines", async () => {
  const lines = async (path: string) => {
    const info = await recordingInfo(await open(path));
    return infoLines(info, 0, "perf.data").map((
      line,
    ) => [line.slice(0, 10).trim(), line.slice(10)]);
  };
  const clock = new Map(await lines(`${recorded}clock.perf.data`) as [string, string][]);
  // `perf report --header-only` prints this reference time, perf script that of the first sample.
  assert(clock.get("time")?.includes("from 2026-"), clock.get("time"));
  assert(clock.get("command")?.includes("-k monotonic"));
  const pt = new Map(
    await lines(`${recorded}../synthesized/pt-cpus.perf.data`) as [string, string][],
  );
  assertEquals(pt.get("AUX"), "INTEL_PT, 13.3 KB");
  assertEquals([pt.get("samples"), pt.get("stacks")], ["none", undefined]);
  assert(pt.get("next")?.startsWith("perfdata pt"));
});

const old = corpusFiles().find(({ path }) => path.includes("perf.data.piped.host-3.2@"))?.path;
const noOld = old === undefined ? "info: no recording of an old perf: no corpus" : undefined;

Deno.test(
  "info: features with their own records, as Google's old perf wrote them, are read",
  ignored(noOld),
  async () => {
    const path = old ?? "";
    const { machine, command } = await recordingInfo(await open(path));
    // Length of the text (u32) and the text, after each record's header.
    const bytes = Deno.readFileSync(path);
    const text = (at: number) => new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at)));
    assertEquals(machine["HOSTNAME"], text(16 + 12));
    assertEquals(machine["OSRELEASE"], text(92 + 12));
    assertEquals(machine["VERSION"], text(168 + 12));
    assertEquals(machine["ARCH"], text(244 + 12));
    assertEquals(machine["CPUDESC"], text(336 + 12));
    // Number of words (u32) before the first one.
    assertEquals(command?.[0], text(504 + 16));
  },
);

Deno.test("info: the duration of a trace without samples is that of its records", async () => {
  const path = `${recorded}../synthesized/pt-threads.perf.data`;
  const reader = await open(path);
  const codec = new RecordCodec(ALL_RECORDS);
  const times: bigint[] = [];
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      const record = codec.decode(batch.recordBytes(i), batch.context(i));
      const time = "raw" in record ? undefined : record.sample_id?.time;
      if (time !== undefined && time > 0n) times.push(time);
    }
  }
  times.sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
  assert(times.length > 1);
  const { span, timed } = await recordingInfo(await open(path));
  assertEquals([span, timed], [[times[0], times.at(-1)], false]);
});

Deno.test("info: the file of a directory tells that the records are beside it, and suggests a command", async () => {
  const folder = `${recorded}directory.perf.data`;
  const info = await recordingInfo(await open(`${folder}/data`));
  const lines = infoLines(info, 0, "some/directory/data");
  assert(lines.some((line) => /^recording .* file of a directory, without the records/.test(line)));
  assert(
    lines.some((line) => /^next +perfdata info some\/directory$/.test(line)),
    lines.join("\n"),
  );
  const whole = await PerfDataReader.open(openSource(folder));
  const { partOfDirectory, samples } = await recordingInfo(whole);
  assertEquals([partOfDirectory, info.samples < samples], [false, true]);
});

Deno.test("info: counts of a file equal those of decoding each record", async () => {
  const fixtures = ["recorded", "synthesized"].flatMap((folder) =>
    Array.from(Deno.readDirSync(`${recorded}../${folder}`))
      .filter(({ name, isFile }) => isFile && name.endsWith(".data"))
      .map(({ name }) => `${recorded}../${folder}/${name}`)
  );
  const paths = [...fixtures.sort(), ...corpusFiles().map(({ path }) => path)];
  let compared = 0;
  for (const path of paths) {
    if (Deno.statSync(path).size > 4_000_000) continue;
    const reader = await open(path);
    const codec = new RecordCodec(ALL_RECORDS);
    const found = { lost: 0, throttled: 0, chains: 0, entries: 0, copies: 0, branches: 0, aux: 0 };
    const cpus = new Set<number>();
    let damaged = 0;
    for await (const batch of reader.batches()) {
      for (let i = 0; i < batch.count; i++) {
        const record = codec.decode(batch.recordBytes(i), batch.context(i));
        if ("raw" in record) {
          if (batch.type(i) === 9) damaged++;
          continue;
        }
        if (record.name === "LOST" || record.name === "LOST_SAMPLES") {
          found.lost += Number(record.body.lost);
        }
        if (record.name === "THROTTLE") found.throttled++;
        if (record.name === "AUXTRACE") found.aux += Number(record.body.size);
        if (record.name !== "SAMPLE") continue;
        const { callchain, stack_user, branch_stack, cpu } = record.body;
        if (cpu !== undefined) cpus.add(cpu);
        if ((callchain?.length ?? 0) > 0) found.chains++;
        found.entries += callchain?.length ?? 0;
        if ((stack_user?.data.length ?? 0) > 0) found.copies++;
        if ((branch_stack?.entries.length ?? 0) > 0) found.branches++;
      }
    }
    // Samples that cannot be decoded are not counted, and Google's dialect has other types.
    if (damaged > 0 || reader.isGoogleDialect) continue;
    const { lost, throttled, stacks, aux, leftOut, ...info } = await recordingInfo(
      await open(path),
    );
    if (leftOut > 0) continue;
    const { chains, entries, copies, branches } = stacks;
    assertEquals(
      { lost, throttled, chains, entries, copies, branches, aux: aux?.bytes ?? 0, cpus: info.cpus },
      { ...found, cpus: cpus.size },
      path,
    );
    compared++;
  }
  console.log(`${compared} files compared`);
  assert(compared >= 20);
});
