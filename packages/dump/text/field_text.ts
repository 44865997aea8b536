/**
 * Text with fields of a record: a list of steps, each a literal followed by a field. Steps are prepared
 * once for all records of the same layout; writing a record allocates nothing.
 *
 * @module
 */
import type { Codec } from "@perfdata/format/struct";
import {
  type Piece,
  piece,
  putDecimal,
  putDecimal64,
  putHex,
  putHex2,
  putPrefixedHex,
  putUntilNul,
} from "@perfdata/format/text-bytes";

/**
 * How a field is written: `u` and `d` unsigned and signed decimal, `x` hexadecimal, `#x` with `0x`
 * unless it is zero, `02x` at least two digits, `text` up to a NUL.
 */
export type FieldFormat = "u" | "d" | "x" | "#x" | "02x" | "text";

/** Bytes that hold a record, as `RecordBytes`, or memory that threads share. */
export interface SourceBytes {
  /** The bytes. */
  readonly bytes: Uint8Array;
  /** The same, for reads in either byte order. */
  readonly view: DataView;
  /** The same as 32-bit words of the machine's byte order. */
  readonly words: Int32Array;
}

/** The record in `[start, end)` of some bytes. */
export interface RecordSpan {
  /** What its bytes are in. */
  readonly source: SourceBytes;
  /** Where they begin. */
  readonly start: number;
  /** Where they end. */
  readonly end: number;
}

/** A literal, and a field after it. */
export interface FieldStep {
  /** The literal. */
  readonly before: Piece;
  /** Format of the field; without it, nothing is written. */
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
  return { before: piece(before), format, offset, size };
}

/**
 * Writes a step of the record in `[start, end)`. A field that the record is too short for is zero.
 *
 * Where it is comes as numbers: for each element of an array, and each record, an object would be made.
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
  let hi = 0;
  let lo = 0;
  if (at + size <= end) {
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

/** Offset of a field from the start of the record. */
export interface FieldPlace {
  /** First byte. */
  readonly offset: number;
  /** Bytes. */
  readonly size: number;
}

const NOWHERE: FieldPlace = { offset: 0, size: 0 };

/** Offsets of successive fields from `offset` on, up to the first one without a fixed size. */
export function placesOf(
  fields: Readonly<Record<string, Codec<unknown>>>,
  offset: number,
): Map<string, FieldPlace> {
  const places = new Map<string, FieldPlace>();
  for (const [name, { size }] of Object.entries(fields)) {
    places.set(name, { offset, size: size ?? 0 });
    if (size === undefined) break;
    offset += size;
  }
  return places;
}
