import { type Payload, payloadBlocks, type RecordBatch } from "./batch.ts";
import {
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_ID_INDEX,
} from "../records/record_types.ts";
import type { ForwardReader } from "../sources/source.ts";
import { recordSize, setRecordSize } from "../records/record_header.ts";

/** Number of bytes of each read; also limits the memory of a batch. */
export const BLOCK = 1 << 19;
/**
 * Number of bytes of the first read after a skipped payload. It is small, because another payload may
 * follow immediately and would be read in vain.
 */
export const FIRST_BLOCK = 1 << 13;
/** Size of the buffer: a block, and a record that began in the block before. No record is longer than 64 KB. */
export const CAPACITY = BLOCK + (1 << 16);
/** Maximum size of a COMPRESSED2 record: far more than a CPU's ring buffer, whose records it contains. */
const MAX_COMPRESSED = 2 ** 26;
/**
 * Whether a record of type 69 is an ID_INDEX: `nr` entries of 32 bytes, or of 48 in newer kernels.
 * In pipe streams of old Chrome OS tools, type 69 is the host name.
 */
export function isIdIndex(batch: RecordBatch, i: number): boolean {
  const at = batch.start(i) + PERF_EVENT_HEADER_SIZE;
  const left = batch.size(i) - 16;
  if (left < 0) return false;
  const nr = batch.view.getBigUint64(at, batch.littleEndian);
  return BigInt(left) === nr * 32n || BigInt(left) === nr * 48n;
}

/**
 * Returns the size of the payload after record `i`; 0 without a payload.
 *
 * perf 6.16 and later write COMPRESSED2 records of 64 KB and more. Their 16-bit size wraps, and the bytes beyond it
 * are the payload.
 *
 * perf writes tracing data after a record of 12 bytes. A longer record, written by Android's simpleperf,
 * contains the data itself.
 */
export function payloadSize(batch: RecordBatch, i: number): number {
  const size = batch.size(i);
  const at = batch.start(i) + PERF_EVENT_HEADER_SIZE;
  switch (batch.type(i)) {
    case PERF_RECORD_AUXTRACE:
      return size < 16 ? 0 : Number(batch.view.getBigUint64(at, batch.littleEndian));
    case PERF_RECORD_COMPRESSED2:
      return size < 16
        ? 0
        : sizeBeyond(size, Number(batch.view.getBigUint64(at, batch.littleEndian)));
    case PERF_RECORD_HEADER_TRACING_DATA:
      return size < 12 || size > 16 ? 0 : batch.view.getUint32(at, batch.littleEndian);
    default:
      return 0;
  }
}

/**
 * Returns the bytes of a COMPRESSED2 record beyond the wrapped size in its header, 0 if it has not wrapped. perf rounds
 * the size up to a multiple of 8 without writing all the zeros. {@linkcode frame} raises sizes below 16 to 16.
 */
function sizeBeyond(size: number, dataSize: number): number {
  const whole = 16 + dataSize;
  const rounded = Math.ceil(whole / 8) * 8;
  if (rounded < 2 ** 16 || whole > MAX_COMPRESSED) return 0;
  return Math.max(rounded % 2 ** 16, 16) === size ? whole - size : 0;
}

/**
 * Reason why framing stopped. `more`: the next record is incomplete. `again`: the caller has to handle the last record
 * before framing continues. `bad`: the next record is shorter than its header.
 */
export type Stop = "more" | "again" | "bad";

/** Whether a record with a size below 16 is a COMPRESSED2 whose size has wrapped. */
function isWrapped(view: DataView, pos: number, len: number, littleEndian: boolean): boolean {
  if (view.getUint32(pos, littleEndian) !== PERF_RECORD_COMPRESSED2 || pos + 16 > len) return false;
  const whole = 16 + Number(view.getBigUint64(pos + PERF_EVENT_HEADER_SIZE, littleEndian));
  return whole <= MAX_COMPRESSED && whole > 2 ** 16 - 8 &&
    Math.ceil(whole / 8) * 8 % 2 ** 16 === recordSize(view, pos, littleEndian);
}

const MACHINE_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/**
 * Stores the start of each record of `batch.bytes[from, len)` in the batch.
 *
 * The innermost loop of every analysis: it reads two words per record and allocates nothing.
 *
 * @param framing Whether to stop after records that change how the stream continues.
 */
export function frame(batch: RecordBatch, from: number, len: number, framing: boolean): Stop {
  const { starts, view, words, littleEndian } = batch;
  const fast = littleEndian && MACHINE_LITTLE_ENDIAN;
  let pos = from;
  let n = 0;
  let stop: Stop = "more";
  let seen = from;
  while (pos + PERF_EVENT_HEADER_SIZE <= len) {
    const word = fast && (pos & 3) === 0;
    let size = word
      ? (words[(pos >> 2) + 1] as number) >>> 16
      : recordSize(view, pos, littleEndian);
    if (size < 16 && isWrapped(view, pos, len, littleEndian)) {
      size = 16;
      setRecordSize(view, pos, size, littleEndian);
    }
    if (size < PERF_EVENT_HEADER_SIZE) {
      stop = n === 0 ? "bad" : "again";
      break;
    }
    if (pos + size > len) break;
    const type = word ? words[pos >> 2] as number : view.getInt32(pos, littleEndian);
    starts[n++] = pos;
    seen |= pos;
    pos += size;
    if (
      framing && type >= PERF_RECORD_HEADER_TRACING_DATA && type <= PERF_RECORD_COMPRESSED2 &&
      (type === PERF_RECORD_AUXTRACE || type === PERF_RECORD_HEADER_TRACING_DATA ||
        type === PERF_RECORD_COMPRESSED ||
        type === PERF_RECORD_COMPRESSED2 || type === PERF_RECORD_ID_INDEX)
    ) {
      stop = "again";
      break;
    }
  }
  batch.count = n;
  batch.aligned = (seen & 7) === 0;
  return stop;
}

/** A payload whose first bytes may already be in the batch's buffer. */
export class BufferedPayload implements Payload {
  readonly type: number;
  readonly offset: number;
  readonly size: number;
  /** Bytes read or skipped so far. */
  taken = 0;
  readonly #batch: RecordBatch;
  readonly #forward: ForwardReader;
  readonly #len: number;
  /** Bytes of the payload in the data section: fewer than `size` if the file was cut. */
  readonly #available: number;
  #pos: number;

  constructor(
    batch: RecordBatch,
    pos: number,
    len: number,
    forward: ForwardReader,
    size: number,
    to: number,
  ) {
    this.type = batch.type(batch.count - 1);
    this.offset = batch.offset + pos;
    this.size = size;
    this.#available = Math.min(size, to - this.offset);
    this.#batch = batch;
    this.#pos = pos;
    this.#len = len;
    this.#forward = forward;
  }

  async read(into: Uint8Array): Promise<number> {
    const want = Math.min(into.length, this.#available - this.taken);
    if (want === 0) return 0;
    const buffered = Math.min(want, this.#len - this.#pos);
    if (buffered > 0) {
      into.set(this.#batch.bytes.subarray(this.#pos, this.#pos + buffered));
      this.#pos += buffered;
      this.taken += buffered;
      return buffered;
    }
    const n = await this.#forward.read(into.subarray(0, want));
    this.taken += n;
    return n;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return payloadBlocks(this);
  }

  /** Returns the payload, as far as the data section has it. */
  async all(): Promise<Uint8Array> {
    const all = new Uint8Array(this.#available);
    while (this.taken < all.length) {
      if (await this.read(all.subarray(this.taken)) === 0) break;
    }
    return all.subarray(0, this.taken);
  }

  /** Skips the unread rest; returns the position of the next record in the buffer. */
  async finish(): Promise<number> {
    const buffered = Math.min(this.#available - this.taken, this.#len - this.#pos);
    this.#pos += buffered;
    this.taken += buffered;
    this.taken += await this.#forward.skip(this.#available - this.taken);
    return this.#pos;
  }
}
