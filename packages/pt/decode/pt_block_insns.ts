import { type BlockCache } from "@perfdata/intel-pt";
import { offsetIn } from "@perfdata/intel-pt/flow";
import { enlarge } from "@perfdata/format/enlarge";
import type { PtCode, ThreadCode } from "../code/pt_code.ts";

/** Instructions of a block. */
export interface BlockInsns {
  /** Addresses, bits 31:0. */
  readonly low: Int32Array;
  /** Addresses, bits 63:32. */
  readonly high: Int32Array;
  /** Places. */
  readonly place: Int32Array;
  /** Numbers of their texts. */
  readonly text: Int32Array;
}

/** Numbers of a block in {@linkcode InsnTable.ends}. */
const END_WORDS = 5;

/** Where those numbers are. */
export const END_WORD = { LOW: 0, HIGH: 1, PLACE: 2, TEXT: 3 } as const;

/** Addresses, places and bytes of the instructions of blocks, by the number of the block. */
export class InsnTable {
  /** Bytes of instructions in hexadecimal: ` 31 ed`; number 0 is none. */
  readonly texts: string[] = [""];
  /** Of each block its last instruction: see {@linkcode END_WORD}. */
  ends: Int32Array<ArrayBuffer> = new Int32Array(END_WORDS * 256);

  readonly #code: PtCode;
  readonly #hasTexts: boolean;
  readonly #textNumbers = new Map<string, number>();
  #insns: (BlockInsns | undefined)[] = [];
  /** Place of the start of each block, + 2; 0 where it is not known yet. */
  #places = new Int32Array(256);

  /** Knows no block yet; `hasTexts` says whether the bytes are wanted. */
  constructor(code: PtCode, hasTexts: boolean) {
    this.#code = code;
    this.#hasTexts = hasTexts;
  }

  /** Forgets all blocks: their numbers mean nothing any more. */
  clear(): void {
    this.#insns = [];
    this.ends.fill(0);
    this.#places.fill(0);
  }

  /** All instructions of a block. */
  of(code: ThreadCode, blocks: BlockCache, block: number): BlockInsns {
    return this.#insns[block] ??= this.#list(code, blocks, block, 0);
  }

  /** Where in {@linkcode InsnTable.ends} the last instruction of a block is. */
  end(code: ThreadCode, blocks: BlockCache, block: number): number {
    const at = block * END_WORDS;
    return at < this.ends.length && this.ends[at + END_WORDS - 1] === 1
      ? at
      : this.#findEnd(code, blocks, block);
  }

  /** The place where a block starts. */
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
    if (at >= this.ends.length) this.ends = enlarge(this.ends, at + END_WORDS);
    const from = (blocks.size[block] as number) - (blocks.lastSize[block] as number);
    const { low, high, place, text } = this.#list(code, blocks, block, from);
    this.ends[at + END_WORD.LOW] = low[0] as number;
    this.ends[at + END_WORD.HIGH] = high[0] as number;
    this.ends[at + END_WORD.PLACE] = place[0] as number;
    this.ends[at + END_WORD.TEXT] = text[0] as number;
    this.ends[at + END_WORDS - 1] = 1;
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
      low.push(sum | 0);
      high.push(sum >= 2 ** 32 ? top + 1 | 0 : top);
      place.push(this.#code.place(code, low.at(-1) as number, high.at(-1) as number));
      if (!this.#hasTexts) return text.push(0);
      const window = range.window(base + offset);
      let words = "";
      for (let i = 0; window !== undefined && i < length; i++) {
        words += ` ${
          (window.bytes[base + offset - window.from + i] ?? 0).toString(16).padStart(2, "0")
        }`;
      }
      let number = this.#textNumbers.get(words);
      if (number === undefined) {
        number = this.texts.push(words) - 1;
        this.#textNumbers.set(words, number);
      }
      text.push(number);
    });
    return {
      low: Int32Array.from(low),
      high: Int32Array.from(high),
      place: Int32Array.from(place),
      text: Int32Array.from(text),
    };
  }
}
