import { numberAt } from "@perfdata/format/elements";

/** Below this expected value, a test is exact; above, the normal distribution is close enough. */
const SMALL = 200;

/**
 * Natural logarithm of the gamma function, by Lanczos' approximation; relative error below 1e-13.
 *
 * @example
 * ```ts
 * import { logGamma } from "@perfdata/export/statistics";
 * import { assertAlmostEquals } from "@std/assert";
 *
 * assertAlmostEquals(Math.exp(logGamma(6)), 120, 1e-9);
 * ```
 */
export function logGamma(x: number): number {
  const terms = [
    676.5203681218851,
    -1259.1392167224028,
    771.3234287776531,
    -176.6150291621406,
    12.507343278686905,
    -0.13857109526572012,
    9.984369578019572e-6,
    1.5056327351493116e-7,
  ];
  const z = x - 1;
  let sum = 0.9999999999998099;
  for (const [i, term] of terms.entries()) sum += term / (z + i + 1);
  const t = z + terms.length - 0.5;
  return 0.5 * Math.log(2 * Math.PI) + (z + 0.5) * Math.log(t) - t + Math.log(sum);
}

/** Regularized incomplete beta function, by its continued fraction. */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The fraction converges quickly on one side of the mean.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x),
  ) / a;
  let c = 1;
  let d = 1 / (1 - (a + b) * x / (a + 1));
  let result = d;
  for (let m = 1; m < 10_000; m++) {
    const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    result *= c * d;
    const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    result *= c * d;
    if (Math.abs(c * d - 1) < 1e-14) break;
  }
  return front * result;
}

/** Probability that Student's t with `freedom` degrees is farther from 0 than `t`. */
export function studentTwoSided(t: number, freedom: number): number {
  return incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

/** Probability that a normal deviate is farther from 0 than `z`. */
export function normalTwoSided(z: number): number {
  // Upper incomplete gamma of 1/2: a series for small values, a continued fraction for large ones.
  const x = z * z / 2;
  if (x < 1.5) {
    let term = 1;
    let sum = 1;
    for (let n = 1; n < 200 && term > 1e-17 * sum; n++) {
      term *= x / (n + 0.5);
      sum += term;
    }
    return Math.max(0, 1 - 2 * Math.sqrt(x / Math.PI) * Math.exp(-x) * sum);
  }
  let fraction = 0;
  for (let n = 200; n > 0; n--) fraction = n * (n - 0.5) / (x + 2 * n + 0.5 - fraction);
  return Math.exp(-x) * Math.sqrt(x / Math.PI) / (x + 0.5 - fraction);
}

/**
 * How probable it is that two shares of samples differ by chance at least as much as they do: Fisher's
 * exact test for small numbers (mid-p), the test of two proportions for large ones.
 *
 * @param k Samples of what is looked at, of `n`; on the other side `m` of `o`.
 *
 * @example
 * ```ts
 * import { shareTest } from "@perfdata/export/statistics";
 * import { assert } from "@std/assert";
 *
 * assert(shareTest(50, 1000, 62, 1000) > 0.2); // 12 samples more are no news
 * assert(shareTest(500, 10000, 620, 10000) < 0.001);
 * ```
 */
export function shareTest(k: number, n: number, m: number, o: number): number {
  const both = k + m;
  if (n === 0 || o === 0 || both === 0 || both === n + o) return 1;
  const share = both / (n + o);
  const expected = Math.min(n, o) * Math.min(share, 1 - share);
  if (expected >= SMALL || both > 20_000) {
    const error = Math.sqrt(share * (1 - share) * (1 / n + 1 / o));
    return normalTwoSided((k / n - m / o) / error);
  }
  const choose = (a: number, b: number) => logGamma(a + 1) - logGamma(b + 1) - logGamma(a - b + 1);
  const all = choose(n + o, both);
  const chance = (x: number) => Math.exp(choose(n, x) + choose(o, both - x) - all);
  return midP(chance, k, Math.max(0, both - o), Math.min(n, both));
}

/**
 * The same for rates: `k` samples in `s` seconds, `m` in `t`. Given how many there are in all, those of
 * the first side have a binomial distribution.
 */
export function rateTest(k: number, s: number, m: number, t: number): number {
  const both = k + m;
  if (!(s > 0 && t > 0) || both === 0) return 1;
  const share = s / (s + t);
  if (Math.min(share, 1 - share) * both >= SMALL || both > 20_000) {
    return normalTwoSided((k - both * share) / Math.sqrt(both * share * (1 - share)));
  }
  const whole = logGamma(both + 1);
  const chance = (x: number) =>
    Math.exp(
      whole - logGamma(x + 1) - logGamma(both - x + 1) + x * Math.log(share) +
        (both - x) * Math.log1p(-share),
    );
  return midP(chance, k, 0, both);
}

/** Probability of all outcomes that are rarer than `k`, and of half of those that are as rare. */
function midP(chance: (x: number) => number, k: number, least: number, most: number): number {
  const own = chance(k);
  let sum = 0;
  for (let x = least; x <= most; x++) {
    const other = chance(x);
    if (Math.abs(other - own) <= own * 1e-9) sum += other / 2;
    else if (other < own) sum += other;
  }
  return Math.min(1, sum);
}

/** A difference of means, with the interval that holds the true one with 95%. */
export interface MeanDifference {
  /** Mean of the second side less that of the first. */
  readonly difference: number;
  /** Lower end of the interval. */
  readonly low: number;
  /** Upper end. */
  readonly high: number;
  /** Probability of a difference as large by chance. */
  readonly chance: number;
}

/**
 * Welch's test of two means: for sides of several measurements, whose spread need not be the same.
 *
 * @returns `undefined` if a side has fewer than two values
 */
export function welch(
  before: readonly number[],
  after: readonly number[],
): MeanDifference | undefined {
  if (before.length < 2 || after.length < 2) return undefined;
  const [a, b] = [moments(before), moments(after)];
  const difference = b.mean - a.mean;
  const error = a.error + b.error;
  if (error === 0) {
    return { difference, low: difference, high: difference, chance: difference === 0 ? 1 : 0 };
  }
  const freedom = error ** 2 /
    (a.error ** 2 / (before.length - 1) + b.error ** 2 / (after.length - 1));
  const t = difference / Math.sqrt(error);
  const reach = studentQuantile(0.05, freedom) * Math.sqrt(error);
  return {
    difference,
    low: difference - reach,
    high: difference + reach,
    chance: studentTwoSided(t, freedom),
  };
}

/** Mean, and the square of its standard error. */
function moments(values: readonly number[]): { readonly mean: number; readonly error: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, error: squares / (values.length - 1) / values.length };
}

/** The t that is exceeded on either side with that probability, by halving. */
function studentQuantile(chance: number, freedom: number): number {
  let [low, high] = [0, 1e4];
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (studentTwoSided(middle, freedom) > chance) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * Which of many tests count, so that with 99% none of them is there by chance (Holm's method).
 *
 * @param chances Probability of each by chance.
 *
 * @example
 * ```ts
 * import { significant } from "@perfdata/export/statistics";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(significant([0.0001, 0.004, 0.3]), [true, true, false]);
 * ```
 */
export function significant(chances: readonly number[], level = 0.01): boolean[] {
  const order = chances.map((_, i) => i).sort((a, b) =>
    numberAt(chances, a) - numberAt(chances, b)
  );
  const found = new Array<boolean>(chances.length).fill(false);
  for (const [rank, i] of order.entries()) {
    if (numberAt(chances, i) > level / (chances.length - rank)) break;
    found[i] = true;
  }
  return found;
}
