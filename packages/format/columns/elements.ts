/**
 * Elements of columns, checked: an index past the end is a fault of the code that asks, and would go on as
 * `undefined` that calls itself a number. A reader for each kind of array, for a reader of all kinds takes
 * several times as long. Loops that run once per record, packet or instruction index the columns themselves.
 */

function past(length: number, at: number): never {
  throw new RangeError(`element ${at} of ${length}`);
}

/**
 * The element of a column of 32-bit signed numbers.
 *
 * @example
 * ```ts
 * import { intAt } from "@perfdata/format/elements";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const pids = Int32Array.of(1, -1);
 * assertEquals(intAt(pids, 1), -1);
 * assertThrows(() => intAt(pids, 2), RangeError, "element 2 of 2");
 * ```
 *
 * @throws {RangeError} Where there is none.
 */
export function intAt(column: Int32Array, at: number): number {
  return column[at] ?? past(column.length, at);
}

/**
 * The element of a column of 32-bit unsigned numbers.
 *
 * @throws {RangeError} Where there is none.
 */
export function uintAt(column: Uint32Array, at: number): number {
  return column[at] ?? past(column.length, at);
}

/**
 * The element of a column of 16-bit unsigned numbers.
 *
 * @throws {RangeError} Where there is none.
 */
export function shortAt(column: Uint16Array, at: number): number {
  return column[at] ?? past(column.length, at);
}

/**
 * A byte.
 *
 * @throws {RangeError} Where there is none.
 */
export function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? past(bytes.length, at);
}

/**
 * The element of a column of doubles.
 *
 * @throws {RangeError} Where there is none.
 */
export function floatAt(column: Float64Array, at: number): number {
  return column[at] ?? past(column.length, at);
}

/**
 * The element of a list of numbers.
 *
 * @throws {RangeError} Where there is none.
 */
export function numberAt(list: readonly number[], at: number): number {
  return list[at] ?? past(list.length, at);
}
