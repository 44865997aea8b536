/** Messages about sums of periods. */
import { roundedPeriods } from "@perfdata/session";
import { complain } from "./cli.ts";

/** Reports sums of periods that are too large to be exact. */
export function complainRounded(
  tool: string,
  name: string,
  totals: Iterable<{ readonly period: number }>,
): void {
  const rounded = roundedPeriods(Math.max(0, ...Array.from(totals, ({ period }) => period)));
  if (rounded !== undefined) complain(`${tool}: ${name}: ${rounded}`);
}
