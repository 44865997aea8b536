import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import { roundedPeriods } from "./period_sums.ts";

const added = (periods: readonly bigint[]): number =>
  periods.reduce((sum, period) => sum + Number(period), 0);
const exact = (periods: readonly bigint[]): bigint =>
  periods.reduce((sum, period) => sum + period, 0n);

Deno.test("roundedPeriods: each sum that differs from that of bigints has the message", () => {
  const period = fc.bigInt({ min: 0n, max: 2n ** 54n });
  fc.assert(fc.property(fc.array(period, { maxLength: 20 }), (periods) => {
    const sum = added(periods);
    if (BigInt(sum) !== exact(periods)) assertNotEquals(roundedPeriods(sum), undefined);
  }));
});

Deno.test("roundedPeriods: 2^53 + 1, which is 2^53 as a double, has the message", () => {
  assertNotEquals(roundedPeriods(added([2n ** 53n, 1n])), undefined);
  assertEquals(roundedPeriods(added([2n ** 53n - 2n, 1n])), undefined);
});

Deno.test("roundedPeriods: the message promises no digits, which many additions lose", () => {
  // Each addition of 1 to 2^53 is lost.
  const periods = [2n ** 53n, ...new Array<bigint>(1000).fill(1n)];
  const lost = Number(exact(periods) - BigInt(added(periods)));
  assert(lost / 2 ** 53 > 10 ** -13);
  assertEquals(/digits/.test(roundedPeriods(added(periods)) ?? "digits"), false);
});
