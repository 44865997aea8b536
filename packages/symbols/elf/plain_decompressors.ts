/**
 * Decompressors in plain JavaScript, for any runtime. Loading this module makes them the default.
 */
import { unzlibSync } from "fflate";
import { zstdDecompress } from "@perfdata/format/records";
import { defaultDecompressors } from "./decompress.ts";

// With `out`, the library does not grow its buffer, so a stream cannot use more memory than it
// declared.
defaultDecompressors.zlib = (compressed, size) =>
  unzlibSync(compressed, { out: new Uint8Array(size) });
defaultDecompressors.zstd = zstdDecompress;
