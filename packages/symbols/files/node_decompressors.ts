// Uses Deno's (and Node's) node:zlib, which is loaded when the first section is decompressed.

import type { Decompressors } from "../elf/decompress.ts";

// A static import of any `node:` module takes longer than all of the package.
let zlib: typeof import("node:zlib") | undefined;
function loaded(): typeof import("node:zlib") {
  return zlib ??= globalThis.process.getBuiltinModule("node:zlib");
}

/** The decompressors of `node:zlib`, several times faster than the ones that run anywhere. */
export const nodeDecompressors: Decompressors = {
  zlib: (bytes, size) => loaded().inflateSync(bytes, { maxOutputLength: size + 1 }),
  zstd: (bytes, size) => loaded().zstdDecompressSync(bytes, { maxOutputLength: size + 1 }),
};
