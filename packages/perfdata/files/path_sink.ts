import type { RandomAccessSink } from "@perfdata/format/bytes";
import { nodeFs } from "./node_fs.ts";

/** A file on disk, for writing. */
export interface PathSink extends RandomAccessSink {
  /** Closes the file. */
  close(): void;
}

/**
 * Creates or empties a file for writing.
 *
 * @throws {TypeError} In a browser.
 * @throws {Error} If the operating system fails, with its `code`, such as `EACCES`.
 */
export function pathSink(path: string): PathSink {
  const fs = nodeFs();
  // Forget the descriptor after closing: the system reuses its number.
  let file: number | undefined = fs.openSync(path, "w");
  let size = 0;
  const writeAt = (bytes: Uint8Array, position: number): void => {
    if (file === undefined) throw new TypeError(`${path}: it was closed`);
    for (let n = 0; n < bytes.length;) {
      n += fs.writeSync(file, bytes, n, bytes.length - n, position + n);
    }
  };
  return {
    write(bytes) {
      writeAt(bytes, size);
      size += bytes.length;
    },
    writeAt,
    close() {
      if (file !== undefined) fs.closeSync(file);
      file = undefined;
    },
  };
}
