// Uses Deno's (and Node's) node:zlib, loaded at the first decompression.

import type { Decompressors } from "../elf/decompress.ts";

// A static import of a `node:` module takes longer than loading this package.
let zlib: typeof import("node:zlib") | undefined;
function loaded(): typeof import("node:zlib") {
  return zlib ??= globalThis.process.getBuiltinModule("node:zlib");
}

/** The decompressors of `node:zlib`, several times faster than the plain ones. */
export const nodeDecompressors: Decompressors = {
  zlib: (bytes, size) => loaded().inflateSync(bytes, { maxOutputLength: size + 1 }),
  zstd: (bytes, size) => loaded().zstdDecompressSync(bytes, { maxOutputLength: size + 1 }),
};
