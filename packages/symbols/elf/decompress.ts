/**
 * Synchronous decompression of one whole stream into `size` bytes.
 *
 * An implementation may throw any error; callers report it as an `ElfError`.
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

/**
 * The decompressors used when the caller brings none: those of `plain_decompressors.ts` once that is
 * loaded, as by `mod.ts`. A tool that brings its own starts faster without them.
 */
export const defaultDecompressors: Decompressors = { zlib: notLoaded, zstd: notLoaded };

function notLoaded(): never {
  throw new Error("no decompressor: load elf/plain_decompressors.ts, or give some");
}
