import { expandedStream, type FileCompression } from "@perfdata/format/compressed-source";
import { enlarge } from "@perfdata/format/enlarge";
import { SymbolsError } from "./errors.ts";

export { type FileCompression, fileCompression } from "@perfdata/format/compressed-source";

/** What a file may expand to by default: so many bytes, and so many for each of its own. */
const FREE_BYTES = 2 ** 26;
const MOST_RATIO = 24;

/**
 * Expands a file that is compressed as a whole, as kernel modules are (`ext4.ko.xz`).
 *
 * @param compressed the file
 * @param compression how it is compressed
 * @param maxSize the most bytes that it may expand to; 64 MB and 24 times its size by default, at most 512 MB
 * @throws {SymbolsError} if it is damaged or expands to more
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
  maxSize: number = Math.min(2 ** 29, FREE_BYTES + MOST_RATIO * compressed.length),
): Promise<Uint8Array> {
  const parts = new Parts(compression, maxSize);
  try {
    const source = {
      size: compressed.length,
      readAt(into: Uint8Array, position: number): number {
        const part = compressed.subarray(position, position + into.length);
        into.set(part);
        return part.length;
      },
    };
    await drain(await expandedStream(source, compression), parts);
  } catch (error) {
    if (error instanceof SymbolsError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new SymbolsError(0, `Cannot expand ${compression} data: ${why}`, { cause: error });
  }
  return parts.joined();
}

async function drain(stream: ReadableStream<Uint8Array>, parts: Parts): Promise<void> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { value } = await reader.read();
      if (value === undefined) return;
      parts.add(value);
    }
  } catch (error) {
    await reader.cancel().catch(() => {});
    throw error;
  }
}

/** Output, up to a limit. */
class Parts {
  #bytes = new Uint8Array(1 << 16);
  readonly #compression: FileCompression;
  readonly #limit: number;
  #size = 0;

  constructor(compression: FileCompression, limit: number) {
    this.#compression = compression;
    this.#limit = limit;
  }

  add(part: Uint8Array): void {
    const size = this.#size + part.length;
    if (size > this.#limit) {
      throw new SymbolsError(
        0,
        `Cannot expand ${this.#compression} data: too large: it expands to more than ` +
          `${this.#limit} bytes`,
      );
    }
    if (size > this.#bytes.length) this.#bytes = enlarge(this.#bytes, size);
    this.#bytes.set(part, this.#size);
    this.#size = size;
  }

  joined(): Uint8Array {
    return this.#bytes.subarray(0, this.#size);
  }
}
