// Uses Deno's file API. Apart from this module and local_files.ts, the package runs in any
// JavaScript runtime.

import { type BinarySource, windowedSource } from "./binary_source.ts";
import { SymbolsError } from "../errors.ts";

/** A {@linkcode BinarySource} over an open file. The caller closes it. */
export interface BinaryFile extends BinarySource, Disposable {
  /** The path the file was opened by. */
  readonly path: string;
  /** Closes the file. Later reads fail. */
  close(): void;
}

/**
 * Opens a file as a {@linkcode BinarySource}.
 *
 * Reads of less than 16 KiB use a cached window of 64 KiB; larger ones allocate.
 *
 * @throws {Deno.errors.NotFound} and other errors of `Deno.openSync`
 * @throws {SymbolsError} if `path` is not a regular file
 *
 * @example
 * ```ts
 * import { openBinaryFile } from "@perfdata/symbols/files";
 * import { assertEquals } from "@std/assert";
 *
 * using source = openBinaryFile(Deno.execPath());
 * assertEquals(source.read(1, 3), new TextEncoder().encode("ELF"));
 * ```
 */
export function openBinaryFile(path: string): BinaryFile {
  // Check before opening: opening a pipe without a writer would block.
  if (!Deno.statSync(path).isFile) throw new SymbolsError(0, `${path}: not a regular file`);
  const file = Deno.openSync(path);
  const { size } = file.statSync();

  function readAt(bytes: Uint8Array, offset: number): number {
    file.seekSync(offset, Deno.SeekMode.Start);
    let filled = 0;
    while (filled < bytes.length) {
      const n = file.readSync(bytes.subarray(filled));
      if (n === null) break;
      filled += n;
    }
    return filled;
  }

  let open = true;
  function close(): void {
    if (open) file.close();
    open = false;
  }

  return {
    path,
    ...windowedSource(path, size, readAt),
    close,
    [Symbol.dispose]: close,
  };
}
