import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { zstdCompressSync } from "node:zlib";
import { emptyAttr, perfEventAttr } from "../header/attr.ts";
import type { PerfDataError } from "../error.ts";
import { PerfDataReader } from "./reader.ts";
import { RecordCodec } from "../records/record_codec.ts";
import { KERNEL_RECORDS } from "../records/mod.ts";
import { memorySink } from "../sources/sink.ts";
import { blobSource, type ByteSource, bytesSource, streamSource } from "../sources/source.ts";
import { encode, headerString } from "../struct/mod.ts";
import { PerfDataWriter } from "../writing/writer.ts";

const codec = new RecordCodec(KERNEL_RECORDS);

const header = (type: number, size: number, littleEndian = true) => {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, type, littleEndian);
  view.setUint16(6, size, littleEndian);
  return bytes;
};

const comm = (name: string, littleEndian = true) =>
  codec.encode(
    { type: 3, name: "COMM", misc: 0, body: { pid: 1, tid: 1, comm: name } },
    { littleEndian },
  );

/** An AUXTRACE record (48 bytes) with its payload. */
function auxtrace(payload: Uint8Array, littleEndian = true): Uint8Array {
  const bytes = new Uint8Array(48 + payload.length);
  bytes.set(header(71, 48, littleEndian));
  new DataView(bytes.buffer).setBigUint64(8, BigInt(payload.length), littleEndian);
  bytes.set(payload, 48);
  return bytes;
}

async function fileOf(parts: Uint8Array[], options: { littleEndian?: boolean } = {}) {
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, {
    ...options,
    events: [{ attr: emptyAttr(), ids: [1n, 2n] }, { attr: emptyAttr(), ids: [3n] }],
  });
  for (const part of parts) await writer.write(part);
  await writer.close([{ id: 6, bytes: encode(headerString, "riscv64", options) }]);
  return sink.bytes();
}

async function pipeOf(parts: Uint8Array[]) {
  const sink = memorySink();
  const writer = await PerfDataWriter.pipe(sink);
  for (const part of parts) await writer.write(part);
  return sink.bytes();
}

/** A stream that returns pieces of the given sizes, in rotation. */
function pieces(bytes: Uint8Array, sizes: readonly number[]): ByteSource {
  let at = 0;
  let turn = 0;
  return streamSource(
    new ReadableStream<Uint8Array>({
      pull(controller) {
        const size = Math.max(1, sizes[turn++ % sizes.length] ?? 1);
        if (at >= bytes.length) return controller.close();
        controller.enqueue(bytes.slice(at, at + size));
        at += size;
      },
    }),
  );
}

interface Pass {
  names: string[];
  offsets: number[];
  payloads: string[];
  problems: string[];
  reader: PerfDataReader;
}

async function pass(source: ByteSource): Promise<Pass> {
  const problems: string[] = [];
  const diagnostics = (error: PerfDataError) => problems.push(error.located());
  const reader = await PerfDataReader.open(source, { diagnostics });
  const names: string[] = [];
  const offsets: number[] = [];
  const payloads: string[] = [];
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      const record = codec.decode(batch.recordBytes(i), batch.context(i));
      names.push(record.name === "COMM" ? record.body.comm : `${record.type}`);
      offsets.push(batch.offsetOf(i));
    }
    if (batch.payload !== undefined) {
      let text = "";
      const into = new Uint8Array(7);
      for (let n; (n = await batch.payload.read(into)) > 0;) {
        text += new TextDecoder().decode(into.subarray(0, n));
      }
      payloads.push(text);
    }
  }
  return { names, offsets, payloads, problems, reader };
}

const text = new TextEncoder();
const PARTS = [
  comm("one"),
  auxtrace(text.encode("payload of the first")),
  comm("two"),
  header(68, 8),
  auxtrace(new Uint8Array(0)),
  comm("three"),
];
const NAMES = ["one", "71", "two", "68", "71", "three"];
const PAYLOADS = ["payload of the first"];

for (const [kind, make] of [["file", fileOf], ["pipe", pipeOf]] as const) {
  Deno.test(`reader: a ${kind}, in pieces of any size`, async () => {
    const bytes = await make(PARTS);
    const whole = await pass(bytesSource(bytes));
    assertEquals([whole.names, whole.payloads, whole.problems], [NAMES, PAYLOADS, []]);
    for (const sizes of [[1], [7], [64, 3], [1 << 20]]) {
      const split = await pass(pieces(bytes, sizes));
      assertEquals([split.names, split.payloads, split.problems], [NAMES, PAYLOADS, []]);
      assertEquals(split.offsets, whole.offsets);
      if (kind === "file") assertEquals(split.reader.arch, "riscv64");
    }
    const blob = await pass(blobSource(new Blob([bytes])));
    assertEquals([blob.names, blob.offsets], [whole.names, whole.offsets]);
  });
}

Deno.test("reader: an unread payload is skipped and counted", async () => {
  for (const source of [bytesSource, (bytes: Uint8Array) => pieces(bytes, [5])]) {
    const reader = await PerfDataReader.open(source(await pipeOf(PARTS)));
    let records = 0;
    for await (const batch of reader.batches()) records += batch.count;
    assertEquals([records, reader.stats.payloadBytes], [6, 20]);
    assertEquals(reader.stats.recordBytes, 3 * 24 + 2 * 48 + 8);
  }
});

Deno.test("reader: a file larger than the buffer is read completely", async () => {
  const many = Array.from({ length: 60_000 }, (_, i) => comm(`thread ${i}`));
  const { names, problems } = await pass(bytesSource(await fileOf(many)));
  assertEquals(names.length, 60_000);
  assertEquals(names.every((name, i) => name === `thread ${i}`), true);
  assertEquals(problems, []);
});

Deno.test("reader: a big-endian file is read", async () => {
  const parts = [comm("one", false), auxtrace(text.encode("data"), false), comm("two", false)];
  const { names, payloads, reader } = await pass(
    bytesSource(await fileOf(parts, { littleEndian: false })),
  );
  assertEquals([names, payloads], [["one", "71", "two"], ["data"]]);
  assertEquals(reader.arch, "riscv64");
  assertEquals(reader.events.all.map(({ ids }) => ids), [[1n, 2n], [3n]]);
});

Deno.test("reader: each byte of a file is in one region", async () => {
  const bytes = await fileOf(PARTS);
  const { layout } = await PerfDataReader.open(bytesSource(bytes));
  assertEquals(layout.conflicts, []);
  assertEquals(layout.regions.map(({ kind }) => kind), [
    "header",
    "ids",
    "ids",
    "attrs",
    "data",
    "feature_table",
    "feature",
  ]);
  let end = 0;
  for (const { offset, size } of layout.regions) {
    assertEquals(offset, end);
    end += size;
  }
  assertEquals(end, bytes.length);
});

Deno.test("reader: a killed recording is read to the end of the file", async () => {
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { events: [{ attr: emptyAttr() }] });
  for (const part of PARTS) await writer.write(part);
  const bytes = sink.bytes(); // never closed
  bytes[72] = 0xff; // perf announces its features at the start
  const { names, problems } = await pass(bytesSource(bytes));
  assertEquals(names, NAMES);
  assertEquals(problems, [
    "0x30: file header: data size is 0, the recording was not finished; " +
    "reading to the end of the file",
  ]);
  await assertRejects(() => PerfDataReader.open(bytesSource(bytes)), "data size is 0");
});

Deno.test("reader: a finished file without records is read without a problem", async () => {
  const { names, problems } = await pass(bytesSource(await fileOf([])));
  assertEquals([names, problems], [[], []]);
});

Deno.test("reader: a file cut anywhere gives its whole records and reports the rest", async () => {
  const bytes = await pipeOf(PARTS);
  const whole = await pass(bytesSource(bytes));
  for (let size = 16; size < bytes.length; size++) {
    const cut = await pass(bytesSource(bytes.subarray(0, size)));
    assertEquals(cut.names, whole.names.slice(0, cut.names.length));
    const { recordBytes, payloadBytes, skippedBytes } = cut.reader.stats;
    assertEquals(16 + recordBytes + payloadBytes + skippedBytes, size);
    // A pipe stream cut between two records looks complete; any other cut is reported.
    const boundary = whole.offsets.includes(size);
    assertEquals(cut.problems.length, boundary ? 0 : 1, `cut at ${size}: ${cut.problems}`);
  }
});

Deno.test("reader: a record shorter than its header ends the data", async () => {
  const bytes = await pipeOf([comm("one"), header(3, 4), comm("two")]);
  const { names, problems, reader } = await pass(bytesSource(bytes));
  assertEquals(names, ["one"]);
  assertEquals(problems, [
    "0x28: record header: size is 4, expected at least 8; the rest of the data, 32 bytes, is skipped",
  ]);
  assertEquals(reader.stats.skippedBytes, 32);
  const strict = await PerfDataReader.open(bytesSource(bytes));
  await assertRejects(
    async () => {
      for await (const _ of strict.batches());
    },
    "size is 4",
  );
});

Deno.test("reader: an ids section beyond the file is reported, the rest is read", async () => {
  const bytes = await fileOf(PARTS);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(104 + 24 + 144, 1n << 40n, true); // offset of the ids of the first attr
  const { names, problems, reader } = await pass(bytesSource(bytes));
  assertEquals(names, NAMES);
  assertEquals(problems, [
    `0x10000000000: event ids: 16 bytes at 0x10000000000 end beyond the file's ${bytes.length} bytes`,
  ]);
  assertEquals(reader.events.all.map(({ ids }) => ids.length), [0, 1]);
  assertEquals(reader.layout.conflicts.length, 1);
});

/** The contents of COMPRESSED records as perf writes them: one zstd stream, cut anywhere. */
function compressed(bytes: Uint8Array, cut: number): Uint8Array[] {
  const stream = new Uint8Array(zstdCompressSync(bytes));
  return [stream.subarray(0, cut), stream.subarray(cut)].map((piece) => {
    const record = new Uint8Array(8 + piece.length);
    record.set(header(81, record.length));
    record.set(piece, 8);
    return record;
  });
}

Deno.test("reader: COMPRESSED records are inflated; the inflated records have their offsets", async () => {
  const inner = new Uint8Array(await new Blob([comm("one"), comm("two")]).arrayBuffer());
  for (const cut of [1, 10, 20]) {
    const bytes = await pipeOf([...compressed(inner, cut), comm("three")]);
    const { names, offsets, problems } = await pass(bytesSource(bytes));
    assertEquals(names, ["81", "81", "one", "two", "three"]);
    assertEquals(offsets[2], offsets[1]);
    assertEquals(problems, []);
  }
});

/**
 * Output of one run of perf's compressor, as perf 6.16 and later write it: records of at most 65,535 bytes. The
 * first one's `data_size` counts all bytes, and its 16-bit size wraps.
 */
function turnOfCompressor(stream: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < stream.length; at += 65_519) {
    const data = stream.subarray(at, at + 65_519);
    parts.push(header(83, 16 + data.length), new Uint8Array(8), data);
  }
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  const view = new DataView(bytes.buffer);
  view.setUint16(6, Math.ceil(bytes.length / 8) * 8 & 0xffff, true);
  view.setBigUint64(8, BigInt(bytes.length - 16), true);
  return bytes;
}

Deno.test("reader: a COMPRESSED2 with a wrapped size is read to the end of its data_size", async () => {
  // The stream has `total` bytes: raw blocks (RFC 8878, 3.1.1) with records.
  const names = Array.from({ length: 8000 }, (_, i) => `task ${i}`);
  const inner = new Uint8Array(await new Blob(names.map((name) => comm(name))).arrayBuffer());
  for (const total of [65_513, 65_519, 65_520, 80_000, 131_064, 131_072, 200_003]) {
    const stream = new Uint8Array(total);
    stream.set([0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3]);
    let [at, taken] = [6, 0];
    while (at < total) {
      const left = total - at - 3;
      const length = left > 50_000 ? 40_000 : left;
      stream.set([length << 3 & 255, length >> 5 & 255, length >> 13], at);
      stream.set(inner.subarray(taken, taken + length), at + 3);
      at += 3 + length;
      taken += length;
    }
    const carrier = turnOfCompressor(stream);
    for (const source of [bytesSource, (bytes: Uint8Array) => pieces(bytes, [100, 7000])]) {
      const { names: read, problems, reader } = await pass(
        source(await pipeOf([comm("first"), carrier, comm("last")])),
      );
      const left = problems.filter((problem) => !problem.includes("expected a whole record"));
      assertEquals(left, [], `${total}`);
      assertEquals([read[0], read[1], read.at(-1)], ["first", "83", "last"]);
      assertEquals(reader.stats.inflatedBytes, taken, `${total}`);
      assertEquals(read.slice(2, 102), names.slice(0, 100));
    }
  }
});

Deno.test("reader: damaged compressed data is reported once, later records are read", async () => {
  const bad = new Uint8Array(40).fill(0xee);
  bad.set(header(81, 40));
  const { names, problems } = await pass(bytesSource(await pipeOf([bad, comm("two")])));
  assertEquals(names, ["81", "two"]);
  assertEquals(problems.length, 1);
  assert(problems[0]?.startsWith("0x10: COMPRESSED: zstd: "), problems[0]);
});

Deno.test("reader: a file with flipped bits gives records or a PerfDataError", async () => {
  const good = await fileOf([...PARTS, ...compressed(comm("inner"), 9)]);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      async (flips, stream) => {
        const bytes = good.slice();
        for (const [at, value] of flips) bytes[at] = value;
        const problems: PerfDataError[] = [];
        try {
          const source = stream ? pieces(bytes, [100]) : bytesSource(bytes);
          const reader = await PerfDataReader.open(source, {
            diagnostics: (error) => problems.push(error),
          });
          for await (const batch of reader.batches()) {
            for (let i = 0; i < batch.count; i++) {
              codec.decode(batch.recordBytes(i), batch.context(i));
            }
          }
        } catch (error) {
          assertEquals((error as Error).name, "PerfDataError", (error as Error).stack);
        }
        assert(problems.length < 20);
      },
    ),
    { numRuns: 1500 },
  );
});

Deno.test("reader: a stream shorter than its header's data size is reported, also if cut between records", async () => {
  const bytes = await fileOf(PARTS);
  const { data } = await PerfDataReader.open(bytesSource(bytes));
  const end = data.offset + data.size;
  let boundaries = 0;
  for (let cut = data.offset; cut < end; cut++) {
    const { names, problems, reader } = await pass(pieces(bytes.slice(0, cut), [1 << 20]));
    const whole = cut === data.offset || reader.stats.recordBytes + reader.stats.payloadBytes ===
        cut - data.offset;
    if (whole) boundaries++;
    assert(
      problems.some((problem) => problem.endsWith(`${end - cut} bytes are missing`)),
      `cut to ${cut}: ${problems}`,
    );
    assert(reader.stats.skippedBytes >= end - cut);
    assert(names.length < NAMES.length || problems.length > 1);
  }
  assert(boundaries >= NAMES.length, `${boundaries} cuts between records`);
});

Deno.test("reader: a file that shrinks while it is read is reported", async () => {
  const many = Array.from({ length: 40_000 }, (_, i) => comm(`task ${i}`));
  const bytes = await fileOf(many);
  const source = bytesSource(bytes);
  let reads = 0;
  const { names, problems } = await pass({
    size: source.size,
    readAt: (into, position) => {
      const left = (reads++ < 8 ? bytes.length : bytes.length >> 1) - position;
      return left <= 0 ? 0 : source.readAt(into.subarray(0, left), position);
    },
  });
  assert(names.length < many.length);
  assert(problems.some((problem) => problem.endsWith("bytes are missing")), `${problems}`);
});

Deno.test("reader: a stream is not read beyond its last feature", async () => {
  const bytes = await fileOf(PARTS);
  let at = 0;
  const source: ByteSource = {
    read(into) {
      const part = bytes.subarray(at, at + into.length);
      into.set(part);
      at += part.length > 0 ? part.length : into.length;
      return part.length > 0 ? part.length : into.length;
    },
  };
  const { names, problems, reader } = await pass(source);
  assertEquals([names, problems, reader.arch], [NAMES, [], "riscv64"]);
  assert(at < bytes.length + (1 << 17), `${at - bytes.length} bytes beyond the end were read`);
});

Deno.test("reader: an ids section shared by all events is read once", async () => {
  const attrs = 2000;
  const ids = Array.from({ length: 20_000 }, (_, i) => BigInt(i));
  const sink = memorySink();
  const events = Array.from({ length: attrs }, (_, i) => ({
    attr: { ...emptyAttr(), config: BigInt(i) },
    ids: i === 0 ? ids : [],
  }));
  const writer = await PerfDataWriter.file(sink, { events });
  await writer.close();
  const bytes = sink.bytes();
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const table = Number(view.getBigUint64(24, true));
  const size = Number(view.getBigUint64(16, true));
  for (let i = 0; i < attrs; i++) {
    view.setBigUint64(table + i * size + size - 16, 104n, true);
    view.setBigUint64(table + i * size + size - 8, BigInt(8 * ids.length), true);
  }
  const { problems, reader } = await pass(bytesSource(bytes));
  assertEquals(reader.events.all.length, attrs);
  const kept = reader.events.all.reduce((sum, event) => sum + event.ids.length, 0);
  assert(kept * 8 <= bytes.length, `${kept} ids of a file of ${bytes.length} bytes`);
  assert(problems.length > 1900);
});

Deno.test("reader: a second pass over a pipe stream in a file finds the same events", async () => {
  const attr = encode(perfEventAttr(), { ...emptyAttr(), config: 7n });
  const record = new Uint8Array(8 + attr.length + 8);
  record.set(header(64, record.length));
  record.set(attr, 8);
  record[8 + attr.length] = 5;
  const reader = await PerfDataReader.open(bytesSource(await pipeOf([record, ...PARTS])));
  for (let turn = 0; turn < 3; turn++) {
    for await (const _ of reader.batches());
    assertEquals(reader.events.all.map(({ attr, ids }) => [attr.config, ids]), [[7n, [5n]]]);
  }
});

Deno.test("EventTable: events are iterable and found by number", async () => {
  const sink = memorySink();
  const events = [1n, 2n, 3n].map((config) => ({ attr: { ...emptyAttr(), config } }));
  const writer = await PerfDataWriter.file(sink, { events });
  await writer.close();
  const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
  assertEquals([...reader.events].map(({ attr }) => attr.config), [1n, 2n, 3n]);
  assertEquals([reader.events.length, reader.events.at(2)?.attr.config], [3, 3n]);
  assertEquals(reader.events.at(3), undefined);
});
