// Uses Deno's file API; everything else in this package runs in any JavaScript runtime.
/**
 * Files and standard input as byte sources, on Deno.
 *
 * @module
 */
import { PerfDataError } from "./error.ts";
import type { ByteSource, RandomAccessSource, StreamSource } from "./source.ts";

/** A file on disk; close it with `using` or {@link FileSource.close}. */
export interface FileSource extends RandomAccessSource {
  /** The path it was opened with. */
  readonly path: string;
  /** Closes the file. */
  close(): void;
  /** Closes the file. */
  [Symbol.dispose](): void;
}

/**
 * Opens a file for reading at any place. Reads are synchronous: that is 5 times as fast as
 * asynchronous ones, and a tool has nothing else to do meanwhile.
 *
 * @throws {Deno.errors.NotFound} Where there is no such file; see `Deno.openSync`.
 */
export function fileSource(path: string): FileSource {
  const file = Deno.openSync(path);
  const size = file.statSync().size;
  let at = 0;
  return {
    path,
    size,
    readAt(into, position) {
      if (position !== at) file.seekSync(position, Deno.SeekMode.Start);
      let n = 0;
      while (n < into.length) {
        const got = file.readSync(into.subarray(n));
        if (got === null || got === 0) break;
        n += got;
      }
      at = position + n;
      return n;
    },
    close: () => file.close(),
    [Symbol.dispose]: () => file.close(),
  };
}

/** Standard input as a stream. */
export function stdinSource(): StreamSource {
  return { read: (into) => Deno.stdin.readSync(into) ?? 0 };
}

/**
 * What a tool's file argument means: `-` is standard input, all else a path.
 *
 * A path that is no regular file, such as a FIFO, is read as a stream.
 *
 * @throws {PerfDataError} Where the path is a directory.
 * @throws {Deno.errors.NotFound} Where there is no such file; see `Deno.statSync` for others.
 */
export function openSource(path: string): ByteSource & { close?(): void } {
  if (path === "-") return stdinSource();
  const { isFile, isDirectory } = Deno.statSync(path);
  if (isFile) return fileSource(path);
  if (isDirectory) {
    throw new PerfDataError(
      "is a directory, as perf record --threads makes it: name the files data, data.0, … in it",
    );
  }
  const file = Deno.openSync(path);
  return { read: (into) => file.readSync(into) ?? 0, close: () => file.close() };
}
