/** From this time in ns on, the origin is later than 0: half of the range of exact doubles. */
const BEFORE = 1n << 52n;
const SECOND = 1_000_000_000n;

/**
 * Origin of the times of a decoded trace.
 *
 * Times are doubles, exact up to 2^53 ns: 104 days. Larger times (time of day, an uptime of months)
 * are relative to a second close to all times of the recording.
 *
 * @example
 * ```ts
 * import { TimeOrigin } from "@perfdata/pt/decode";
 * import { assertEquals } from "@std/assert";
 *
 * const origin = TimeOrigin.before(1_700_000_000_123_456_789n);
 * const time = origin.since(1_700_000_000_123_456_790n);
 * assertEquals(origin.secondsText(time), "1700000000.123456790");
 * assertEquals(origin.exact(time), 1_700_000_000_123_456_790n);
 * ```
 */
export class TimeOrigin {
  /** The origin in whole seconds. */
  readonly seconds: number;
  readonly #high: number;
  readonly #low: number;

  private constructor(ns: bigint) {
    this.seconds = Number(ns / SECOND);
    this.#high = Number(ns >> 32n);
    this.#low = Number(ns & 0xffff_ffffn);
  }

  /** The origin for times close to `ns`: 0 if such times are exact. */
  static before(ns: bigint): TimeOrigin {
    return new TimeOrigin(ns < BEFORE ? 0n : (ns - (BEFORE >> 1n)) / SECOND * SECOND);
  }

  /** The origin in ns. */
  get ns(): bigint {
    return BigInt(this.seconds) * SECOND;
  }

  /** Converts a time in ns to one since the origin; times long before the trace become 0. */
  since(ns: bigint): number {
    const since = ns - this.ns;
    return since < 0n ? 0 : Number(since);
  }

  /** Converts a time in halves to one since the origin; times long before the trace become 0. */
  sinceHalves(high: number, low: number): number {
    // deno-lint-ignore perfdata/halves -- a difference, which is small where the times are near
    const since = ((high >>> 0) - this.#high) * 2 ** 32 + ((low >>> 0) - this.#low);
    return since < 0 ? 0 : since;
  }

  /** Converts a time since the origin to ns: a number if that is exact, else a bigint. */
  exact(since: number): number | bigint {
    return this.seconds === 0 ? since : this.ns + BigInt(Math.floor(since));
  }

  /** Upper half of a time in ns; the lower half is {@linkcode TimeOrigin.lowOf}. */
  highOf(since: number): number {
    const high = Math.floor(since / 2 ** 32);
    const low = this.#low + Math.floor(since) - high * 2 ** 32;
    return this.#high + high + (low >= 2 ** 32 ? 1 : 0);
  }

  /** Lower half of a time in ns. */
  lowOf(since: number): number {
    return (this.#low + Math.floor(since) % 2 ** 32) >>> 0;
  }

  /** A time in ns as the nearest double, for users that need numbers. */
  rounded(since: number): number {
    return this.seconds * 1e9 + since;
  }

  /** Whole seconds of a time. */
  secondsOf(since: number): number {
    return this.seconds + Math.floor(since / 1e9);
  }

  /** Nanoseconds of a time beyond its whole seconds. */
  restOf(since: number): number {
    return Math.floor(since - Math.floor(since / 1e9) * 1e9);
  }

  /** Seconds with nine digits, as in `perf script --ns`; an empty text without a time. */
  secondsText(since: number): string {
    if (since < 0) return "";
    return `${this.secondsOf(since)}.${String(this.restOf(since)).padStart(9, "0")}`;
  }
}
