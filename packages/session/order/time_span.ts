/** The first and last time in 32-bit halves, in the form for sending it to another thread. */
export type TimePart = readonly [firstHi: number, firstLo: number, lastHi: number, lastLo: number];

/** The first and last of many times, without an allocation for each. */
export class TimeSpan {
  #some = false;
  #firstHi = 0xffff_ffff;
  #firstLo = 0xffff_ffff;
  #lastHi = 0;
  #lastLo = 0;

  /** The first time; `undefined` if there is no time. */
  get first(): bigint | undefined {
    return this.#some ? joined(this.#firstHi, this.#firstLo) : undefined;
  }

  /** The last time; 0 if there is no time. */
  get last(): bigint {
    return joined(this.#lastHi, this.#lastLo);
  }

  /** The halves of both times; all are 0 if there is no time. */
  part(): TimePart {
    return this.#some ? [this.#firstHi, this.#firstLo, this.#lastHi, this.#lastLo] : [0, 0, 0, 0];
  }

  /** Adds the span of another thread. */
  join([firstHi, firstLo, lastHi, lastLo]: TimePart): void {
    this.see(firstHi, firstLo);
    this.see(lastHi, lastLo);
  }

  /** Adds a time; 0 means no time. */
  see(hi: number, lo: number): void {
    if ((hi | lo) === 0) return;
    hi >>>= 0;
    lo >>>= 0;
    this.#some = true;
    if (hi > this.#lastHi || (hi === this.#lastHi && lo > this.#lastLo)) {
      this.#lastHi = hi;
      this.#lastLo = lo;
    }
    if (hi < this.#firstHi || (hi === this.#firstHi && lo < this.#firstLo)) {
      this.#firstHi = hi;
      this.#firstLo = lo;
    }
  }
}

function joined(hi: number, lo: number): bigint {
  return BigInt(hi) << 32n | BigInt(lo);
}
