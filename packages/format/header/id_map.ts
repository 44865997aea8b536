/** From here on, the upper half of an id does not fit into a double together with the lower half. */
const WIDE = 0x20_0000;

/**
 * What is known of 64-bit ids, looked up by their halves: nothing is allocated, and two ids are never
 * taken for the same one.
 *
 * @example
 * ```ts
 * import { IdMap } from "@perfdata/format/id-map";
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

  /** Notes what belongs to an id. */
  set(id: bigint, value: T): void {
    if (id >> 32n < BigInt(WIDE)) this.#narrow.set(Number(id), value);
    else this.#wide.set(id, value);
  }

  /** What belongs to an id, by its halves, signed or not. */
  get(hi: number, lo: number): T | undefined {
    const high = hi >>> 0;
    if (high < WIDE) return this.#narrow.get(high * 2 ** 32 + (lo >>> 0));
    return this.#wide.size === 0
      ? undefined
      : this.#wide.get(BigInt(high) << 32n | BigInt(lo >>> 0));
  }

  /** Forgets all. */
  clear(): void {
    this.#narrow.clear();
    this.#wide.clear();
  }
}
