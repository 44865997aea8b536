/** Reproducible random numbers from a seed. */
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

  /** A random element. */
  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  /** A random element chosen by name: adding or removing one does not affect other choices. */
  named<T extends { readonly name: string }>(from: readonly T[]): T {
    const salt = this.next();
    let chosen = from[0] as T;
    let most = -1;
    for (const one of from) {
      let hash = salt;
      for (let i = 0; i < one.name.length; i++) hash = Math.imul(hash, 31) + one.name.charCodeAt(i);
      const rank = new Random(hash).next();
      if (rank <= most) continue;
      most = rank;
      chosen = one;
    }
    return chosen;
  }

  /** True once in `n` times. */
  once(n: number): boolean {
    return this.below(n) === 0;
  }
}
