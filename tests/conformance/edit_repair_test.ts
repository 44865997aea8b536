/** Repaired headers, and damage found by other edits, read back by perf. */
import { copyRecording, FileOutput, PipeOutput, repairRecording } from "@perfdata/edit";
import { mergeRecordings } from "@perfdata/edit/slice";
import { bytesSource, memorySink, PerfDataError } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import {
  HEADER_EVENT_DESC,
  HEADER_PMU_MAPPINGS,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_SAMPLE,
} from "@perfdata/format/constants";
import { EventNames } from "@perfdata/session";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const fixtures = new URL("../../fixtures/", import.meta.url).pathname;

function open(bytes: Uint8Array): Promise<PerfDataReader> {
  return PerfDataReader.open(bytesSource(bytes), { diagnostics: () => {} });
}

/** Numbers of samples by event. */
async function samples(reader: PerfDataReader): Promise<number[]> {
  const counts: number[] = [];
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      if (batch.type(i) !== PERF_RECORD_SAMPLE) continue;
      const number = reader.events.all.findIndex((event) => event === batch.eventOf(i));
      counts[number] = (counts[number] ?? 0) + 1;
    }
  }
  return counts;
}

/** Number of samples in `perf report -D`; `undefined` if it refuses the recording. */
async function perfSamples(bytes: Uint8Array): Promise<number | undefined> {
  let found: number | undefined;
  await inFolder(async (folder) => {
    await Deno.writeFile(`${folder}/perf.data`, bytes);
    const { code = 1, stdout = "" } = await perfText(["report", "-D"], `${folder}/perf.data`) ?? {};
    if (code === 0) found = stdout.match(/: PERF_RECORD_SAMPLE\(/g)?.length ?? 0;
  });
  return found;
}

/** Tracepoint recordings that lost their formats. */
async function withoutFormats(): Promise<Map<string, Uint8Array>> {
  const lost = new Map<string, Uint8Array>();
  const file = Deno.readFileSync(`${fixtures}recorded/tracepoint.perf.data`);
  const { data, features } = await open(file);
  // perf writes the features last, so a killed perf writes none.
  const killed = file.slice(0, data.offset + data.size);
  killed.fill(0, 72, 104);
  lost.set("killed", killed);
  const section = features.find(({ id }) => id === 1)?.section;
  assert(section !== undefined);
  lost.set("zeros", file.slice().fill(0, Number(section.offset), Number(section.offset) + 64));
  const pipe = Deno.readFileSync(`${fixtures}recorded/pipe-tracepoint.perf.data`);
  for await (const { payload } of (await open(pipe)).batches()) {
    if (payload?.type !== PERF_RECORD_HEADER_TRACING_DATA) continue;
    lost.set("pipe", pipe.slice().fill(0, payload.offset, payload.offset + 64));
  }
  return lost;
}

Deno.test("repair: perf opens tracepoints without formats, and EVENT_DESC has their names", async () => {
  let repaired = 0;
  for (const [what, bytes] of await withoutFormats()) {
    const before = await open(bytes);
    const counts = await samples(before);
    for (const pipe of [false, true]) {
      const sink = memorySink();
      const output = pipe ? new PipeOutput(sink) : new FileOutput(sink);
      const { findings } = await repairRecording(bytesSource(bytes), output);
      assert(findings.some((line) => /^TRACING_DATA: .* become dummy events/.test(line)), what);
      const after = await open(sink.bytes());
      assertEquals(await samples(after), counts, what);
      const ids = before.events.all.map(({ attr }) => attr.type === 2 ? attr.config : undefined);
      assert(ids.some((id) => id !== undefined));
      const types = after.events.all.map(({ attr }) => [attr.type, attr.config]);
      const [dummy, as] = [[1, 9n], before.events.all.map((e) => [e.attr.type, e.attr.config])];
      assertEquals(types, ids.map((id, i) => id === undefined ? as[i] ?? [] : dummy));
      // If only the formats are missing, perf's names are kept.
      if (what === "killed" && !pipe) {
        const names = await new EventNames(after).all();
        const expected = ids.flatMap((id, i) => id === undefined ? [] : [[i, `tracepoint ${id}`]]);
        assertEquals(expected.map(([i]) => [i, names[Number(i)]]), expected);
      }
      repaired++;
      if (perfVersion() === undefined) continue;
      const all = counts.reduce((sum, count) => sum + (count ?? 0), 0);
      assertEquals([what, pipe, await perfSamples(sink.bytes())], [what, pipe, all]);
    }
    if (perfVersion() !== undefined && what === "killed") {
      assertEquals(await perfSamples(bytes), undefined, "perf refuses what was not repaired");
    }
  }
  assertEquals(repaired, 6);
});

Deno.test("repair: an attr whose size exceeds its section gets the section's size", async () => {
  let repaired = 0;
  for (const name of ["clock", "callchain", "two-events"]) {
    const bytes = Deno.readFileSync(`${fixtures}recorded/${name}.perf.data`);
    const { header, events } = await open(bytes);
    assert(header !== undefined);
    const damaged = bytes.slice();
    new DataView(damaged.buffer).setUint32(Number(header.attrs.offset) + 4, 0xffff_fff8, true);
    const sink = memorySink();
    const { findings, lost } = await repairRecording(bytesSource(damaged), new FileOutput(sink));
    assertEquals([findings.length, lost.length], [1, 0]);
    const after = await open(sink.bytes());
    assertEquals(after.events.all.map(({ attr }) => attr), events.all.map(({ attr }) => attr));
    repaired++;
    if (perfVersion() === undefined) continue;
    assertEquals(await perfSamples(sink.bytes()), await perfSamples(bytes), name);
  }
  assertEquals(repaired, 3);
});

/**
 * Ways to damage the description of samples, by the name of a recorded file, which may be a pipe.
 */
async function withoutAttrs(): Promise<[name: string, whole: Uint8Array, damaged: Uint8Array][]> {
  const cases: [string, Uint8Array, Uint8Array][] = [];
  for (const name of ["callchain", "two-events", "regs", "clock"]) {
    const bytes = Deno.readFileSync(`${fixtures}recorded/${name}.perf.data`);
    const { header } = await open(bytes);
    assert(header !== undefined);
    const [at, size] = [Number(header.attrs.offset), Number(header.attrs.size)];
    const damage = (change: (damaged: Uint8Array, view: DataView) => void) => {
      const damaged = bytes.slice();
      change(damaged, new DataView(damaged.buffer));
      cases.push([name, bytes, damaged]);
    };
    damage((damaged) => damaged.fill(0, at, at + size));
    damage((damaged) => damaged.fill(0xaa, 104, at + size));
    // perf_file_header.attrs is outside of the file; attr_size is invalid.
    damage((damaged) => damaged.fill(0xff, 24, 40));
    damage((damaged) => damaged.fill(0xff, 17, 35));
    // perf_event_attr.sample_type with an additional PERF_SAMPLE_ADDR.
    damage((_, view) => view.setUint32(at + 24, view.getUint32(at + 24, true) ^ 8, true));
  }
  const pipe = Deno.readFileSync(`${fixtures}recorded/pipe.perf.data`);
  assertEquals(new DataView(pipe.buffer).getUint32(16, true), 64, "begins with HEADER_ATTR");
  const [size, attr] = [pipe.slice(), pipe.slice()];
  size.fill(0, 20, 40);
  attr.fill(0xff, 24, 60);
  cases.push(["pipe", pipe, size], ["pipe", pipe, attr]);
  return cases;
}

Deno.test("repair: damaged attrs are restored from EVENT_DESC, and with them all samples", async () => {
  let repaired = 0;
  for (const [name, whole, damaged] of await withoutAttrs()) {
    const before = await open(whole);
    const counts = await samples(before);
    const sink = memorySink();
    const { findings } = await repairRecording(bytesSource(damaged), new FileOutput(sink));
    assert(findings.some((line) => line.startsWith("attrs: taken from EVENT_DESC")), name);
    const after = await open(sink.bytes());
    assertEquals(await samples(after), counts, name);
    const layouts = (reader: PerfDataReader) =>
      reader.events.all.map(({ attr, ids }) => [attr.type, attr.config, attr.sample_type, ids]);
    assertEquals(layouts(after), layouts(before), name);
    repaired++;
    if (perfVersion() === undefined) continue;
    const all = counts.reduce((sum, count) => sum + (count ?? 0), 0);
    assertEquals(await perfSamples(sink.bytes()), all, name);
  }
  assertEquals(repaired, 22);
});

Deno.test("repair: intact attrs are kept if EVENT_DESC is the damaged copy", async () => {
  const bytes = Deno.readFileSync(`${fixtures}recorded/callchain.perf.data`);
  const { features, events } = await open(bytes);
  const section = features.find(({ id }) => id === HEADER_EVENT_DESC)?.section;
  assert(section !== undefined);
  // After u32 nr and u32 attr_size, sample_type of the first attr with an additional
  // PERF_SAMPLE_ADDR.
  const at = Number(section.offset) + 8 + 24;
  bytes[at] = (bytes[at] as number) ^ 8;
  const sink = memorySink();
  const { findings, lost } = await repairRecording(bytesSource(bytes), new FileOutput(sink));
  assertEquals([findings, lost], [[], []]);
  const after = await open(sink.bytes());
  assertEquals(after.events.all.map(({ attr }) => attr), events.all.map(({ attr }) => attr));
});

Deno.test("repair: an undecodable feature is dropped, and perf does not end on it", async () => {
  const bytes = Deno.readFileSync(`${fixtures}recorded/clock.perf.data`);
  const { features } = await open(bytes);
  let repaired = 0;
  // Their first word is a count.
  for (const id of [HEADER_PMU_MAPPINGS, HEADER_EVENT_DESC]) {
    const section = features.find((feature) => feature.id === id)?.section;
    assert(section !== undefined);
    const damaged = bytes.slice();
    new DataView(damaged.buffer).setUint32(Number(section.offset), 0x7fff_ffff, true);
    const sink = memorySink();
    const { findings } = await repairRecording(bytesSource(damaged), new FileOutput(sink));
    assert(findings.length === 1 && findings[0]?.endsWith("it is left out"), findings.join("\n"));
    const left = (await open(sink.bytes())).features.map((feature) => feature.id);
    assertEquals(left, features.map((feature) => feature.id).filter((other) => other !== id));
    repaired++;
    if (perfVersion() === undefined) continue;
    assertEquals(await perfSamples(sink.bytes()), await perfSamples(bytes));
  }
  assertEquals(repaired, 2);
});

Deno.test("repair: a record whose damaged size covers others is shortened, and they are restored", async () => {
  const bytes = Deno.readFileSync(`${fixtures}recorded/all-cpus.perf.data`);
  const rows: [number, number, number][] = [];
  for await (const batch of (await open(bytes)).batches()) {
    for (let i = 0; i < batch.count; i++) {
      rows.push([batch.offsetOf(i), batch.size(i), batch.type(i)]);
    }
  }
  let repaired = 0;
  // MMAP2 and COMM end with a name of any length.
  for (const [row, [offset, size, type]] of rows.entries()) {
    if ((type !== 10 && type !== 3) || row + 8 >= rows.length) continue;
    const damaged = bytes.slice();
    const over = rows.slice(row + 1, row + 7).reduce((sum, [, size]) => sum + size, size);
    new DataView(damaged.buffer).setUint16(offset + 6, over, true);
    const sink = memorySink();
    const { lost, copied } = await repairRecording(bytesSource(damaged), new FileOutput(sink));
    assertEquals([copied.kept, lost.map(({ offset }) => offset)], [rows.length - 1, [offset]]);
    repaired++;
  }
  assert(repaired >= 10, `${repaired} repaired`);
});

Deno.test("slice: without conditions a damaged recording is copied unchanged and reported as damaged", () =>
  inFolder(async (folder) => {
    for (const name of ["clock", "pipe"]) {
      const bytes = Deno.readFileSync(`${fixtures}recorded/${name}.perf.data`);
      const cut = bytes.subarray(0, bytes.length >> 1);
      await Deno.writeFile(`${folder}/cut.data`, cut);
      const flags = name === "pipe" ? ["--pipe", "-f"] : ["-f"];
      const { code, err } = await tool("slice", [
        ...flags,
        "-o",
        `${folder}/slice.data`,
        `${folder}/cut.data`,
      ]);
      assertEquals([code, Deno.readFileSync(`${folder}/slice.data`)], [1, cut], err);
      assert(/^slice: .*cut\.data: 0x/m.test(err), err);
    }
  }));

Deno.test("convert: a header that is damaged is not copied", async () => {
  const bytes = Deno.readFileSync(`${fixtures}recorded/overwrite.perf.data`);
  let copied = 0;
  // Positions of the attr table, the data and the first word of features.
  for (const at of [24, 32, 40, 48, 72]) {
    for (const value of [1n, 8n, 0x46000000000108n, (1n << 64n) - 1n]) {
      const damaged = bytes.slice();
      new DataView(damaged.buffer).setBigUint64(at, value, true);
      const sink = memorySink();
      try {
        await copyRecording(await open(damaged), new FileOutput(sink), { lostFeature: () => {} });
      } catch (error) {
        assert(error instanceof PerfDataError, `${at}: ${error}`);
        continue;
      }
      const strict = await PerfDataReader.open(bytesSource(sink.bytes()));
      for await (const _ of strict.batches());
      copied++;
    }
  }
  assert(copied >= 10, `${copied} copies`);
});

Deno.test("slice: damage is reported once, however often the recording is read", () =>
  inFolder(async (folder) => {
    const bytes = Deno.readFileSync(`${fixtures}recorded/all-cpus.perf.data`);
    const { data } = await open(bytes);
    // Within the records, so that the features are intact.
    const damaged = bytes.slice();
    damaged.fill(0, data.offset + (data.size >> 1 & ~7), data.offset + data.size);
    await Deno.writeFile(`${folder}/damaged.data`, damaged);
    for (const condition of ["--comm=/./", "--time=0%-90%", "--dso=/./", "--symbol=/./"]) {
      const args = [condition, "-f", "-o", `${folder}/slice.data`, `${folder}/damaged.data`];
      const { code, err } = await tool("slice", args);
      assertEquals([code, err.match(/: 0x/g)?.length], [1, 1], `${condition}: ${err}`);
    }
  }));

Deno.test("merge: damage of an input is reported once, another byte order in one line", async () => {
  const bytes = Deno.readFileSync(`${fixtures}recorded/pipe.perf.data`);
  const errors: string[] = [];
  const reader = await PerfDataReader.open(bytesSource(bytes.subarray(0, bytes.length - 5)), {
    diagnostics: (error) => errors.push(error.message),
  });
  const whole = { name: "whole", reader: await open(bytes) };
  await mergeRecordings([whole, { name: "cut", reader }], new FileOutput(memorySink()));
  assertEquals(errors.length, 1, errors.join("\n"));
  const turned = Deno.readFileSync(`${fixtures}synthesized/records-be.perf.data`);
  await assertRejects(
    async () => {
      const inputs = [whole, { name: "turned", reader: await open(turned) }];
      await mergeRecordings(inputs, new FileOutput(memorySink()));
    },
    Error,
    "turned: its byte order is not that of whole",
  );
});

Deno.test("repair --json: the report is not written into a recording on standard output", async () => {
  const file = `${fixtures}recorded/callchain.perf.data`;
  const plain = await tool("repair", ["-o", "-", file]);
  const { code, stdout, err } = await tool("repair", ["--json", "-o", "-", file]);
  assertEquals(code, 0, err);
  assertEquals(stdout, plain.stdout);
  assertEquals(JSON.parse(err).lost, []);
});

Deno.test("repair: truncated AUX data does not count as bytes of the file", () =>
  inFolder(async (folder) => {
    // In the middle of the last AUXTRACE record's payload.
    const whole = Deno.readFileSync(`${fixtures}synthesized/pt-cpus.perf.data`);
    let size = -500;
    for await (const { payload } of (await open(whole)).batches()) {
      if (payload !== undefined) size = payload.offset + payload.size - 500;
    }
    await Deno.writeFile(`${folder}/cut.data`, whole.subarray(0, size));
    const words = ["-o", `${folder}/new.data`, `${folder}/cut.data`];
    const { code, out } = await tool("repair", words);
    assertEquals(code, 1);
    const last = out.trimEnd().split("\n").at(-1) ?? "";
    assertMatch(last, new RegExp(` records repaired; 0 of ${size} bytes lost \\(0\\.0%\\); 500 `));
  }));
