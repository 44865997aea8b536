import { expandedStream, type FileCompression } from "@perfdata/format/records";
import { type BinarySource, bytesSource, checkRange } from "./binary_source.ts";
import { elfExtent } from "../elf/elf_extent.ts";
import { SymbolsError } from "../errors.ts";

export { type FileCompression, fileCompression } from "@perfdata/format/records";

/** Default limit of a decompressed file: a constant, plus a multiple of the compressed size. */
const FREE_BYTES = 2 ** 24;
const MOST_RATIO = 24;
/** Minimum size of an output block. Doubling one array would need three times its size. */
const BLOCK = 1 << 18;
/** Size of an ELF header of the larger class. */
const ELF_HEADER = 64;

/**
 * Decompresses a file.
 *
 * @param compressed the compressed file
 * @param compression compression format
 * @param maxSize limit of the decompressed size; by default 16 MB plus 24 times the compressed
 * size, at most 512 MB
 * @throws {SymbolsError} if the file is damaged or expands beyond the limit
 *
 * @example
 * ```ts
 * import { expandFile } from "@perfdata/symbols";
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
 * Decompresses an ELF file that is compressed as a whole, like a kernel module (`ext4.ko.xz`).
 *
 * Such a file is one stream with the section headers at its end, so it has to be decompressed
 * completely. Its first bytes show whether it is ELF and how large it is at least: other files, and
 * too large ones, are refused at once.
 *
 * @param compressed the compressed file, read only as far as it is decompressed
 * @param compression compression format
 * @param maxSize limit of the decompressed size; by default 16 MB plus 24 times the compressed
 * size, at most 512 MB
 * @throws {SymbolsError} if the file is damaged, not ELF, or expands beyond the limit
 *
 * @example
 * ```ts
 * import { bytesSource, SymbolsError } from "@perfdata/symbols/resolver";
 * import { expandElf } from "@perfdata/symbols";
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

/** Decompresses everything. `look` is called after each block, and may throw. */
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

/** Output in consecutive blocks; all but the last one are full. */
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
