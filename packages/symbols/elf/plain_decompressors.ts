/** Decompressors in plain JavaScript, which run anywhere. Loading this module makes them the default. */
import { unzlibSync } from "fflate";
import { zstdDecompress } from "@perfdata/format/zstd";
import { defaultDecompressors } from "./decompress.ts";

// With `out` given, the library does not grow its buffer: a stream that expands to more than it
// declared cannot take more memory than that.
defaultDecompressors.zlib = (compressed, size) =>
  unzlibSync(compressed, { out: new Uint8Array(size) });
defaultDecompressors.zstd = zstdDecompress;
