import { type BlockCache, type InsnMode, offsetIn } from "@perfdata/intel-pt";
import { enlarge } from "@perfdata/format/bytes";
import type { PtCode, ThreadCode } from "../code/pt_code.ts";

/** Instructions of a block. */
export interface BlockInsns {
  /** Addresses, bits 31:0. */
  readonly low: Int32Array;
  /** Addresses, bits 63:32. */
  readonly high: Int32Array;
  readonly place: Int32Array;
  readonly text: Int32Array;
}

/** Words of a block's last instruction in the table. */
const END_WORDS = 5;

/** Indexes of these words. */
const END_WORD = { LOW: 0, HIGH: 1, PLACE: 2, TEXT: 3 } as const;

/** Formats an instruction, for example with iced-x86. */
export type InsnText = (bytes: Uint8Array, ip: bigint, mode: InsnMode) => string;

/** The bytes of an instruction in hexadecimal, as perf prints them: ` 31 ed`. */
export function insnBytes(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => ` ${byte.toString(16).padStart(2, "0")}`).join("");
}

/** Addresses, places and texts of the instructions of blocks, by the number of the block. */
export class InsnTable {
  /** Texts of instructions; number 0 is no text. */
  readonly texts: string[] = [""];
  readonly #code: PtCode;
  readonly #text: InsnText | undefined;
  readonly #textNumbers = new Map<string, number>();
  #insns: (BlockInsns | undefined)[] = [];
  /** Last instruction of each block: see END_WORD. */
  #ends = new Int32Array(END_WORDS * 256);
  /** Index in `Places` of each block's first address, plus 2 since it may be -1; 0 if it was not looked up. */
  #places = new Int32Array(256);

  /** Starts without blocks. `text` formats instructions, if texts are needed. */
  constructor(code: PtCode, text: InsnText | undefined) {
    this.#code = code;
    this.#text = text;
  }

  /** Clears all blocks, because their numbers are no longer valid. */
  clear(): void {
    this.#insns = [];
    this.#ends.fill(0);
    this.#places.fill(0);
  }

  of(code: ThreadCode, blocks: BlockCache, block: number): BlockInsns {
    return this.#insns[block] ??= this.#list(code, blocks, block, 0);
  }

  /** The last instruction of a block, as an index for the four methods below. */
  end(code: ThreadCode, blocks: BlockCache, block: number): number {
    const at = block * END_WORDS;
    return at < this.#ends.length && this.#ends[at + END_WORDS - 1] === 1
      ? at
      : this.#findEnd(code, blocks, block);
  }

  /** Low half of the address of a last instruction. */
  endLow(end: number): number {
    return this.#ends[end + END_WORD.LOW] as number;
  }

  /** High half of the address of a last instruction. */
  endHigh(end: number): number {
    return this.#ends[end + END_WORD.HIGH] as number;
  }

  /** Place of a last instruction. */
  endPlace(end: number): number {
    return this.#ends[end + END_WORD.PLACE] as number;
  }

  /** Number of the text of a last instruction. */
  endText(end: number): number {
    return this.#ends[end + END_WORD.TEXT] as number;
  }

  place(code: ThreadCode, blocks: BlockCache, block: number): number {
    const known = block < this.#places.length ? this.#places[block] as number : 0;
    if (known !== 0) return known - 2;
    if (block >= this.#places.length) this.#places = enlarge(this.#places, block + 1);
    const low = blocks.low[block] as number;
    const place = this.#code.place(code, low, blocks.high[block] as number);
    this.#places[block] = place + 2;
    return place;
  }

  #findEnd(code: ThreadCode, blocks: BlockCache, block: number): number {
    const at = block * END_WORDS;
    if (at >= this.#ends.length) this.#ends = enlarge(this.#ends, at + END_WORDS);
    const from = (blocks.size[block] as number) - (blocks.lastSize[block] as number);
    const { low, high, place, text } = this.#list(code, blocks, block, from);
    this.#ends[at + END_WORD.LOW] = low[0] as number;
    this.#ends[at + END_WORD.HIGH] = high[0] as number;
    this.#ends[at + END_WORD.PLACE] = place[0] as number;
    this.#ends[at + END_WORD.TEXT] = text[0] as number;
    this.#ends[at + END_WORDS - 1] = 1;
    return at;
  }

  /** Instructions of a block, from an offset on. */
  #list(code: ThreadCode, blocks: BlockCache, block: number, from: number): BlockInsns {
    const low: number[] = [];
    const high: number[] = [];
    const place: number[] = [];
    const text: number[] = [];
    const first = (blocks.low[block] as number) >>> 0;
    const top = blocks.high[block] as number;
    const range = blocks.rangeOf(block);
    const base = offsetIn(range, first | 0, top);
    blocks.eachInsn(code, block, (offset, length) => {
      if (offset < from) return;
      const sum = first + offset;
      const ipLow = sum | 0;
      const ipHigh = sum >= 2 ** 32 ? top + 1 | 0 : top;
      low.push(ipLow);
      high.push(ipHigh);
      place.push(this.#code.place(code, ipLow, ipHigh));
      const window = this.#text === undefined ? undefined : range.window(base + offset);
      if (window === undefined || this.#text === undefined) return text.push(0);
      const at = base + offset - window.from;
      const ip = BigInt(ipHigh >>> 0) << 32n | BigInt(ipLow >>> 0);
      text.push(this.#numberOf(
        this.#text(window.bytes.subarray(at, at + length), ip, blocks.modeOf(block)),
      ));
    });
    return {
      low: Int32Array.from(low),
      high: Int32Array.from(high),
      place: Int32Array.from(place),
      text: Int32Array.from(text),
    };
  }

  #numberOf(text: string): number {
    let number = this.#textNumbers.get(text);
    if (number === undefined) {
      number = this.texts.push(text) - 1;
      this.#textNumbers.set(text, number);
    }
    return number;
  }
}
