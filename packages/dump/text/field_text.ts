/**
 * Text with fields of a record: a list of steps, each a literal followed by a field. The steps are
 * prepared once for all records with the same layout; writing a record allocates nothing.
 *
 * @module
 */
import type { Codec } from "@perfdata/format/records";
import {
  type Piece,
  piece,
  putDecimal,
  putDecimal64,
  putHex,
  putHex2,
  putPrefixedHex,
  putUntilNul,
} from "@perfdata/format/bytes";

/**
 * Format of a field: `u` and `d` unsigned and signed decimal, `x` hexadecimal, `#x` with `0x`
 * unless it is zero, `02x` at least two digits, `text` up to a NUL.
 */
export type FieldFormat = "u" | "d" | "x" | "#x" | "02x" | "text";

/** Bytes with a record: `RecordBytes`, or memory that threads share. */
export interface SourceBytes {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** The bytes as 32-bit words of the machine's byte order. */
  readonly words: Int32Array;
}

/** The record in `[start, end)` of some bytes. */
export interface RecordSpan {
  readonly source: SourceBytes;
  /** Offset of the record. */
  readonly start: number;
  /** Offset after the record. */
  readonly end: number;
}

/** A literal followed by a field. */
export interface FieldStep {
  readonly before: Piece;
  /** Format of the field; if missing, there is no field. */
  readonly format?: FieldFormat;
  /** Offset of the field from the record's start; negative: from its end. */
  readonly offset: number;
  /** Size of the field; for `text`, up to the end. */
  readonly size: number;
}

export function fieldStep(
  before: string,
  format?: FieldFormat,
  { offset, size }: FieldPlace = NOWHERE,
): FieldStep {
  return { before: piece(before), format, offset, size };
}

/**
 * Writes a step of the record in `[start, end)`. A field beyond the record's end is zero.
 *
 * The record is passed as numbers, since objects would be allocated for each record and array
 * element.
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

/** Location of a field in a record. */
export interface FieldPlace {
  /** Offset of the first byte. */
  readonly offset: number;
  /** Size in bytes. */
  readonly size: number;
}

const NOWHERE: FieldPlace = { offset: 0, size: 0 };

/** Offsets of consecutive fields from `offset` on, up to the first one of variable size. */
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
