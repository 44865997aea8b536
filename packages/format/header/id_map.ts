/** An upper half below this value, combined with the lower half, fits into a double. */
const WIDE = 0x20_0000;

/**
 * Map with 64-bit ids as keys, looked up by their halves. A lookup allocates nothing, and ids are compared exactly.
 *
 * @example
 * ```ts
 * import { IdMap } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * const ids = new IdMap<string>();
 * ids.set(0x20_0000_0000_0001n, "odd");
 * assertEquals([ids.get(0x20_0000, 1), ids.get(0x20_0000, 0)], ["odd", undefined]);
 * ```
 */
export class IdMap<T> {
  readonly #narrow = new Map<number, T>();
  readonly #wide = new Map<bigint, T>();

  /** Sets the value of an id. */
  set(id: bigint, value: T): void {
    if (id >> 32n < BigInt(WIDE)) this.#narrow.set(Number(id), value);
    else this.#wide.set(id, value);
  }

  /** Returns the value of an id, given as two 32-bit halves, signed or unsigned. */
  get(hi: number, lo: number): T | undefined {
    const high = hi >>> 0;
    if (high < WIDE) return this.#narrow.get(high * 2 ** 32 + (lo >>> 0));
    return this.#wide.size === 0
      ? undefined
      : this.#wide.get(BigInt(high) << 32n | BigInt(lo >>> 0));
  }

  /** Removes all ids. */
  clear(): void {
    this.#narrow.clear();
    this.#wide.clear();
  }
}
