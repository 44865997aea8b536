import { hex4, piece, putHex } from "@perfdata/format/text-bytes";

const SEPARATOR = piece('","0x');
/** Doubles that hold what stands before the low half: a separator and up to 8 digits. */
const PREFIX_WORDS = 2;
/** How many high halves are remembered; a power of 2. */
const SLOTS = 32;
const END = 0x5d22; // "]

/**
 * Writes the addresses of call chains as the items of a JSON array.
 *
 * Most addresses of a chain are in a few mappings, whose addresses have the same high half: its
 * digits are kept.
 */
export class ChainText {
  readonly #highs = new Int32Array(SLOTS);
  readonly #lengths = new Int32Array(SLOTS);
  readonly #prefixes = new Float64Array(SLOTS * PREFIX_WORDS);
  readonly #scratch = new DataView(new ArrayBuffer(32));

  /** Writes the addresses in `words[from, to)`, low halves first, and the bracket after them. */
  put(words: Int32Array, from: number, to: number, out: DataView, pos: number): number {
    if (from >= to) {
      out.setInt8(pos, 0x5d);
      return pos + 1;
    }
    const highs = this.#highs;
    const lengths = this.#lengths;
    const prefixes = this.#prefixes;
    // The first separator is written like the others; what it covers is put back.
    const covered = out.getInt16(pos - 2, true);
    let at = pos - 2;
    for (let i = from; i < to; i += 2) {
      const low = words[i] as number;
      const high = words[i + 1] as number;
      if (high === 0) {
        at = putHex(out, SEPARATOR.put(out, at), 0, low);
        continue;
      }
      const slot = (high ^ (high >>> 8)) & (SLOTS - 1);
      if (highs[slot] !== high) this.#remember(slot, high);
      out.setFloat64(at, prefixes[PREFIX_WORDS * slot] as number, true);
      out.setFloat64(at + 8, prefixes[PREFIX_WORDS * slot + 1] as number, true);
      at += lengths[slot] as number;
      out.setInt32(at, hex4(low >>> 16), true);
      out.setInt32(at + 4, hex4(low & 0xffff), true);
      at += 8;
    }
    out.setInt16(pos - 2, covered, true);
    out.setInt16(at, END, true);
    return at + 2;
  }

  #remember(slot: number, high: number): void {
    const text = this.#scratch;
    const length = putHex(text, SEPARATOR.put(text, 0), 0, high);
    for (let i = 0; i < PREFIX_WORDS; i++) {
      this.#prefixes[PREFIX_WORDS * slot + i] = text.getFloat64(8 * i, true);
    }
    this.#highs[slot] = high;
    this.#lengths[slot] = length;
  }
}
