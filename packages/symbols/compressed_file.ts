import { zstdParts } from "@perfdata/format/zstd";
import { enlarge } from "@perfdata/format/enlarge";
import { SymbolsError } from "./errors.ts";

/** How a file is compressed as a whole, by its first bytes. */
export type FileCompression = "gzip" | "xz" | "zstd";

const MAGIC: readonly (readonly [FileCompression, readonly number[]])[] = [
  ["gzip", [0x1f, 0x8b]],
  ["xz", [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]],
  ["zstd", [0x28, 0xb5, 0x2f, 0xfd]],
];

/** What a file may expand to by default: so many bytes, and so many for each of its own. */
const FREE_BYTES = 2 ** 26;
const MOST_RATIO = 24;

/** Input is given to the libraries in pieces, each of which may expand a thousandfold. */
const PIECE = 1 << 13;

/**
 * How a file is compressed: gzip (RFC 1952), xz or Zstandard (RFC 8878).
 *
 * @param start its first six bytes, or all of them
 * @returns `undefined` if it is in none of these ways
 *
 * @example
 * ```ts
 * import { fileCompression } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(fileCompression(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd)), "zstd");
 * assertEquals(fileCompression(new TextEncoder().encode("\x7fELF")), undefined);
 * ```
 */
export function fileCompression(start: Uint8Array): FileCompression | undefined {
  return MAGIC.find(([, magic]) => magic.every((byte, i) => start[i] === byte))?.[0];
}

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
    if (compression === "zstd") { for (const part of zstdParts([compressed])) parts.add(part); }
    else await drain(await expanded(compressed, compression), parts);
  } catch (error) {
    if (error instanceof SymbolsError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new SymbolsError(0, `Cannot expand ${compression} data: ${why}`, { cause: error });
  }
  return parts.joined();
}

async function expanded(
  compressed: Uint8Array,
  compression: "gzip" | "xz",
): Promise<ReadableStream<Uint8Array>> {
  let at = 0;
  // A stream that is asked for a piece when the one before is used up: of one that gives all at
  // once, all is expanded before the first output can be counted.
  const input = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (at >= compressed.length) return controller.close();
      // A copy, because a stream may take the buffer of its chunks away.
      controller.enqueue(compressed.slice(at, at += PIECE));
    },
  }, { highWaterMark: 0 });
  if (compression === "gzip") return input.pipeThrough(new DecompressionStream("gzip"));
  const { default: xz } = await import("xz-decompress");
  return new xz.XzReadableStream(input);
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
