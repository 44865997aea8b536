import {
  type Codec,
  decode,
  enumeration,
  KERNEL_RECORDS,
  layoutOf,
  type PerfDataReader,
  perfEventHeader,
  type RecordBatch,
  RecordCodec,
  struct,
  u64,
} from "@perfdata/format/records";
import {
  FEATURE_NAMES,
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_HEADER_FEATURE,
  USER_RECORD_NAMES,
} from "@perfdata/format/constants";
import { PerfDataError } from "@perfdata/format/bytes";
import { isLastFeature } from "@perfdata/session";
import { GOOGLE_RECORDS, USER_RECORDS } from "@perfdata/user-records";
import { HEADER_FEATURE } from "@perfdata/user-records/metadata";
import { HexParts } from "./hex_parts.ts";
import { decodeSection } from "./hex_regions.ts";
import type { HexRun } from "./hex_run.ts";
import { Origin } from "./hex_source.ts";
import { LeafTrace } from "./hex_tree.ts";
import type { AnyRecordCodec } from "../records/records_json.ts";

const CODEC: AnyRecordCodec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
const GOOGLE_CODEC: AnyRecordCodec = new RecordCodec([...KERNEL_RECORDS, ...GOOGLE_RECORDS]);
/**
 * The record without data that ends a stream's features. Its number is one above the last
 * feature's.
 */
const LAST_FEATURE = struct("feature", { last_feature: u64 });
const FEATURE_ID = struct("feature", { feat_id: enumeration(u64, FEATURE_NAMES) });

// A structure around the header, since some bodies have fields with equal names.
const RECORD_HEADER = struct("record", { header: perfEventHeader });

/** Offsets of the fields of a HEADER_FEATURE record. */
const FEATURE_AT = layoutOf(HEADER_FEATURE);

function traceHeader(bytes: Uint8Array, littleEndian: boolean, trace: LeafTrace): void {
  decode(RECORD_HEADER, bytes.subarray(0, PERF_EVENT_HEADER_SIZE), { littleEndian, trace });
}

export interface HexRecord {
  /** Display name. */
  readonly owner: string;
  readonly batch: RecordBatch;
  /** Index in the batch. */
  readonly i: number;
  /** Offset of the first byte. */
  readonly start: number;
  /** Whether it comes from a COMPRESSED record. */
  readonly inflated: boolean;
}

export function* recordRuns(
  parts: HexParts,
  codec: AnyRecordCodec,
  { owner, batch, i, start, inflated }: HexRecord,
): Generator<HexRun, void, void> {
  const bytes = batch.recordBytes(i);
  const { littleEndian } = batch;
  const trace = new LeafTrace(start);
  traceHeader(bytes, littleEndian, trace);
  const record = codec.decode(bytes, { ...batch.context(i), offset: start, trace });
  let error = "raw" in record ? record.error : undefined;
  let shown = trace;
  if (record.type === PERF_RECORD_HEADER_FEATURE && record.name === "HEADER_FEATURE") {
    // Show the feature's content instead of its bytes.
    shown = new LeafTrace(start);
    traceHeader(bytes, littleEndian, shown);
    const id = Number((record.body as { feat_id: bigint }).feat_id);
    try {
      const { feat_id: idAt, data: dataAt } = FEATURE_AT;
      const isLast = isLastFeature(id, bytes.length - dataAt);
      const field: Codec<unknown> = isLast ? LAST_FEATURE : FEATURE_ID;
      decode(field, bytes.subarray(idAt, dataAt), { littleEndian, trace: shown.shifted(idAt) });
      if (!isLast) {
        decodeSection(id, bytes.subarray(dataAt), {
          littleEndian,
          base: start + dataAt,
          trace: shown.shifted(dataAt),
        });
      }
    } catch (cause) {
      if (!(cause instanceof PerfDataError)) throw cause;
      error = cause;
    }
  }
  yield* parts.structure(owner, bytes, start, shown, {
    rest: codec.declaration(record.type) === undefined ? ".raw" : ".tail",
    error,
    inflated,
  });
}

/** The codec that splits a recording's records into fields. */
export function hexCodec({ isGoogleDialect }: PerfDataReader): AnyRecordCodec {
  return isGoogleDialect ? GOOGLE_CODEC : CODEC;
}

/** The name of record `i` of a batch. */
export function hexRecordName(codec: AnyRecordCodec, batch: RecordBatch, i: number): string {
  const type = batch.type(i);
  return codec.declaration(type)?.name ?? USER_RECORD_NAMES[type] ?? `TYPE_${type}`;
}

/**
 * The runs of one record of a batch, as {@linkcode hexRuns} returns them, for callers that know the
 * record. Bytes are views of the batch.
 *
 * @param number Index of the record in the file.
 *
 * @example
 * ```ts
 * import { hexOfRecord } from "@perfdata/dump";
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24); // a header and a FINISHED_ROUND
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * const reader = await PerfDataReader.open(bytesSource(pipe));
 * for await (const batch of reader.batches()) {
 *   const fields = hexOfRecord(reader, batch, 0, 0).map(({ field }) => field);
 *   assertEquals(fields, [".header.type", ".header.misc", ".header.size"]);
 * }
 * ```
 */
export function hexOfRecord(
  reader: PerfDataReader,
  batch: RecordBatch,
  i: number,
  number: number,
): HexRun[] {
  const parts = new HexParts(reader, new Origin({ read: () => 0 }), {}, []);
  const codec = hexCodec(reader);
  const owner = `data[${number}] ${hexRecordName(codec, batch, i)}`;
  const inflated = batch.inflatedFrom >= 0;
  const start = inflated ? 0 : batch.offset + batch.start(i);
  return [...recordRuns(parts, codec, { owner, batch, i, start, inflated })];
}
