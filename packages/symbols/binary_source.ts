import { SymbolsError } from "./errors.ts";

/**
 * Synchronous random access to the bytes of a file: the only way in which this package reads one.
 *
 * A reader asks for the ranges it needs, so that opening a binary of a gigabyte touches a few
 * kilobytes of it.
 */
export interface BinarySource {
  /** Length in bytes. */
  readonly size: number;
  /**
   * The bytes `offset … offset + length`. The result may be a view on memory shared with other
   * reads and must not be written to.
   *
   * @throws {SymbolsError} if the range is not wholly inside the source
   */
  read(offset: number, length: number): Uint8Array;
  /**
   * Fills `target` with the bytes from `offset` on: for large reads into memory that is used again
   * and again, since fresh memory costs more than the reading.
   *
   * @throws {SymbolsError} if the range is not wholly inside the source
   */
  readInto?(offset: number, target: Uint8Array): void;
}

/**
 * Throws unless `offset … offset + length` lies inside a source of `size` bytes.
 *
 * @throws {SymbolsError} if it does not
 */
export function checkRange(size: number, offset: number, length: number): void {
  if (!(offset >= 0 && length >= 0 && offset + length <= size)) {
    throw new SymbolsError(
      offset,
      `Cannot read ${length} bytes at offset ${offset}: the source ends at ${size}`,
    );
  }
}

/**
 * A {@linkcode BinarySource} over bytes already in memory; reads are views, nothing is copied.
 *
 * @example
 * ```ts
 * import { bytesSource } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const source = bytesSource(Uint8Array.of(1, 2, 3, 4));
 * assertEquals(source.read(1, 2), Uint8Array.of(2, 3));
 * ```
 */
export function bytesSource(bytes: Uint8Array): BinarySource {
  return {
    size: bytes.length,
    read(offset: number, length: number): Uint8Array {
      checkRange(bytes.length, offset, length);
      return bytes.subarray(offset, offset + length);
    },
  };
}

/**
 * A {@linkcode BinarySource} over a part of another.
 *
 * @throws {SymbolsError} if the part is not wholly inside `source`
 *
 * @example
 * ```ts
 * import { bytesSource, sliceSource } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const part = sliceSource(bytesSource(Uint8Array.of(1, 2, 3, 4)), 2, 2);
 * assertEquals(part.read(0, 1), Uint8Array.of(3));
 * ```
 */
export function sliceSource(source: BinarySource, offset: number, size: number): BinarySource {
  checkRange(source.size, offset, size);
  const part: BinarySource = {
    size,
    read(at: number, length: number): Uint8Array {
      checkRange(size, at, length);
      return source.read(offset + at, length);
    },
  };
  if (source.readInto === undefined) return part;
  return {
    ...part,
    readInto(at: number, target: Uint8Array): void {
      checkRange(size, at, target.length);
      source.readInto?.(offset + at, target);
    },
  };
}
