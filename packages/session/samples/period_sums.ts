/** Sums of periods are doubles: exact up to 2^53, and after that to one part in 2^53. */

/**
 * What has to be said beside a sum of periods that is no longer exact, or nothing.
 *
 * @param sum A sum of periods, or a period.
 *
 * @example
 * ```ts
 * import { roundedPeriods } from "@perfdata/session/period-sums";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(roundedPeriods(2 ** 53), undefined);
 * assertEquals(roundedPeriods(2 ** 54), "periods above 2^53 are rounded to 16 digits");
 * ```
 */
export function roundedPeriods(sum: number): string | undefined {
  return sum > 2 ** 53 ? "periods above 2^53 are rounded to 16 digits" : undefined;
}
