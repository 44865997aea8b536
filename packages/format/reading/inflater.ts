import { RecordBatch } from "./batch.ts";
import type { ErrorPlace } from "../error.ts";
import type { EventTable } from "../header/events.ts";
import { CAPACITY, frame, type Stop } from "./framing.ts";
import {
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
} from "../records/record_types.ts";
import { recordSize } from "../records/record_header.ts";
import type { ZstdState, ZstdStream } from "../zstd/zstd.ts";

/**
 * Maximum inflated size of a COMPRESSED record: a thousand times its maximum of 64 KB. perf
 * limits the inflated size to the size of the ring buffer.
 */
const MAX_INFLATED = 2 ** 26;
/** The members of a reader that its {@link Inflater} uses. */
export interface InflaterHost {
  /** The events of the file. */
  readonly events: EventTable;
  /** Counts of the current pass. */
  readonly stats: { records: number; skippedBytes: number; inflatedBytes: number };
  /** Throws if the reader is strict; reports if it is tolerant. */
  reportDamage(message: string, place: ErrorPlace): void;
}

/**
 * State of the decompressor between two COMPRESSED records, for inflating the later ones without
 * the earlier ones. It can be sent to another thread.
 */
export interface InflaterState {
  /** State of the zstd stream; `undefined` before its first byte. */
  readonly stream: ZstdState | undefined;
  /** Beginning of a record that continues in the next COMPRESSED record. */
  readonly left: Uint8Array<ArrayBuffer>;
  /** Whether the stream was damaged, so that later COMPRESSED records are skipped. */
  readonly isBroken: boolean;
}

/** Inflates COMPRESSED records into batches. */
export class Inflater {
  readonly #reader: InflaterHost;
  readonly #littleEndian: boolean;
  readonly #makeStream: (from?: ZstdState) => ZstdStream;
  #stream: ZstdStream | undefined;
  #batch: RecordBatch | undefined;
  #left = 0;
  #broken = false;
  #lastOffset = 0;
  /** Bytes inflated from the current COMPRESSED record so far. */
  #inflated = 0;

  /**
   * Creates an inflater for `reader`.
   *
   * @param makeStream creates the decompressor, optionally from a saved state
   */
  constructor(
    reader: InflaterHost,
    littleEndian: boolean,
    makeStream: (from?: ZstdState) => ZstdStream,
    from?: InflaterState,
  ) {
    this.#reader = reader;
    this.#littleEndian = littleEndian;
    this.#makeStream = makeStream;
    if (from === undefined) return;
    const { stream, left, isBroken } = from;
    this.#broken = isBroken;
    if (stream !== undefined) this.#stream = makeStream(stream);
    if (left.length > 0) this.#ownBatch().bytes.set(left);
    this.#left = left.length;
  }

  #ownBatch(): RecordBatch {
    return this.#batch ??= new RecordBatch(CAPACITY, this.#littleEndian, this.#reader.events);
  }

  /** Returns the state between two records; `undefined` if the stream does not support that. */
  state(): InflaterState | undefined {
    const stream = this.#stream?.state?.();
    if (this.#stream !== undefined && stream === undefined && !this.#broken) return undefined;
    const left = this.#batch?.bytes.slice(0, this.#left) ?? new Uint8Array(0);
    return { stream, left, isBroken: this.#broken };
  }

  /**
   * Inflates one COMPRESSED record into batches.
   *
   * @param record the record, with its header
   * @param offset file offset of the record
   */
  *inflate(record: Uint8Array, offset: number): Generator<RecordBatch, void, void> {
    this.#lastOffset = offset;
    if (!this.#broken) {
      const stream = this.#stream ??= this.#makeStream();
      this.#inflated = 0;
      for (const bytes of compressedBytes(record, this.#littleEndian)) {
        if (bytes === undefined) {
          this.#breakOff("a record of the compressor does not end where the next one begins");
          break;
        }
        const pieces = stream.push(bytes)[Symbol.iterator]();
        for (let piece = this.#next(pieces); piece !== undefined; piece = this.#next(pieces)) {
          yield* this.#frame(piece, offset);
        }
      }
    }
    if (this.#broken) {
      this.#reader.stats.skippedBytes += record.length - PERF_EVENT_HEADER_SIZE;
    }
  }

  /** Returns the next inflated piece; `undefined` at the end or after damage. */
  #next(pieces: Iterator<Uint8Array>): Uint8Array | undefined {
    if (this.#broken) return undefined;
    try {
      const { value, done } = pieces.next();
      if (done === true) return undefined;
      this.#inflated += value.length;
      if (this.#inflated <= MAX_INFLATED) return value;
      this.#breakOff(`zstd: more than ${MAX_INFLATED} bytes in one record`);
    } catch (error) {
      this.#breakOff(`zstd: ${error instanceof Error ? error.message : String(error)}`);
    }
    return undefined;
  }

  #breakOff(reason: string): void {
    this.#broken = true;
    this.#reader.reportDamage(
      `COMPRESSED: ${reason}; this and later compressed records are skipped`,
      { offset: this.#lastOffset, record: { type: PERF_RECORD_COMPRESSED } },
    );
  }

  /** Yields the whole records; keeps an incomplete last record for the next piece. */
  *#frame(inflated: Uint8Array, offset: number): Generator<RecordBatch, void, void> {
    const stats = this.#reader.stats;
    stats.inflatedBytes += inflated.length;
    const batch = this.#ownBatch();
    batch.inflatedFrom = offset;
    for (let taken = 0; taken < inflated.length;) {
      const part = inflated.subarray(taken, taken + CAPACITY - this.#left);
      batch.bytes.set(part, this.#left);
      taken += part.length;
      const len = this.#left + part.length;
      let pos = 0;
      let stop: Stop = "again";
      while (stop === "again") {
        batch.firstIndex = stats.records;
        stop = frame(batch, pos, len, false);
        if (batch.count === 0) break;
        pos = batch.start(batch.count - 1) + batch.size(batch.count - 1);
        stats.records += batch.count;
        yield batch;
      }
      batch.bytes.copyWithin(0, pos, len);
      this.#left = len - pos;
      if (stop === "bad") {
        this.#breakOff("a record in the inflated bytes is shorter than its header");
        return;
      }
    }
  }

  /** Reports an incomplete record at the end. */
  finish(): void {
    if (this.#left > 0 && !this.#broken) {
      this.#reader.reportDamage(
        `COMPRESSED: ${this.#left} inflated bytes left, expected a whole record`,
        { offset: this.#lastOffset, record: { type: PERF_RECORD_COMPRESSED } },
      );
    }
  }
}

/** Maximum size of a record that perf's compressor writes. */
const MAX_RECORD = 2 ** 16 - 1;

/**
 * Yields the zstd bytes of a COMPRESSED or COMPRESSED2 record.
 *
 * perf 6.16 and later merge the records of one compressor run into one record. The first header then counts the bytes
 * of all of them, and the other headers, without a `data_size`, are among the data. Yields `undefined` if a header
 * is missing at its expected position.
 */
function* compressedBytes(
  record: Uint8Array,
  littleEndian: boolean,
): Generator<Uint8Array | undefined> {
  const view = new DataView(record.buffer, record.byteOffset, record.byteLength);
  if (record.length <= MAX_RECORD) return yield ownBytes(record, littleEndian);
  yield record.subarray(16, MAX_RECORD);
  for (let at = MAX_RECORD; at + 16 < record.length;) {
    const size = recordSize(view, at, littleEndian);
    if (view.getUint32(at, littleEndian) !== PERF_RECORD_COMPRESSED2 || size < 16) {
      return yield undefined;
    }
    yield record.subarray(at + 16, at + size);
    at += size;
  }
}

function ownBytes(record: Uint8Array, littleEndian: boolean): Uint8Array {
  const view = new DataView(record.buffer, record.byteOffset, record.byteLength);
  if (view.getUint32(0, littleEndian) === PERF_RECORD_COMPRESSED || record.length < 16) {
    return record.subarray(PERF_EVENT_HEADER_SIZE);
  }
  const size = Number(view.getBigUint64(PERF_EVENT_HEADER_SIZE, littleEndian));
  return record.subarray(16, 16 + Math.min(size, record.length - 16));
}
