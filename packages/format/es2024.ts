/**
 * Functions of ES2024 that Node 20 lacks, for packages that have to run there.
 *
 * @module
 */

/** A promise with the functions that settle it, as `Promise.withResolvers` returns it. */
export interface Settleable<T> {
  /** Settled by one of the functions. */
  readonly promise: Promise<T>;
  /** Fulfills the promise. */
  readonly resolve: (value: T | PromiseLike<T>) => void;
  /** Rejects the promise. */
  readonly reject: (reason?: unknown) => void;
}

/**
 * Creates a promise that is settled from outside, as `Promise.withResolvers` does.
 *
 * @example
 * ```ts
 * import { settleable } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * const { promise, resolve } = settleable<number>();
 * resolve(3);
 * assertEquals(await promise, 3);
 * ```
 */
export function settleable<T>(): Settleable<T> {
  let resolve: Settleable<T>["resolve"] = () => {};
  let reject: Settleable<T>["reject"] = () => {};
  const promise = new Promise<T>((fulfill, fail) => {
    resolve = fulfill;
    reject = fail;
  });
  return { promise, resolve, reject };
}

/**
 * Groups items by a key, in the order in which keys occur, as `Map.groupBy` does.
 *
 * @example
 * ```ts
 * import { groupBy } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([...groupBy([3, 1, 5, 4], (n) => n % 2)], [[1, [3, 1, 5]], [0, [4]]]);
 * ```
 */
export function groupBy<T, Key>(
  items: Iterable<T>,
  keyOf: (item: T) => Key,
): Map<Key, T[]> {
  const groups = new Map<Key, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
