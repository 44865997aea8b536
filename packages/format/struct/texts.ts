import type { ByteReader, ByteWriter } from "./cursor.ts";
import { decodeText, encodeText } from "../text/text.ts";
import type { Codec, FixedCodec } from "./codec.ts";

/** Decodes the text in `r.bytes[at, end)` up to the first NUL; keeps unusual padding as residue. */
function takeText(r: ByteReader, at: number, end: number, canonicalPad: number): string {
  let stop = r.bytes.indexOf(0, at);
  if (stop < 0 || stop > end) stop = end;
  const pad = r.bytes.subarray(stop, end);
  if (pad.length !== canonicalPadOf(canonicalPad, stop - at) || pad.some((byte) => byte !== 0)) {
    r.residue = pad.slice();
  }
  return decodeText(r.bytes.subarray(at, stop));
}

/** `unit` > 0: a NUL and zeros up to a multiple of `unit`; otherwise, zeros up to a total of `-unit` bytes. */
function canonicalPadOf(unit: number, length: number): number {
  return unit > 0 ? unit - length % unit : Math.max(0, -unit - length);
}

function putText(w: ByteWriter, text: string, canonicalPad: number): void {
  const residue = w.takeResidue();
  const body = encodeText(text);
  w.put(body);
  if (residue instanceof Uint8Array) w.put(residue);
  else w.grow(canonicalPadOf(canonicalPad, body.length));
}

/** Declares `char[size]`: text up to the first NUL. Other bytes than zeros after it are kept in `<name>_pad`. */
export function chars(size: number): FixedCodec<string> {
  return {
    type: `char[${size}]`,
    size,
    display: { as: "text" },
    decode(r) {
      const at = r.take(size, `char[${size}]`);
      return takeText(r, at, r.pos, -size);
    },
    encode(w, value) {
      const from = w.length;
      putText(w, value, -size);
      if (w.length - from !== size) {
        throw new RangeError(`char[${size}]: text of ${w.length - from} bytes does not fit`);
      }
    },
  };
}

/**
 * Declares text that fills the rest of a record: NUL-terminated, zero-padded to a multiple of `unit` bytes.
 * Other padding is kept in `<name>_pad`.
 */
export function paddedTo(unit: number): Codec<string> {
  return {
    type: "char[]",
    display: { as: "text" },
    shape: { kind: "text", unit },
    decode(r) {
      const at = r.take(r.left, "char[]");
      return takeText(r, at, r.pos, unit);
    },
    encode: (w, value) => putText(w, value, unit),
  };
}

/**
 * Text that fills the rest of a record: NUL-terminated, zero-padded to a multiple of 8, as the
 * kernel writes `filename`, `comm` and `path`. Other padding is kept in `<name>_pad`.
 */
export const paddedText: Codec<string> = paddedTo(8);

/** Text that fills the rest of the region, including any NULs. */
export const restText: Codec<string> = {
  type: "char[]",
  display: { as: "text" },
  decode(r) {
    const at = r.take(r.left, "char[]");
    return decodeText(r.bytes.subarray(at, r.pos));
  },
  encode: (w, value) => w.put(encodeText(value)),
};

/**
 * `perf_header_string`: a u32 length, then that many bytes of NUL-terminated text.
 *
 * perf rounds the length up to 64 (`NAME_ALIGN` in `tools/perf/util/header.c`); other writers do
 * not. Unusual padding is kept in `<name>_pad`.
 */
export const headerString: Codec<string> = {
  type: "perf_header_string",
  display: { as: "text" },
  decode(r) {
    const length = r.view.getUint32(r.take(4, "perf_header_string.len"), r.littleEndian);
    const at = r.take(length, "perf_header_string.string");
    return takeText(r, at, r.pos, 64);
  },
  encode(w, value) {
    const at = w.grow(4);
    putText(w, value, 64);
    w.view.setUint32(at, w.length - at - 4, w.littleEndian);
  },
};

/** NUL-terminated text of any length, without padding. */
export const cString: Codec<string> = {
  type: "char[]",
  display: { as: "text" },
  decode(r) {
    const stop = r.bytes.indexOf(0, r.pos);
    if (stop < 0 || stop >= r.end) throw r.error("text: no terminating NUL");
    const at = r.take(stop + 1 - r.pos, "text");
    return decodeText(r.bytes.subarray(at, stop));
  },
  encode(w, value) {
    w.put(encodeText(value));
    w.grow(1);
  },
};
