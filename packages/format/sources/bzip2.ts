import type { RandomAccessSource } from "./source.ts";

/** Maximum size of a compressed block: 900,001 symbols of at most 20 bits, and the tables. */
const MOST_BLOCK = 2_500_000;
/** Magic numbers of a block and of the end of a stream, as halves. */
const BLOCK_MAGIC = [0x314159, 0x265359] as const;
const END_MAGIC = [0x177245, 0x385090] as const;
const LONGEST_CODE = 20;
/** Number of symbols between two selectors; a selector chooses the code table. */
const GROUP = 50;
/** Size of an output part. A block may expand to 50 times its size. */
const PART = 1 << 16;

/** Table for bzip2's CRC: that of Ethernet, most significant bit first. */
const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let i = 0; i < 8; i++) crc = crc << 1 ^ (crc < 0 ? 0x04c11db7 : 0);
  return crc;
});

/**
 * Decompresses a bzip2 file in parts, which the caller may keep. A file may have several
 * streams one after another, as `pbzip2` writes it.
 *
 * @throws {Error} If the file is damaged or cut, or has randomised blocks, which bzip2 has not written since version
 * 0.9.5.
 */
export async function* bzip2Parts(
  source: RandomAccessSource,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  const input = new Bits(source);
  let streams = 0;
  for (;; streams++) {
    await input.fill();
    if (input.isAtEnd) break;
    const level = readBlockSize(input);
    let combined = 0;
    for (;;) {
      await input.fill();
      const [high, low] = [input.take(24), input.take(24)];
      if (high === END_MAGIC[0] && low === END_MAGIC[1]) break;
      if (high !== BLOCK_MAGIC[0] || low !== BLOCK_MAGIC[1]) {
        throw new Error("no block where one begins");
      }
      const stored = input.take(16) << 16 | input.take(16);
      const block = new Block(input, level * 100_000);
      yield* block.parts();
      if (block.crc !== stored) throw new Error("checksum of a block differs");
      combined = (combined << 1 | combined >>> 31) ^ stored;
    }
    if ((input.take(16) << 16 | input.take(16)) !== combined) throw new Error("checksum differs");
    input.align();
  }
  if (streams === 0) throw new Error("bzip2 data is cut");
}

/** Reads a stream's header; returns the size of its blocks in units of 100,000 bytes. */
function readBlockSize(input: Bits): number {
  const [b, z, h, digit] = [input.take(8), input.take(8), input.take(8), input.take(8)];
  const level = (digit as number) - 0x30;
  if (b !== 0x42 || z !== 0x5a || h !== 0x68 || level < 1 || level > 9) {
    throw new Error("no stream of bzip2 where one begins");
  }
  return level;
}

/** Bit reader for a file, most significant bit first. */
class Bits {
  readonly #source: RandomAccessSource;
  #bytes = new Uint8Array(0);
  #next = 0;
  #offset = 0;
  #held = 0;
  #count = 0;

  constructor(source: RandomAccessSource) {
    this.#source = source;
  }

  /** Reads ahead until the next block is in memory, if the file has it. */
  async fill(): Promise<void> {
    const rest = this.#bytes.subarray(this.#next);
    if (rest.length >= MOST_BLOCK || this.#offset >= this.#source.size) return;
    const bytes = new Uint8Array(
      Math.min(2 * MOST_BLOCK, rest.length + this.#source.size - this.#offset),
    );
    bytes.set(rest);
    const n = await this.#source.readAt(bytes.subarray(rest.length), this.#offset);
    this.#offset = n === 0 ? this.#source.size : this.#offset + n;
    this.#bytes = bytes.subarray(0, rest.length + n);
    this.#next = 0;
  }

  get isAtEnd(): boolean {
    return this.#count < 8 && this.#next === this.#bytes.length;
  }

  /** Reads the next `count` bits as a number: at most 24. */
  take(count: number): number {
    while (this.#count < count) {
      if (this.#next === this.#bytes.length) throw new Error("bzip2 data is cut");
      this.#held = this.#held << 8 | (this.#bytes[this.#next++] as number);
      this.#count += 8;
    }
    this.#count -= count;
    return this.#held >>> this.#count & ((1 << count) - 1);
  }

  /** Skips to the next byte boundary. */
  align(): void {
    this.#count -= this.#count % 8;
  }
}

/** One block: decodes its symbols and inverts the Burrows-Wheeler transform. */
class Block {
  crc = 0;
  /** For each position in the sorted order: the byte in the low 8 bits, the next position in the others. */
  readonly #links: Uint32Array;
  readonly #length: number;
  readonly #first: number;

  constructor(input: Bits, most: number) {
    if (input.take(1) === 1) throw new Error("a randomised block, of bzip2 before 0.9.5");
    this.#first = input.take(24);
    const bytes = readUsedBytes(input);
    const tables = input.take(3);
    const selectors = readSelectors(input, tables);
    const codes = Array.from({ length: tables }, () => readCode(input, bytes.length + 2));
    const links = new Uint32Array(most);
    const counts = new Uint32Array(256);
    const end = bytes.length + 1;
    let length = 0;
    let run = 0;
    let weight = 1;
    let left = 0;
    let group = 0;
    let code: Code | undefined;
    for (;;) {
      if (left === 0) {
        code = codes[selectors[group++] ?? -1];
        if (code === undefined) throw new Error("more symbols than selectors");
        left = GROUP;
      }
      left--;
      const symbol = nextSymbol(input, code as Code);
      if (symbol < 2) {
        // Symbols 0 and 1 are the digits 1 and 2 of the number of repetitions of the first byte.
        run += weight << symbol;
        weight *= 2;
        if (length + run > most) throw new Error("a run beyond the end of its block");
        continue;
      }
      if (run > 0) {
        const byte = bytes[0] as number;
        links.fill(byte, length, length + run);
        counts[byte] = (counts[byte] as number) + run;
        length += run;
        [run, weight] = [0, 1];
      }
      if (symbol === end) break;
      if (length === most) throw new Error("a block larger than those of its stream");
      const at = symbol - 1;
      const byte = bytes[at] as number;
      bytes.copyWithin(1, 0, at);
      bytes[0] = byte;
      links[length++] = byte;
      counts[byte] = (counts[byte] as number) + 1;
    }
    if (this.#first >= length) throw new Error("a block that begins beyond its end");
    let sum = 0;
    for (let byte = 0; byte < 256; byte++) {
      const count = counts[byte] as number;
      counts[byte] = sum;
      sum += count;
    }
    for (let i = 0; i < length; i++) {
      const byte = (links[i] as number) & 0xff;
      const at = counts[byte] as number;
      counts[byte] = at + 1;
      links[at] = (links[at] as number) | i << 8;
    }
    this.#links = links;
    this.#length = length;
  }

  /** Yields the expanded bytes. After four equal bytes, the next byte is the number of further repetitions. */
  *parts(): Generator<Uint8Array<ArrayBuffer>, void, void> {
    const links = this.#links;
    let link = links[this.#first] as number;
    let at = link >>> 8;
    let part = new Uint8Array(PART);
    let size = 0;
    let crc = -1;
    let before = -1;
    let equal = 0;
    for (let i = 0; i < this.#length; i++) {
      link = links[at] as number;
      at = link >>> 8;
      const byte = link & 0xff;
      const isCount = equal === 4;
      const times = isCount ? byte : 1;
      const value = isCount ? before : byte;
      for (let n = 0; n < times; n++) {
        crc = crc << 8 ^ (CRC[crc >>> 24 ^ value] as number);
        part[size++] = value;
        if (size < PART) continue;
        yield part;
        part = new Uint8Array(PART);
        size = 0;
      }
      equal = isCount ? 0 : byte === before ? equal + 1 : 1;
      before = isCount ? -1 : byte;
    }
    if (size > 0) yield part.subarray(0, size);
    this.crc = ~crc;
  }
}

/** Reads the byte values that occur in a block, in order. */
function readUsedBytes(input: Bits): Uint8Array {
  const rows = input.take(16);
  const bytes: number[] = [];
  for (let row = 0; row < 16; row++) {
    if ((rows >> (15 - row) & 1) === 0) continue;
    const columns = input.take(16);
    for (let column = 0; column < 16; column++) {
      if ((columns >> (15 - column) & 1) === 1) bytes.push(row * 16 + column);
    }
  }
  if (bytes.length === 0) throw new Error("a block without bytes");
  return Uint8Array.from(bytes);
}

/** Reads the number of the code table for each group of symbols. */
function readSelectors(input: Bits, tables: number): Uint8Array {
  if (tables < 2 || tables > 6) throw new Error(`${tables} tables of codes`);
  const selectors = new Uint8Array(input.take(15));
  if (selectors.length === 0) throw new Error("no selectors");
  const recent = Array.from({ length: tables }, (_, i) => i);
  for (let i = 0; i < selectors.length; i++) {
    let at = 0;
    while (input.take(1) === 1) if (++at === tables) throw new Error("a selector of no table");
    const [table] = recent.splice(at, 1) as [number];
    recent.unshift(table);
    selectors[i] = table;
  }
  return selectors;
}

/**
 * A code, by length of its words: `last` is the last code word of each length, `base` the offset from a code word to
 * its symbol's index.
 */
interface Code {
  readonly shortest: number;
  readonly last: Int32Array;
  readonly base: Int32Array;
  readonly symbols: Uint16Array;
}

function readCode(input: Bits, count: number): Code {
  const lengths = new Uint8Array(count);
  let length = input.take(5);
  for (let i = 0; i < count; i++) {
    for (;;) {
      if (length < 1 || length > LONGEST_CODE) throw new Error(`a code of ${length} bits`);
      if (input.take(1) === 0) break;
      length += input.take(1) === 0 ? 1 : -1;
    }
    lengths[i] = length;
  }
  const symbols = new Uint16Array(count);
  const last = new Int32Array(LONGEST_CODE + 1).fill(-1);
  const base = new Int32Array(LONGEST_CODE + 1);
  let code = 0;
  let done = 0;
  for (let bits = 1; bits <= LONGEST_CODE; bits++) {
    base[bits] = code - done;
    for (let i = 0; i < count; i++) {
      if (lengths[i] !== bits) continue;
      symbols[done++] = i;
      code++;
    }
    last[bits] = code - 1;
    code *= 2;
  }
  return { shortest: Math.min(...lengths), last, base, symbols };
}

function nextSymbol(input: Bits, { shortest, last, base, symbols }: Code): number {
  let bits = shortest;
  let code = input.take(bits);
  while (code > (last[bits] as number)) {
    if (++bits > LONGEST_CODE) throw new Error("a code of no symbol");
    code = code << 1 | input.take(1);
  }
  const symbol = symbols[code - (base[bits] as number)];
  if (symbol === undefined) throw new Error("a code of no symbol");
  return symbol;
}
