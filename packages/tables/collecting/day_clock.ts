/** A moment of a recording's clock and its time of day. */
export interface ClockReference {
  /** Time of day at one moment of the recording: ns since 1970, UTC. */
  readonly wall_clock_ns: bigint;
  /** Time of the recording's clock at that moment, ns. */
  readonly clockid_time_ns: bigint;
}

/** Turns times of a recording into microseconds of the day's clock: words in, words out, no `bigint` for each. */
export class DayClock {
  /** Lower word of the result of {@link DayClock.at}. */
  lo: number = 0;
  /** Upper word. */
  hi: number = 0;
  /** A time of the recording from which others count, so that differences are exact. */
  #base: bigint | undefined;
  #baseHi = 0;
  #baseLo = 0;
  #micros = 0;
  #rest = 0;
  readonly #offset: bigint;

  /** Takes the two times of one moment. */
  constructor({ wall_clock_ns, clockid_time_ns }: ClockReference) {
    this.#offset = wall_clock_ns - clockid_time_ns;
  }

  /** Computes the time of day of a moment. */
  at(lo: number, hi: number): void {
    if (this.#base === undefined) this.#begin(lo, hi);
    // deno-lint-ignore perfdata/halves -- a difference of times in one recording
    const since = (hi - this.#baseHi) * 2 ** 32 + ((lo >>> 0) - this.#baseLo);
    const micros = this.#micros + Math.floor((since + this.#rest) / 1000);
    this.hi = Math.floor(micros / 2 ** 32) | 0;
    this.lo = micros % 2 ** 32 | 0;
  }

  #begin(lo: number, hi: number): void {
    this.#baseHi = hi;
    this.#baseLo = lo >>> 0;
    this.#base = BigInt(hi) << 32n | BigInt(lo >>> 0);
    const day = this.#base + this.#offset;
    const micros = day / 1000n;
    this.#micros = Number(micros);
    this.#rest = Number(day - micros * 1000n);
  }
}
