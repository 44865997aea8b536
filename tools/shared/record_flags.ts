/** Values of flags that several commands have. */
import { decodeFeature } from "@perfdata/format/features";
import { type PerfDataReader, sectionRange } from "@perfdata/format/records";
import { HEADER_COMPRESSED } from "@perfdata/format/constants";
import { UsageError } from "./cli.ts";

/**
 * A number that is not negative, decimal or with `0x`.
 *
 * @throws {UsageError} If it is none.
 */
export function parseOffset(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = /^(0x[0-9a-f]+|\d+)$/i.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(value)) {
    throw new UsageError(`--${flag} is ${text}, expected a number such as 4096 or 0x1000`);
  }
  return value;
}

/**
 * How many there are to be at most.
 *
 * @throws {UsageError} If it is not a number from 0 on.
 */
export function parseCount(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) {
    throw new UsageError(`--${flag} is ${text}, expected a number such as 20`);
  }
  return Number(text);
}

/**
 * A share in percent.
 *
 * @throws {UsageError} If it is none.
 */
export function parsePercent(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = text.trim() === "" ? NaN : Number(text);
  if (!(value >= 0 && value <= 100)) {
    throw new UsageError(`--${flag} is ${text}, expected 0 to 100`);
  }
  return value;
}

const MOST_JOBS = 64;

/**
 * A number of threads.
 *
 * @throws {UsageError} If it is none, or more than there can be.
 */
export function parseJobs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const jobs = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (jobs === 0 || jobs > MOST_JOBS) {
    throw new UsageError(`--jobs is ${text}, expected 1 to ${MOST_JOBS}`);
  }
  return jobs;
}

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
type SizedReader = Pick<
  PerfDataReader,
  "fileSize" | "littleEndian" | "features" | "readSection"
>;

/**
 * Threads that take samples: as many as asked for, or all processors where the records are so many bytes that
 * their start pays.
 */
export async function sampleJobs(
  text: string | undefined,
  reader: SizedReader,
  processors: number = navigator.hardwareConcurrency,
): Promise<number> {
  const { fileSize = 0 } = reader;
  const large = Math.max(LARGE / (processors - 1), LARGE_FOR_MANY);
  return parseJobs(text) ?? (fileSize * await ratioOf(reader) >= large ? processors : 1);
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

/** The members that are not `undefined`. */
export function given<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as { [K in keyof T]: Exclude<T[K], undefined> };
}
