/** Decompressors in plain JavaScript, which run anywhere: where this is loaded they are the default. */
import { unzlibSync } from "fflate";
import { decompress as unzstdSync } from "fzstd";
import { defaultDecompressors } from "./decompress.ts";

// With `out` given, neither library grows its buffer: a stream that expands to more than it
// declared cannot take more memory than that.
defaultDecompressors.zlib = (compressed, size) =>
  unzlibSync(compressed, { out: new Uint8Array(size) });
defaultDecompressors.zstd = (compressed, size) => unzstdSync(compressed, new Uint8Array(size));
