/** A moment as the time of the recording's clock and as the time of day. */
export interface ClockReference {
  /** Time of day at that moment: ns since 1970, UTC. */
  readonly wall_clock_ns: bigint;
  /** Time of the recording's clock at that moment, in ns. */
  readonly clockid_time_ns: bigint;
}

/** Converts times of a recording to microseconds since 1970, as pairs of words, without a `bigint` for each. */
export class DayClock {
  /** Lower word of the result of {@link DayClock.at}. */
  lo: number = 0;
  /** Upper word of the result of {@link DayClock.at}. */
  hi: number = 0;
  /** The first converted time; other times are exact differences from it. */
  #base: bigint | undefined;
  #baseHi = 0;
  #baseLo = 0;
  #micros = 0;
  #nanos = 0;
  readonly #offset: bigint;

  /** Creates a clock from a moment known in both clocks. */
  constructor({ wall_clock_ns, clockid_time_ns }: ClockReference) {
    this.#offset = wall_clock_ns - clockid_time_ns;
  }

  /** Converts a time of the recording to {@link DayClock.lo} and {@link DayClock.hi}. */
  at(lo: number, hi: number): void {
    if (this.#base === undefined) this.#setBase(lo, hi);
    // deno-lint-ignore perfdata/halves -- a difference of times in one recording
    const since = (hi - this.#baseHi) * 2 ** 32 + ((lo >>> 0) - this.#baseLo);
    const micros = this.#micros + Math.floor((since + this.#nanos) / 1000);
    this.hi = Math.floor(micros / 2 ** 32) | 0;
    this.lo = micros % 2 ** 32 | 0;
  }

  #setBase(lo: number, hi: number): void {
    this.#baseHi = hi;
    this.#baseLo = lo >>> 0;
    this.#base = BigInt(hi) << 32n | BigInt(lo >>> 0);
    const day = this.#base + this.#offset;
    const micros = day / 1000n;
    this.#micros = Number(micros);
    this.#nanos = Number(day - micros * 1000n);
  }
}
