/** Numbers by chance that a seed makes again. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 32 bits (mulberry32, by Tommy Ettinger). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** A number from 0 to `limit - 1`. */
  below(limit: number): number {
    return limit <= 1 ? 0 : this.next() % limit;
  }

  /** One of several. */
  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  /** Whether, once in `n` times. */
  once(n: number): boolean {
    return this.below(n) === 0;
  }
}
