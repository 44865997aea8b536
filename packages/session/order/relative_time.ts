import type { Run } from "./run.ts";

/** Times of rows in ns since the first one. Differences are exact even if times exceed 2^53. */
export class RelativeTime {
  #baseHi = -1;
  #baseLo = 0;

  /** Time in ns that other times are relative to. */
  get base(): bigint {
    return this.#baseHi < 0 ? 0n : BigInt(this.#baseHi) << 32n | BigInt(this.#baseLo);
  }

  /** Upper half of the base; -1 before the first row with a time. */
  get baseHi(): number {
    return this.#baseHi;
  }

  /** Lower half of the base. */
  get baseLo(): number {
    return this.#baseLo;
  }

  /** Time of a row since the base; 0 for rows without a time. */
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
