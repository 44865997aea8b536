import { Decompress } from "fzstd";

/** Inflates one zstd stream that arrives in pieces. */
export interface ZstdStream {
  /** Takes the next piece; returns what it inflates to, which is valid until the next call. */
  push(compressed: Uint8Array): Uint8Array;
}

/**
 * Inflates with the pure JavaScript library `fzstd`, in any runtime.
 *
 * perf's COMPRESSED records are the pieces of one stream over all records, each flushed, so a piece
 * inflates to whole bytes but not to whole records.
 */
export function zstdStream(): ZstdStream {
  let chunks: Uint8Array[] = [];
  const stream = new Decompress((chunk) => {
    // The library reuses its window: what is not copied changes later.
    chunks.push(chunk.slice());
  });
  return {
    push(compressed) {
      chunks = [];
      stream.push(compressed);
      const [only] = chunks;
      if (chunks.length === 1 && only !== undefined) return only;
      const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
      let at = 0;
      for (const chunk of chunks) {
        whole.set(chunk, at);
        at += chunk.length;
      }
      return whole;
    },
  };
}
