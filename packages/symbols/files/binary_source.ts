import { SymbolsError } from "../errors.ts";

/**
 * Synchronous random access to the bytes of a file. This package reads files only in this way.
 *
 * Readers request only the ranges that they need: opening a binary of a gigabyte reads a few
 * kilobytes.
 */
export interface BinarySource {
  /** Length in bytes. */
  readonly size: number;
  /**
   * Returns the bytes `offset … offset + length`. They may share memory with other reads, so do not
   * change them.
   *
   * @throws {SymbolsError} If the range is not inside of the source.
   */
  read(offset: number, length: number): Uint8Array;
  /**
   * Fills `target` with the bytes from `offset` on, for large reads into reused memory: fresh
   * memory costs more than the read.
   *
   * @throws {SymbolsError} If the range is not inside of the source.
   */
  readInto?(offset: number, target: Uint8Array): void;
}

/**
 * Checks that `offset … offset + length` is inside of a source of `size` bytes.
 *
 * @throws {SymbolsError} If it is not.
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
 * A {@linkcode BinarySource} over bytes in memory. Reads are views; nothing is copied.
 *
 * @example
 * ```ts
 * import { bytesSource } from "@perfdata/symbols/resolver";
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
 * A {@linkcode BinarySource} over a part of another source.
 *
 * @throws {SymbolsError} If the part is not inside of `source`.
 *
 * @example
 * ```ts
 * import { bytesSource, sliceSource } from "@perfdata/symbols/resolver";
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

/** Size of the cached window for small reads. */
const WINDOW = 64 * 1024;

/**
 * A {@linkcode BinarySource} over an open file. Reads of less than 16 KiB use a cached window of 64
 * KiB; larger ones allocate.
 *
 * @param path Name for messages.
 * @param size Size of the file.
 * @param readAt Reads into memory from an offset, and returns the number of bytes: fewer than
 * requested only at the end of the file.
 *
 * @example
 * ```ts
 * import { windowedSource } from "@perfdata/symbols/resolver";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const source = windowedSource("ones", 9, (into) => into.fill(1).length);
 * assertEquals(source.read(2, 3), Uint8Array.of(1, 1, 1));
 * const cut = windowedSource("cut", 9, () => 4);
 * assertThrows(() => cut.read(2, 3), Error, "cut short");
 * ```
 */
export function windowedSource(
  path: string,
  size: number,
  readAt: (into: Uint8Array, offset: number) => number,
): Required<BinarySource> {
  let window = new Uint8Array(0);
  let windowOffset = 0;
  const fill = <B extends Uint8Array>(offset: number, bytes: B): B => {
    let n: number;
    try {
      n = readAt(bytes, offset);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new SymbolsError(0, `Cannot read ${path}: ${why}`, { cause: error });
    }
    if (n === bytes.length) return bytes;
    throw new SymbolsError(
      offset + n,
      `Cannot read ${bytes.length} bytes at offset ${offset} of ${path}: the file was cut short`,
    );
  };
  return {
    size,
    read(offset, length) {
      checkRange(size, offset, length);
      if (length >= WINDOW / 4) return fill(offset, new Uint8Array(length));
      if (offset < windowOffset || offset + length > windowOffset + window.length) {
        window = fill(offset, new Uint8Array(Math.min(WINDOW, size - offset)));
        windowOffset = offset;
      }
      return window.subarray(offset - windowOffset, offset - windowOffset + length);
    },
    readInto(offset, target) {
      checkRange(size, offset, target.length);
      fill(offset, target);
    },
  };
}
