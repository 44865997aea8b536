/**
 * What one thread of a dump hands to those that write: text that is made, and plain samples, whose
 * text is not. Any thread can write a block:
 *
 * ```text
 *  block:   bytes used (u32), unused (u32), items
 *  item:    kind (u32), bytes of the item (u32, a multiple of 8), …
 *  TEXT     length, unused; the text
 *  THREAD   slot, bytes of its text, bytes of them that are its ids, unused; its text
 *  BINARY   number, bytes of its line; the line
 *  SAMPLE   event, slot, place (f64), binary, unused; the record
 * ```
 *
 * A thread and a binary come before the first sample of the block that has them.
 *
 * @module
 */
import type { PerfDataReader } from "@perfdata/format";
import { recordSize } from "@perfdata/format/record-header";
import type { Blocks, BlockTarget } from "@perfdata/session/blocks";
import type { SourceBytes } from "./field_text.ts";
import { RecordHead } from "./record_head.ts";
import type { SampleNames } from "./sample_names.ts";
import { SampleText } from "./sample_text.ts";
import { TextOut } from "./text_out.ts";
import { THREAD_SLOTS, ThreadText } from "./thread_text.ts";

const TEXT = 0;
const THREAD = 1;
const BINARY = 2;
const SAMPLE = 3;

const HEADER = 8;
/** Bytes before what an item holds. */
const HEAD = 16;
const SAMPLE_HEAD = 32;

/** Bytes of a block: room for the longest sample with the longest thread and binary. */
export const BLOCK_SIZE: number = 1 << 18;
/** What a block is handed over with: the text is some ten times as long. */
const FULL = 1 << 17;

/** The bytes of a block. */
class Block implements SourceBytes {
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

/** Fills blocks. */
export class BlockPacker {
  readonly #blocks: BlockTarget;
  readonly #full: number;
  readonly #seen: SeenBlocks;
  readonly #names: SampleNames;
  readonly #texts: ThreadText;
  #block: Block;
  #at = HEADER;
  /** Counts the blocks. */
  #number = 1;
  /** Which text of each slot is in the block, as `made` counts; in which block each binary is. */
  readonly #threads = new Float64Array(THREAD_SLOTS);
  readonly #binaries: number[] = [];

  /**
   * @param names Knows which text of a thread is which.
   * @param texts The text of threads and binaries.
   */
  constructor(
    blocks: BlockTarget,
    names: SampleNames,
    texts: ThreadText,
  ) {
    this.#blocks = blocks;
    this.#full = blocks.full ?? FULL;
    this.#seen = new SeenBlocks(blocks);
    this.#names = names;
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
      if (this.#threads[slot] !== this.#names.made[slot]) this.#thread(slot);
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
    const text = this.#texts.bytesOf(slot);
    this.#reserve(HEAD + 8 + text.length);
    const at = this.#put(THREAD, HEAD + 8 + text.length, slot, text.length);
    const { bytes, words } = this.#block;
    words[(at >> 2) + 4] = this.#texts.idsLength(slot);
    bytes.set(text, at + HEAD + 8);
    this.#threads[slot] = this.#names.made[slot] as number;
  }

  #binary(binary: number): void {
    const texts = this.#texts;
    const length = texts.sizeOfBinary(binary);
    this.#reserve(HEAD + length + 8);
    const at = this.#put(BINARY, HEAD + length, binary, length);
    texts.putBinary(this.#block.view, at + HEAD, binary);
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

/** Text is handed on in pieces of at least so many bytes: a thread that writes has to wait for its turn. */
const PIECE = 1 << 20;

/** What the text of samples depends on, besides the file. */
export interface BlockAbout {
  /** What the text calls the file. */
  readonly path: string;
  /** Whether bytes are printed. */
  readonly hex: boolean;
}

/** Writes the text of blocks. */
export class BlockText {
  readonly #reader: PerfDataReader;
  readonly #seen: SeenBlocks;
  readonly #head: RecordHead;
  readonly #threads = new ThreadText();
  readonly #samples: (SampleText | undefined)[] = [];
  readonly #out: TextOut;
  #write: (text: Uint8Array) => void = () => {};

  /** Makes text of samples of a file. */
  constructor(
    reader: PerfDataReader,
    { path, hex }: BlockAbout,
    blocks: Pick<Blocks, "memory">,
  ) {
    this.#reader = reader;
    this.#seen = new SeenBlocks(blocks);
    this.#head = new RecordHead(path, hex, reader.littleEndian);
    for (const { layout } of reader.events.all) this.#head.combinedType |= layout.sampleType;
    this.#out = new TextOut(PIECE, (text) => this.#write(text));
  }

  /** Writes the text of block `n`, in pieces that are valid during the call only. */
  put(n: number, write: (text: Uint8Array) => void): void {
    this.#write = write;
    const block = this.#seen.get(n);
    const { bytes, words, wide } = block;
    const used = words[0] as number;
    const out = this.#out;
    const threads = this.#threads;
    for (let at = HEADER; at < used;) {
      const word = at >> 2;
      const size = words[word + 1] as number;
      const first = words[word + 2] as number;
      const second = words[word + 3] as number;
      switch (words[word]) {
        case SAMPLE: {
          out.reserve();
          const start = at + SAMPLE_HEAD;
          const text = this.#samples[first] ?? this.#make(first);
          const end = start + recordSize(block.view, start, text.littleEndian);
          text.locate(block.view, start, end);
          const place = wide[(at >> 3) + 2] as number;
          const binary = words[word + 6] as number;
          out.p = text.put(out.view, out.p, block, start, end, place, second, binary);
          break;
        }
        case TEXT:
          out.add(bytes.subarray(at + HEAD, at + HEAD + first));
          break;
        case THREAD: {
          const ids = words[word + 4] as number;
          threads.set(first, bytes.slice(at + HEAD + 8, at + HEAD + 8 + second), ids);
          break;
        }
        case BINARY:
          if (!threads.hasBinary(first)) {
            threads.setBinary(first, bytes.slice(at + HEAD, at + HEAD + second));
          }
      }
      at += size;
    }
    out.flush();
  }

  #make(event: number): SampleText {
    const { events, littleEndian, arch } = this.#reader;
    const found = events.all[event];
    if (found === undefined) throw new Error("the file changed while it was read");
    const text = new SampleText(found, littleEndian, arch, this.#head, this.#threads);
    return this.#samples[event] = text;
  }
}
