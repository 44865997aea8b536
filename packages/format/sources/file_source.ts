// Uses Deno's file API; everything else in this package runs in any JavaScript runtime.
/**
 * Files and standard input as byte sources, on Deno.
 *
 * @module
 */
import { expandedSource, fileCompression } from "./compressed_source.ts";
import { openDirectorySource, recordingParts } from "./directory_source.ts";
import { PerfDataError } from "../error.ts";
import { isTar, recordingInTar } from "./tar_source.ts";
import { EventLoopTurns } from "./event_loop.ts";
import { tempFile } from "./temp_file.ts";
import type { ByteSource, StreamSource, SyncSource } from "./source.ts";

/** A file on disk; close it with `using` or {@link FileSource.close}. */
export interface FileSource extends SyncSource {
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
 * A directory is a recording in several files: see `directorySource`.
 *
 * @throws {Deno.errors.NotFound} If there is no such file; see `Deno.openSync`.
 * @throws {PerfDataError} If a directory is no recording.
 */
export function fileSource(path: string): FileSource {
  const file = Deno.openSync(path);
  const { size, isDirectory } = file.statSync();
  if (isDirectory) {
    file.close();
    return openDirectory(path);
  }
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

/** The file with the header of a recording: that itself, or the file `data` of a directory. */
export function headerFile(path: string): string {
  if (path === "-" || !Deno.statSync(path).isDirectory) return path;
  recordingParts(namesIn(path));
  return `${path}/data`;
}

/** Names in a directory. */
const namesIn = (path: string): string[] => [...Deno.readDirSync(path)].map(({ name }) => name);

function openDirectory(path: string): FileSource {
  const source = openDirectorySource(namesIn(path), (name) => fileSource(`${path}/${name}`));
  return { ...source, path, [Symbol.dispose]: source.close };
}

/** Standard input as a stream. */
export function stdinSource(): StreamSource {
  return { read: (into) => Deno.stdin.readSync(into) ?? 0 };
}

/** How to open a source. */
export interface OpenOptions {
  /**
   * Whether signals are handled while it is read: for a program that has something to clean up when
   * it is interrupted. Reads are a little slower.
   */
  readonly interruptible?: boolean;
}

/**
 * What a tool's file argument means: `-` is standard input, all else a path.
 *
 * A path that is neither a regular file nor a directory, such as a FIFO, is read as a stream; so is what a
 * file expands to that is compressed by gzip, bzip2, xz or zstd, and the recording in a tar archive.
 *
 * @throws {PerfDataError} If a directory is no recording.
 * @throws {Deno.errors.NotFound} If there is no such file; see `Deno.statSync` for others.
 */
export function openSource(
  path: string,
  { interruptible = false }: OpenOptions = {},
): ByteSource & { close?(): void } {
  const folder = tempFolder;
  return {
    ...(opened(path, interruptible)),
    ...(folder === undefined ? {} : { temp: () => tempFile(folder) }),
  };
}

let tempFolder: string | undefined;

/**
 * Sets the folder for temporary files of the sources that {@link openSource} opens from now on. Without a folder
 * there are no temporary files.
 */
export function setTempFolder(folder: string | undefined): void {
  tempFolder = folder;
}

function opened(path: string, interruptible: boolean): ByteSource & { close?(): void } {
  if (path === "-") return unpacked(interruptible ? stream(Deno.stdin) : stdinSource());
  const { isFile, isDirectory } = Deno.statSync(path);
  if (isFile || isDirectory) {
    const source = fileSource(path);
    const buffer = new Uint8Array(512);
    const start = buffer.subarray(0, source.readAt(buffer, 0));
    const compression = fileCompression(start);
    if (compression !== undefined) {
      const inside = recordingInTar(expandedSource(source, compression, damaged));
      return { read: (into) => inside.read(into), close: source.close };
    }
    if (isTar(start)) {
      let at = 0;
      const inside = recordingInTar({
        read(into) {
          const n = source.readAt(into, at);
          at += n;
          return n;
        },
      });
      return { read: (into) => inside.read(into), close: source.close };
    }
    return interruptible ? new EventLoopTurns().source(source) : source;
  }
  const file = Deno.openSync(path);
  const read = interruptible ? stream(file).read : (into: Uint8Array) => file.readSync(into) ?? 0;
  return { read, close: () => file.close() };
}

const damaged = (message: string): PerfDataError => new PerfDataError(message);

/** What a stream expands to if it is compressed, and the recording in it if that is a tar archive. */
function unpacked(from: StreamSource): StreamSource {
  let inside: Promise<StreamSource> | undefined;
  return { read: async (into) => await (await (inside ??= opened())).read(into) };

  async function opened(): Promise<StreamSource> {
    const start = new Uint8Array(6);
    let ahead = start.subarray(0, await readFull(from, start));
    const compression = fileCompression(ahead);
    const whole: StreamSource = {
      read(into) {
        if (ahead.length === 0 || into.length === 0) return from.read(into);
        const part = ahead.subarray(0, into.length);
        into.set(part);
        ahead = ahead.subarray(part.length);
        return part.length;
      },
    };
    if (compression === undefined) return recordingInTar(whole);
    // Decoders read from the start to the end.
    const source = { size: Infinity, readAt: (into: Uint8Array) => readFull(whole, into) };
    return recordingInTar(expandedSource(source, compression, damaged));
  }
}

/** Reads until a buffer is full, or the stream ends; returns how many bytes that are. */
async function readFull(from: StreamSource, into: Uint8Array): Promise<number> {
  let count = 0;
  while (count < into.length) {
    const more = await from.read(into.subarray(count));
    if (more === 0) break;
    count += more;
  }
  return count;
}

/** Reads that do not keep the program from all else while nothing comes. */
function stream(from: { read(into: Uint8Array): Promise<number | null> }): StreamSource {
  return { read: async (into) => await from.read(into) ?? 0 };
}
