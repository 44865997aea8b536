import { assert, assertEquals, assertRejects } from "@std/assert";
import { type ByteSource, bytesSource, memorySink, PerfDataError } from "@perfdata/format/bytes";
import {
  emptyAttr,
  KERNEL_RECORDS,
  PerfDataWriter,
  PerfEvent,
  RecordCodec,
} from "@perfdata/format/records";
import { encodeFeature } from "@perfdata/format/features";
import { USER_RECORDS } from "@perfdata/user-records";
import fc from "fast-check";
import { type HexOptions, type HexRun } from "./hex_run.ts";
import { hexRuns } from "./hex_runs.ts";
import { hexText } from "../mod.ts";
import { type HexTextOptions } from "./hex_text.ts";
import { recordings } from "../testing.ts";

/** All runs, with copied bytes, since a run's bytes are valid only until the next run. */
async function runsOf(source: ByteSource, options: HexOptions = {}): Promise<HexRun[]> {
  const runs: HexRun[] = [];
  for await (const run of hexRuns(source, options)) {
    runs.push({ ...run, bytes: run.bytes?.slice() });
  }
  return runs;
}

async function linesOf(source: ByteSource, options: HexTextOptions = {}): Promise<string[]> {
  return (await Array.fromAsync(hexText(source, options))).join("").split("\n").slice(0, -1);
}

/** Checks that runs contain each byte of the file once, in order. */
class Cover {
  #at = 0;
  readonly #file: Uint8Array;
  readonly #what: string;

  constructor(file: Uint8Array, what: string) {
    this.#file = file;
    this.#what = what;
  }

  take(run: HexRun): void {
    const { offset, size, bytes, owner, field, inflated } = run;
    if (inflated || size === 0) return;
    const fail = (reason: string) => {
      throw new Error(`${this.#what}: ${owner} ${field} at ${offset}: ${reason}`);
    };
    if (offset !== this.#at) fail(`expected at ${this.#at}`);
    if (bytes === undefined || bytes.length !== size) return fail("bytes of another length");
    for (let i = 0; i < size; i++) if (bytes[i] !== this.#file[offset + i]) fail("other bytes");
    if (owner === "") fail("no name");
    this.#at += size;
  }

  end(): void {
    assertEquals(this.#at, this.#file.length, this.#what);
  }

  /** The run with the byte before `to` was the last one. */
  endsAfter(to: number): void {
    assert(this.#at >= to && this.#at <= this.#file.length, `${this.#what}: ends at ${this.#at}`);
  }
}

/** Checks a list of runs with {@link Cover}. */
function assertCovers(runs: readonly HexRun[], file: Uint8Array, what: string): void {
  const cover = new Cover(file, what);
  for (const run of runs) cover.take(run);
  cover.end();
}

/** A pipe stream of these bytes, which can only be read forward. */
function streamOf(bytes: Uint8Array): ByteSource {
  let at = 0;
  return {
    read(into) {
      const part = bytes.subarray(at, at + Math.min(into.length, 1000));
      into.set(part);
      at += part.length;
      return part.length;
    },
  };
}

const ATTR = { ...emptyAttr(), type: 1, size: 128, sample_type: 0x7n };

async function smallFile(littleEndian = true): Promise<Uint8Array> {
  const sink = memorySink();
  const event = new PerfEvent(ATTR, []);
  const writer = await PerfDataWriter.file(sink, { littleEndian, events: [{ attr: ATTR }] });
  const codec = new RecordCodec(KERNEL_RECORDS);
  const body = { ip: 0x401000n, pid: 7, tid: 8, time: 9n };
  const sample = { type: 9, name: "SAMPLE", misc: 2, body } as const;
  await writer.write(codec.encode(sample, { littleEndian, event }));
  await writer.write(codec.encode(sample, { littleEndian, event }));
  const arch = encodeFeature({ id: 6, name: "ARCH", value: "x86_64" }, { littleEndian });
  await writer.close([{ id: 6, bytes: arch }]);
  return sink.bytes();
}

Deno.test("hexRuns: every byte of every file, of large ones the first ones, is in exactly one run", async () => {
  let checked = 0;
  let unnamed = 0;
  for (const path of await recordings()) {
    const file = await Deno.readFile(path);
    const cover = new Cover(file, path);
    // More of the same records follow in large files.
    const to = file.length < 1e6 ? file.length : 1 << 18;
    for await (const run of hexRuns(bytesSource(file), { inflate: true, to })) {
      cover.take(run);
      if (run.field.endsWith(".between")) unnamed += run.size;
    }
    if (to === file.length) cover.end();
    else cover.endsAfter(to);
    checked++;
  }
  console.log(`${checked} files`);
  assert(checked > 0);
  assertEquals(unnamed, 0);
});

Deno.test("hexRuns: Intel PT data is split into packets, with CPU or thread and offset", async () => {
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { events: [{ attr: emptyAttr() }] });
  const codec = new RecordCodec(USER_RECORDS);
  await writer.write(codec.encode({
    type: 70,
    name: "AUXTRACE_INFO",
    misc: 0,
    body: { type: 1, priv: [] },
  }));
  // MTC; OVF; three PADs; a short TNT of two taken branches; an invalid opcode.
  const payload = Uint8Array.of(0x59, 0x2a, 0x02, 0xf3, 0, 0, 0, 0x0e, 0x02, 0x01);
  const auxtrace = { size: 10n, offset: 0x40n, reference: 0n, idx: 0, tid: 7, cpu: 3 };
  for (const cpu of [3, -1]) {
    await writer.write(codec.encode({
      type: 71,
      name: "AUXTRACE",
      misc: 0,
      body: { ...auxtrace, cpu },
    }));
    await writer.write(payload);
  }
  await writer.close();
  const runs = await runsOf(bytesSource(sink.bytes()), { section: "aux" });
  const expected = [
    ["0x0", "MTC", "0x2a"],
    ["0x2", "OVF", undefined],
    ["0x4", "PAD", "× 3"],
    ["0x7", "TNT.8", "TT (2)"],
    ["0x8", "BAD.OPCODE", undefined],
    ["0x9", "SKIPPED", undefined],
  ];
  assertEquals(
    runs.map(({ owner, field, type, value }) => [owner, field, type, value]),
    ["data[1] AUXTRACE cpu 3", "data[2] AUXTRACE tid 7"].flatMap((owner) =>
      expected.map(([at, type, value]) => [owner, `.payload[${at}]`, type, value])
    ),
  );
  const first = runs[0] as HexRun;
  const [line] = await linesOf(bytesSource(sink.bytes()), { at: first.offset + 3, context: 0 });
  assertEquals(line?.endsWith("data[1] AUXTRACE cpu 3 .payload[0x2] OVF"), true, line);
});

Deno.test("hexRuns: a pipe stream is covered like the file", async () => {
  for (const name of ["pipe", "pipe-tracepoint", "pipe-zstd"]) {
    const file = await Deno.readFile(`fixtures/recorded/${name}.perf.data`);
    assertCovers(await runsOf(streamOf(file)), file, name);
  }
  const file = await smallFile();
  assertCovers(await runsOf(streamOf(file)), file, "file through a pipe");
});

Deno.test("hexRuns: damaged and truncated files are covered", async () => {
  const whole = await Deno.readFile("fixtures/recorded/tracepoint.perf.data");
  const small = await smallFile();
  const change = fc.tuple(fc.nat(2000), fc.integer({ min: 0, max: 255 }));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(whole, small),
      fc.array(change, { maxLength: 6 }),
      fc.option(fc.nat(3000)),
      async (original, changes, length) => {
        const file = original.slice(0, length ?? undefined);
        for (const [at, byte] of changes) if (at < file.length) file[at] = byte;
        assertCovers(await runsOf(bytesSource(file)), file, "changed");
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("hexRuns: fields have name, type and value in both byte orders", async () => {
  for (const littleEndian of [true, false]) {
    const runs = await runsOf(bytesSource(await smallFile(littleEndian)));
    const fields = runs.filter(({ owner }) => owner === "data[1] SAMPLE")
      .map(({ field, type, value }) => `${field} ${type} = ${value}`);
    assertEquals(fields, [
      ".header.type u32 = 9",
      ".header.misc u16 = 0x2",
      ".header.size u16 = 32",
      ".ip u64 = 0x401000",
      ".pid s32 = 7",
      ".tid s32 = 8",
      ".time u64 = 9",
    ]);
    const arch = runs.filter(({ owner }) => owner === "feature ARCH")
      .map(({ field, type, value }) => `${field} ${type} = ${value}`);
    assertEquals(arch, [
      ".value.len u32 = 64",
      '.value char[6] = "x86_64"',
      ".value.padding u8[58] = undefined",
    ]);
  }
});

Deno.test("hexRuns: options select records and sections", async () => {
  const source = bytesSource(await smallFile());
  const owners = async (options: HexOptions) => [
    ...new Set((await runsOf(source, options)).map(({ owner }) => owner)),
  ];
  assertEquals(await owners({ section: "attrs" }), ["attrs[0]"]);
  assertEquals(await owners({ section: "features" }), ["feature_table[0] ARCH", "feature ARCH"]);
  assertEquals(await owners({ record: 1 }), ["data[1] SAMPLE"]);
  assertEquals(await owners({ types: new Set(["SAMPLE"]) }), ["data[0] SAMPLE", "data[1] SAMPLE"]);
  assertEquals(await owners({ types: new Set(["MMAP"]) }), []);
  assertEquals(await owners({ from: 0, to: 8 }), ["header"]);
});

Deno.test("hexRuns: damage is reported at its offset", async () => {
  const problems = async (change: (file: Uint8Array, view: DataView) => Uint8Array | void) => {
    const file = await smallFile();
    const changed = change(file, new DataView(file.buffer)) ?? file;
    const runs = await runsOf(bytesSource(changed));
    assertCovers(runs, changed, "damaged");
    return runs.filter((run) => run.problems.length > 0)
      .map(({ offset, owner, field, problems }) => `${offset} ${owner} ${field}: ${problems}`);
  };
  assertEquals(await problems(() => {}), []);
  // The second record begins at 280.
  assertEquals(await problems((_, view) => view.setUint16(286, 4, true)), [
    "280 data .not_a_record: record header: size is 4, expected at least 8; " +
    "the rest of the data, 32 bytes, is skipped",
  ]);
  // Its time is missing, and a record of size 0 follows.
  assertEquals(await problems((_, view) => view.setUint16(286, 24, true)), [
    "304 data[1] SAMPLE .undecoded: SAMPLE: u64: 0 bytes left, expected 8",
    "304 data .not_a_record: record header: size is 0, expected at least 8; " +
    "the rest of the data, 8 bytes, is skipped",
  ]);
  assertEquals(await problems((_, view) => view.setBigUint64(312, 0x10000n, true)), [
    "312 feature_table[0] ARCH .offset: feature ARCH: 68 bytes at 0x10000: " +
    "ends beyond the file's 396 bytes," +
    "feature table: 1 of 1 features end beyond the file's 396 bytes: ARCH",
  ]);
  assertEquals(await problems((_, view) => view.setBigUint64(32, 145n, true)), [
    "32 header .attrs.size: attrs: 145 bytes, expected a multiple of attr_size, 144",
    "40 header .data.offset: data: 64 bytes at 0xf8: begins inside of the section before it",
  ]);
});

Deno.test("hexRuns: a file that is not perf.data is one run with the reason", async () => {
  const file = new TextEncoder().encode("not a perf.data file at all");
  const runs = await runsOf(bytesSource(file));
  assertCovers(runs, file, "text");
  assertEquals(runs[0]?.problems.length, 1);
});

Deno.test("hexRuns: with `inflate`, records in COMPRESSED records follow them", async () => {
  const file = await Deno.readFile("fixtures/recorded/zstd.perf.data");
  const runs = await runsOf(bytesSource(file), { inflate: true });
  const first = runs.findIndex(({ inflated }) => inflated);
  assert(runs[first - 1]?.owner.endsWith("COMPRESSED"));
  assertEquals(runs[first]?.offset, 0);
  assert(runs.some(({ inflated, owner }) => inflated && owner.endsWith("SAMPLE")));
});

Deno.test("hexText: `at` selects the line with the byte, and its context", async () => {
  const source = bytesSource(await smallFile());
  assertEquals(await linesOf(source, { at: 0x10f, context: 1 }), [
    "  00000108  07 00 00 00                                      |....|                " +
    "data[0] SAMPLE .pid s32 = 7",
    "> 0000010c  08 00 00 00                                      |....|                " +
    "data[0] SAMPLE .tid s32 = 8",
    "  00000110  09 00 00 00 00 00 00 00                          |........|            " +
    "data[0] SAMPLE .time u64 = 9",
  ]);
  await assertRejects(
    () => linesOf(source, { at: 0x10000 }),
    PerfDataError,
    "no such byte",
  );
});

Deno.test("hexText: colors need `color`, and repeated lines are folded", async () => {
  const sink = memorySink();
  const writer = await PerfDataWriter.pipe(sink);
  const record = new Uint8Array(8 + 64);
  record.set([99, 0, 0, 0, 0, 0, 72]);
  await writer.write(record);
  const plain = await linesOf(bytesSource(sink.bytes()));
  assert(plain.every((line) => !line.includes("\x1b")));
  const folded = plain.map((line) => line.slice(0, 9).trim()).slice(-4);
  assertEquals(folded, ["00000016", "00000018", "*", "00000048"]);
  const colored = await linesOf(bytesSource(sink.bytes()), { color: true });
  // deno-lint-ignore no-control-regex
  assertEquals(colored.map((line) => line.replace(/\x1b\[\d+m/g, "").trimEnd()), plain);
});
