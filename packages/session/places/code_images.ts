import type { CodeRange, CodeWindow } from "@perfdata/intel-pt";
import {
  addressFromHalves,
  type BinarySource,
  bytesSource,
  type KernelReference,
  kernelRelocation,
  type SymbolObject,
  SymbolsError,
} from "@perfdata/symbols/resolver";
import { ElfFile } from "@perfdata/symbols";

/** Number of bytes for each read from a file; a bundle has only the code that ran. */
const CHUNK = 1 << 12;
/** Maximum length of an instruction. */
const OVERLAP = 16;
/** Maximum number of chunks in memory, over all files. */
const CHUNKS = 1 << 13;
/** Larger mappings are divided into ranges of this size. */
export const MAX_RANGE: number = 2 ** 30;

const PT_LOAD = 1;

/** Opens files with code. */
export interface CodeFiles {
  /** The file of an object, or the reason why it is missing. */
  open(object: SymbolObject): { readonly source: BinarySource } | { readonly missing: string };
  /** A file that belongs to no object: a jitdump file. */
  file(path: string): BinarySource | undefined;
}

/** A change of the kernel's code (TEXT_POKE). */
export interface TextPoke {
  /** Time in ns. */
  readonly time: number;
  /** Upper half of the address. */
  readonly high: number;
  /** Lower half of the address. */
  readonly low: number;
  /** The new bytes. */
  readonly bytes: Uint8Array;
}

/** A cache of chunks of files, which drops the oldest chunk. */
export class ChunkCache {
  readonly #chunks = new Map<string, CodeWindow>();

  /** Returns a chunk; makes it if it is not in the cache. */
  get(key: string, make: () => CodeWindow | undefined): CodeWindow | undefined {
    let chunk = this.#chunks.get(key);
    if (chunk !== undefined) return chunk;
    chunk = make();
    if (chunk === undefined) return undefined;
    if (this.#chunks.size >= CHUNKS) {
      const [oldest] = this.#chunks.keys();
      if (oldest !== undefined) this.#chunks.delete(oldest);
    }
    this.#chunks.set(key, chunk);
    return chunk;
  }
}

/** Inputs of {@linkcode FileRange}. */
export interface FileRangeParts extends Pick<CodeRange, "id" | "low" | "high" | "size"> {
  /** The file. */
  readonly source: BinarySource;
  /** Offset of the range in the file. */
  readonly offset: number;
  /** Cache of the files' chunks. */
  readonly chunks: ChunkCache;
  /** Changes of the code in the range. */
  readonly pokes?: readonly TextPoke[] | undefined;
}

/** A range of code in a file, read in chunks as it is decoded. */
export class FileRange implements CodeRange {
  readonly id: number;
  readonly low: number;
  readonly high: number;
  readonly size: number;
  readonly #source: BinarySource;
  readonly #offset: number;
  readonly #chunks: ChunkCache;
  readonly #pokes: readonly TextPoke[];
  #last: CodeWindow | undefined;
  #lastChunk = -1;

  /** Makes a range. */
  constructor({ id, low, high, size, source, offset, chunks, pokes = [] }: FileRangeParts) {
    this.id = id;
    this.low = low;
    this.high = high;
    this.size = size;
    this.#source = source;
    this.#offset = offset;
    this.#chunks = chunks;
    this.#pokes = pokes;
  }

  /** The chunk with an offset; `undefined` if the file ends before. */
  window(offset: number): CodeWindow | undefined {
    const chunk = Math.floor(offset / CHUNK);
    if (chunk === this.#lastChunk) return this.#last;
    const found = this.#chunks.get(`${this.id} ${chunk}`, () => this.#read(chunk * CHUNK));
    this.#lastChunk = chunk;
    return this.#last = found;
  }

  #read(from: number): CodeWindow | undefined {
    const at = this.#offset + from;
    const length = Math.min(CHUNK + OVERLAP, this.size - from, this.#source.size - at);
    if (length <= 0) return undefined;
    try {
      const bytes = this.#source.read(at, length).slice();
      for (const poke of this.#pokes) {
        const distance = addressFromHalves(poke.high, poke.low) -
          addressFromHalves(this.high, this.low) - from;
        for (const [i, byte] of poke.bytes.entries()) {
          if (distance + i >= 0 && distance + i < length) bytes[distance + i] = byte;
        }
      }
      return { bytes, from };
    } catch (error) {
      if (error instanceof SymbolsError) return undefined;
      throw error;
    }
  }
}

/**
 * The code of a kernel's `vmlinux`, at its addresses in the running kernel.
 *
 * @param reference A symbol with its address in the running kernel.
 * @throws {SymbolsError} If the file is damaged, or has no such symbol.
 */
export function kernelImages(source: BinarySource, reference: KernelReference): MemoryImage[] {
  const moved = kernelRelocation(ElfFile.open(source), reference);
  if (moved === undefined) throw new SymbolsError(0, `no symbol ${reference.name} in it`);
  // Per-CPU data has addresses from 0 on in the file.
  return memoryImages(source).filter(({ address }) => address >> 63n !== 0n).map((image) => ({
    ...image,
    address: BigInt.asUintN(64, image.address + BigInt(moved)),
  }));
}

/** A copy of memory at an address, as of `--image`. */
export interface MemoryImage {
  /** First address. */
  readonly address: bigint;
  /** Number of bytes. */
  readonly size: number;
  /** Offset of the first byte in the source. */
  readonly offset: number;
  /** The file. */
  readonly source: BinarySource;
  /** Path of the file, if its symbols are those of the code. */
  readonly path?: string;
}

/**
 * The memory in a file: the segments of an ELF file (a core, `/proc/kcore`, a `vmlinux`) at their
 * addresses, or the bytes of any other file at a given address.
 *
 * @param address Address of the first byte of a file that is not ELF. For an ELF file, the distance
 * by which its segments were moved.
 * @param path Path of an ELF file with the symbols of the code.
 * @throws {SymbolsError} If the file is not ELF and has no address.
 *
 * @example
 * ```ts
 * import { bytesSource } from "@perfdata/symbols/resolver";
 * import { memoryImages } from "@perfdata/session/code";
 * import { assertEquals } from "@std/assert";
 *
 * const images = memoryImages(bytesSource(Uint8Array.of(0x90, 0xc3)), 0x401000n);
 * assertEquals(images.map(({ address, size }) => [address, size]), [[0x401000n, 2]]);
 * ```
 */
export function memoryImages(
  source: BinarySource,
  address?: bigint,
  path?: string,
): MemoryImage[] {
  const magic = source.size < 4 ? bytesSource(new Uint8Array(4)).read(0, 4) : source.read(0, 4);
  const isElf = magic[0] === 0x7f && magic[1] === 0x45 && magic[2] === 0x4c && magic[3] === 0x46;
  if (!isElf) {
    if (address === undefined) {
      throw new SymbolsError(0, "not an ELF file: give the address of its first byte, FILE@ADDR");
    }
    return [{ address, size: source.size, offset: 0, source }];
  }
  const elf = ElfFile.open(source);
  const images: MemoryImage[] = [];
  for (const { type, vaddr, filesz, offset } of elf.segments) {
    if (type !== PT_LOAD || filesz === 0) continue;
    const at = BigInt.asUintN(64, BigInt(vaddr) + (address ?? 0n));
    const named = path === undefined ? {} : { path };
    images.push({ address: at, size: filesz, offset, source, ...named });
  }
  return images;
}
