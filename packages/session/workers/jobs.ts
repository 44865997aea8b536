/** How many threads pay for a recording, by its size. */
import { decodeFeature } from "@perfdata/format/features";
import { type PerfDataReader, sectionRange } from "@perfdata/format/records";
import { HEADER_COMPRESSED } from "@perfdata/format/constants";

/**
 * Bytes of records from which on threads that count samples pay: a second one, and several others:
 * docs/performance.md.
 */
const LARGE = 1 << 28;
const LARGE_FOR_MANY = 1 << 26;

/** The same of threads that make text, where one thread alone takes less than the second costs. */
const LARGE_TEXT = 1 << 28;

/** Threads that make text: one of them writes what all make. */
const MOST_TEXT = 8;

/** Threads that make text: as many as asked for, or all processors, up to a number, for large files. */
export function textJobs(
  jobs: number | undefined,
  { fileSize = 0 }: Pick<PerfDataReader, "fileSize">,
  processors: number = navigator.hardwareConcurrency,
): number {
  return jobs ?? (fileSize >= LARGE_TEXT ? Math.min(processors, MOST_TEXT) : 1);
}

/** What says how large a recording is. */
export type SizedReader = Pick<
  PerfDataReader,
  "fileSize" | "littleEndian" | "features" | "readSection"
>;

/**
 * Threads that take samples: as many as asked for, or all processors where the records are so many bytes that
 * their start pays.
 */
export async function sampleJobs(
  jobs: number | undefined,
  reader: SizedReader,
  processors: number = navigator.hardwareConcurrency,
): Promise<number> {
  const { fileSize = 0 } = reader;
  const large = Math.max(LARGE / (processors - 1), LARGE_FOR_MANY);
  return jobs ?? (fileSize * await ratioOf(reader) >= large ? processors : 1);
}

/** Bytes of records for each byte of a file, as `perf record -z` says. */
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
    // What of the features is damaged is reported by the pass over the records.
    return 1;
  }
}
