import { enlarge } from "../columns/enlarge.ts";
import { PerfDataError } from "../error.ts";
import type { Codec } from "./codec.ts";
import type { AttrMask } from "./condition.ts";

/** Properties of an event that a declaration may need. */
export interface EventContext {
  /** The parts of the event's attr that decide what its records hold. */
  readonly attr: Readonly<Record<AttrMask, bigint>>;
  /** The machine that recorded, as `uname -m` prints it, where it is known. */
  readonly arch: string | undefined;
  /** The declaration as it is for this event: without what its records do not hold. */
  specialize<T>(codec: Codec<T>): Codec<T>;
}

/** What a declaration may need to know beyond the bytes themselves. */
export interface StructContext {
  /** `misc` of the record header; some fields depend on its bits. */
  readonly misc?: number;
  /** The event that the bytes belong to, where it is known. */
  readonly event?: EventContext;
}

/**
 * Watches a decode: which bytes belong to which field. The annotated hexdump is made from it.
 *
 * `begin` and `end` come in pairs and nest as the structures do.
 */
export interface Trace {
  /** A field named `name`, declared by `codec`, starts at `offset` (in the reader's bytes). */
  begin(name: string, codec: Codec<unknown>, offset: number): void;
  /** The innermost open field ends before `offset`; `value` is what was decoded. */
  end(offset: number, value: unknown): void;
}

/** Bytes that a decoder could not put into a field's value but has to give back on encoding. */
export type Residue = Uint8Array | ReadonlyMap<number, Residue>;

/** Reads values from a bounded run of bytes. Never reads past `end`. */
export class ByteReader {
  /** The bytes that are read. */
  readonly bytes: Uint8Array;
  /** The same bytes, for multi-byte values. */
  readonly view: DataView;
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  /** What the declarations may ask for. */
  readonly context: StructContext;
  /** File offset of `bytes[0]`, for error messages. */
  readonly base: number;
  /** Watches the decoding, if set. */
  readonly trace: Trace | undefined;
  /** Next byte to read, as an index into `bytes`. */
  pos: number = 0;
  /** End of the region that may be read, as an index into `bytes`. */
  end: number;
  /** Set by a codec that met bytes outside of its value; taken by the enclosing structure. */
  residue: Residue | undefined = undefined;

  /** Reads `bytes`, all of them unless `end` is lowered. */
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

  /** Bytes left in the region. */
  get left(): number {
    return this.end - this.pos;
  }

  /**
   * Steps over `size` bytes and returns where they start.
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

  /** An error at the current position. */
  error(message: string): PerfDataError {
    return new PerfDataError(message, { offset: this.base + this.pos });
  }

  /** Takes the residue that the last codec left, if any. */
  takeResidue(): Residue | undefined {
    const residue = this.residue;
    this.residue = undefined;
    return residue;
  }
}

/** Collects encoded bytes in a buffer that grows. */
export class ByteWriter {
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  /** What the declarations may ask for. */
  readonly context: StructContext;
  /** Residue of the value that is being encoded; see {@link ByteReader.residue}. */
  residue: Residue | undefined = undefined;
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView;
  #length = 0;

  /** Makes an empty writer. */
  constructor(options: { littleEndian?: boolean; context?: StructContext; size?: number } = {}) {
    this.littleEndian = options.littleEndian ?? true;
    this.context = options.context ?? {};
    this.#bytes = new Uint8Array(options.size ?? 256);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length;
  }

  /** For storing at positions that {@link ByteWriter.grow} returned. */
  get view(): DataView {
    return this.#view;
  }

  /** Appends `size` zero bytes and returns where they start. */
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

  /** Appends bytes as they are. */
  put(bytes: Uint8Array): void {
    const at = this.grow(bytes.length);
    this.#bytes.set(bytes, at);
  }

  /** Takes the residue that was set for the next codec, if any. */
  takeResidue(): Residue | undefined {
    const residue = this.residue;
    this.residue = undefined;
    return residue;
  }

  /** What was written, in an array of its own. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }
}
