// Uses Deno's file API; everything else in this package except local_files.ts runs in any JavaScript runtime.

import { type BinarySource, checkRange } from "./binary_source.ts";
import { SymbolsError } from "./errors.ts";

/** A {@linkcode BinarySource} over an open file; close it when no reader needs it any more. */
export interface FileSource extends BinarySource, Disposable {
  /** The path the file was opened by. */
  readonly path: string;
  /** Closes the file; reads fail from then on. */
  close(): void;
}

/** Small reads are served from a window of this many bytes. */
const WINDOW = 64 * 1024;

/**
 * Opens a file as a {@linkcode BinarySource} that reads only what is asked for.
 *
 * Reads of less than 16 KiB go through one cached window of 64 KiB, larger ones get memory of
 * their own.
 *
 * @throws {Deno.errors.NotFound} and the other errors of `Deno.openSync`
 * @throws {SymbolsError} if `path` is not a regular file
 *
 * @example
 * ```ts
 * import { openFileSource } from "@perfdata/symbols/file-source";
 * import { assertEquals } from "@std/assert";
 *
 * using source = openFileSource(Deno.execPath());
 * assertEquals(source.read(1, 3), new TextEncoder().encode("ELF"));
 * ```
 */
export function openFileSource(path: string): FileSource {
  // Looked at before it is opened: a pipe that nobody writes to would wait for ever.
  if (!Deno.statSync(path).isFile) throw new SymbolsError(0, `${path}: not a regular file`);
  const file = Deno.openSync(path);
  const { size } = file.statSync();
  let window = new Uint8Array(0);
  let windowOffset = 0;

  function readExactly(offset: number, length: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(length);
    fill(offset, bytes);
    return bytes;
  }

  function fill(offset: number, bytes: Uint8Array): void {
    const { length } = bytes;
    file.seekSync(offset, Deno.SeekMode.Start);
    let filled = 0;
    while (filled < length) {
      const n = readSome(bytes.subarray(filled));
      if (n === null) {
        throw new SymbolsError(
          offset + filled,
          `Cannot read ${length} bytes at offset ${offset} of ${path}: the file was cut short`,
        );
      }
      filled += n;
    }
  }

  function readSome(bytes: Uint8Array): number | null {
    try {
      return file.readSync(bytes);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new SymbolsError(0, `Cannot read ${path}: ${why}`, { cause: error });
    }
  }

  let open = true;
  function close(): void {
    if (open) file.close();
    open = false;
  }

  return {
    path,
    size,
    read(offset: number, length: number): Uint8Array {
      checkRange(size, offset, length);
      if (length >= WINDOW / 4) return readExactly(offset, length);
      if (offset < windowOffset || offset + length > windowOffset + window.length) {
        window = readExactly(offset, Math.min(WINDOW, size - offset));
        windowOffset = offset;
      }
      return window.subarray(offset - windowOffset, offset - windowOffset + length);
    },
    readInto(offset: number, target: Uint8Array): void {
      checkRange(size, offset, target.length);
      fill(offset, target);
    },
    close,
    [Symbol.dispose]: close,
  };
}
