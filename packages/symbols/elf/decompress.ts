/**
 * Decompresses one whole stream into `size` bytes, synchronously.
 *
 * An implementation may throw any error; callers report it as an `ElfError`.
 */
export type Decompress = (compressed: Uint8Array, size: number) => Uint8Array;

/**
 * The decompressors of an {@linkcode ElfFile}. The defaults are plain JavaScript. On Deno or Node,
 * `inflateSync` and `zstdDecompressSync` of `node:zlib` are faster.
 */
export interface Decompressors {
  /** RFC 1950 zlib: `ELFCOMPRESS_ZLIB` and `.zdebug_*` sections. */
  zlib: Decompress;
  /** Zstandard: `ELFCOMPRESS_ZSTD` sections. */
  zstd: Decompress;
}

/**
 * The decompressors that are used if the caller passes none. Loading `plain_decompressors.ts`, as
 * `mod.ts` does, sets them. A tool with its own decompressors starts faster without that module.
 */
export const defaultDecompressors: Decompressors = { zlib: notLoaded, zstd: notLoaded };

function notLoaded(): never {
  throw new Error("no decompressor: load elf/plain_decompressors.ts, or give some");
}
