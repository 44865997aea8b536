/** The number of threads that are worth their start, by the size of a recording. */
import { decodeFeature } from "@perfdata/format/features";
import { type PerfDataReader, sectionRange } from "@perfdata/format/records";
import { HEADER_COMPRESSED } from "@perfdata/format/constants";

/**
 * Bytes of records from which on threads for samples pay: with one other thread, and with several
 * (docs/performance.md).
 */
const LARGE = 1 << 28;
const LARGE_FOR_MANY = 1 << 26;

/**
 * Bytes of a file from which on several threads for text pay. One thread alone writes a smaller
 * file before a second thread has started.
 */
const LARGE_TEXT = 1 << 28;

/** Maximum number of threads for text: one of them writes the text of all. */
const MOST_TEXT = 8;

/**
 * Number of threads for text: the requested number, or one per processor up to a limit for large
 * files.
 */
export function textJobs(
  jobs: number | undefined,
  { fileSize = 0 }: Pick<PerfDataReader, "fileSize">,
  processors: number = navigator.hardwareConcurrency,
): number {
  return jobs ?? (fileSize >= LARGE_TEXT ? Math.min(processors, MOST_TEXT) : 1);
}

/** A reader that knows the size of its recording. */
export type SizedReader = Pick<
  PerfDataReader,
  "fileSize" | "littleEndian" | "features" | "readSection"
>;

/**
 * Number of threads for samples: the requested number, or one per processor if the records are
 * large enough.
 *
 * @param isScanned Whether the file was scanned already: other threads then help from the beginning.
 */
export async function sampleJobs(
  jobs: number | undefined,
  reader: SizedReader,
  processors: number = navigator.hardwareConcurrency,
  isScanned: boolean = false,
): Promise<number> {
  const { fileSize = 0 } = reader;
  const large = isScanned ? LARGE_FOR_MANY : Math.max(LARGE / (processors - 1), LARGE_FOR_MANY);
  return jobs ?? (fileSize * await ratioOf(reader) >= large ? processors : 1);
}

/** Ratio of inflated to compressed records, from `perf record -z`. */
async function ratioOf(reader: SizedReader): Promise<number> {
  const { littleEndian, features } = reader;
  const section = features.find(({ id }) => id === HEADER_COMPRESSED)?.section;
  if (section === undefined) return 1;
  try {
    const { offset, size } = sectionRange(section);
    const bytes = await reader.readSection(offset, size, "COMPRESSED");
    const feature = decodeFeature(HEADER_COMPRESSED, bytes, { littleEndian });
    return feature.name === "COMPRESSED" ? Math.max(1, feature.value.ratio) : 1;
  } catch {
    // The pass over the records reports damaged features.
    return 1;
  }
}
