import { visible } from "./text/visible.ts";

/**
 * Kind of error, for programs: `not-perf-data` if a file is not a `perf.data` file, `cut` if it ends
 * too early, `damaged` if bytes contradict the format.
 */
export type PerfDataErrorCode = "not-perf-data" | "cut" | "damaged";

/** Where in a file something went wrong, and what. */
export interface ErrorPlace {
  /** What is wrong; `damaged` where it is not given. */
  readonly code?: PerfDataErrorCode;
  /** Byte offset in the file, if it is known. */
  readonly offset?: bigint | number;
  /** The record that was being read: its type and its index in file order, where there is one. */
  readonly record?: { readonly type: number; readonly index?: number };
}

/**
 * A `perf.data` file, record, attr or feature that is not what its format says.
 *
 * The message is one line of the form "what was being read: what was found, what was expected".
 *
 * @example
 * ```ts
 * import { PerfDataError } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new PerfDataError("record header: size is 4, expected at least 8", {
 *   offset: 0x1a40,
 * });
 * assertEquals([error.code, error.offset], ["damaged", 0x1a40n]);
 * assertEquals(error.located(), "0x1a40: record header: size is 4, expected at least 8");
 * ```
 */
export class PerfDataError extends Error {
  /** The class, as error messages show it. */
  override readonly name: string = "PerfDataError";
  /** What is wrong. */
  readonly code: PerfDataErrorCode;
  /** Byte offset in the file, or `undefined` if the input has no offsets. */
  readonly offset: bigint | undefined;
  /** The record that was being read, if there is one. */
  readonly record: ErrorPlace["record"];

  /** Makes an error; `place` says where in the file it happened. */
  constructor(message: string, place: ErrorPlace = {}) {
    // A name from the file may hold line ends or escape sequences.
    super(visible(message));
    this.code = place.code ?? "damaged";
    this.offset = place.offset === undefined ? undefined : BigInt(place.offset);
    this.record = place.record;
  }

  /** The message with the offset before it, as the tools print it: `0x1a40: …`. */
  located(): string {
    return this.offset === undefined
      ? this.message
      : `0x${this.offset.toString(16)}: ${this.message}`;
  }
}

/**
 * Receives what a tolerant reader found wrong and went on from.
 *
 * Each call is one thing that was skipped or cut; a reader in strict mode throws the same error.
 */
export type Diagnostics = (error: PerfDataError) => void;
