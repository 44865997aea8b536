/**
 * Text with the fields of a record in it: a list of steps, each a literal and a field after it.
 * What a step needs is worked out once for all records of a shape; writing one allocates nothing.
 *
 * @module
 */
import type { Codec } from "@perfdata/format/struct";
import type { Trace } from "@perfdata/format/cursor";
import {
  type Piece,
  piece,
  putDecimal,
  putDecimal64,
  putHex,
  putHex2,
  putHexBytes,
  putPrefixedHex,
  putUntilNul,
} from "@perfdata/format/text-bytes";

/**
 * How a field is written: `u` and `d` unsigned and signed decimal, `x` hexadecimal, `#x` with `0x`
 * unless it is zero, `02x` at least two digits, `bytes` each byte as two digits, `text` up to a NUL.
 */
export type FieldFormat = "u" | "d" | "x" | "#x" | "02x" | "bytes" | "text";

/** Bytes that hold a record, as `RecordBytes`, or memory that threads share. */
export interface SourceBytes {
  /** The bytes. */
  readonly bytes: Uint8Array;
  /** The same, for reads in either byte order. */
  readonly view: DataView;
  /** The same as 32-bit words of the machine's byte order. */
  readonly words: Int32Array;
}

/** A literal, and a field after it. */
export interface FieldStep {
  /** The literal. */
  readonly before: Piece;
  /** How the field is written; nothing is where this is not there. */
  readonly format?: FieldFormat;
  /** First byte of the field, from the start of the record, or from its end where negative. */
  readonly offset: number;
  /** Bytes of the field; those up to the end where the format is `text`. */
  readonly size: number;
}

/** Makes a step. */
export function fieldStep(
  before: string,
  format?: FieldFormat,
  { offset, size }: FieldPlace = NOWHERE,
): FieldStep {
  return { before: piece(before), ...(format === undefined ? {} : { format }), offset, size };
}

/**
 * Writes a step of the record in `[start, end)`. A field that the record is too short for is zero.
 *
 * @param le Byte order of the record.
 */
export function putStep(
  out: DataView,
  p: number,
  step: FieldStep,
  { bytes, view }: SourceBytes,
  start: number,
  end: number,
  le: boolean,
): number {
  const { before, format, offset, size } = step;
  p = before.put(out, p);
  if (format === undefined) return p;
  const at = (offset < 0 ? end : start) + offset;
  if (format === "text") return putUntilNul(out, p, bytes, at, end);
  const isThere = at + size <= end;
  if (format === "bytes") return putHexBytes(out, p, bytes, at, isThere ? at + size : end);
  let hi = 0;
  let lo = 0;
  if (isThere) {
    switch (size) {
      case 8:
        hi = view.getInt32(le ? at + 4 : at, le);
        lo = view.getInt32(le ? at : at + 4, le);
        break;
      case 4:
        lo = view.getInt32(at, le);
        break;
      case 2:
        lo = view.getUint16(at, le);
        break;
      case 1:
        lo = view.getUint8(at);
    }
  }
  switch (format) {
    case "u":
      return putDecimal64(out, p, hi, lo);
    case "d":
      return putDecimal(out, p, lo);
    case "x":
      return putHex(out, p, hi, lo);
    case "#x":
      return putPrefixedHex(out, p, hi, lo);
    case "02x":
      return lo >>> 8 === 0 ? putHex2(out, p, lo) : putHex(out, p, 0, lo);
  }
}

/** Where a field lies: bytes from the start of the record. */
export interface FieldPlace {
  /** First byte. */
  readonly offset: number;
  /** Bytes. */
  readonly size: number;
}

const NOWHERE: FieldPlace = { offset: 0, size: 0 };

/** A field of a record's body. */
export interface BodyField extends FieldPlace {
  /** Its name. */
  readonly name: string;
  /** Its declaration. */
  readonly codec: Codec<unknown>;
}

/** Collects the fields of a record's body while it is decoded. */
export class BodyFields implements Trace {
  /** The fields, in order. */
  readonly fields: BodyField[] = [];
  /** Whether there are fields inside of fields, or bytes that belong to none. */
  isNested = false;
  #depth = 0;
  #inTrailer = false;

  begin(name: string, codec: Codec<unknown>, offset: number): void {
    if (this.#depth === 0) {
      this.#inTrailer = name === "sample_id";
      if (name === "tail") this.isNested = true;
      if (!this.#inTrailer) this.fields.push({ name, codec, offset, size: 0 });
    } else if (!this.#inTrailer) {
      this.isNested = true;
    }
    this.#depth++;
  }

  end(offset: number): void {
    this.#depth--;
    const last = this.fields.at(-1);
    if (this.#depth === 0 && !this.#inTrailer && last !== undefined) {
      this.fields[this.fields.length - 1] = { ...last, size: offset - last.offset };
    }
  }
}
