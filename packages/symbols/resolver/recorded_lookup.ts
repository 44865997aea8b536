import { floatAt } from "@perfdata/format/bytes";
import { type Resolution, resolution } from "./resolution.ts";
import type { RecordedSymbolsOf } from "./options.ts";
import type { Lookup } from "./lookup.ts";

/**
 * Combines symbols in files with those in the recording. Verified files come first, since they have
 * more; the recording comes before other files.
 */
export function withRecorded(
  files: Lookup,
  recorded: RecordedSymbolsOf,
  show: (name: string) => string,
): Lookup {
  let guessed = false;
  const byRecording = (address: number): Resolution | undefined => {
    const symbol = recorded.find(address);
    return symbol === undefined ? undefined : resolution(symbol, [], show);
  };
  return {
    origin: files.origin ?? "the recording",
    segments: files.segments,
    get verified() {
      return !guessed;
    },
    find(addresses, times) {
      const found = files.find(addresses, times);
      return found.map((inFiles, i) => {
        if (files.verified && inFiles.cause === undefined) return inFiles;
        const own = byRecording(floatAt(addresses, i));
        if (own === undefined && inFiles.cause === undefined) guessed = true;
        return own ?? inFiles;
      });
    },
  };
}
