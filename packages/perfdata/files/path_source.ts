import type { SyncSource } from "@perfdata/format/bytes";
import { openDirectorySource } from "@perfdata/format/records";
import { type FilePath, nodeFs, pathIn, pathText } from "./node_fs.ts";

/** A file on disk, or the files of a recording directory. */
export interface PathSource extends SyncSource {
  /** Closes all files. */
  close(): void;
}

/**
 * Opens a recording: a file, or a directory of `perf record --threads` or `--kcore`.
 *
 * @throws {TypeError} In a browser.
 * @throws {Error} If the operating system fails, with its `code`, such as `ENOENT`.
 * @throws {PerfDataError} If a directory is not a recording.
 */
export function pathSource(path: FilePath): PathSource {
  const fs = nodeFs();
  const stats = fs.statSync(path);
  if (stats.isDirectory()) {
    return openDirectorySource(fs.readdirSync(path), (name) => pathSource(pathIn(path, name)));
  }
  if (!stats.isFile()) {
    throw new TypeError(
      `${pathText(path)}: not a regular file; give what it streams as a ReadableStream`,
    );
  }
  // Forget the descriptor after closing: the system reuses its number.
  let file: number | undefined = fs.openSync(path);
  return {
    size: stats.size,
    readAt(into, position) {
      if (file === undefined) throw new TypeError(`${pathText(path)}: it was closed`);
      let n = 0;
      while (n < into.length) {
        const got = fs.readSync(file, into, n, into.length - n, position + n);
        if (got === 0) break;
        n += got;
      }
      return n;
    },
    close() {
      if (file !== undefined) fs.closeSync(file);
      file = undefined;
    },
  };
}
