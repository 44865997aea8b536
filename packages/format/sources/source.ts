/**
 * A file for data that is too large for memory: `tempFile` of `@perfdata/format/files` on Deno, a
 * `FileSystemSyncAccessHandle` in a worker of a browser.
 */
export interface TempFile {
  /** Writes all of `bytes` at `position`. */
  writeAt(bytes: Uint8Array, position: number): void;
  /** Reads from `position`; returns the number of bytes read. */
  readAt(into: Uint8Array, position: number): number;
  /** Closes and removes the file. */
  close(): void;
}

/** Common members of sources. */
export interface AnySource {
  /**
   * Creates a file for records that wait to be sorted, if they exceed memory: records
   * of a pipe without FINISHED_ROUND records. Without `temp`, such a pipe is an error.
   */
  readonly temp?: (() => TempFile) | undefined;
}

/**
 * A file with random access.
 *
 * `readAt` fills `into` from `position` and returns the number of bytes, directly or as a promise. The number
 * is lower than requested only at the end of the file.
 */
export interface RandomAccessSource extends AnySource {
  /** Size of the file in bytes. */
  readonly size: number;
  /**
   * Offsets among the records at which joined files begin, ascending. A record starts at each
   * of them, even if the one before is incomplete.
   */
  readonly seams?: readonly number[];
  /** Reads from `position`; returns the number of bytes read. */
  readAt(into: Uint8Array, position: number): number | Promise<number>;
}

/** A file with synchronous random access. */
export interface SyncSource extends RandomAccessSource {
  /** Reads from `position`; returns the number of bytes read. */
  readAt(into: Uint8Array, position: number): number;
}

/**
 * Sequential bytes in pieces of any size: a pipe.
 *
 * `read` fills up to all of `into` and returns the number of bytes, 0 at the end.
 */
export interface StreamSource extends AnySource {
  /** Reads the next bytes; returns their count, 0 at the end. */
  read(into: Uint8Array): number | Promise<number>;
}

/** Input of a perf.data file. */
export type ByteSource = RandomAccessSource | StreamSource;

/** Whether a source has random access. */
export function isRandomAccess(source: ByteSource): source is RandomAccessSource {
  return "readAt" in source;
}

/**
 * A source for bytes in memory.
 *
 * @example
 * ```ts
 * import { bytesSource } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const source = bytesSource(Uint8Array.of(1, 2, 3));
 * const into = new Uint8Array(4);
 * assertEquals(await source.readAt(into, 1), 2);
 * assertEquals(into, Uint8Array.of(2, 3, 0, 0));
 * ```
 */
export function bytesSource(bytes: Uint8Array): SyncSource {
  return {
    size: bytes.length,
    readAt(into, position) {
      const part = bytes.subarray(position, position + into.length);
      into.set(part);
      return part.length;
    },
  };
}

/** A source for a `Blob` or `File` of a browser, read in pieces. */
export function blobSource(blob: Blob): RandomAccessSource {
  return {
    size: blob.size,
    async readAt(into, position) {
      const part = await blob.slice(position, position + into.length).arrayBuffer();
      into.set(new Uint8Array(part));
      return part.byteLength;
    },
  };
}

/**
 * A source for a web stream, such as `Deno.stdin.readable` or the body of a response.
 *
 * @example
 * ```ts
 * import { streamSource } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const source = streamSource(new Blob(["perf"]).stream());
 * const into = new Uint8Array(3);
 * assertEquals(await source.read(into), 3);
 * assertEquals(await source.read(into), 1);
 * assertEquals(await source.read(into), 0);
 * ```
 */
export function streamSource(stream: ReadableStream<Uint8Array>): StreamSource {
  const reader = stream.getReader();
  let rest = new Uint8Array(0);
  return {
    async read(into) {
      while (rest.length === 0) {
        const { value, done } = await reader.read();
        if (done) return 0;
        rest = value as Uint8Array<ArrayBuffer>;
      }
      const part = rest.subarray(0, into.length);
      into.set(part);
      rest = rest.subarray(part.length);
      return part.length;
    },
  };
}

/** A stream whose first bytes were read: they come again before the rest. */
export function putBack(source: StreamSource, start: Uint8Array): StreamSource {
  let ahead = start;
  return {
    temp: source.temp,
    read(into) {
      if (ahead.length === 0 || into.length === 0) return source.read(into);
      const part = ahead.subarray(0, into.length);
      into.set(part);
      ahead = ahead.subarray(part.length);
      return part.length;
    },
  };
}

/** Reads forward through a source of either kind, and skips bytes. */
export class ForwardReader {
  /** Offset of the next byte. */
  position: number;
  readonly #source: ByteSource;
  #scratch: Uint8Array | undefined;

  /** Starts at `position`; for a stream, that is the stream's current position. */
  constructor(source: ByteSource, position = 0) {
    this.#source = source;
    this.position = position;
  }

  /** Reads once into `into`; returns the number of bytes, 0 at the end. */
  async read(into: Uint8Array): Promise<number> {
    const source = this.#source;
    const n = isRandomAccess(source)
      ? await source.readAt(into, this.position)
      : await source.read(into);
    this.position += n;
    return n;
  }

  /** Reads until `into` is full or the source ends; returns the number of bytes. */
  async readFull(into: Uint8Array): Promise<number> {
    let n = 0;
    while (n < into.length) {
      const got = await this.read(into.subarray(n));
      if (got === 0) break;
      n += got;
    }
    return n;
  }

  /** Skips up to `size` bytes; returns the number skipped. */
  async skip(size: number): Promise<number> {
    const source = this.#source;
    if (isRandomAccess(source)) {
      const n = Math.max(0, Math.min(size, source.size - this.position));
      this.position += n;
      return n;
    }
    this.#scratch ??= new Uint8Array(1 << 16);
    let left = size;
    while (left > 0) {
      const n = await this.read(this.#scratch.subarray(0, Math.min(left, this.#scratch.length)));
      if (n === 0) break;
      left -= n;
    }
    return size - left;
  }
}
