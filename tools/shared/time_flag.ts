/** Values of flags that are times. */
import type { PerfDataReader } from "@perfdata/format/records";
import {
  parseLength as lengthOf,
  parseTime as rangeOf,
  sampleSpan as spanOf,
  type TimeRange,
} from "@perfdata/session";
import { asInput, asUsage } from "./cli.ts";

/**
 * Reads a length of time: `10ms`, `1.5s`; in ns.
 *
 * @throws {UsageError} If it is none.
 */
export function parseLength(flag: string, text: string): bigint {
  return asUsage(() => lengthOf(text), `--${flag} is `);
}

/**
 * Reads a range of time.
 *
 * @throws {UsageError} If it is none.
 */
export function parseTime(text: string): TimeRange {
  return asUsage(() => rangeOf(text), "--time is ");
}

/**
 * When the samples of a file begin and end.
 *
 * @throws {InputError} If the recording is a stream, which can be read only once, or has no times.
 */
export async function sampleSpan(reader: PerfDataReader): Promise<readonly [bigint, bigint]> {
  return await asInput(() => spanOf(reader), "--time: ");
}
