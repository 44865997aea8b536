/** Values of flags for times. */
import type { Recording } from "@perfdata/perfdata";
import type { PerfDataReader } from "@perfdata/format/records";
import {
  parseLength as lengthOf,
  parseTime as rangeOf,
  sampleSpan as spanOf,
  type TimeRange,
} from "@perfdata/session";
import { asInput, asUsage } from "./cli.ts";

/**
 * Parses a duration, such as `10ms` or `1.5s`, to ns.
 *
 * @throws {UsageError} If the text is not a duration.
 */
export function parseLength(flag: string, text: string): bigint {
  return asUsage(() => lengthOf(text), `--${flag} is `);
}

/**
 * Parses a time range.
 *
 * @throws {UsageError} If the text is not a time range.
 */
export function parseTime(text: string): TimeRange {
  return asUsage(() => rangeOf(text), "--time is ");
}

/**
 * The times of the first and the last sample of a file.
 *
 * @throws {InputError} If the recording is a stream, which can be read only once, or has no times.
 */
export async function sampleSpan(
  of: PerfDataReader | Pick<Recording, "span">,
): Promise<readonly [bigint, bigint]> {
  return await asInput(() => "span" in of ? of.span() : spanOf(of), "--time: ");
}
