/** AUX data in edited recordings, decoded by perf and `pt`. */
import { copyRecording, FileOutput } from "@perfdata/edit";
import { hasAuxtrace, mergeRecordings, planAuxCut, Slice } from "@perfdata/edit/slice";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { HEADER_HOSTNAME } from "@perfdata/format/constants";
import { findPsb } from "@perfdata/intel-pt";
import { auxBlocks } from "@perfdata/session/auxtrace";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type EncodeOptions, tscOf } from "../../fixtures/stepped/encode.ts";
import { cannotStep, encodeProgram, stepProgram } from "../../fixtures/stepped/program.ts";
import { auxItems, steppedRecording, timeOf } from "../../fixtures/stepped/recording.ts";
import { asFile } from "../../fixtures/synthesize/recording.ts";
import { corpusFiles } from "../support/corpus.ts";
import { perfText, perfVersion } from "../support/perf.ts";
import { tool } from "../support/tool.ts";
import { ignored } from "../support/ignored.ts";

const VARIANTS: readonly EncodeOptions[] = [
  { psbEvery: 700, compressReturns: true, longTnt: true, tsc: true, mtc: true },
  { psbEvery: 2000, tsc: true, compressReturns: true },
  { psbEvery: 1000, longTnt: true, tsc: true, mtc: true, cyc: true },
];

/** The slice of a time range, and the bytes of AUX data that it keeps. */
async function sliced(
  bytes: Uint8Array,
  time: readonly [bigint, bigint],
): Promise<{ bytes: Uint8Array; kept: number; of: number } | undefined> {
  const source = bytesSource(bytes);
  const reader = await PerfDataReader.open(source);
  const aux = await planAuxCut(reader, source, time);
  if ("reason" in aux) return undefined;
  const sink = memorySink();
  await copyRecording(reader, new FileOutput(sink), { edit: new Slice(reader, { time, aux }) });
  return { bytes: sink.bytes(), kept: aux.kept, of: aux.bytes };
}

const seconds = (ns: bigint) =>
  `${ns / 1_000_000_000n}.${String(ns % 1_000_000_000n).padStart(9, "0")}`;

/** The address at the end of a line. */
const address = (line: string) => line.slice(line.lastIndexOf(" ") + 1);

/** The lines with a time in a range. */
function within(lines: string, [from, to]: readonly [bigint, bigint]): string[] {
  return lines.split("\n").filter((line) => {
    const [, s, ns] = /\s(\d+)\.(\d{9}):?\s/.exec(line) ?? [];
    const time = s === undefined ? -1n : BigInt(`${s}${ns}`);
    return time >= from && time <= to;
  });
}

Deno.test(
  "slice: perf and pt find the instructions of a range of time in its slice",
  ignored(cannotStep() ?? (perfVersion() === undefined ? "no perf" : undefined)),
  async () => {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-edit-aux-" });
    try {
      const program = stepProgram(folder, {
        program: "processes",
        flags: ["-O1", "-static"],
        quantum: 300,
      });
      let [insns, ranges] = [0, 0];
      for (const variant of VARIANTS) {
        const encoded = encodeProgram(program, variant);
        const recording = steppedRecording(program, encoded, variant);
        const inPieces = (count: number) =>
          asFile({
            ...recording,
            items: [
              ...recording.items.slice(0, -1),
              ...auxItems(encoded.bytes, { cpu: 0, tid: -1, idx: 0 }, count),
            ],
          }, true);
        // perf 6.1 loses packets that span two pieces, so it gets one piece.
        const whole = await inPieces(1);
        const perf = async (bytes: Uint8Array) => {
          Deno.writeFileSync(`${folder}/perf.data`, bytes);
          const args = ["script", "--itrace=i0ns", "--ns", "-F", "tid,cpu,time,ip"];
          return (await perfText(args, `${folder}/perf.data`))?.stdout ?? "";
        };
        const all = await perf(whole);
        const steps = encoded.truthStep;
        const at = (share: number) =>
          timeOf(tscOf(steps[Math.floor(share * (steps.length - 1))] as number));
        for (const [from, to] of [[0.4, 0.6], [0.9, 1], [0.5, 0.501]] as const) {
          // perf's time estimates are less precise than such a short range.
          if (variant.cyc && to - from < 0.01) continue;
          const time = [at(from), at(to)] as const;
          const slice = await sliced(whole, time);
          assert(slice !== undefined && slice.kept < 0.5 * slice.of);
          const wanted = within(all, time);
          const found = await perf(slice.bytes);
          if (variant.cyc) {
            // Between two MTC packets perf estimates times by the CYC packets of the whole trace
            // before. Times near the ends of the range, or near a switch of threads, may differ
            // there.
            const tenth = (time[1] - time[0]) / 10n;
            const inner = within(all, [time[0] + tenth, time[1] - tenth]).map(address);
            const addresses = found.split("\n").map(address);
            let [next, missing] = [0, 0];
            for (const wanted of inner) {
              const at = addresses.indexOf(wanted, next);
              if (at < 0 || at > next + 5000) missing++;
              else next = at + 1;
            }
            assert(
              inner.length > 0.7 * (to - from) * steps.length && missing < inner.length / 100,
              `${missing} of ${inner.length} instructions missing from ${from} on`,
            );
          } else assertEquals(within(found, time), wanted);
          insns += wanted.length;
          ranges++;
          if (from !== 0.4 || variant.cyc) continue;
          const pt = async (name: string, bytes: Uint8Array) => {
            Deno.writeFileSync(`${folder}/${name}.data`, bytes);
            const args = [
              "--insns",
              "--time",
              time.map(seconds).join(","),
              `${folder}/${name}.data`,
            ];
            const { code, out, err } = await tool("pt", args);
            assertEquals([name, code], [name, 0]);
            // Without MTC and CYC packets, threads near a switch are uncertain.
            assertMatch(err, /^(?:pt: .* may be of another thread: .*\n)?$/);
            return out;
          };
          const listed = await pt("whole", whole);
          assert(listed.split("\n").length > 5_000);
          assertEquals(await pt("slice", slice.bytes), listed);
          const ofPieces = await sliced(await inPieces(9), time);
          assertEquals(await pt("pieces", ofPieces?.bytes ?? new Uint8Array()), listed);
        }
      }
      console.log(`${insns} instructions of ${ranges} ranges compared`);
      assert(insns > 30_000 && ranges === 8);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);

Deno.test(
  "merge: perf finds the instructions of a recording in its slices, merged in any order",
  ignored(cannotStep() ?? (perfVersion() === undefined ? "no perf" : undefined)),
  async () => {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-edit-aux-" });
    try {
      const perf = async (bytes: Uint8Array, fields = "tid,cpu,time,ip") => {
        Deno.writeFileSync(`${folder}/perf.data`, bytes);
        const args = ["script", "--itrace=i0ns", "--ns", "-F", fields];
        return (await perfText(args, `${folder}/perf.data`))?.stdout ?? "";
      };
      const merged = async (parts: readonly Uint8Array[]) => {
        const inputs = await Promise.all(parts.map(async (bytes, i) => ({
          name: `part ${i}`,
          reader: await PerfDataReader.open(bytesSource(bytes)),
        })));
        const sink = memorySink();
        const report = await mergeRecordings(inputs, new FileOutput(sink), { time: "keep" });
        return { bytes: sink.bytes(), report };
      };
      const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
      let insns = 0;
      for (const variant of VARIANTS) {
        const encoded = encodeProgram(program, variant);
        const recording = steppedRecording(program, encoded, variant);
        const items = (pieces: number) => [
          ...recording.items.slice(0, -1),
          ...auxItems(encoded.bytes, { cpu: 0, tid: -1, idx: 0 }, pieces),
        ];
        // Only once with several pieces: perf 6.1 loses packets that span two pieces.
        const pieces = variant === VARIANTS[0] ? 5 : 1;
        const whole = await asFile({ ...recording, items: items(pieces) }, true);
        const all = await perf(whole);
        const steps = encoded.truthStep;
        const at = (share: number) =>
          timeOf(tscOf(steps[Math.floor(share * (steps.length - 1))] as number));
        const parts = await Promise.all(
          [[0n, at(0.3)], [at(0.3) + 1n, at(0.62)], [at(0.62) + 1n, at(1) + 1_000_000n]].map((
            [from = 0n, to = 0n],
          ) => sliced(whole, [from, to])),
        );
        const [a, b, c] = parts.map((part) => part?.bytes ?? new Uint8Array());
        assert(a !== undefined && b !== undefined && c !== undefined);
        for (const order of [[a, b, c], [c, a, b]]) {
          const { bytes, report } = await merged(order);
          assertEquals(report.losses.filter((loss) => /AUX/.test(loss)), []);
          assertEquals(await perf(bytes), all);
          insns += all.split("\n").length;
        }
        // Another recording of the same CPU, which seems to be of another machine.
        const features = [
          ...recording.features ?? [],
          {
            id: HEADER_HOSTNAME,
            name: "HOSTNAME",
            value: "other",
          } as const,
        ];
        const other = await asFile({ ...recording, items: items(1), features }, true);
        const { bytes, report } = await merged([whole, other]);
        assertEquals(report.inputs.map(({ cpuOffset }) => cpuOffset), [0, 1]);
        if (pieces > 1) continue;
        const lines = (text: string, cpu: string) =>
          text.split("\n").filter((line) => line.includes(cpu))
            .map((line) => line.trim().replace(/^\d+ \[\d+\]/, ""));
        const both = await perf(bytes);
        assertEquals(lines(both, "[000]"), lines(all, "[000]"));
        assertEquals(lines(both, "[001]"), lines(all, "[000]"));
      }
      console.log(`${insns} instructions compared`);
      assert(insns > 100_000);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);

/** The AUX data by stream. */
async function streamsOf(bytes: Uint8Array): Promise<Map<string, Uint8Array>> {
  const reader = await PerfDataReader.open(bytesSource(bytes), { diagnostics: () => {} });
  const streams = new Map<string, Uint8Array>();
  for await (const { stream, bytes } of auxBlocks(reader, { raw: true, diagnostics: () => {} })) {
    const key = `${stream.cpu} ${stream.tid} ${stream.idx}`;
    streams.set(key, Uint8Array.from([...streams.get(key) ?? [], ...bytes]));
  }
  return streams;
}

Deno.test("slice: kept Intel PT data begins with a PSB and is a part of the whole", async () => {
  let compared = 0;
  for (const { path, row } of corpusFiles()) {
    if (!/PERFILE2/.test(row["kind"] ?? "") || !/intel_pt|hase/.test(path)) continue;
    const whole = Deno.readFileSync(path);
    const times: bigint[] = [];
    const reader = await PerfDataReader.open(bytesSource(whole), { diagnostics: () => {} });
    for await (const batch of reader.batches()) {
      for (let i = 0; i < batch.count; i++) {
        const at = batch.eventOf(i)?.layout.trailer.time ?? 0;
        if (at === 0 || batch.type(i) === 9) continue;
        const time = batch.view.getBigUint64(batch.start(i) + batch.size(i) + at, true);
        if (time > 0n) times.push(time);
      }
    }
    times.sort((a, b) => a < b ? -1 : 1);
    const [first, last] = [times[0], times.at(-1)];
    if (first === undefined || last === undefined || first === last) continue;
    const time = [first + (last - first) / 3n, first + (last - first) * 2n / 3n] as const;
    const slice = await sliced(whole, time);
    if (slice === undefined || slice.kept === 0) continue;
    const before = await streamsOf(whole);
    for (const [key, part] of await streamsOf(slice.bytes)) {
      const from = findPsb(part);
      assert(from >= 0 && from < 8, `${path} ${key}: PSB at ${from}`);
      const text = (bytes: Uint8Array) => new TextDecoder("latin1").decode(bytes);
      const body = text(part.subarray(from)).replace(/\0{1,7}$/, "");
      assert(text(before.get(key) ?? part.subarray(0, 0)).includes(body), `${path} ${key}`);
      compared++;
    }
    console.log(`${path}: ${slice.kept} of ${slice.of} bytes`);
  }
  if (corpusFiles().length > 0) assert(compared >= 1, `${compared} streams`);
});

Deno.test("merge: AUX data of a recording with ID_INDEX before AUXTRACE_INFO is kept", async () => {
  const fixtures = new URL("../../fixtures/", import.meta.url).pathname;
  const open = (bytes: Uint8Array) => PerfDataReader.open(bytesSource(bytes));
  const auxBytes = async (bytes: Uint8Array) => {
    let size = 0;
    for await (const block of auxBlocks(await open(bytes))) size += block.bytes.length;
    return size;
  };
  const other = Deno.readFileSync(`${fixtures}recorded/callchain.perf.data`);
  assertEquals(await hasAuxtrace(await open(other)), false);
  for (const name of ["pt-cpus", "pt-threads", "pt-cpus-pipe"]) {
    const bytes = Deno.readFileSync(`${fixtures}synthesized/${name}.perf.data`);
    assert(await hasAuxtrace(await open(bytes)), name);
    const sink = memorySink();
    const { losses } = await mergeRecordings([
      { name: "other", reader: await open(other) },
      { name, reader: await open(bytes) },
    ], new FileOutput(sink));
    assert(!losses.some((loss) => loss.includes("AUX")), losses.join());
    assertEquals(await auxBytes(sink.bytes()), await auxBytes(bytes), name);
    assert(await auxBytes(bytes) > 1000);
  }
});
