/**
 * What one thread of a dump hands to those that write: text that is made, and plain samples, whose
 * text is not. A block can be written by whoever gets it:
 *
 * ```text
 *  block:   bytes used (u32), unused (u32), items
 *  item:    kind (u32), bytes of the item (u32, a multiple of 8), …
 *  TEXT     length, unused; the text
 *  THREAD   slot, bytes of its ids, bytes of its line, unused; both
 *  BINARY   number, bytes of its line; the line
 *  SAMPLE   event, slot, place (f64), binary, unused; the record
 * ```
 *
 * A thread and a binary come before the first sample of the block that has them.
 *
 * @module
 */
import type { PerfDataReader } from "@perfdata/format";
import type { Blocks } from "./blocks.ts";
import { PlainSamples } from "./plain_samples.ts";
import type { SampleContext } from "./sample_context.ts";
import { type SampleBytes, SampleHead } from "./sample_head.ts";
import { SampleText } from "./sample_text.ts";
import { RECORD_ROOM, type TextBytes, textBytes } from "./text.ts";
import { THREAD_SLOTS, ThreadText } from "./thread_text.ts";

const TEXT = 0;
const THREAD = 1;
const BINARY = 2;
const SAMPLE = 3;

const HEADER = 8;
/** Bytes before what an item holds. */
const HEAD = 16;
const THREAD_HEAD = 24;
const SAMPLE_HEAD = 32;

/** Bytes of a block: room for the longest sample with the longest thread and binary. */
export const BLOCK_SIZE: number = 1 << 18;
/** What a block is handed over with: the text is some ten times as long. */
const FULL = 1 << 17;

/** The bytes of a block. */
class Block implements SampleBytes, TextBytes {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly words: Int32Array;
  readonly wide: Float64Array;

  constructor(memory: SharedArrayBuffer) {
    this.bytes = new Uint8Array(memory);
    this.view = new DataView(memory);
    this.words = new Int32Array(memory);
    this.wide = new Float64Array(memory);
  }
}

/** The blocks of a thread, seen as what they hold. */
class SeenBlocks {
  readonly #blocks: Pick<Blocks, "memory">;
  readonly #seen = new Map<SharedArrayBuffer, Block>();

  constructor(blocks: Pick<Blocks, "memory">) {
    this.#blocks = blocks;
  }

  get(n: number): Block {
    const memory = this.#blocks.memory(n);
    let block = this.#seen.get(memory);
    if (block === undefined) this.#seen.set(memory, block = new Block(memory));
    return block;
  }
}

/** Where blocks come from, and go. */
export interface BlockTarget extends Pick<Blocks, "memory" | "room" | "fill" | "close"> {
  /** A block is handed over with so many bytes; 128 KB by default. */
  readonly full?: number;
}

/** Fills blocks. */
export class BlockPacker {
  readonly #blocks: BlockTarget;
  readonly #full: number;
  readonly #seen: SeenBlocks;
  readonly #context: SampleContext;
  readonly #texts: ThreadText;
  #block: Block;
  #at = HEADER;
  /** Counts the blocks. */
  #number = 1;
  /** Which text of each slot is in the block, as `made` counts; in which block each binary is. */
  readonly #threads = new Float64Array(THREAD_SLOTS);
  readonly #binaries: number[] = [];

  /**
   * @param context Knows which text of a thread is which.
   * @param texts The text of threads and binaries.
   */
  constructor(
    blocks: BlockTarget,
    context: SampleContext,
    texts: ThreadText,
  ) {
    this.#blocks = blocks;
    this.#full = blocks.full ?? FULL;
    this.#seen = new SeenBlocks(blocks);
    this.#context = context;
    this.#texts = texts;
    this.#block = this.#seen.get(blocks.room());
  }

  /** Adds text. */
  text(text: Uint8Array): void {
    for (let from = 0; from < text.length;) {
      if (this.#at >= this.#full) this.#next();
      this.#reserve(HEAD + 8);
      const room = this.#block.bytes.length - this.#at - HEAD & ~7;
      const length = Math.min(room, text.length - from);
      const at = this.#put(TEXT, HEAD + length, length, 0);
      this.#block.bytes.set(text.subarray(from, from + length), at + HEAD);
      from += length;
    }
  }

  /**
   * Adds a sample.
   *
   * @param words Hold the record from word `first` on.
   * @param place File offset that is printed.
   * @param slot That of its thread's text.
   * @param binary That of its address.
   */
  sample(
    words: Int32Array,
    first: number,
    size: number,
    event: number,
    place: number,
    slot: number,
    binary: number,
  ): void {
    if (this.#at >= this.#full) this.#next();
    // What a sample needs is in the same block.
    for (let block = 0; block !== this.#number;) {
      block = this.#number;
      if (this.#threads[slot] !== this.#context.made[slot]) this.#thread(slot);
      if (binary >= 0 && this.#binaries[binary] !== this.#number) this.#binary(binary);
      this.#reserve(SAMPLE_HEAD + size);
    }
    const at = this.#put(SAMPLE, SAMPLE_HEAD + size, event, slot);
    const { words: to, wide } = this.#block;
    wide[(at >> 3) + 2] = place;
    const start = at >> 2;
    to[start + 6] = binary;
    for (let i = 0, k = start + SAMPLE_HEAD / 4; i < size; i += 4, k++) {
      to[k] = words[first + (i >> 2)] as number;
    }
  }

  /** Hands over what there is: there will be no more. */
  close(): void {
    this.#fill();
    this.#blocks.close();
  }

  #thread(slot: number): void {
    const texts = this.#texts;
    this.#reserve(THREAD_HEAD + texts.sizeOf(slot) + 2 * 8);
    const out = this.#block;
    const ids = this.#at + THREAD_HEAD;
    const line = texts.putIds(out, ids, slot);
    const end = texts.putLine(out, line, slot);
    const at = this.#put(THREAD, end - this.#at, slot, line - ids);
    out.words[(at >> 2) + 4] = end - line;
    this.#threads[slot] = this.#context.made[slot] as number;
  }

  #binary(binary: number): void {
    const texts = this.#texts;
    this.#reserve(HEAD + texts.sizeOfBinary(binary) + 8);
    const from = this.#at + HEAD;
    const length = texts.putBinary(this.#block, from, binary) - from;
    this.#put(BINARY, HEAD + length, binary, length);
    this.#binaries[binary] = this.#number;
  }

  /** Begins an item; returns where. */
  #put(kind: number, size: number, first: number, second: number): number {
    const at = this.#at;
    const { words } = this.#block;
    const word = at >> 2;
    const whole = size + 7 & ~7;
    words[word] = kind;
    words[word + 1] = whole;
    words[word + 2] = first;
    words[word + 3] = second;
    this.#at = at + whole;
    return at;
  }

  /** Makes room for an item in the block, or in the next one. */
  #reserve(size: number): void {
    if (this.#at + size + 7 > this.#block.bytes.length) this.#next();
  }

  #next(): void {
    this.#fill();
    this.#block = this.#seen.get(this.#blocks.room());
    this.#at = HEADER;
    this.#number++;
    this.#threads.fill(0);
  }

  #fill(): void {
    this.#block.words[0] = this.#at;
    this.#blocks.fill();
  }
}

/** Text is handed on in pieces of at least so many bytes: who writes has to wait for his turn. */
const PIECE = 1 << 20;

/** Writes the text of blocks. */
export class BlockText {
  readonly #reader: PerfDataReader;
  readonly #seen: SeenBlocks;
  readonly #head: SampleHead;
  readonly #threads = new ThreadText();
  readonly #plain: (PlainSamples | undefined)[] = [];
  readonly #out: TextBytes;

  /**
   * @param reader The file that the samples are of.
   * @param path What the text calls it.
   */
  constructor(reader: PerfDataReader, path: string, blocks: Pick<Blocks, "memory">) {
    this.#reader = reader;
    this.#seen = new SeenBlocks(blocks);
    this.#head = new SampleHead(path, true, reader.littleEndian);
    for (const { layout } of reader.events.all) this.#head.combinedType |= layout.sampleType;
    this.#out = textBytes(PIECE + RECORD_ROOM);
  }

  /** Writes the text of block `n`, in pieces that are valid during the call only. */
  put(n: number, write: (text: Uint8Array) => void): void {
    const block = this.#seen.get(n);
    const { bytes, words, wide } = block;
    const used = words[0] as number;
    const out = this.#out;
    const threads = this.#threads;
    let p = 0;
    for (let at = HEADER; at < used;) {
      const word = at >> 2;
      const first = words[word + 2] as number;
      const second = words[word + 3] as number;
      const size = words[word + 1] as number;
      if (p >= PIECE) {
        write(out.bytes.subarray(0, p));
        p = 0;
      }
      switch (words[word]) {
        case SAMPLE: {
          const start = at + SAMPLE_HEAD;
          const end = start + ((words[(start >> 2) + 1] as number) >>> 16);
          const plain = this.#plain[first] ?? this.#make(first);
          plain.locate(block, start, end);
          const place = wide[(at >> 3) + 2] as number;
          p = plain.put(out, p, block, start, end, place, second, words[word + 6] as number);
          break;
        }
        case TEXT:
          out.bytes.set(bytes.subarray(at + HEAD, at + HEAD + first), p);
          p += first;
          break;
        case THREAD: {
          const ids = at + THREAD_HEAD;
          threads.set(first, bytes, ids, second, ids + second, words[word + 4] as number);
          break;
        }
        case BINARY:
          if (!threads.hasBinary(first)) {
            threads.setBinary(first, bytes.slice(at + HEAD, at + HEAD + second));
          }
      }
      at += size;
    }
    if (p > 0) write(out.bytes.subarray(0, p));
  }

  #make(event: number): PlainSamples {
    const { events, littleEndian, arch } = this.#reader;
    const found = events.all[event];
    if (found === undefined) throw new Error("the file changed while it was read");
    const text = new SampleText(found, littleEndian, arch);
    return this.#plain[event] = new PlainSamples(text, this.#head, this.#threads);
  }
}
