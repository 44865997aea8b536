import { enlarge } from "../columns/enlarge.ts";
import { PerfDataError } from "../error.ts";
import type { Codec } from "./codec.ts";
import type { AttrMask } from "./condition.ts";

/** Properties of an event that conditions of a declaration use. */
export interface EventContext {
  /** The masks of the event's attr that determine the fields of its records. */
  readonly attr: Readonly<Record<AttrMask, bigint>>;
  /** The recorded machine, as `uname -m` prints it, if it is known. */
  readonly arch: string | undefined;
  /** Returns the declaration reduced to the fields that this event's records have. */
  specialize<T>(codec: Codec<T>): Codec<T>;
}

/** Context of a value: what its declaration needs in addition to the bytes. */
export interface StructContext {
  /** `misc` of the record header, for conditions on its bits. */
  readonly misc?: number;
  /** The event that the bytes belong to, if it is known. */
  readonly event?: EventContext;
}

/**
 * Receives the byte range of each field while it is decoded, for the annotated hexdump. (No trace of
 * a processor.)
 *
 * Calls of `begin` and `end` come in pairs and are nested like the structures.
 */
export interface Trace {
  /** A field named `name`, declared by `codec`, starts at `offset` (in the reader's bytes). */
  begin(name: string, codec: Codec<unknown>, offset: number): void;
  /** The innermost open field ends before `offset`; `value` is its decoded value. */
  end(offset: number, value: unknown): void;
}

/** Bytes that the decoded value does not have, kept for encoding: padding that is not zeros. */
export type Residue = Uint8Array | ReadonlyMap<number, Residue>;

/** Reads values from a range of bytes. Never reads past `end`. */
export class ByteReader {
  /** The bytes to read. */
  readonly bytes: Uint8Array;
  /** View of the same bytes, for multi-byte values. */
  readonly view: DataView;
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  /** Context for conditions of the declarations. */
  readonly context: StructContext;
  /** File offset of `bytes[0]`, for error messages. */
  readonly base: number;
  /** Receives the byte range of each field, if set. */
  readonly trace: Trace | undefined;
  /** Index in `bytes` of the next byte to read. */
  pos: number = 0;
  /** Index in `bytes` of the end of the range. */
  end: number;
  /** Bytes outside of the value that a codec met; the codec of the enclosing structure takes and clears them. */
  residue: Residue | undefined = undefined;

  /** Creates a reader for all of `bytes`; `end` may be lowered later. */
  constructor(bytes: Uint8Array, options: {
    littleEndian?: boolean;
    context?: StructContext;
    base?: number;
    trace?: Trace | undefined;
  } = {}) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.littleEndian = options.littleEndian ?? true;
    this.context = options.context ?? {};
    this.base = options.base ?? 0;
    this.trace = options.trace;
    this.end = bytes.length;
  }

  /** Bytes left in the range. */
  get left(): number {
    return this.end - this.pos;
  }

  /**
   * Skips `size` bytes and returns their position.
   *
   * @throws {PerfDataError} If fewer than `size` bytes are left.
   */
  take(size: number, what: string): number {
    const at = this.pos;
    if (size > this.end - at) {
      throw this.error(`${what}: ${this.end - at} bytes left, expected ${size}`);
    }
    this.pos = at + size;
    return at;
  }

  /** Creates an error at the current position. */
  error(message: string): PerfDataError {
    return new PerfDataError(message, { offset: this.base + this.pos });
  }

  /** Returns and clears the residue of the last codec. */
  takeResidue(): Residue | undefined {
    const residue = this.residue;
    this.residue = undefined;
    return residue;
  }
}

/** Collects encoded bytes in a growing buffer. */
export class ByteWriter {
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  /** Context for conditions of the declarations. */
  readonly context: StructContext;
  /** Residue of the value being encoded; see {@link ByteReader.residue}. */
  residue: Residue | undefined = undefined;
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView;
  #length = 0;

  /** Creates an empty writer. */
  constructor(options: { littleEndian?: boolean; context?: StructContext; size?: number } = {}) {
    this.littleEndian = options.littleEndian ?? true;
    this.context = options.context ?? {};
    this.#bytes = new Uint8Array(options.size ?? 256);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Number of bytes written so far. */
  get length(): number {
    return this.#length;
  }

  /** View of the buffer, for storing at positions that {@link ByteWriter.grow} returned. */
  get view(): DataView {
    return this.#view;
  }

  /** Appends `size` zero bytes and returns their position. */
  grow(size: number): number {
    const at = this.#length;
    const need = at + size;
    if (need > this.#bytes.length) {
      this.#bytes = enlarge(this.#bytes, need);
      this.#view = new DataView(this.#bytes.buffer);
    }
    this.#length = need;
    return at;
  }

  /** Appends bytes unchanged. */
  put(bytes: Uint8Array): void {
    const at = this.grow(bytes.length);
    this.#bytes.set(bytes, at);
  }

  /** Returns and clears the residue for the next codec. */
  takeResidue(): Residue | undefined {
    const residue = this.residue;
    this.residue = undefined;
    return residue;
  }

  /** Returns a copy of the bytes written. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }
}
