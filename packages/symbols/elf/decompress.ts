import { unzlibSync } from "fflate";
import { decompress as unzstdSync } from "fzstd";

/**
 * Synchronous decompression of one whole stream into `size` bytes.
 *
 * An implementation may throw anything; callers report it as an `ElfError`.
 */
export type Decompress = (compressed: Uint8Array, size: number) => Uint8Array;

/**
 * The decompressors an {@linkcode ElfFile} uses. The defaults are plain JavaScript and run
 * anywhere; on Deno or Node, `inflateSync` and `zstdDecompressSync` of `node:zlib` are faster.
 */
export interface Decompressors {
  /** RFC 1950 zlib: `ELFCOMPRESS_ZLIB` and `.zdebug_*` sections. */
  zlib: Decompress;
  /** Zstandard: `ELFCOMPRESS_ZSTD` sections. */
  zstd: Decompress;
}

/** The decompressors used when the caller brings none. */
export const defaultDecompressors: Decompressors = {
  // With `out` given, neither library grows its buffer: a stream that expands to more than it
  // declared cannot take more memory than that.
  zlib: (compressed, size) => unzlibSync(compressed, { out: new Uint8Array(size) }),
  zstd: (compressed, size) => unzstdSync(compressed, new Uint8Array(size)),
};
