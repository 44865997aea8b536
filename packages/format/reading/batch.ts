import type { EventTable, PerfEvent } from "../header/events.ts";
import type { RecordContext } from "../records/record_codec.ts";
import { recordMisc, recordSize } from "../records/record_header.ts";

/** The bytes after an AUXTRACE or TRACING_DATA record that the record's size does not include. */
export interface Payload extends AsyncIterable<Uint8Array> {
  /** Type of the record before the payload. */
  readonly type: number;
  /** File offset of the first byte. */
  readonly offset: number;
  /** Size that the record states. */
  readonly size: number;
  /**
   * Reads the next bytes of the payload; returns their count, 0 at the end. Bytes that are unread when
   * the next batch is requested are skipped.
   */
  read(into: Uint8Array): Promise<number>;
  /** Reads the rest of the payload in blocks. A block is valid until the next one is requested. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array>;
}

/** Size of a block, in bytes. */
const BLOCK = 1 << 16;

/** Iterates over a payload in blocks, through its `read`. */
export async function* payloadBlocks(
  payload: Pick<Payload, "read">,
): AsyncGenerator<Uint8Array, void, void> {
  const block = new Uint8Array(BLOCK);
  for (let n; (n = await payload.read(block)) > 0;) yield block.subarray(0, n);
}

/**
 * Reads the first `size` bytes of a payload, or fewer if it ends early. Memory grows with the bytes read, since
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
 * The buffer belongs to the reader and is overwritten when the next batch is requested.
 */
export class RecordBatch {
  /** The buffer. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** View of the buffer, for reads in either byte order. */
  readonly view: DataView;
  /** The buffer as 32-bit words of the machine's byte order. */
  readonly words: Int32Array;
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  /** The events of the file. */
  readonly events: EventTable;
  /** Position of each record in {@link RecordBatch.bytes}; the first `count` are valid. */
  readonly starts: Int32Array;
  /** Number of records. */
  count: number = 0;
  /** Index of the first record among all records of the stream. */
  firstIndex: number = 0;
  /** File offset of `bytes[0]`; see {@link RecordBatch.inflatedFrom}. */
  offset: number = 0;
  /** File offset of the COMPRESSED record that contained these records, or -1. */
  inflatedFrom: number = -1;
  /**
   * Whether all records start at a multiple of 8, so that {@link RecordBatch.words} can be used. Only files
   * with records of odd sizes have others.
   */
  aligned: boolean = true;
  /** The payload that follows the last record, if there is one. */
  payload: Payload | undefined = undefined;

  /** Creates an empty batch with a buffer of `capacity` bytes. */
  constructor(capacity: number, littleEndian: boolean, events: EventTable) {
    this.bytes = new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
    this.words = new Int32Array(this.bytes.buffer, 0, capacity >> 2);
    this.littleEndian = littleEndian;
    this.events = events;
    this.starts = new Int32Array(capacity >> 3);
  }

  /** Returns the position of record `i` in {@link RecordBatch.bytes}. */
  start(i: number): number {
    return this.starts[i] as number;
  }

  /** Returns `type` of record `i`. */
  type(i: number): number {
    return this.view.getUint32(this.start(i), this.littleEndian);
  }

  /** Returns `misc` of record `i`. */
  misc(i: number): number {
    return recordMisc(this.view, this.start(i), this.littleEndian);
  }

  /** Returns `size` of record `i`, in bytes. */
  size(i: number): number {
    return recordSize(this.view, this.start(i), this.littleEndian);
  }

  /**
   * Returns the file offset of record `i`. For an inflated record, that is the offset of its COMPRESSED record, as
   * `perf report -D` prints it.
   */
  offsetOf(i: number): number {
    return this.inflatedFrom >= 0 ? this.inflatedFrom : this.offset + this.start(i);
  }

  /** Returns the bytes of record `i`: a view of the buffer. */
  recordBytes(i: number): Uint8Array {
    const start = this.start(i);
    return this.bytes.subarray(start, start + this.size(i));
  }

  /** Returns the event that record `i` belongs to. */
  eventOf(i: number): PerfEvent | undefined {
    const start = this.start(i);
    const { view, littleEndian } = this;
    return this.events.eventOf(view, start, start + this.size(i), this.type(i), littleEndian);
  }

  /** Returns the context with which a `RecordCodec` decodes record `i`. */
  context(i: number): RecordContext {
    return {
      littleEndian: this.littleEndian,
      event: this.eventOf(i),
      offset: this.offsetOf(i),
    };
  }
}
