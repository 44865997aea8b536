import type { EventTable, PerfEvent } from "../header/events.ts";
import type { RecordContext } from "../records/record_codec.ts";
import { recordMisc, recordSize } from "../records/record_header.ts";

/** The bytes after an AUXTRACE or TRACING_DATA record that are not part of its size. */
export interface Payload extends AsyncIterable<Uint8Array> {
  /** Type of the record before it. */
  readonly type: number;
  /** File offset of the first byte. */
  readonly offset: number;
  /** Bytes that the record announces. */
  readonly size: number;
  /**
   * Reads what comes next of the payload; returns the number of bytes, 0 at its end. What is not
   * read before the next batch is asked for is skipped.
   */
  read(into: Uint8Array): Promise<number>;
  /** What is left of it, in blocks; each is valid until the next one is asked for. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array>;
}

/** Bytes of a block of a payload. */
const BLOCK = 1 << 16;

/** The iterator of a payload, by its `read`. */
export async function* payloadBlocks(
  payload: Pick<Payload, "read">,
): AsyncGenerator<Uint8Array, void, void> {
  const block = new Uint8Array(BLOCK);
  for (let n; (n = await payload.read(block)) > 0;) yield block.subarray(0, n);
}

/**
 * The available bytes of the first `size` bytes of a payload. Memory grows with the actual bytes, since
 * a damaged record may claim any size.
 */
export async function payloadBytes(
  payload: Pick<Payload, "read">,
  size: number,
): Promise<Uint8Array<ArrayBuffer>> {
  let bytes = new Uint8Array(Math.min(size, BLOCK));
  let length = 0;
  for (let n = 1; n > 0 && length < size; length += n) {
    if (length === bytes.length) {
      const larger = new Uint8Array(Math.min(size, 2 * length));
      larger.set(bytes);
      bytes = larger;
    }
    n = await payload.read(bytes.subarray(length));
  }
  return bytes.subarray(0, length);
}

/**
 * Whole records, one after the other in one buffer.
 *
 * The buffer belongs to the reader and is overwritten when the next batch is asked for.
 */
export class RecordBatch {
  /** The buffer. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The buffer, for reads in either byte order. */
  readonly view: DataView;
  /** The buffer as 32-bit words of the machine's byte order. */
  readonly words: Int32Array;
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  /** The events of the file. */
  readonly events: EventTable;
  /** Where each record starts in {@link RecordBatch.bytes}; the first `count` are valid. */
  readonly starts: Int32Array;
  /** Number of records. */
  count: number = 0;
  /** Index of the first record among all records of the stream. */
  firstIndex: number = 0;
  /** File offset of `bytes[0]`; see {@link RecordBatch.inflatedFrom}. */
  offset: number = 0;
  /** File offset of the COMPRESSED record that these records came out of, or -1. */
  inflatedFrom: number = -1;
  /**
   * Whether all records start at a multiple of 8, so that {@link RecordBatch.words} can be used. It
   * is so in all files but those in which a tool wrote records of odd sizes.
   */
  aligned: boolean = true;
  /** The payload that follows the last record, if there is one. */
  payload: Payload | undefined = undefined;

  /** Makes an empty batch over a buffer of `capacity` bytes. */
  constructor(capacity: number, littleEndian: boolean, events: EventTable) {
    this.bytes = new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
    this.words = new Int32Array(this.bytes.buffer, 0, capacity >> 2);
    this.littleEndian = littleEndian;
    this.events = events;
    this.starts = new Int32Array(capacity >> 3);
  }

  /** Where record `i` starts in {@link RecordBatch.bytes}. */
  start(i: number): number {
    return this.starts[i] as number;
  }

  /** `type` of record `i`. */
  type(i: number): number {
    return this.view.getUint32(this.start(i), this.littleEndian);
  }

  /** `misc` of record `i`. */
  misc(i: number): number {
    return recordMisc(this.view, this.start(i), this.littleEndian);
  }

  /** `size` of record `i`, in bytes. */
  size(i: number): number {
    return recordSize(this.view, this.start(i), this.littleEndian);
  }

  /**
   * File offset of record `i`. A record that was inflated has the offset of the COMPRESSED record
   * that it came out of, as `perf report -D` prints it.
   */
  offsetOf(i: number): number {
    return this.inflatedFrom >= 0 ? this.inflatedFrom : this.offset + this.start(i);
  }

  /** The bytes of record `i`: a view of the buffer. */
  recordBytes(i: number): Uint8Array {
    const start = this.start(i);
    return this.bytes.subarray(start, start + this.size(i));
  }

  /** The event that record `i` belongs to. */
  eventOf(i: number): PerfEvent | undefined {
    const start = this.start(i);
    const { view, littleEndian } = this;
    return this.events.eventOf(view, start, start + this.size(i), this.type(i), littleEndian);
  }

  /** What a `RecordCodec` needs to know about record `i`. */
  context(i: number): RecordContext {
    return {
      littleEndian: this.littleEndian,
      event: this.eventOf(i),
      offset: this.offsetOf(i),
    };
  }
}
