import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import {
  CountChange,
  logGamma,
  normalQuantile,
  normalTwoSided,
  runSpread,
  studentTwoSided,
  welch,
} from "./statistics.ts";

Deno.test("logGamma: factorials and the square root of pi are exact", () => {
  assertAlmostEquals(Math.exp(logGamma(1)), 1, 1e-12);
  assertAlmostEquals(Math.exp(logGamma(6)), 120, 1e-10);
  assertAlmostEquals(Math.exp(logGamma(0.5)), Math.sqrt(Math.PI), 1e-12);
});

Deno.test("normalTwoSided: probabilities equal tables on both sides of the formulas' boundary", () => {
  const table = [
    ...[[0, 1], [0.6744897501960817, 0.5], [1.6448536269514722, 0.1]],
    ...[[1.959963984540054, 0.05], [2.5758293035489004, 0.01], [3.290526731491926, 0.001]],
  ] as const;
  for (const [z, chance] of table) {
    assertAlmostEquals(normalTwoSided(z), chance, 1e-12);
    assertAlmostEquals(normalQuantile(chance), z, 1e-9);
  }
});

Deno.test("studentTwoSided: one, two and four degrees equal closed forms, others a table", () => {
  for (const t of [0.2, 1, 3, 20]) {
    assertAlmostEquals(studentTwoSided(t, 1), 1 - 2 / Math.PI * Math.atan(t), 1e-10);
    assertAlmostEquals(studentTwoSided(t, 2), 1 - t / Math.sqrt(2 + t * t), 1e-10);
    const x = t / Math.sqrt(4 + t * t);
    assertAlmostEquals(studentTwoSided(t, 4), 1 - (3 * x - x ** 3) / 2, 1e-10);
  }
  assertAlmostEquals(studentTwoSided(2.2281388519649385, 10), 0.05, 1e-10);
  assertEquals(studentTwoSided(0, 5), 1);
});

Deno.test("welch: two values per side give means, interval and probability", () => {
  // Means 1 and 4, each with a squared error of 1; two degrees of freedom.
  const found = welch([0, 2], [3, 5]);
  const t = 3 / Math.SQRT2, reach = 4.302652729911275 * Math.SQRT2;
  assertAlmostEquals(found?.difference ?? NaN, 3, 1e-12);
  assertAlmostEquals(found?.low ?? NaN, 3 - reach, 1e-6);
  assertAlmostEquals(found?.high ?? NaN, 3 + reach, 1e-6);
  assertAlmostEquals(found?.chance ?? NaN, 1 - t / Math.sqrt(2 + t * t), 1e-10);
  // 1.5 and 4: squared errors 1/4 and 4/3, freedom (19/12)^2 / (1/16 + 16/9/2).
  const uneven = welch([1, 2], [2, 4, 6]);
  const freedom = (19 / 12) ** 2 / (1 / 16 + 16 / 18);
  assertAlmostEquals(
    uneven?.chance ?? NaN,
    studentTwoSided(2.5 / Math.sqrt(19 / 12), freedom),
    1e-12,
  );
});

Deno.test("welch: one value gives no result, equal values give a certain difference", () => {
  assertEquals([welch([1], [2, 3]), welch([1, 2], [3])], [undefined, undefined]);
  assertEquals(welch([2, 2], [3, 3]), { difference: 1, low: 1, high: 1, chance: 0 });
  assertEquals(welch([2, 2], [2, 2]), { difference: 0, low: 0, high: 0, chance: 1 });
});

const PRIOR = { usual: 0.05, deviation: 0.7 };
/** The nearest of the spreads that are tried: 1 % times a power of the tenth root of e. */
const tried = (spread: number) => 0.01 * Math.exp(Math.round(10 * Math.log(spread / 0.01)) / 10);

Deno.test("runSpread: no differences give the prior, many equal ones their size", () => {
  assertAlmostEquals(runSpread([], PRIOR, false), tried(0.05), 1e-12);
  // Under Student's distribution with four degrees, differences of r have the most probable spread
  // r.
  for (const size of [0.03, 0.2, 1.1]) {
    const of = (middle: number) =>
      Array.from({ length: 401 }, (_, i) => ({
        ratio: middle + (i === 0 ? 0 : i % 2 === 0 ? size : -size),
        variance: 0,
      }));
    assertAlmostEquals(runSpread(of(0), PRIOR, false), tried(size), 1e-12);
    // The common part of shares, their median, is ignored.
    assertAlmostEquals(runSpread(of(0.5), PRIOR, true), tried(size), 1e-12);
    assert(runSpread(of(3), PRIOR, false) > tried(size));
  }
});

Deno.test("CountChange: equal counts are no change, with a symmetric interval", () => {
  for (const isRate of [false, true]) {
    const same = new CountChange({ samples: 50, size: 1000 }, { samples: 50, size: 1000 }, isRate);
    assertAlmostEquals(same.ratio, 0, 1e-6);
    assertAlmostEquals(same.chance(0), 1, 1e-6);
    const [low, high] = same.interval(0, 1.96);
    assertAlmostEquals(low, -high, 1e-9);
    assert(high > 0.005 && high < 0.05);
  }
});

Deno.test("CountChange: the interval ends where the test rejects, and contains the observed change", () => {
  const [before, after] = [{ samples: 80, size: 1000 }, { samples: 120, size: 1500 }];
  for (const isRate of [false, true]) {
    for (const more of [0, 15, 40]) {
      const change = new CountChange(before, { ...after, samples: 120 + more }, isRate);
      // The interval of this many deviates must not contain 0.
      const deviates = normalQuantile(change.chance(0.1));
      const has = (of: number) => {
        const [low, high] = change.interval(0.1, of);
        return low < 0 && high > 0;
      };
      assertEquals(
        [has(deviates + 0.01), has(deviates - 0.01)],
        [true, false],
        `${isRate} ${more}`,
      );
      const [low, high] = change.interval(0.1, 1);
      const found = (120.5 + more) / (isRate ? 1500 : 1501) - 80.5 / (isRate ? 1000 : 1001);
      assert(low < found && found < high, `${low} ${found} ${high}`);
    }
  }
});

Deno.test("CountChange: rates have the variance of two counts, shares also that of the rest", () => {
  // 9.5 + 10.5 samples with equal sizes: 10 each.
  const rate = new CountChange({ samples: 9, size: 5 }, { samples: 10, size: 5 }, true);
  assertAlmostEquals(rate.variance, 2 / 10, 1e-12);
  const share = new CountChange({ samples: 9, size: 99 }, { samples: 10, size: 99 }, false);
  assertAlmostEquals(share.variance, 2 / 10 + 2 / 90, 1e-12);
  assert(rate.ratio > 0);
  assert(new CountChange({ samples: 10, size: 5 }, { samples: 9, size: 5 }, true).ratio < 0);
});
