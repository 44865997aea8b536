import { expandedStream, type FileCompression } from "@perfdata/format/compressed-source";
import { type BinarySource, bytesSource, checkRange } from "./binary_source.ts";
import { elfExtent } from "../elf/elf_extent.ts";
import { SymbolsError } from "../errors.ts";

export { type FileCompression, fileCompression } from "@perfdata/format/compressed-source";

/**
 * Default limit for the size of an inflated file: this many bytes, plus this many for each compressed
 * byte.
 */
const FREE_BYTES = 2 ** 24;
const MOST_RATIO = 24;
/** Output is kept in blocks of at least this many bytes: an array that doubles would take three times its size. */
const BLOCK = 1 << 18;
/** Bytes of a header of ELF, of the larger class. */
const ELF_HEADER = 64;

/**
 * Expands a file that is compressed as a whole.
 *
 * @param compressed the file
 * @param compression how it is compressed
 * @param maxSize the most bytes that it may expand to; 16 MB and 24 times its size by default, at most 512 MB
 * @throws {SymbolsError} if it is damaged or expands to more
 *
 * @example
 * ```ts
 * import { expandFile } from "@perfdata/symbols/compressed-file";
 * import { assertEquals } from "@std/assert";
 *
 * const text = new TextEncoder().encode("as it was");
 * const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
 * const compressed = new Uint8Array(await new Response(stream).arrayBuffer());
 * assertEquals(await expandFile(compressed, "gzip"), text);
 * ```
 */
export async function expandFile(
  compressed: Uint8Array,
  compression: FileCompression,
  maxSize: number = mostBytes(compressed.length),
): Promise<Uint8Array> {
  const parts = await expand(bytesSource(compressed), compression, maxSize, () => {});
  return parts.read(0, parts.size);
}

/**
 * Expands an ELF file that is compressed as a whole, as kernel modules are (`ext4.ko.xz`).
 *
 * Such a file is one stream, whose section headers are at its end: all of it is expanded or nothing. Its
 * first bytes say whether it is ELF and how far its tables are, and so what is not, or is too large, ends
 * there.
 *
 * @param compressed the file, of which no more is read than is expanded
 * @param compression how it is compressed
 * @param maxSize the most bytes that it may expand to; 16 MB and 24 times its size by default, at most 512 MB
 * @throws {SymbolsError} if it is damaged, is no ELF file, or expands to more
 *
 * @example
 * ```ts
 * import { bytesSource, SymbolsError } from "@perfdata/symbols";
 * import { expandElf } from "@perfdata/symbols/compressed-file";
 * import { assertRejects } from "@std/assert";
 *
 * const stream = new Blob([new Uint8Array(1e6)]).stream().pipeThrough(new CompressionStream("gzip"));
 * const compressed = new Uint8Array(await new Response(stream).arrayBuffer());
 * await assertRejects(() => expandElf(bytesSource(compressed), "gzip"), SymbolsError, "no ELF file");
 * ```
 */
export async function expandElf(
  compressed: BinarySource,
  compression: FileCompression,
  maxSize: number = mostBytes(compressed.size),
): Promise<BinarySource> {
  let looked = false;
  return await expand(compressed, compression, maxSize, (parts) => {
    if (looked || parts.size < ELF_HEADER) return;
    looked = true;
    const extent = elfExtent(parts.read(0, ELF_HEADER));
    if (extent === undefined) {
      throw new SymbolsError(0, `Cannot expand ${compression} data: it holds no ELF file`);
    }
    if (extent > maxSize) throw tooLarge(compression, maxSize);
  });
}

function mostBytes(size: number): number {
  return Math.min(2 ** 29, FREE_BYTES + MOST_RATIO * size);
}

function tooLarge(compression: FileCompression, limit: number): SymbolsError {
  return new SymbolsError(
    0,
    `Cannot expand ${compression} data: too large: it expands to more than ${limit} bytes`,
  );
}

/** Expands all; `look` is called after each part, and may throw. */
async function expand(
  compressed: BinarySource,
  compression: FileCompression,
  maxSize: number,
  look: (parts: Parts) => void,
): Promise<Parts> {
  const parts = new Parts();
  const source = {
    size: compressed.size,
    readAt(into: Uint8Array, position: number): number {
      const length = Math.min(into.length, compressed.size - position);
      into.set(compressed.read(position, length));
      return length;
    },
  };
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  try {
    reader = (await expandedStream(source, compression)).getReader();
    for (;;) {
      const { value } = await reader.read();
      if (value === undefined) return parts;
      if (parts.size + value.length > maxSize) throw tooLarge(compression, maxSize);
      parts.add(value);
      look(parts);
    }
  } catch (error) {
    await reader?.cancel().catch(() => {});
    if (error instanceof SymbolsError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new SymbolsError(0, `Cannot expand ${compression} data: ${why}`, { cause: error });
  }
}

/** Output in blocks, one after another; all but the last are full. */
class Parts implements BinarySource {
  readonly #blocks: Uint8Array[] = [];
  size = 0;

  add(part: Uint8Array): void {
    for (let at = 0; at < part.length;) {
      const within = this.size % BLOCK;
      if (within === 0) this.#blocks.push(new Uint8Array(BLOCK));
      const taken = Math.min(part.length - at, BLOCK - within);
      this.#blocks.at(-1)?.set(part.subarray(at, at + taken), within);
      this.size += taken;
      at += taken;
    }
  }

  read(offset: number, length: number): Uint8Array {
    checkRange(this.size, offset, length);
    const within = offset % BLOCK;
    const block = this.#blocks[(offset - within) / BLOCK];
    if (block !== undefined && within + length <= BLOCK) {
      return block.subarray(within, within + length);
    }
    const bytes = new Uint8Array(length);
    this.readInto(offset, bytes);
    return bytes;
  }

  readInto(offset: number, target: Uint8Array): void {
    checkRange(this.size, offset, target.length);
    for (let done = 0; done < target.length;) {
      const within = (offset + done) % BLOCK;
      const block = this.#blocks[(offset + done - within) / BLOCK] as Uint8Array;
      const part = block.subarray(within, within + Math.min(BLOCK - within, target.length - done));
      target.set(part, done);
      done += part.length;
    }
  }
}
