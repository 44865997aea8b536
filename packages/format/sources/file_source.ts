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
import { type ByteSource, putBack, type StreamSource, type SyncSource } from "./source.ts";

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
 * Opens a file for reading at any position. Reads are synchronous, which is 5 times as fast as
 * asynchronous reads; a tool has no other work meanwhile.
 *
 * A directory is opened as a recording of several files: see `directorySource`.
 *
 * @throws {Deno.errors.NotFound} If there is no such file; see `Deno.openSync`.
 * @throws {PerfDataError} If a directory is not a recording.
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

/** Returns the path of the file with the recording's header: the file, or `data` in a directory. */
export function headerFile(path: string): string {
  if (path === "-" || !Deno.statSync(path).isDirectory) return path;
  recordingParts(namesIn(path));
  return `${path}/data`;
}

const namesIn = (path: string): string[] => [...Deno.readDirSync(path)].map(({ name }) => name);

function openDirectory(path: string): FileSource {
  const source = openDirectorySource(namesIn(path), (name) => fileSource(`${path}/${name}`));
  return { ...source, path, [Symbol.dispose]: source.close };
}

/** Standard input as a stream. */
export function stdinSource(): StreamSource {
  return { read: (into) => Deno.stdin.readSync(into) ?? 0 };
}

/** Options of {@link openSource}. */
export interface OpenOptions {
  /** Whether reads let signal handlers run, for programs that clean up on an interrupt. Slightly slower. */
  readonly interruptible?: boolean;
}

/**
 * Opens a tool's file argument: `-` is standard input, anything else a path.
 *
 * A path that is neither a regular file nor a directory, such as a FIFO, is read as a stream. A file compressed by
 * gzip, bzip2, xz or zstd, and a recording in a tar archive, are read as streams, too.
 *
 * @throws {PerfDataError} If a directory is not a recording.
 * @throws {Deno.errors.NotFound} If the path does not exist; see `Deno.statSync` for others.
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
 * Sets the folder for temporary files of sources opened by {@link openSource} from now on. Without a folder,
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

/** Decompresses a stream if it is compressed, and extracts the recording if that is a tar archive. */
function unpacked(from: StreamSource): StreamSource {
  let inside: Promise<StreamSource> | undefined;
  return { read: async (into) => await (await (inside ??= opened())).read(into) };

  async function opened(): Promise<StreamSource> {
    const start = new Uint8Array(6);
    const ahead = start.subarray(0, await readFull(from, start));
    const compression = fileCompression(ahead);
    const whole = putBack(from, ahead);
    if (compression === undefined) return recordingInTar(whole);
    // The decoders read sequentially, so the position is ignored.
    const source = { size: Infinity, readAt: (into: Uint8Array) => readFull(whole, into) };
    return recordingInTar(expandedSource(source, compression, damaged));
  }
}

/** Reads until the buffer is full or the stream ends; returns the number of bytes. */
async function readFull(from: StreamSource, into: Uint8Array): Promise<number> {
  let count = 0;
  while (count < into.length) {
    const more = await from.read(into.subarray(count));
    if (more === 0) break;
    count += more;
  }
  return count;
}

/** Asynchronous reads, which let the event loop run while no data arrives. */
function stream(from: { read(into: Uint8Array): Promise<number | null> }): StreamSource {
  return { read: async (into) => await from.read(into) ?? 0 };
}
