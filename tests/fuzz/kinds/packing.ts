/**
 * Compresses files in each format that commands support, with valid checksums, and with some
 * changed numbers on demand.
 */
import { gzipSync, zstdCompressSync } from "node:zlib";
import { bytesSource } from "@perfdata/symbols/resolver";
import { crc32 } from "@perfdata/symbols";
import { Laid } from "./kind.ts";

/** Compression formats. */
export const PACKINGS = ["none", "gzip", "bzip2", "xz", "zstd"] as const;

/** One of them. */
export type Packing = typeof PACKINGS[number];

/** Receives each number of a header with its number of bits; returns the number to write. */
export type Twist = (value: number, bits: number) => number;

/**
 * Compresses a file. Numbers in headers of xz and bzip2, which are written here, may be changed.
 */
export function packed(
  bytes: Uint8Array<ArrayBuffer>,
  packing: Packing,
  twist: Twist = (value) => value,
): Uint8Array<ArrayBuffer> {
  switch (packing) {
    case "none":
      return bytes;
    case "gzip":
      return new Uint8Array(gzipSync(bytes));
    case "zstd":
      return new Uint8Array(zstdCompressSync(bytes));
    case "xz":
      return xz(bytes, twist);
    case "bzip2":
      return bzip2(bytes, twist);
  }
}

const sum = (bytes: Uint8Array): number => crc32(bytesSource(bytes));
/** Limit of a stored chunk. */
const CHUNK = 1 << 16;

/** https://tukaani.org/xz/xz-file-format.txt with stored chunks. */
function xz(bytes: Uint8Array, twist: Twist): Uint8Array<ArrayBuffer> {
  const number = (out: Laid, size: number, value: number) => out.int(size, twist(value, 8 * size));
  const pad = (out: Laid) => out.raw(new Uint8Array(-out.length & 3));
  const summed = (out: Laid) => out.int(4, sum(out.bytes));
  const flags = number(number(new Laid(), 1, 0), 1, 1);
  const out = new Laid().raw([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]).raw(flags.bytes);
  out.int(4, sum(flags.bytes));
  const head = new Laid();
  for (const value of [2, 0, 0x21, 1, 0x16]) number(head, 1, value);
  out.append(summed(head.raw([0, 0, 0])));
  const data = new Laid();
  for (let at = 0; at < bytes.length; at += CHUNK) {
    const part = bytes.subarray(at, at + CHUNK);
    number(data, 1, at === 0 ? 1 : 2);
    const size = twist(part.length - 1, 16);
    data.raw([size >> 8 & 0xff, size & 0xff]).raw(part);
  }
  number(data, 1, 0);
  const unpadded = 12 + data.length + 4;
  out.append(pad(data)).int(4, sum(bytes));
  const index = new Laid().raw([0]);
  index.varints(1, twist(1, 31), twist(unpadded, 31), twist(bytes.length, 31));
  summed(pad(index));
  const end = number(new Laid(), 4, index.length / 4 - 1).raw(flags.bytes);
  return out.append(index).int(4, sum(end.bytes)).append(end).raw([0x59, 0x5a]).bytes;
}

/** A writer of bits, most significant first. */
class Bits {
  readonly #bytes: number[] = [];
  #used = 0;

  put(count: number, value: number): void {
    for (let i = count - 1; i >= 0; i--) {
      if (this.#used === 0) this.#bytes.push(0);
      if (Math.floor(value / 2 ** i) % 2 === 1) {
        this.#bytes[this.#bytes.length - 1] = (this.#bytes.at(-1) ?? 0) | 0x80 >> this.#used;
      }
      this.#used = (this.#used + 1) % 8;
    }
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.#bytes);
  }
}

/** Limit of a block's symbols, after shortening runs. */
const BLOCK = 90_000;
/** Symbols of a bzip2 block that one selector (the choice of a Huffman table) is for. */
const GROUP = 50;

/** bzip2 with codes of equal length. */
function bzip2(bytes: Uint8Array, twist: Twist): Uint8Array<ArrayBuffer> {
  const out = new Bits();
  const number = (bits: number, value: number) => out.put(bits, twist(value, bits));
  for (const letter of "BZh1") out.put(8, letter.charCodeAt(0));
  let combined = 0;
  for (let at = 0; at < bytes.length;) {
    const { symbols, end } = shortened(bytes, at);
    const crc = mostFirst(bytes.subarray(at, end));
    combined = ((combined << 1 | combined >>> 31) ^ crc) >>> 0;
    at = end;
    out.put(24, 0x314159);
    out.put(24, 0x265359);
    number(32, crc);
    number(1, 0);
    const { last, origin } = sorted(symbols);
    number(24, origin);
    const used = Array.from({ length: 256 }, (_, value) => symbols.includes(value) ? 1 : 0);
    const groups = Array.from(
      { length: 16 },
      (_, i) => used.slice(16 * i, 16 * i + 16).includes(1) ? 1 : 0,
    );
    for (const bit of groups) out.put(1, bit);
    for (const [i, bit] of used.entries()) if (groups[i >> 4] === 1) out.put(1, bit);
    const moved = movedToFront(last, used);
    const count = used.filter((bit) => bit === 1).length + 2;
    const bits = Math.max(1, Math.ceil(Math.log2(count)));
    const selectors = Math.ceil(moved.length / GROUP);
    number(3, 2);
    number(15, selectors);
    for (let i = 0; i < selectors; i++) out.put(1, 0);
    for (let table = 0; table < 2; table++) {
      number(5, bits);
      for (let i = 0; i < count; i++) out.put(1, 0);
    }
    for (const symbol of moved) out.put(bits, symbol < 0 ? count - 1 : symbol);
  }
  out.put(24, 0x177245);
  out.put(24, 0x385090);
  number(32, combined);
  return out.bytes();
}

/** Encodes runs of 4 to 259 equal bytes as four of them and the number of the others. */
function shortened(bytes: Uint8Array, from: number): { symbols: number[]; end: number } {
  const symbols: number[] = [];
  let at = from;
  while (at < bytes.length && symbols.length < BLOCK) {
    const byte = bytes[at] ?? 0;
    let run = 1;
    while (run < 259 && bytes[at + run] === byte) run++;
    for (let i = 0; i < Math.min(4, run); i++) symbols.push(byte);
    if (run >= 4) symbols.push(run - 4);
    at += run;
  }
  return { symbols, end: at };
}

/** The last column of all sorted rotations, and the row of the text itself. */
function sorted(symbols: readonly number[]): { last: number[]; origin: number } {
  const size = symbols.length;
  const order = Array.from(symbols.keys()).sort((a, b) => {
    for (let i = 0; i < size; i++) {
      const difference = (symbols[(a + i) % size] ?? 0) - (symbols[(b + i) % size] ?? 0);
      if (difference !== 0) return difference;
    }
    return a - b;
  });
  return {
    last: order.map((start) => symbols[(start + size - 1) % size] ?? 0),
    origin: order.indexOf(0),
  };
}

/**
 * Move-to-front positions; zeros are bijective base-2 digits (0 and 1) of their number, the end is
 * -1.
 */
function movedToFront(last: readonly number[], used: readonly number[]): number[] {
  const recent = [...used.keys()].filter((value) => used[value] === 1);
  const out: number[] = [];
  let zeros = 0;
  const flush = (): void => {
    for (; zeros > 0; zeros = zeros - 1 >> 1) out.push(zeros % 2 === 1 ? 0 : 1);
  };
  for (const byte of last) {
    const at = recent.indexOf(byte);
    if (at === 0) {
      zeros++;
      continue;
    }
    flush();
    out.push(at + 1);
    recent.unshift(...recent.splice(at, 1));
  }
  flush();
  return [...out, -1];
}

/** bzip2's CRC: most significant bit first. */
function mostFirst(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte << 24;
    for (let i = 0; i < 8; i++) crc = crc << 1 ^ (crc < 0 ? 0x04c11db7 : 0);
  }
  return ~crc >>> 0;
}
