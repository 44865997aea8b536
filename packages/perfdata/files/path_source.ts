import { PerfDataError, type SyncSource } from "@perfdata/format";
import { directorySource } from "@perfdata/format/directory-source";
import { nodeFs } from "./node_fs.ts";

/** A file on disk, or several in a directory. */
export interface PathSource extends SyncSource {
  /** Closes it. */
  close(): void;
}

/**
 * Opens a recording: a file, or a directory that `perf record --threads` or `--kcore` made.
 *
 * @throws {TypeError} In a browser.
 * @throws {Error} Of the operating system, with its `code`, such as `ENOENT`.
 * @throws {PerfDataError} Where a directory is no recording.
 */
export function pathSource(path: string): PathSource {
  const fs = nodeFs();
  const stats = fs.statSync(path);
  if (stats.isDirectory()) return openDirectory(path);
  if (!stats.isFile()) {
    throw new TypeError(`${path}: not a regular file; give what it streams as a ReadableStream`);
  }
  const file = fs.openSync(path);
  return {
    size: stats.size,
    readAt(into, position) {
      let n = 0;
      while (n < into.length) {
        const got = fs.readSync(file, into, n, into.length - n, position + n);
        if (got === 0) break;
        n += got;
      }
      return n;
    },
    close: () => fs.closeSync(file),
  };
}

function openDirectory(path: string): PathSource {
  const names = nodeFs().readdirSync(path);
  if (!names.includes("data")) {
    throw new PerfDataError("directory has no 'data' file; not a perf recording");
  }
  const parts = names.filter((name) => /^data\.\d+$/.test(name))
    .sort((a, b) => Number(a.slice(5)) - Number(b.slice(5)));
  const data = pathSource(`${path}/data`);
  const others = parts.map((name) => pathSource(`${path}/${name}`));
  return {
    ...directorySource(data, others),
    close: () => [data, ...others].forEach((file) => file.close()),
  };
}
