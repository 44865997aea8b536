/** Values of flags that several commands have. */
import { UsageError } from "./cli.ts";

/**
 * Parses a non-negative number, decimal or with `0x`.
 *
 * @throws {UsageError} If the text is not such a number.
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
 * Parses a maximum count.
 *
 * @throws {UsageError} If the text is not a non-negative integer.
 */
export function parseCount(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) {
    throw new UsageError(`--${flag} is ${text}, expected a number such as 20`);
  }
  return Number(text);
}

/**
 * Parses a percentage.
 *
 * @throws {UsageError} If the text is not a number from 0 to 100.
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
 * Parses a number of threads.
 *
 * @throws {UsageError} If the text is not a number, or exceeds the maximum.
 */
export function parseJobs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const jobs = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (jobs === 0 || jobs > MOST_JOBS) {
    throw new UsageError(`--jobs is ${text}, expected 1 to ${MOST_JOBS}`);
  }
  return jobs;
}
