/**
 * Natural logarithm of the gamma function, by Lanczos' approximation; relative error below 1e-13.
 *
 * @example
 * ```ts
 * import { logGamma } from "@perfdata/export/tree";
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

/** Number of bisections, enough for the printed precision. */
const HALVINGS = 60;

/** The normal deviate that is exceeded on either side with this probability. */
export function normalQuantile(chance: number): number {
  let [low, high] = [0, 40];
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2;
    if (normalTwoSided(middle) > chance) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Samples of a function on one side. */
export interface SideCount {
  /** Samples of the function. */
  readonly samples: number;
  /** Total of samples for a share; for a rate, the divisor: seconds or recordings. */
  readonly size: number;
}

/**
 * Compares the samples of one function on two sides, as shares or rates.
 *
 * Test and interval both use the likelihood of the counts: the interval has exactly the changes
 * that the test does not reject. Half a sample is added to each side, which makes small counts
 * agree with exact tests (mid-p), and gives functions on one side an interval.
 *
 * @example
 * ```ts
 * import { CountChange } from "@perfdata/export/tree";
 * import { assert } from "@std/assert";
 *
 * const few = new CountChange({ samples: 50, size: 1000 }, { samples: 62, size: 1000 }, false);
 * assert(few.chance(0) > 0.2); // 12 samples more are no news
 * const many = new CountChange({ samples: 500, size: 10000 }, { samples: 620, size: 10000 }, false);
 * assert(many.chance(0) < 0.001);
 * assert(many.chance(0.2) > 0.1); // unless runs differ by 20% anyway
 * ```
 */
export class CountChange {
  /** Logarithm of the ratio of both sides, as far from 0 as the test says. */
  readonly ratio: number;
  /** Variance of that logarithm due to sampling alone. */
  readonly variance: number;
  readonly #own: number;
  readonly #both: number;
  readonly #sizes: readonly [number, number];
  readonly #isRate: boolean;
  /** Expected samples of the base if both sides were equal. */
  readonly #alike: number;

  /**
   * Compares the counts of two sides.
   *
   * @param isRate Whether rates are compared. Otherwise shares are.
   */
  constructor(before: SideCount, after: SideCount, isRate: boolean) {
    const more = isRate ? 0 : 1;
    const [n, o] = [before.size + more, after.size + more];
    this.#sizes = [n, o];
    this.#isRate = isRate;
    this.#own = before.samples + 0.5;
    this.#both = this.#own + after.samples + 0.5;
    this.#alike = this.#both * n / (n + o);
    this.variance = this.#variance(this.#alike);
    const size = Math.sqrt(this.#deviance(this.#alike) * this.variance);
    this.ratio = this.#own > this.#alike ? -size : size;
  }

  /** Probability of a difference as large by chance, if runs have the relative spread `spread`. */
  chance(spread: number): number {
    return normalTwoSided(this.#deviates(this.#alike, spread));
  }

  /** The changes from the first to the second side that are within this many deviates. */
  interval(spread: number, deviates: number): [number, number] {
    const [n, o] = this.#sizes;
    const most = this.#isRate ? this.#both : Math.min(this.#both, n);
    const least = this.#isRate ? 0 : Math.max(0, this.#both - o);
    return [this.#end(most, spread, deviates), this.#end(least, spread, deviates)];
  }

  /**
   * Finds the point between the observed count and `outer` samples of the base at which the
   * deviates are reached.
   */
  #end(outer: number, spread: number, deviates: number): number {
    let [inner, end] = [this.#own, outer];
    for (let i = 0; i < HALVINGS; i++) {
      const middle = (inner + end) / 2;
      if (this.#deviates(middle, spread) < deviates) inner = middle;
      else end = middle;
    }
    const [n, o] = this.#sizes;
    return (this.#both - end) / o - end / n;
  }

  /** Number of deviates between the observed counts and those with `x` of both in the base. */
  #deviates(x: number, spread: number): number {
    const deviance = this.#deviance(x);
    return spread === 0
      ? Math.sqrt(deviance)
      : Math.sqrt(deviance / (1 + spread ** 2 / this.#variance(x)));
  }

  #deviance(x: number): number {
    const [n, o] = this.#sizes;
    const [k, m, y] = [this.#own, this.#both - this.#own, this.#both - x];
    const rest = this.#isRate ? 0 : surprise(n - k, n - x) + surprise(o - m, o - y);
    return Math.max(0, 2 * (surprise(k, x) + surprise(m, y) + rest));
  }

  #variance(x: number): number {
    const [n, o] = this.#sizes;
    const y = this.#both - x;
    return 1 / x + 1 / y + (this.#isRate ? 0 : 1 / (n - x) + 1 / (o - y));
  }
}

function surprise(found: number, expected: number): number {
  return found > 0 ? found * Math.log(found / expected) : 0;
}

/** Prior knowledge of the spread between runs. */
export interface SpreadPrior {
  /** The usual relative difference of a function between runs. */
  readonly usual: number;
  /** Deviation of its logarithm. */
  readonly deviation: number;
}

/** Degrees of freedom of differences between runs: few functions differ much more than most. */
const FREEDOM = 4;
/** Logarithms of the spreads that are tried: 1 % to 300 %, in steps of 10 %. */
const SPREADS: readonly number[] = Array.from({ length: 58 }, (_, i) => Math.log(0.01) + i / 10);

/** A difference between two runs. */
export interface RunDifference {
  /** Logarithm of the ratio. */
  readonly ratio: number;
  /** Its variance due to sampling alone. */
  readonly variance: number;
}

/**
 * The most probable spread between runs for these differences.
 *
 * @param isShare Whether these are differences of shares. A growing share shrinks all others, so
 * the common part of the differences is ignored.
 */
export function runSpread(
  differences: readonly RunDifference[],
  { usual, deviation }: SpreadPrior,
  isShare: boolean,
): number {
  const common = isShare ? commonRatio(differences, usual) : 0;
  let [found, most] = [usual, -Infinity];
  for (const log of SPREADS) {
    const square = Math.exp(2 * log);
    let sum = -(((log - Math.log(usual)) / deviation) ** 2) / 2;
    for (const { ratio, variance } of differences) {
      sum += likelihood(ratio - common, variance + square);
    }
    if (sum > most) [found, most] = [Math.exp(log), sum];
  }
  return found;
}

/** Log-likelihood of a difference with a variance, by Student's distribution. */
function likelihood(ratio: number, variance: number): number {
  return -(Math.log(variance) + (FREEDOM + 1) * Math.log1p(ratio ** 2 / variance / FREEDOM)) / 2;
}

/** The median difference, weighted by precision. */
function commonRatio(differences: readonly RunDifference[], usual: number): number {
  const weights = differences.map(({ ratio, variance }) => ({
    ratio,
    weight: 1 / (variance + usual ** 2),
  })).sort((a, b) => a.ratio - b.ratio);
  const half = weights.reduce((sum, { weight }) => sum + weight, 0) / 2;
  let sum = 0;
  for (const { ratio, weight } of weights) if ((sum += weight) >= half) return ratio;
  return 0;
}

/** A difference of means, with its confidence interval. */
export interface MeanDifference {
  /** Mean of the second side minus that of the first. */
  readonly difference: number;
  /** Lower end of the interval. */
  readonly low: number;
  /** Upper end of the interval. */
  readonly high: number;
  /** Probability of a difference as large by chance. */
  readonly chance: number;
}

/**
 * Welch's test of two means, for sides of several measurements with different spreads.
 *
 * @param level Probability that the true difference is outside of the interval.
 * @returns `undefined` if a side has fewer than two values
 */
export function welch(
  before: readonly number[],
  after: readonly number[],
  level = 0.05,
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
  const reach = studentQuantile(level, freedom) * Math.sqrt(error);
  return {
    difference,
    low: difference - reach,
    high: difference + reach,
    chance: studentTwoSided(t, freedom),
  };
}

function moments(values: readonly number[]): { readonly mean: number; readonly error: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, error: squares / (values.length - 1) / values.length };
}

/** The t that is exceeded on either side with this probability, by bisection. */
function studentQuantile(chance: number, freedom: number): number {
  let [low, high] = [0, 1e12];
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (studentTwoSided(middle, freedom) > chance) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
