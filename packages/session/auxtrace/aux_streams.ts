import {
  AUX,
  KERNEL_RECORDS,
  layoutOf,
  type PerfDataReader,
  type PerfEvent,
  prefixSize,
  type RecordBatch,
  RecordCodec,
  SampleFields,
  trailerEnd,
} from "@perfdata/format/records";
import { decodeFeature } from "@perfdata/format/features";
import { type Diagnostics, PerfDataError } from "@perfdata/format/bytes";
import {
  featureName,
  HEADER_CMDLINE,
  HEADER_CPUID,
  PERF_AUX_FLAG_OVERWRITE,
  PERF_RECORD_AUX,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_AUXTRACE_INFO,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_AUX,
} from "@perfdata/format/constants";
import {
  AUXTRACE,
  AUXTRACE_INFO,
  type AuxtraceInfo,
  csEtmInfo,
  intelBtsInfo,
  type IntelPtInfo,
  intelPtInfo,
  PERF_AUXTRACE_NAMES,
} from "@perfdata/user-records";
import type { AuxPiece, AuxStream, AuxTrace, IntelPtConfig } from "./aux_trace.ts";
import { streamFeature } from "../events/stream_feature.ts";

/** perf pads the data of an AUXTRACE record with zeros to a multiple of 8. */
const MAX_PADDING = 7n;

/** Options of {@link AuxCollector}. */
export interface AuxCollectorOptions {
  /** Called with the data in a sample, in file order; the bytes are valid during the call only. */
  readonly onSample?: (piece: AuxPiece, bytes: Uint8Array) => void;
  /** Receives errors in features and records. Without it, the first such error is thrown. */
  readonly diagnostics?: Diagnostics | undefined;
}

/** Ranges of the stream that AUX records with flags cover, for one CPU or thread. */
interface FlaggedRanges {
  records: number;
  all: number;
  /**
   * Flags of ring-buffer records: their offset and size describe the ring, not a range of the
   * stream.
   */
  ring: number;
  readonly ranges: { from: bigint; to: bigint; flags: number }[];
}

/** An event whose samples have AUX data, with the layout of its samples. */
interface AuxEvent {
  readonly event: PerfEvent;
  readonly fields: SampleFields;
}

const codec = new RecordCodec([...KERNEL_RECORDS, AUXTRACE, AUXTRACE_INFO]);

/**
 * Collects the AUX data of a recording from batches of records.
 *
 * Only the positions of pieces are kept. For a whole file, {@link readAuxTrace} is enough. For a
 * pipe, pass each batch to {@link AuxCollector.take}, and read the payload of each batch that it
 * returns a piece for.
 *
 * @example
 * ```ts
 * import { bytesSource, memorySink, PerfDataReader, PerfDataWriter, RecordCodec } from "@perfdata/format";
 * import { AUXTRACE } from "@perfdata/user-records";
 * import { AuxCollector } from "@perfdata/session/auxtrace";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const writer = await PerfDataWriter.pipe(sink);
 * await writer.write(new RecordCodec([AUXTRACE]).encode({
 *   type: 71,
 *   name: "AUXTRACE",
 *   misc: 0,
 *   body: { size: 8n, offset: 0n, reference: 1n, idx: 0, tid: -1, cpu: 2 },
 * }));
 * await writer.write(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8));
 *
 * const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
 * const collector = new AuxCollector(reader);
 * const found: number[] = [];
 * for await (const batch of reader.batches()) {
 *   if (collector.take(batch) === undefined) continue;
 *   const bytes = new Uint8Array(4);
 *   while (await batch.payload?.read(bytes)) found.push(...bytes);
 * }
 * const trace = await collector.finish();
 * assertEquals(trace.streams.map((stream) => stream.cpu), [2]);
 * assertEquals(found, [1, 2, 3, 4, 5, 6, 7, 8]);
 * ```
 */
export class AuxCollector {
  readonly #reader: PerfDataReader;
  readonly #options: AuxCollectorOptions;
  readonly #streams = new Map<string, AuxStream>();
  readonly #byCpu = new Map<number, FlaggedRanges>();
  readonly #byThread = new Map<number, FlaggedRanges>();
  #info: AuxtraceInfo | undefined;
  #cmdline: readonly string[] | undefined;
  #cpuid: string | undefined;
  #eventsSeen = 0;
  #sampled: AuxEvent[] = [];

  /** Creates a collector for the records of `reader`. */
  constructor(reader: PerfDataReader, options: AuxCollectorOptions = {}) {
    this.#reader = reader;
    this.#options = options;
  }

  /**
   * Body of the AUXTRACE_INFO record, which comes before the data; `undefined` until it was read.
   */
  get info(): AuxtraceInfo | undefined {
    return this.#info;
  }

  /**
   * Whether pieces may have data in common, as far as is known; see {@link AuxTrace.mayOverlap}.
   */
  get mayOverlap(): boolean {
    return this.hasSamples || isSnapshot(this.#info);
  }

  /** Whether any event that was read so far puts AUX data into samples. */
  get hasSamples(): boolean {
    const { all } = this.#reader.events;
    for (; this.#eventsSeen < all.length; this.#eventsSeen++) {
      const event = all[this.#eventsSeen] as PerfEvent;
      if ((event.layout.sampleType & PERF_SAMPLE_AUX) !== 0) {
        this.#sampled.push({ event, fields: new SampleFields(event.attr) });
      }
    }
    return this.#sampled.length > 0;
  }

  /**
   * Collects the AUX data of a batch.
   *
   * @returns The piece in the batch's payload, if the payload is AUX data.
   */
  take(batch: RecordBatch): AuxPiece | undefined {
    const samples = this.hasSamples;
    let piece: AuxPiece | undefined;
    // In Google's old dialect, record types from 69 on are features.
    const google = this.#reader.isGoogleDialect;
    for (let i = 0; i < batch.count; i++) {
      if (google && batch.type(i) >= PERF_RECORD_USER_TYPE_START) continue;
      switch (batch.type(i)) {
        case PERF_RECORD_SAMPLE:
          if (samples) this.#takeSample(batch, i);
          break;
        case PERF_RECORD_AUX:
          this.#takeAux(batch, i);
          break;
        case PERF_RECORD_AUXTRACE_INFO:
          this.#takeInfo(batch, i);
          break;
        case PERF_RECORD_AUXTRACE:
          piece = this.#takeAuxtrace(batch, i);
          break;
        case PERF_RECORD_HEADER_FEATURE:
          this.#takeFeature(batch, i);
          break;
      }
    }
    return piece;
  }

  /**
   * Ends the pass over the records: reads the features, and sets the flags of the pieces.
   *
   * @throws {PerfDataError} If a feature cannot be read and there are no diagnostics.
   */
  async finish(): Promise<AuxTrace> {
    for (const { id, section } of this.#reader.features) {
      if (id !== HEADER_CMDLINE && id !== HEADER_CPUID) continue;
      const offset = Number(section.offset);
      const size = Number(section.size);
      try {
        this.#setFeature(id, await this.#reader.readSection(offset, size, featureName(id)), offset);
      } catch (error) {
        if (!(error instanceof PerfDataError)) throw error;
        this.#problem(error);
      }
    }
    const streams = [...this.#streams.values()].sort((a, b) =>
      (a.cpu ?? Infinity) - (b.cpu ?? Infinity) || (a.tid ?? 0) - (b.tid ?? 0) || a.idx - b.idx
    );
    for (const stream of streams) this.#flag(stream);
    const info = this.#info;
    const type = info?.type ?? 0;
    const intelPt = info === undefined
      ? undefined
      : intelPtInfo(info, { littleEndian: this.#reader.littleEndian });
    return {
      type,
      typeName: (PERF_AUXTRACE_NAMES[type] ?? `type_${type}`).toLowerCase(),
      info,
      intelPt,
      intelPtConfig: intelPt === undefined ? undefined : this.#intelPtConfig(intelPt),
      mayOverlap: this.mayOverlap,
      streams,
      cmdline: this.#cmdline,
      cpuid: this.#cpuid,
    };
  }

  #problem(error: PerfDataError): void {
    if (this.#options.diagnostics === undefined) throw error;
    this.#options.diagnostics(error);
  }

  #stream(cpu: number, tid: number, idx: number): AuxStream {
    const key = cpu >= 0 ? `cpu ${cpu} ${idx}` : `tid ${tid} ${idx}`;
    let stream = this.#streams.get(key);
    if (stream === undefined) {
      stream = {
        cpu: cpu >= 0 ? cpu : undefined,
        tid: tid >= 0 ? tid : undefined,
        idx,
        pieces: [],
        auxRecords: 0,
        flags: 0,
      };
      this.#streams.set(key, stream);
    }
    return stream;
  }

  #takeAuxtrace(batch: RecordBatch, i: number): AuxPiece | undefined {
    const { payload } = batch;
    // An AUXTRACE record without data has no payload.
    if (payload === undefined) return undefined;
    const record = codec.decode(batch.recordBytes(i), batch.context(i));
    if (record.name !== "AUXTRACE") {
      if (record.name === "RAW" && record.error !== undefined) this.#problem(record.error);
      return undefined;
    }
    const { size, offset, reference, idx, tid, cpu } = record.body;
    const stream = this.#stream(cpu, tid, idx);
    const before = stream.pieces.at(-1);
    const { data } = this.#reader;
    const present = Math.max(0, Math.min(payload.size, data.offset + data.size - payload.offset));
    const piece = pieceOf(stream, {
      fileOffset: payload.offset,
      size: present,
      missing: Number(size) - present,
      auxOffset: offset,
      reference,
      overlap: 0,
      gap: gapBetween(before, offset),
      flags: 0,
    });
    stream.pieces.push(piece);
    return piece;
  }

  #takeSample(batch: RecordBatch, i: number): void {
    const event = batch.eventOf(i);
    const fields = this.#sampled.find((known) => known.event === event)?.fields;
    if (event === undefined || fields === undefined) return;
    const { view, littleEndian } = batch;
    const start = batch.start(i);
    if (!fields.locate(view, start, start + batch.size(i), littleEndian)) {
      this.#problem(
        new PerfDataError(`SAMPLE: a length in it is more than its ${batch.size(i)} bytes hold`, {
          offset: batch.offsetOf(i),
          record: { type: PERF_RECORD_SAMPLE, index: batch.firstIndex + i },
        }),
      );
      return;
    }
    if (fields.auxSize === 0) return;
    const { cpu, pid, time } = event.layout;
    const stream = this.#stream(
      cpu < 0 ? -1 : view.getInt32(start + cpu, littleEndian),
      pid < 0 ? -1 : view.getInt32(start + pid + 4, littleEndian),
      -1,
    );
    const piece = pieceOf(stream, {
      fileOffset: batch.inflatedFrom >= 0 ? batch.inflatedFrom : batch.offset + fields.aux,
      size: fields.auxSize,
      missing: 0,
      auxOffset: undefined,
      reference: time < 0 ? 0n : view.getBigUint64(start + time, littleEndian),
      overlap: 0,
      gap: stream.pieces.length === 0 ? 0n : undefined,
      flags: 0,
    });
    stream.pieces.push(piece);
    this.#options.onSample?.(piece, batch.bytes.subarray(fields.aux, fields.aux + fields.auxSize));
  }

  #takeAux(batch: RecordBatch, i: number): void {
    const event = batch.eventOf(i);
    if (event === undefined) return;
    const { view, littleEndian } = batch;
    const start = batch.start(i);
    const end = start + batch.size(i);
    const { trailer } = event.layout;
    const last = trailerEnd(start, end);
    if (last - start < AUX_SIZE + trailer.size) return;
    const at = AUX_AT;
    const from = view.getBigUint64(start + at.aux_offset, littleEndian);
    const size = view.getBigUint64(start + at.aux_size, littleEndian);
    const flags = view.getUint32(start + at.flags + (littleEndian ? 0 : 4), littleEndian);
    const cpu = trailer.cpu === 0 ? -1 : view.getInt32(last + trailer.cpu, littleEndian);
    const tid = trailer.pid === 0 ? -1 : view.getInt32(last + trailer.tid, littleEndian);
    note(this.#byCpu, cpu, from, size, flags);
    note(this.#byThread, tid, from, size, flags);
  }

  #takeInfo(batch: RecordBatch, i: number): void {
    const record = codec.decode(batch.recordBytes(i), batch.context(i));
    if (record.name === "AUXTRACE_INFO") this.#info = record.body;
    else if (record.name === "RAW" && record.error !== undefined) this.#problem(record.error);
  }

  #takeFeature(batch: RecordBatch, i: number): void {
    const { bytes, view } = batch;
    const start = batch.start(i);
    const end = start + batch.size(i);
    const feature = streamFeature(this.#reader, bytes, view, start, end);
    if (feature === undefined) return;
    const { id, payload } = feature;
    if (id !== HEADER_CMDLINE && id !== HEADER_CPUID) return;
    this.#setFeature(id, payload, batch.offsetOf(i) + end - start - payload.length);
  }

  #setFeature(id: number, bytes: Uint8Array, base: number): void {
    const { littleEndian } = this.#reader;
    const feature = decodeFeature(id, bytes, { littleEndian, base });
    if (feature.name === "RAW" && feature.error !== undefined) this.#problem(feature.error);
    if (feature.name === "CMDLINE") {
      this.#cmdline = "argv" in feature.value ? feature.value.argv : [feature.value.line];
    }
    if (feature.name === "CPUID") this.#cpuid = feature.value;
  }

  /** Sets the flags of each piece of a stream from the AUX records that cover it. */
  #flag(stream: AuxStream): void {
    const noted = stream.cpu !== undefined
      ? this.#byCpu.get(stream.cpu)
      : this.#byThread.get(stream.tid ?? -1);
    if (noted === undefined) return;
    stream.auxRecords = noted.records;
    stream.flags = noted.all;
    const sorted = noted.ranges.sort((a, b) => a.from < b.from ? -1 : a.from > b.from ? 1 : 0);
    let first = 0;
    let reached = 0n;
    for (const piece of stream.pieces) {
      piece.flags = noted.ring;
      const from = piece.auxOffset;
      if (from === undefined) continue;
      // In snapshot mode, offsets may go back.
      if (from < reached) first = 0;
      reached = from;
      const to = from + BigInt(piece.size + piece.missing);
      while (first < sorted.length && (sorted[first] as { to: bigint }).to < from) first++;
      for (let k = first; k < sorted.length; k++) {
        const range = sorted[k] as FlaggedRanges["ranges"][number];
        if (range.from > to) break;
        // A record without data reports a loss at the end of the data before it.
        const covers = range.from === range.to
          ? range.from > from || piece === stream.pieces[0]
          : range.from < to && range.to > from;
        if (covers) piece.flags |= range.flags;
      }
    }
  }

  #intelPtConfig(pt: IntelPtInfo): IntelPtConfig | undefined {
    const event = this.#reader.events.all.find(({ attr }) => BigInt(attr.type) === pt.pmu_type);
    if (event === undefined) return undefined;
    const { config } = event.attr;
    const has = (bit: bigint | undefined) => bit === undefined ? undefined : (config & bit) !== 0n;
    const mask = pt.mtc_freq_bits ?? 0n;
    return {
      config,
      tsc: has(pt.tsc_bit) ?? false,
      retComp: !has(pt.noretcomp_bit),
      mtc: has(pt.mtc_bit),
      mtcPeriod: mask === 0n
        ? undefined
        // The lowest bit of the mask is the shift of the number.
        : Number((config & mask) / (mask & -mask)),
      cyc: has(pt.cyc_bit),
    };
  }
}

// Offsets of the fields of an AUX record, and their size.
const AUX_AT = layoutOf(AUX);
const AUX_SIZE = prefixSize(AUX);

/** Creates a piece. Its stream is not enumerable, because the stream refers back to the piece. */
function pieceOf(stream: AuxStream, members: Omit<AuxPiece, "stream">): AuxPiece {
  return Object.defineProperty(members, "stream", { value: stream }) as AuxPiece;
}

/** Adds the flags of an AUX record; consecutive records with the same flags are one range. */
function note(
  notes: Map<number, FlaggedRanges>,
  key: number,
  from: bigint,
  size: bigint,
  flags: number,
): void {
  if (key < 0) return;
  let noted = notes.get(key);
  if (noted === undefined) notes.set(key, noted = { records: 0, all: 0, ring: 0, ranges: [] });
  noted.records++;
  noted.all |= flags;
  if ((flags & PERF_AUX_FLAG_OVERWRITE) !== 0) noted.ring |= flags;
  if (flags === 0 || (flags & PERF_AUX_FLAG_OVERWRITE) !== 0) return;
  const last = noted.ranges.at(-1);
  if (last !== undefined && last.flags === flags && last.to === from && last.from !== last.to) {
    last.to = from + size;
  } else {
    noted.ranges.push({ from, to: from + size, flags });
  }
}

/** Bytes between the end of `before` and `offset`; the padding of `before` does not count. */
function gapBetween(before: AuxPiece | undefined, offset: bigint): bigint | undefined {
  if (before === undefined) return 0n;
  if (before.auxOffset === undefined) return undefined;
  const distance = offset - before.auxOffset - BigInt(before.size + before.missing);
  if (distance >= 0n) return distance;
  return distance >= -MAX_PADDING ? 0n : undefined;
}

/** Whether the buffers were rings, whose last part only is in the file. */
function isSnapshot(info: AuxtraceInfo | undefined): boolean {
  if (info === undefined) return false;
  return (intelPtInfo(info)?.snapshot_mode ?? intelBtsInfo(info)?.snapshot_mode ??
    csEtmInfo(info)?.snapshot ?? 0n) !== 0n;
}

/**
 * Finds all AUX data of a file in one pass over its records, without reading the data.
 *
 * @param reader A reader whose source can be read at any offset.
 * @param options `diagnostics` receives errors in AUX data; the reader has an option of the same
 * name.
 * @throws {PerfDataError} In strict mode, if the file is damaged.
 */
export async function readAuxTrace(
  reader: PerfDataReader,
  options: Pick<AuxCollectorOptions, "diagnostics"> = {},
): Promise<AuxTrace> {
  const collector = new AuxCollector(reader, options);
  for await (const batch of reader.batches()) collector.take(batch);
  return await collector.finish();
}
