import { byteAt, putAscii, putHex2 } from "@perfdata/format/bytes";
import { type AuxBytes, type AuxText, putPlace, u32 } from "./aux_line.ts";

/** Names of the words of a long packet. Its first word marks the kind. */
const LONG_WORDS = [
  "",
  "Prefix",
  "Header DW0",
  "Header DW1",
  "Header DW2",
  "Header DW3",
  "",
  "Time",
];
const SHORT_WORDS = ["", "Header DW1", "Header DW2", "Header DW3"];
const LONG_MARK = 0xffff_f800;
/** Fields of a short packet's first word, from the lowest bit on: number of bits and name. */
const SHORT_FIELDS: readonly (readonly [number, string])[] = [
  [2, "Format"],
  [5, "Type"],
  [1, "T9"],
  [1, "T8"],
  [1, "TH"],
  [1, "SO"],
  [10, "Length"],
  [11, "Time"],
];

/**
 * Packets of HiSilicon's PCIe Tune and Trace device (`Documentation/trace/hisi-ptt.rst` of the
 * kernel). All packets of a trace have 8 words, or all have 4. Each word is a line.
 */
export class HisiPttText implements AuxText {
  readonly reach = 32;
  consumed = 0;
  #words: readonly string[] = SHORT_WORDS;

  /** The line before the packets. */
  heading(size: number, input: Uint8Array): string {
    const isLong = size >= 4 && (u32(input, 0) & LONG_MARK) >>> 0 === LONG_MARK;
    this.#words = isLong ? LONG_WORDS : SHORT_WORDS;
    const packet = 4 * this.#words.length;
    return `.\n. ... HISI PTT data: size ${size - size % packet} bytes\n`;
  }

  put(out: DataView, p: number, { input, at, end, position }: AuxBytes): number {
    const words = this.#words;
    this.consumed = Math.min(4 * words.length, end - at);
    // A partial packet at the end is not reported.
    if (this.consumed < 4 * words.length) return p;
    words.forEach((name, i) => {
      const text = name !== "" ? name : i === 0 && words === SHORT_WORDS ? fields(input, at) : "";
      if (text === "") return;
      p = putPlace(out, p, position + 4 * i);
      for (let k = 0; k < 4; k++) {
        p = putHex2(out, p, byteAt(input, at + 4 * i + k));
        out.setUint8(p++, 0x20);
      }
      p = putAscii(out, p, `${" ".repeat(32)}${text}\n`);
    });
    return p;
  }
}

/** Formats the fields of a short packet's first word: `Format 1 Type 0 …`. */
function fields(input: Uint8Array, at: number): string {
  const word = u32(input, at);
  let bit = 0;
  return SHORT_FIELDS.map(([bits, name]) => {
    const value = word >>> bit & (1 << bits) - 1;
    bit += bits;
    return `${name} ${value.toString(16)}`;
  }).join(" ");
}
