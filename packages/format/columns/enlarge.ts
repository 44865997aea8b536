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

/** Returns a copy of byte arrays, one after the other. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
