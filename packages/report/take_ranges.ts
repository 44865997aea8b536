/** File offsets of a first record and of what comes after the last. */
export type Range = readonly [number, number];

/**
 * Takes ranges that no other thread has taken, one after the other.
 *
 * @param taken How many were taken, in memory that the threads share.
 */
export function* takeRanges(
  ranges: readonly Range[],
  taken: Int32Array,
): Generator<Range, void, void> {
  for (;;) {
    const range = ranges[Atomics.add(taken, 0, 1)];
    if (range === undefined) return;
    yield range;
  }
}
