/** A copy of a typed array with room for at least `length` elements, and at least twice as many. */
export function enlarge<
  T extends Uint8Array | Int32Array | Uint32Array | Float64Array | BigUint64Array,
>(
  array: T,
  length: number,
): T {
  const larger = new (array.constructor as { new (length: number): T & { set(from: T): void } })(
    Math.max(length, array.length * 2),
  );
  larger.set(array);
  return larger;
}
