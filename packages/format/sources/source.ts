/**
 * A file for data that is too large for memory: `tempFile` of `@perfdata/format/temp-file` on Deno, a
 * `FileSystemSyncAccessHandle` in a worker of a browser.
 */
export interface TempFile {
  /** Writes all of `bytes` at `position`. */
  writeAt(bytes: Uint8Array, position: number): void;
  /** Reads from `position`; returns the number of bytes read. */
  readAt(into: Uint8Array, position: number): number;
  /** Removes it. */
  close(): void;
}

/** Common members of sources. */
export interface AnySource {
  /**
   * Makes a file for records that have to wait for their order, where they are more than memory should
   * hold: those of a pipe without FINISHED_ROUND records. Without it such a pipe is refused.
   */
  readonly temp?: (() => TempFile) | undefined;
}

/**
 * A file that can be read at any place.
 *
 * `readAt` fills `into` from `position` and returns how many bytes it got: fewer than asked only at
 * the end. It may answer at once or with a promise.
 */
export interface RandomAccessSource extends AnySource {
  /** Size of the file in bytes. */
  readonly size: number;
  /**
   * Offsets among the records at which they begin anew, whatever stands before: where files were
   * joined. Ascending.
   */
  readonly seams?: readonly number[];
  /** Reads from `position`; returns the number of bytes read. */
  readAt(into: Uint8Array, position: number): number | Promise<number>;
}

/** A file that answers at once. */
export interface SyncSource extends RandomAccessSource {
  /** Reads from `position`; returns the number of bytes read. */
  readAt(into: Uint8Array, position: number): number;
}

/**
 * Bytes that come one after the other, in pieces of any size: a pipe.
 *
 * `read` fills `into` as far as it can and returns how many bytes it got, 0 at the end.
 */
export interface StreamSource extends AnySource {
  /** Reads what comes next; returns the number of bytes read, 0 at the end. */
  read(into: Uint8Array): number | Promise<number>;
}

/** Where the bytes of a perf.data file come from. */
export type ByteSource = RandomAccessSource | StreamSource;

/** Whether a source can be read at any place. */
export function isRandomAccess(source: ByteSource): source is RandomAccessSource {
  return "readAt" in source;
}

/**
 * A file that is in memory.
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

/** A `Blob` or `File`, as a browser hands it out; read in the pieces that are asked for. */
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
 * A web stream, such as `Deno.stdin.readable` or the body of a response.
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

/**
 * Reads forward through a source, and steps over what nobody wants.
 */
export class ForwardReader {
  /** Offset of the next byte. */
  position: number;
  readonly #source: ByteSource;
  #scratch: Uint8Array | undefined;

  /** Starts at `position`, which for a stream is where the stream is. */
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

  /** Steps over `size` bytes; returns how many there were. */
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
