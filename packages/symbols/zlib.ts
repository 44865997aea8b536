// Uses Deno's node:zlib.

import type { Decompressors } from "./elf/decompress.ts";

interface Zlib {
  inflateSync(bytes: Uint8Array, options: { maxOutputLength: number }): Uint8Array;
  zstdDecompressSync(bytes: Uint8Array, options: { maxOutputLength: number }): Uint8Array;
}

let loaded: Zlib | undefined;

/** Loaded when it is first needed: that takes as long as a small job. */
function zlib(): Zlib {
  const { process } = globalThis as unknown as {
    process: { getBuiltinModule(name: string): Zlib };
  };
  return loaded ??= process.getBuiltinModule("node:zlib");
}

/** Decompression by the runtime, which is faster than in JavaScript. */
export const builtinDecompressors: Decompressors = {
  zlib: (bytes, size) => zlib().inflateSync(bytes, { maxOutputLength: size + 1 }),
  zstd: (bytes, size) => zlib().zstdDecompressSync(bytes, { maxOutputLength: size + 1 }),
};
