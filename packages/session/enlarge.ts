/** A copy of a typed array with room for at least `length` elements, and at least twice as many. */
export function enlarge<
  T extends
    | Uint8Array<ArrayBuffer>
    | Int32Array<ArrayBuffer>
    | Uint32Array<ArrayBuffer>
    | Float64Array<ArrayBuffer>,
>(array: T, length: number): T {
  const larger = new (array.constructor as { new (length: number): T })(
    Math.max(length, array.length * 2),
  );
  larger.set(array);
  return larger;
}
