import { checkMemory } from "../sources/memory.ts";

/** Tables with fewer elements are enlarged without checking the free memory. */
const FEW = 1 << 16;

/** A copy of a typed array with room for at least `length` elements, and at least twice as many. */
export function enlarge<
  T extends Uint8Array | Int32Array | Uint32Array | Float64Array | BigUint64Array,
>(
  array: T,
  length: number,
): T {
  if (length > FEW) checkMemory();
  const larger = new (array.constructor as { new (length: number): T & { set(from: T): void } })(
    Math.max(length, array.length * 2),
  );
  larger.set(array);
  return larger;
}
