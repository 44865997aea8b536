import {
  type ByteSource,
  bytesSource,
  isRandomAccess,
  PerfDataError,
  type RandomAccessSource,
  type StreamSource,
} from "@perfdata/format/bytes";

/**
 * Limit of a file that is read from a pipe. It is stored in memory, since its sections refer to
 * each other.
 */
const MAX_PIPED_FILE = 1 << 30;

/** Source of bytes that no decoder returns. */
export class Origin {
  /** The file; `undefined` for a stream. */
  readonly source: RandomAccessSource | undefined;

  constructor(source: ByteSource) {
    this.source = isRandomAccess(source) ? source : undefined;
  }

  /** Reads bytes at an offset, fewer at the end; `undefined` for a stream. */
  async read(offset: number, size: number): Promise<Uint8Array | undefined> {
    if (this.source === undefined) return undefined;
    const bytes = new Uint8Array(size);
    const got = await this.source.readAt(bytes, offset);
    return bytes.subarray(0, got);
  }
}

/** A stream that repeats bytes already read, then continues. */
function rejoined(start: Uint8Array, source: StreamSource): StreamSource {
  let at = 0;
  return {
    read(into) {
      if (at >= start.length) return source.read(into);
      const part = start.subarray(at, at + into.length);
      into.set(part);
      at += part.length;
      return part.length;
    },
  };
}

/** Reads until `into` is full or the stream ends. Returns the number of bytes. */
export async function readUpTo(source: StreamSource, into: Uint8Array): Promise<number> {
  let n = 0;
  while (n < into.length) {
    const got = await source.read(into.subarray(n));
    if (got === 0) break;
    n += got;
  }
  return n;
}

/** Loads a file that is read from a pipe into memory. A pipe stream is returned unchanged. */
export async function seekable(source: ByteSource): Promise<ByteSource> {
  if (isRandomAccess(source)) return source;
  const start = new Uint8Array(16);
  const got = await readUpTo(source, start);
  const view = new DataView(start.buffer);
  const isPipe = got < 16 || view.getUint32(8, true) === 16 || view.getUint32(12, false) === 16;
  if (isPipe) return rejoined(start.subarray(0, got), source);
  const chunks: Uint8Array[] = [start];
  let size = start.length;
  for (;;) {
    const chunk = new Uint8Array(1 << 20);
    const n = await readUpTo(source, chunk);
    chunks.push(chunk.subarray(0, n));
    size += n;
    if (n < chunk.length) break;
    if (size > MAX_PIPED_FILE) {
      throw new PerfDataError(`file: more than ${MAX_PIPED_FILE} bytes through a pipe; name it`);
    }
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytesSource(bytes);
}
