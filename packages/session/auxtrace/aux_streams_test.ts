import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { bytesSource, memorySink, PerfDataError, streamSource } from "@perfdata/format/bytes";
import {
  emptyAttr,
  KERNEL_RECORDS,
  PerfDataReader,
  PerfDataWriter,
  PerfEvent,
  RecordCodec,
} from "@perfdata/format/records";
import { USER_RECORDS } from "@perfdata/user-records";
import { copyAuxStream, copyAuxWhileReading } from "./aux_copy.ts";
import { stitchAuxTrace } from "./aux_stitch.ts";
import { readAuxTrace } from "./aux_streams.ts";
import { auxFlagNames, type AuxPiece, auxStreamBytes } from "./aux_trace.ts";

const codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
const empty = emptyAttr();
/** TID, TIME, CPU in samples and trailers. */
const attr = {
  ...empty,
  type: 8,
  config: 0x402n,
  sample_type: 0x86n,
  flags: { ...empty.flags, sample_id_all: true },
};
const event = new PerfEvent(attr, [1n]);

interface Place {
  readonly cpu: number;
  readonly tid: number;
  readonly idx?: number;
}

function auxtrace({ cpu, tid, idx = 0 }: Place, offset: bigint, data: Uint8Array): Uint8Array[] {
  return [
    codec.encode({
      type: 71,
      name: "AUXTRACE",
      misc: 0,
      body: { size: BigInt(data.length), offset, reference: offset + 1n, idx, tid, cpu },
    }),
    data,
  ];
}

function aux({ cpu, tid }: Place, aux_offset: bigint, aux_size: bigint, flags: bigint) {
  return codec.encode({
    type: 11,
    name: "AUX",
    misc: 0,
    body: { aux_offset, aux_size, flags },
    sample_id: { pid: 1, tid, time: 5n, cpu },
  }, { event });
}

/** AUXTRACE_INFO of Intel PT. `snapshot` 1: in snapshot mode. */
function info(snapshot: bigint) {
  const words = [8n, 31n, 7n, 0n, 1n, 0x400n, 0x800n, 3n, snapshot, 1n, 0x200n, 0x3c000n];
  return codec.encode({
    type: 70,
    name: "AUXTRACE_INFO",
    misc: 0,
    body: { type: 1, priv: words },
  });
}

async function fileOf(parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { events: [{ attr, ids: [1n] }] });
  for (const part of parts) await writer.write(part);
  await writer.close();
  return sink.bytes();
}

const data = (seed: number, length: number) => Uint8Array.from({ length }, (_, i) => seed + i);

Deno.test("auxStreams: AUXTRACE records give a stream for each CPU or thread, with its pieces, gaps and flags", async () => {
  const one = { cpu: 1, tid: 7 };
  const thread = { cpu: -1, tid: 9, idx: 1 };
  const bytes = await fileOf([
    info(0n),
    aux(one, 0n, 16n, 0n),
    ...auxtrace(one, 0n, data(1, 16)),
    // The piece before has 3 bytes of padding.
    ...auxtrace(one, 13n, data(20, 8)),
    aux(one, 21n, 0n, 1n), // TRUNCATED: lost after this
    // 100 bytes were lost.
    ...auxtrace(one, 121n, data(40, 24)),
    aux(one, 121n, 12n, 4n), // PARTIAL
    aux(one, 133n, 12n, 8n), // COLLISION
    ...auxtrace(thread, 0n, data(80, 8)),
    aux({ cpu: 5, tid: 9 }, 0n, 8n, 0x101n),
  ]);
  const reader = await PerfDataReader.open(bytesSource(bytes));
  const trace = await readAuxTrace(reader);
  assertEquals(trace.typeName, "intel_pt");
  assertEquals(trace.mayOverlap, false);
  assertEquals(trace.intelPt?.time_mult, 7n);
  assertEquals(trace.intelPtConfig, {
    config: 0x402n,
    tsc: true,
    retComp: true,
    mtc: false,
    mtcPeriod: 0,
    cyc: undefined,
  });
  assertEquals(
    trace.streams.map(({ cpu, tid, idx, auxRecords }) => ({ cpu, tid, idx, auxRecords })),
    [
      { cpu: 1, tid: 7, idx: 0, auxRecords: 4 },
      { cpu: undefined, tid: 9, idx: 1, auxRecords: 1 },
    ],
  );
  const brief = ({ size, auxOffset, reference, gap, flags }: AuxPiece) =>
    [size, auxOffset, reference, gap, auxFlagNames(flags).join()] as const;
  assertEquals(trace.streams.map(({ pieces }) => pieces.map(brief)), [
    [
      [16, 0n, 1n, 0n, ""],
      [8, 13n, 14n, 0n, "TRUNCATED"],
      [24, 121n, 122n, 100n, "PARTIAL,COLLISION"],
    ],
    [[8, 0n, 1n, 0n, "TRUNCATED,0x100"]],
  ]);

  // The offsets of the pieces are those of the data in the file.
  for (const stream of trace.streams) {
    const copy = memorySink();
    await copyAuxStream(stream, bytesSource(bytes), copy);
    assertEquals(copy.bytes().length, auxStreamBytes(stream));
  }
  const copy = memorySink();
  await copyAuxStream(
    trace.streams[0] as typeof trace.streams[0] & object,
    bytesSource(bytes),
    copy,
  );
  assertEquals(copy.bytes(), Uint8Array.of(...data(1, 16), ...data(20, 8), ...data(40, 24)));
});

Deno.test("readAuxTrace: two buffers of one CPU give two streams", async () => {
  const bytes = await fileOf([
    ...auxtrace({ cpu: 0, tid: -1, idx: 0 }, 0n, data(1, 8)),
    ...auxtrace({ cpu: 0, tid: -1, idx: 4 }, 0n, data(9, 8)),
  ]);
  const trace = await readAuxTrace(await PerfDataReader.open(bytesSource(bytes)));
  assertEquals(trace.streams.map(({ cpu, idx }) => [cpu, idx]), [[0, 0], [0, 4]]);
  // Without AUXTRACE_INFO, the type is unknown.
  assertEquals([trace.type, trace.typeName, trace.info], [0, "unknown", undefined]);
});

Deno.test("readAuxTrace: a file cut in AUX data gives the bytes before the cut, and a diagnostic", async () => {
  const bytes = await fileOf([info(0n), ...auxtrace({ cpu: 0, tid: -1 }, 0n, data(1, 64))]);
  const cut = bytes.subarray(0, bytes.length - 24);
  await assertRejects(
    async () => await readAuxTrace(await PerfDataReader.open(bytesSource(cut))),
    PerfDataError,
  );
  const sizes = async (stream: boolean) => {
    const reported: PerfDataError[] = [];
    const options = { diagnostics: (error: PerfDataError) => void reported.push(error) };
    const copy = memorySink();
    const source = stream ? streamSource(new Blob([cut.slice()]).stream()) : bytesSource(cut);
    const reader = await PerfDataReader.open(source, options);
    const trace = await copyAuxWhileReading(reader, { ...options, open: () => copy });
    assert(reported.some(({ message }) => message.includes("payload: 40 bytes")), `${reported}`);
    assertEquals(copy.bytes(), data(1, 40));
    const [piece] = trace.streams[0]?.pieces ?? [];
    return [piece?.size, piece?.missing];
  };
  assertEquals(await sizes(false), [40, 24]);
  assertEquals(await sizes(true), [40, 24]);
});

Deno.test("readAuxTrace: the bytes that two snapshots share are written once", async () => {
  const place = { cpu: 0, tid: -1 };
  const ring = data(1, 200);
  const bytes = await fileOf([
    info(1n),
    ...auxtrace(place, 0n, ring.subarray(0, 80)),
    aux(place, 80n, 4096n, 2n), // OVERWRITE: the offset in the ring, not of the data
    ...auxtrace(place, 40n, ring.subarray(40, 120)),
    ...auxtrace(place, 160n, ring.subarray(160, 200)),
  ]);
  const expected = Uint8Array.of(...ring.subarray(0, 120), ...ring.subarray(160));
  const source = bytesSource(bytes);
  const trace = await readAuxTrace(await PerfDataReader.open(source));
  await stitchAuxTrace(trace, source);
  const [stream] = trace.streams;
  assert(stream !== undefined);
  assertEquals(stream.pieces.map(({ overlap, gap, flags }) => [overlap, gap, flags]), [
    [0, 0n, 2],
    [40, 0n, 2],
    [0, undefined, 2],
  ]);
  const copy = memorySink();
  await copyAuxStream(stream, source, copy);
  assertEquals(copy.bytes(), expected);

  const piped = memorySink();
  await copyAuxWhileReading(
    await PerfDataReader.open(streamSource(new Blob([bytes.slice()]).stream())),
    { open: () => piped },
  );
  assertEquals(piped.bytes(), expected);

  const raw = memorySink();
  await copyAuxWhileReading(await PerfDataReader.open(source), { open: () => raw, raw: true });
  assertEquals(raw.bytes().length, 200);
});

Deno.test("readAuxTrace: any damaged file gives data and diagnostics", async () => {
  const place = { cpu: 0, tid: -1 };
  const whole = await fileOf([
    info(1n),
    ...auxtrace(place, 0n, data(1, 64)),
    aux(place, 0n, 64n, 1n),
    ...auxtrace(place, 32n, data(33, 64)),
    ...auxtrace({ cpu: -1, tid: 5, idx: 1 }, 0n, data(1, 32)),
  ]);
  const from = Number(new DataView(whole.buffer).getBigUint64(40, true));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: from, max: whole.length - 1 }), fc.nat(255)), {
        minLength: 1,
        maxLength: 4,
      }),
      fc.integer({ min: from, max: whole.length }),
      async (flips, end) => {
        const bytes = whole.slice();
        for (const [at, byte] of flips) bytes[at] = byte;
        const source = bytesSource(bytes.subarray(0, end));
        let reported = 0;
        const options = { diagnostics: () => void reported++ };
        const trace = await readAuxTrace(await PerfDataReader.open(source, options), options);
        await stitchAuxTrace(trace, source);
        const one = memorySink();
        for (const stream of trace.streams) await copyAuxStream(stream, source, one);
        const other = memorySink();
        const piped = streamSource(new Blob([bytes.slice(0, end)]).stream());
        await copyAuxWhileReading(await PerfDataReader.open(piped, options), {
          ...options,
          open: () => other,
        });
        assert(one.bytes().length <= end && other.bytes().length <= end);
        // Copying by offsets and copying while reading give the same number of bytes.
        assertEquals(one.bytes().length, other.bytes().length);
      },
    ),
    { numRuns: 500 },
  );
});
