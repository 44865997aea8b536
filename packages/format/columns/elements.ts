/**
 * Checked element access for typed arrays. An index past the end would otherwise return `undefined`, typed as a number.
 * There is one function for each type of array: one function for all types is several times slower.
 * Loops that run once per record, packet or instruction index the columns directly.
 */

function throwOutOfRange(length: number, at: number): never {
  throw new RangeError(`element ${at} of ${length}`);
}

/**
 * Returns the element of a column of signed 32-bit numbers.
 *
 * @example
 * ```ts
 * import { intAt } from "@perfdata/format/bytes";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const pids = Int32Array.of(1, -1);
 * assertEquals(intAt(pids, 1), -1);
 * assertThrows(() => intAt(pids, 2), RangeError, "element 2 of 2");
 * ```
 *
 * @throws {RangeError} If the index is out of range.
 */
export function intAt(column: Int32Array, at: number): number {
  return column[at] ?? throwOutOfRange(column.length, at);
}

/**
 * Returns the element of a column of unsigned 32-bit numbers.
 *
 * @throws {RangeError} If the index is out of range.
 */
export function uintAt(column: Uint32Array, at: number): number {
  return column[at] ?? throwOutOfRange(column.length, at);
}

/**
 * Returns the element of a column of unsigned 16-bit numbers.
 *
 * @throws {RangeError} If the index is out of range.
 */
export function shortAt(column: Uint16Array, at: number): number {
  return column[at] ?? throwOutOfRange(column.length, at);
}

/**
 * Returns a byte of an array.
 *
 * @throws {RangeError} If the index is out of range.
 */
export function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? throwOutOfRange(bytes.length, at);
}

/**
 * Returns the element of a column of doubles.
 *
 * @throws {RangeError} If the index is out of range.
 */
export function floatAt(column: Float64Array, at: number): number {
  return column[at] ?? throwOutOfRange(column.length, at);
}

/**
 * Returns the element of a list of numbers.
 *
 * @throws {RangeError} If the index is out of range.
 */
export function numberAt(list: readonly number[], at: number): number {
  return list[at] ?? throwOutOfRange(list.length, at);
}
