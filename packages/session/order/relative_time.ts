import type { Run } from "./run.ts";

/**
 * Times of rows in ns since the first one: differences stay exact even if times of the clock exceed the
 * range of exact doubles.
 */
export class RelativeTime {
  #baseHi = -1;
  #baseLo = 0;

  /** What times count from, in ns. */
  get base(): bigint {
    return this.#baseHi < 0 ? 0n : BigInt(this.#baseHi) << 32n | BigInt(this.#baseLo);
  }

  /** The upper half of that; -1 before the first row with a time. */
  get baseHi(): number {
    return this.#baseHi;
  }

  /** The lower half of it. */
  get baseLo(): number {
    return this.#baseLo;
  }

  /** When a row was; rows without a time are as old as the first one. */
  of(run: Run, i: number): number {
    const hi = (run.timeHi[i] as number) >>> 0;
    const lo = (run.timeLo[i] as number) >>> 0;
    if ((hi | lo) === 0) return 0;
    if (this.#baseHi < 0) {
      this.#baseHi = hi;
      this.#baseLo = lo;
    }
    // deno-lint-ignore perfdata/halves -- since the first one, to take differences of
    return (hi - this.#baseHi) * 2 ** 32 + (lo - this.#baseLo);
  }
}
