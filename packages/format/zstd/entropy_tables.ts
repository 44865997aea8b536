/** The two kinds of entropy codes of Zstandard (RFC 8878, section 4), as decoding tables. */

/** Throws the error for invalid zstd data. */
export function corrupt(what: string): never {
  throw new Error(`invalid zstd data: ${what}`);
}

/** Returns the index of the highest set bit: 0 for 1. */
export function highestBit(value: number): number {
  return 31 - Math.clz32(value);
}

/**
 * Returns `bits` bits, at most 24, from bit `at` of a stream on. It may read a few bytes before the stream's start;
 * the caller has to check for a negative `at`.
 */
export function bitsAt(view: DataView, start: number, at: number, bits: number): number {
  return (view.getUint32(start + (at >> 3), true) >>> (at & 7)) & ((1 << bits) - 1);
}

/**
 * A finite state entropy code. `cells[state]` contains the symbol, the number of bits for the next state shifted
 * by 8, and the base of the next state shifted by 16.
 */
export interface FseTable {
  /** Number of bits of a state. */
  readonly log: number;
  readonly cells: Int32Array;
}

/**
 * Creates a table from probabilities (RFC 8878, 4.1.1).
 *
 * @param counts For each symbol, its number of the `2^log` states; -1 for "less than one".
 */
export function fseTable(counts: Int16Array | readonly number[], log: number): FseTable {
  const size = 1 << log;
  const cells = new Int32Array(size);
  const next = new Int32Array(counts.length);
  let high = size;
  for (let symbol = 0; symbol < counts.length; symbol++) {
    const count = counts[symbol] as number;
    next[symbol] = count < 0 ? 1 : count;
    if (count < 0) cells[--high] = symbol;
  }
  const step = (size >> 1) + (size >> 3) + 3;
  let at = 0;
  for (let symbol = 0; symbol < counts.length; symbol++) {
    for (let i = counts[symbol] as number; i > 0; i--) {
      cells[at] = symbol;
      do at = (at + step) & (size - 1); while (at >= high);
    }
  }
  for (let state = 0; state < size; state++) {
    const symbol = cells[state] as number;
    const order = next[symbol] as number;
    next[symbol] = order + 1;
    const bits = log - highestBit(order);
    cells[state] = symbol | bits << 8 | ((order << bits) - size) << 16;
  }
  return { log, cells };
}

/** Creates a table with a single symbol of no bits. */
export function oneSymbol(symbol: number): FseTable {
  return { log: 0, cells: Int32Array.of(symbol) };
}

const counts = new Int16Array(256);

/**
 * Reads the description of a table.
 *
 * @param bytes At least four readable bytes follow `end`.
 * @returns The table and the end of its description.
 */
export function readFseTable(
  bytes: Uint8Array,
  start: number,
  end: number,
  maxLog: number,
  maxSymbol: number,
): [FseTable, number] {
  if (start >= end) corrupt("a table is cut");
  const log = ((bytes[start] as number) & 15) + 5;
  if (log > maxLog) corrupt(`a table of 2^${log} states, expected at most 2^${maxLog}`);
  counts.fill(0);
  let bit = 4;
  const peek = (): number => {
    const at = start + (bit >> 3);
    const word = (bytes[at] as number) | (bytes[at + 1] as number) << 8 |
      (bytes[at + 2] as number) << 16;
    return word >> (bit & 7);
  };
  let left = 1 << log;
  let symbol = 0;
  while (left > 0 && symbol <= maxSymbol && start + (bit >> 3) < end) {
    const bits = highestBit(left + 1) + 1;
    const low = (1 << (bits - 1)) - 1;
    const threshold = (1 << bits) - 2 - left;
    let value = peek() & ((1 << bits) - 1);
    if ((value & low) < threshold) {
      value &= low;
      bit += bits - 1;
    } else {
      if (value > low) value -= threshold;
      bit += bits;
    }
    const count = value - 1;
    left -= count < 0 ? 1 : count;
    counts[symbol++] = count;
    if (count !== 0) continue;
    for (let more = 3; more === 3 && symbol <= maxSymbol; symbol += more) {
      more = peek() & 3;
      bit += 2;
    }
  }
  const after = start + ((bit + 7) >> 3);
  if (left !== 0 || symbol > maxSymbol + 1 || after > end) corrupt("a table of odd probabilities");
  return [fseTable(counts.subarray(0, symbol), log), after];
}

/** A Huffman code: `cells[prefix]` contains the symbol, and its number of bits shifted by 8. */
export interface HuffmanTable {
  /** Number of bits of a prefix. */
  readonly log: number;
  readonly cells: Uint16Array;
}

/** Maximum length of a Huffman code in bits (RFC 8878, 4.2.1). */
const MAX_HUFFMAN_LOG = 11;

/**
 * Reads the description of a Huffman code.
 *
 * @param view View of the same bytes, with readable bytes before and after the description.
 * @returns The table and the end of its description.
 */
export function readHuffmanTable(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
): [HuffmanTable, number] {
  if (start >= end) corrupt("a Huffman code is cut");
  const weights = new Uint8Array(256);
  const head = bytes[start++] as number;
  let count: number;
  let after: number;
  if (head >= 128) {
    count = head - 127;
    after = start + ((count + 1) >> 1);
    for (let i = 0; i < count; i++) {
      const byte = bytes[start + (i >> 1)] as number;
      weights[i] = (i & 1) === 0 ? byte >> 4 : byte & 15;
    }
  } else {
    after = start + head;
    count = after > end ? 0 : readWeights(bytes, view, start, after, weights);
  }
  if (after > end) corrupt("a Huffman code is cut");
  return [huffmanTable(weights, count), after];
}

/** Reads compressed weights: two FSE states alternate (RFC 8878, 4.2.1.2). */
function readWeights(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  into: Uint8Array,
): number {
  const [{ log, cells }, from] = readFseTable(bytes, start, end, 6, 255);
  const last = end > from ? bytes[end - 1] as number : 0;
  if (last === 0) corrupt("weights without an end");
  let bit = (end - from - 1) * 8 + highestBit(last);
  const take = (bits: number): number => bitsAt(view, from, bit -= bits, bits);
  let state = take(log);
  let nextState = take(log);
  if (bit < 0) corrupt("weights are cut");
  for (let n = 0; n < 255;) {
    const cell = cells[state] as number;
    into[n++] = cell & 255;
    const next = (cell >> 16) + take((cell >> 8) & 255);
    if (bit < 0) {
      into[n++] = (cells[nextState] as number) & 255;
      return n;
    }
    state = nextState;
    nextState = next;
  }
  return corrupt("more weights than symbols");
}

function huffmanTable(weights: Uint8Array, count: number): HuffmanTable {
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const weight = weights[i] as number;
    if (weight > MAX_HUFFMAN_LOG) corrupt(`a weight of ${weight}`);
    if (weight > 0) sum += 1 << (weight - 1);
  }
  if (sum === 0 || count > 255) corrupt("no weights");
  const log = highestBit(sum) + 1;
  const lastSum = (1 << log) - sum;
  if (log > MAX_HUFFMAN_LOG || (lastSum & (lastSum - 1)) !== 0) {
    corrupt("weights that do not add up");
  }
  // The weight of the last symbol follows from the sum of the others.
  weights[count] = highestBit(lastSum) + 1;
  const cells = new Uint16Array(1 << log);
  let at = 0;
  for (let weight = 1; weight <= log; weight++) {
    for (let symbol = 0; symbol <= count; symbol++) {
      if (weights[symbol] !== weight) continue;
      const to = at + (1 << (weight - 1));
      cells.fill(symbol | (log + 1 - weight) << 8, at, to);
      at = to;
    }
  }
  return { log, cells };
}
