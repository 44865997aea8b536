// Uses Deno's node:zlib, which decompresses several times as fast as JavaScript does.

import type { Decompressors } from "./elf/decompress.ts";

// Asked for only when something is compressed: to load it takes longer than most tools run.
const zlib = () => process.getBuiltinModule("node:zlib");

/** The decompressors of the runtime. */
export const zlibDecompressors: Decompressors = {
  zlib: (bytes, size) => zlib().inflateSync(bytes, { maxOutputLength: size + 1 }),
  zstd: (bytes, size) => zlib().zstdDecompressSync(bytes, { maxOutputLength: size + 1 }),
};
