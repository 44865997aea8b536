/**
 * Makes a recording with Intel PT of a stepped program that runs again and again:
 * `deno run -A bench/make_stepped_pt.ts MB CPUS FOLDER [--timeless]` writes `FOLDER/perf.data`, and the program
 * beside it.
 */
import { parseArgs } from "@std/cli";
import {
  encodeFeature,
  type Feature,
  HEADER_AUXTRACE,
  KERNEL_RECORDS,
  PerfDataWriter,
  PerfEvent,
  RecordCodec,
} from "@perfdata/format";
import { fileSink } from "@perfdata/format/file-sink";
import { decodePackets, encodePacket } from "@perfdata/intel-pt";
import { USER_RECORDS } from "@perfdata/user-records";
import { CLOCKS, type EncodeOptions, FIRST_TSC } from "../fixtures/stepped/encode.ts";
import { encodeProgram, stepProgram } from "../fixtures/stepped/program.ts";
import { steppedRecording } from "../fixtures/stepped/recording.ts";
import { auxtrace } from "../fixtures/synthesize/pt_parts.ts";
import { type Item, padded } from "../fixtures/synthesize/recording.ts";

/** Pieces as perf saves them. */
const PIECE = 2 << 20;

/** After so many TSC ticks, the counters of MTC and TMA packets are the same again. */
const LAP = BigInt(CLOCKS.tscCtcN / CLOCKS.tscCtcD) << 16n;

/** A unit of a trace, and where it has TSC packets. */
interface Unit {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly tscs: readonly { readonly at: number; readonly tsc: bigint }[];
  /** TSC ticks from one unit to the next. */
  readonly ticks: bigint;
}

function unitOf(bytes: Uint8Array<ArrayBuffer>): Unit {
  const tscs: { at: number; tsc: bigint }[] = [];
  for (const { offset, packet } of decodePackets(bytes)) {
    if (packet.type === "TSC") tscs.push({ at: offset, tsc: packet.tsc });
  }
  const span = (tscs.at(-1)?.tsc ?? 0n) - (tscs[0]?.tsc ?? 0n);
  return { bytes, tscs, ticks: (span / LAP + 1n) * LAP };
}

/** A unit later by so many others. */
function later({ bytes, tscs, ticks }: Unit, times: number): Uint8Array<ArrayBuffer> {
  const moved = bytes.slice();
  for (const { at, tsc } of tscs) {
    moved.set(encodePacket({ type: "TSC", tsc: tsc + ticks * BigInt(times) }), at);
  }
  return moved;
}

/** Records of another process that runs the same. */
function ofProcess(item: Item, by: number): Item {
  const moved = (of: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(
      Object.entries(of).map(([name, value]) => {
        const isThread = ["pid", "tid", "ppid", "ptid"].includes(name);
        if (name === "cpu") return [name, by];
        return [name, isThread && typeof value === "number" && value > 0 ? value + by : value];
      }),
    );
  const { body, sample_id } = item.record as {
    readonly body: Readonly<Record<string, unknown>>;
    readonly sample_id?: Readonly<Record<string, unknown>>;
  };
  if (sample_id === undefined) return item;
  const record = { ...item.record, body: moved(body), sample_id: moved(sample_id) };
  return { ...item, record: record as Item["record"] };
}

/** Makes the recording; returns its bytes of PT data. */
export async function makeSteppedPt(
  megabytes: number,
  cpus: number,
  folder: string,
  variant: EncodeOptions,
): Promise<number> {
  const program = stepProgram(folder, { program: "calls", flags: ["-O1", "-static"] });
  const encoded = encodeProgram(program, variant);
  const unit = unitOf(encoded.bytes);
  const { events, items, features } = steppedRecording(program, encoded, variant);
  const codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
  const shapes = events.map(({ attr, ids }) => new PerfEvent(attr, ids, () => "x86_64"));
  using sink = fileSink(`${folder}/perf.data`);
  const writer = await PerfDataWriter.file(sink, { events });
  const write = async ({ record, event = 0 }: Item) => {
    await writer.write(codec.encode(record, { event: shapes[event] }));
  };
  for (let cpu = 0; cpu < cpus; cpu++) {
    for (const item of items) {
      const { name, sample_id } = item.record as { name: string; sample_id?: unknown };
      if (name === "AUXTRACE" || (cpu > 0 && sample_id === undefined)) continue;
      await write(ofProcess(item, cpu));
    }
  }
  const entries: { file_offset: bigint; sz: bigint }[] = [];
  const offsets = new Array<number>(cpus).fill(0);
  const units = Math.ceil(megabytes * 1e6 / cpus / unit.bytes.length);
  const perPiece = Math.max(1, Math.floor(PIECE / unit.bytes.length));
  for (let from = 0; from < units; from += perPiece) {
    const parts = Array.from(
      { length: Math.min(perPiece, units - from) },
      (_, i) => later(unit, from + i),
    );
    // perf pads a piece to eight bytes: what is decoded takes those for padding.
    const bytes = padded(new Uint8Array(await new Blob(parts).arrayBuffer()));
    for (let cpu = 0; cpu < cpus; cpu++) {
      const reference = FIRST_TSC + unit.ticks * BigInt(from);
      const item = auxtrace(
        { cpu, tid: -1, idx: cpu },
        BigInt(offsets[cpu] ?? 0),
        bytes,
        reference,
      );
      entries.push({
        file_offset: BigInt(writer.position),
        sz: BigInt(codec.encode(item.record).length),
      });
      await write(item);
      await writer.write(bytes);
      offsets[cpu] = (offsets[cpu] ?? 0) + bytes.length;
    }
  }
  const index: Feature = { id: HEADER_AUXTRACE, name: "AUXTRACE", value: { entries } };
  await writer.close(
    [...features, index].map((feature) => ({
      id: feature.id,
      bytes: encodeFeature(feature, { littleEndian: true }),
    })),
  );
  return offsets.reduce((sum, n) => sum + n, 0);
}

if (import.meta.main) {
  const { _: [megabytes, cpus, folder], timeless } = parseArgs(Deno.args, {
    boolean: ["timeless"],
  });
  if (folder === undefined) {
    console.error("usage: deno run -A bench/make_stepped_pt.ts MB CPUS FOLDER [--timeless]");
    Deno.exit(2);
  }
  const variant = timeless
    ? { psbEvery: 5000, compressReturns: true }
    : { psbEvery: 2000, compressReturns: true, tsc: true, mtc: true };
  Deno.mkdirSync(String(folder), { recursive: true });
  const bytes = await makeSteppedPt(Number(megabytes), Number(cpus), String(folder), variant);
  console.log(`${bytes} bytes of Intel PT`);
}
