import {
  bitsAt,
  corrupt,
  type FseTable,
  fseTable,
  highestBit,
  type HuffmanTable,
  oneSymbol,
  readFseTable,
  readHuffmanTable,
} from "./entropy_tables.ts";

/** Maximum inflated size of a block (`Block_Maximum_Size` of RFC 8878, 3.1.1.2.4). */
export const MAX_BLOCK: number = 1 << 17;

/** Number of readable bytes required before and after the body of a block. */
export const MARGIN = 16;

/** Maximum number of bytes for which a copy loop is faster than a call. */
const SHORT = 32;

/** The bytes of a frame that matches may refer to, with room for the next block. */
export interface BlockOutput {
  /** The bytes, with room for {@link MAX_BLOCK} more. */
  readonly bytes: Uint8Array;
  /** Number of bytes used. */
  length: number;
}

// Length codes (RFC 8878, 3.1.1.3.2.1.1): number of extra bits, and base value.
const LITERALS_BITS = new Uint8Array(36);
const LITERALS_BASE = new Int32Array(36);
const MATCH_BITS = new Uint8Array(53);
const MATCH_BASE = new Int32Array(53);
LITERALS_BITS.set([1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], 16);
MATCH_BITS.set([1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], 32);
for (
  const [bits, base, first] of [
    [LITERALS_BITS, LITERALS_BASE, 0],
    [MATCH_BITS, MATCH_BASE, 3],
  ] as const
) {
  base[0] = first;
  for (let i = 1; i < base.length; i++) {
    base[i] = (base[i - 1] as number) + (1 << (bits[i - 1] as number));
  }
}

// Default probabilities (RFC 8878, 3.1.1.3.2.2).
const [FOUR, TWO, ONE] = [[4, 3], [2, 2, 2, 2, 2], [1, 1, 1, 1, 1]] as const;
const DEFAULT_LITERALS = fseTable(
  [...FOUR, ...TWO, ...TWO, 2, 1, 1, 1, ...TWO, 2, 2, 2, 2, 3, 2, ...ONE, -1, -1, -1, -1],
  6,
);
const DEFAULT_OFFSETS = fseTable(
  [...ONE, 1, 2, 2, 2, ...ONE, ...ONE, ...ONE, -1, -1, -1, -1, -1],
  5,
);
const DEFAULT_MATCHES = fseTable(
  [1, 4, 3, 2, 2, 2, 2, 2, 2, ...Array(37).fill(1), -1, -1, -1, -1, -1, -1, -1],
  6,
);

/** State of a decoder between two blocks of a frame, which can be sent to another thread. */
export interface BlockState {
  readonly huffman: HuffmanTable | undefined;
  readonly literals: FseTable | undefined;
  readonly offsets: FseTable | undefined;
  readonly matches: FseTable | undefined;
  /** The last three offsets. */
  readonly last: readonly [number, number, number];
}

/** Inflates the compressed blocks of a frame; keeps tables and offsets from block to block. */
export class BlockDecoder {
  #huffman: HuffmanTable | undefined;
  #literalsTable: FseTable | undefined;
  #offsetsTable: FseTable | undefined;
  #matchesTable: FseTable | undefined;
  readonly #literals = new Uint8Array(MAX_BLOCK);
  // The last three offsets.
  #last = 1;
  #second = 4;
  #third = 8;

  reset(): void {
    this.#huffman =
      this.#literalsTable =
      this.#offsetsTable =
      this.#matchesTable =
        undefined;
    [this.#last, this.#second, this.#third] = [1, 4, 8];
  }

  /** Returns the state between two blocks, without the bytes that matches may refer to. */
  state(): BlockState {
    return {
      huffman: this.#huffman,
      literals: this.#literalsTable,
      offsets: this.#offsetsTable,
      matches: this.#matchesTable,
      last: [this.#last, this.#second, this.#third],
    };
  }

  /** Continues from the state of another decoder. */
  resume({ huffman, literals, offsets, matches, last }: BlockState): void {
    this.#huffman = huffman;
    this.#literalsTable = literals;
    this.#offsetsTable = offsets;
    this.#matchesTable = matches;
    [this.#last, this.#second, this.#third] = last;
  }

  /**
   * Inflates the block with the body `bytes[start, end)`. The time is bounded by the sizes of input and
   * output: inflating stops with an error if the output exceeds a block.
   *
   * @param view View of the same bytes, with {@link MARGIN} bytes before and after the body.
   * @throws {Error} If the block violates the format.
   */
  inflate(bytes: Uint8Array, view: DataView, start: number, end: number, out: BlockOutput): void {
    if (end - start < 2) corrupt("a block without sections");
    const [at, count] = this.#readLiterals(bytes, view, start, end);
    this.#sequences(bytes, view, at, end, count, out);
  }

  /** Decodes the literals section; returns its end and the number of literals. */
  #readLiterals(bytes: Uint8Array, view: DataView, start: number, end: number): [number, number] {
    const literals = this.#literals;
    const head = bytes[start] as number;
    const kind = head & 3;
    const format = (head >> 2) & 3;
    if (kind < 2) {
      const headSize = [1, 2, 1, 3][format] as number;
      const word = view.getUint32(start, true);
      const count = headSize === 1
        ? head >> 3
        : headSize === 2
        ? (word >> 4) & 0xfff
        : (word >> 4) & 0xfffff;
      const at = start + headSize;
      const after = at + (kind === 0 ? count : 1);
      if (count > MAX_BLOCK || after > end) corrupt(`${count} literals`);
      if (kind === 0) literals.set(bytes.subarray(at, after));
      else literals.fill(bytes[at] as number, 0, count);
      return [after, count];
    }
    const bits = [10, 10, 14, 18][format] as number;
    const low = view.getUint32(start, true);
    const count = (low >>> 4) & ((1 << bits) - 1);
    const mask = (1 << bits) - 1;
    const size = bits === 18
      ? (low >>> 22 | (bytes[start + 4] as number) << 10) & mask
      : (low >>> (4 + bits)) & mask;
    let at = start + (bits === 10 ? 3 : bits === 14 ? 4 : 5);
    const after = at + size;
    if (count > MAX_BLOCK || after > end) corrupt(`${count} literals in ${size} bytes`);
    if (kind === 2) [this.#huffman, at] = readHuffmanTable(bytes, view, at, after);
    const table = this.#huffman ?? corrupt("literals without a code");
    if (format === 0) {
      decodeLiterals(table, view, at, after, literals, 0, count);
      return [after, count];
    }
    if (at + 6 > after) corrupt("four streams without their sizes");
    const quarter = (count + 3) >> 2;
    let from = at + 6;
    for (let i = 0; i < 4; i++) {
      const to = i === 3 ? after : from + view.getUint16(at + 2 * i, true);
      const first = quarter * i;
      const last = i === 3 ? count : first + quarter;
      if (to > after || first > last) corrupt("streams longer than their section");
      decodeLiterals(table, view, from, to, literals, first, last);
      from = to;
    }
    return [after, count];
  }

  /** Reads the table for one kind of codes; returns it and the end of its description. */
  #table(
    mode: number,
    bytes: Uint8Array,
    at: number,
    end: number,
    kind: { byDefault: FseTable; before: FseTable | undefined; maxLog: number; maxSymbol: number },
  ): [FseTable, number] {
    if (mode === 0) return [kind.byDefault, at];
    if (mode === 2) return readFseTable(bytes, at, end, kind.maxLog, kind.maxSymbol);
    if (mode === 3) return [kind.before ?? corrupt("no table to repeat"), at];
    const symbol = bytes[at] as number;
    if (at >= end || symbol > kind.maxSymbol) corrupt(`code ${symbol}`);
    return [oneSymbol(symbol), at + 1];
  }

  #sequences(
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
    literalCount: number,
    out: BlockOutput,
  ): void {
    if (start >= end) corrupt("no sequences section");
    let at = start + 1;
    let count = bytes[start] as number;
    if (count === 255) {
      count = 0x7f00 + view.getUint16(at, true);
      at += 2;
    } else if (count > 127) count = ((count - 128) << 8) + (bytes[at++] as number);
    let used = 0;
    if (count > 0) {
      const modes = bytes[at++] as number;
      if (at > end || (modes & 3) !== 0) corrupt("modes of sequences");
      [this.#literalsTable, at] = this.#table(modes >> 6, bytes, at, end, {
        byDefault: DEFAULT_LITERALS,
        before: this.#literalsTable,
        maxLog: 9,
        maxSymbol: 35,
      });
      [this.#offsetsTable, at] = this.#table((modes >> 4) & 3, bytes, at, end, {
        byDefault: DEFAULT_OFFSETS,
        before: this.#offsetsTable,
        maxLog: 8,
        maxSymbol: 31,
      });
      [this.#matchesTable, at] = this.#table((modes >> 2) & 3, bytes, at, end, {
        byDefault: DEFAULT_MATCHES,
        before: this.#matchesTable,
        maxLog: 9,
        maxSymbol: 52,
      });
      used = this.#execute(bytes, view, at, end, count, literalCount, out);
    } else if (at !== end) corrupt("bytes after the last sequence");
    const rest = literalCount - used;
    out.bytes.set(this.#literals.subarray(used, literalCount), out.length);
    out.length += rest;
  }

  /**
   * Executes the sequences: each copies a number of literals, then a number of bytes from a distance back.
   *
   * A sequence produces at least three bytes, and all must fit into a block. Therefore, the loop ends after at most as
   * many iterations as a block has bytes, for any input.
   *
   * @returns Number of literals used.
   */
  // This loop dominates the time of inflating, so all its values are numbers in local variables.
  #execute(
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
    count: number,
    literalCount: number,
    out: BlockOutput,
  ): number {
    const { log: literalsLog, cells: literalsCells } = this.#literalsTable as FseTable;
    const { log: offsetsLog, cells: offsetsCells } = this.#offsetsTable as FseTable;
    const { log: matchesLog, cells: matchesCells } = this.#matchesTable as FseTable;
    const lastByte = end > start ? bytes[end - 1] as number : 0;
    if (lastByte === 0) corrupt("sequences without an end");
    const literals = this.#literals;
    const to = out.bytes;
    let length = out.length;
    const most = length + MAX_BLOCK;
    let used = 0;
    let [last, second, third] = [this.#last, this.#second, this.#third];
    let bit = (end - start - 1) * 8 + highestBit(lastByte);
    bit -= literalsLog;
    let literalsState = bitsAt(view, start, bit, literalsLog);
    bit -= offsetsLog;
    let offsetsState = bitsAt(view, start, bit, offsetsLog);
    bit -= matchesLog;
    let matchesState = bitsAt(view, start, bit, matchesLog);
    if (bit < 0) corrupt("sequences are cut");
    for (let i = 1;; i++) {
      const literalsCell = literalsCells[literalsState] as number;
      const offsetsCell = offsetsCells[offsetsState] as number;
      const matchesCell = matchesCells[matchesState] as number;
      const offsetBits = offsetsCell & 255;
      bit -= offsetBits;
      const offsetCode = offsetBits <= 24
        ? (1 << offsetBits) + bitsAt(view, start, bit, offsetBits)
        : 2 ** offsetBits + 2 ** 24 * bitsAt(view, start, bit + 24, offsetBits - 24) +
          bitsAt(view, start, bit, 24);
      const matchBits = MATCH_BITS[matchesCell & 255] as number;
      bit -= matchBits;
      const match = (MATCH_BASE[matchesCell & 255] as number) +
        bitsAt(view, start, bit, matchBits);
      const literalBits = LITERALS_BITS[literalsCell & 255] as number;
      bit -= literalBits;
      const fresh = (LITERALS_BASE[literalsCell & 255] as number) +
        bitsAt(view, start, bit, literalBits);
      if (bit < 0) corrupt("sequences are cut");

      let offset = last;
      if (offsetCode > 3) {
        offset = offsetCode - 3;
        third = second;
        second = last;
      } else {
        const which = fresh === 0 ? offsetCode : offsetCode - 1;
        if (which > 0) {
          offset = which === 1 ? second : which === 2 ? third : last - 1;
          if (which > 1) third = second;
          second = last;
        }
      }
      last = offset;

      used += fresh;
      if (used > literalCount) corrupt("more literals than there are");
      if (length + fresh + match + literalCount - used > most) {
        corrupt(`a block of more than ${MAX_BLOCK} bytes`);
      }
      if (fresh > 0) {
        const from = used - fresh;
        if (fresh > SHORT) to.set(literals.subarray(from, used), length);
        else for (let k = 0; k < fresh; k++) to[length + k] = literals[from + k] as number;
        length += fresh;
      }
      if (offset <= 0 || offset > length) corrupt("a match before the first byte");
      const from = length - offset;
      if (offset >= match && match > SHORT) to.copyWithin(length, from, from + match);
      else for (let k = 0; k < match; k++) to[length + k] = to[from + k] as number;
      length += match;
      if (i === count) break;

      const literalsNext = (literalsCell >> 8) & 255;
      bit -= literalsNext;
      literalsState = (literalsCell >> 16) + bitsAt(view, start, bit, literalsNext);
      const matchesNext = (matchesCell >> 8) & 255;
      bit -= matchesNext;
      matchesState = (matchesCell >> 16) + bitsAt(view, start, bit, matchesNext);
      const offsetsNext = (offsetsCell >> 8) & 255;
      bit -= offsetsNext;
      offsetsState = (offsetsCell >> 16) + bitsAt(view, start, bit, offsetsNext);
      if (bit < 0) corrupt("sequences are cut");
    }
    if (bit !== 0) corrupt("bits after the last sequence");
    out.length = length;
    [this.#last, this.#second, this.#third] = [last, second, third];
    return used;
  }
}

/**
 * Decodes one stream of literals backward from its end into `to[first, last)` (RFC 8878, 4.2.2). A block has up
 * to four streams; their positions are passed as numbers.
 */
function decodeLiterals(
  { log, cells }: HuffmanTable,
  view: DataView,
  start: number,
  end: number,
  to: Uint8Array,
  first: number,
  last: number,
): void {
  const lastByte = end > start ? view.getUint8(end - 1) : 0;
  if (lastByte === 0) corrupt("literals without an end");
  let bit = (end - start - 1) * 8 + highestBit(lastByte);
  const mask = (1 << log) - 1;
  let i = first;
  // A 32-bit word contains two prefixes of at most 11 bits at any bit offset.
  for (; i + 2 <= last && bit >= 2 * log; i += 2) {
    const at = bit - 2 * log;
    const word = view.getUint32(start + (at >> 3), true) >>> (at & 7);
    const one = cells[(word >> log) & mask] as number;
    to[i] = one;
    const bits = one >> 8;
    const two = cells[(word >> (log - bits)) & mask] as number;
    to[i + 1] = two;
    bit -= bits + (two >> 8);
  }
  for (; i < last; i++) {
    if (bit <= 0) corrupt("literals are cut");
    const cell = cells[bitsAt(view, start, bit - log, log)] as number;
    to[i] = cell;
    bit -= cell >> 8;
  }
  if (bit !== 0) corrupt("bits after the last literal");
}
