/** Sums of periods are doubles: exact below 2^53; from there on, each addition may round. */

/**
 * The message for a sum of periods that may not be exact; `undefined` if it is exact.
 *
 * The message promises no number of digits, because the error grows with the number of samples.
 *
 * @param sum A sum of periods, or a period, as a double: 2^53 may also be 2^53 + 1, rounded.
 *
 * @example
 * ```ts
 * import { roundedPeriods } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(roundedPeriods(2 ** 53 - 1), undefined);
 * assertEquals(roundedPeriods(2 ** 53), "sums of periods from 2^53 on are rounded");
 * ```
 */
export function roundedPeriods(sum: number): string | undefined {
  return sum >= 2 ** 53 ? "sums of periods from 2^53 on are rounded" : undefined;
}
