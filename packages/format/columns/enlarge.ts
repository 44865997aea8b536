import { checkMemory } from "../sources/memory.ts";

/** Arrays of at most this many elements are enlarged without a check of the free memory. */
const UNCHECKED_LENGTH = 1 << 16;

/** Returns a copy of a typed array with room for at least `length` elements, and at least twice as many as before. */
export function enlarge<
  T extends Uint8Array | Int32Array | Uint32Array | Float64Array | BigUint64Array,
>(
  array: T,
  length: number,
): T {
  if (length > UNCHECKED_LENGTH) checkMemory();
  const larger = new (array.constructor as { new (length: number): T & { set(from: T): void } })(
    Math.max(length, array.length * 2),
  );
  larger.set(array);
  return larger;
}
