import { visible } from "./text/visible.ts";

/**
 * Kind of error, for programs: `not-perf-data` if a file is not a `perf.data` file, `cut` if it ends
 * too early, `damaged` if bytes contradict the format. For Intel PT: `no-aux-data` if a recording has
 * no AUX data, `not-intel-pt` if it is of another kind, `not-decoded` if nothing of it can be decoded.
 */
export type PerfDataErrorCode =
  | "not-perf-data"
  | "cut"
  | "damaged"
  | "no-aux-data"
  | "not-intel-pt"
  | "not-decoded";

/** Location and kind of an error, for the constructor of {@link PerfDataError}. */
export interface ErrorPlace {
  /** Kind of error; `damaged` by default. */
  readonly code?: PerfDataErrorCode;
  /** Byte offset in the file, if it is known. */
  readonly offset?: bigint | number;
  /** Type of the record that was being read, and its index in file order, if known. */
  readonly record?: { readonly type: number; readonly index?: number };
}

/**
 * Error for a `perf.data` file, record, attr or feature that violates the format.
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
  /** Kind of error. */
  readonly code: PerfDataErrorCode;
  /** Byte offset in the file, or `undefined` if the input has no offsets. */
  readonly offset: bigint | undefined;
  /** Type and index of the record that was being read, if any. */
  readonly record: ErrorPlace["record"];

  /** Creates an error; `place` is the location in the file. */
  constructor(message: string, place: ErrorPlace = {}) {
    // A name from the file may contain line ends or escape sequences.
    super(visible(message));
    this.code = place.code ?? "damaged";
    this.offset = place.offset === undefined ? undefined : BigInt(place.offset);
    this.record = place.record;
  }

  /** Returns the message with the offset before it, as the tools print it: `0x1a40: …`. */
  located(): string {
    return this.offset === undefined
      ? this.message
      : `0x${this.offset.toString(16)}: ${this.message}`;
  }
}

/**
 * Receives the errors that a tolerant reader skips.
 *
 * Each call reports one place that was skipped or cut. A reader in strict mode throws the same error.
 */
export type Diagnostics = (error: PerfDataError) => void;
