/** Streams that are read more than once, or from any place. */
import { headerSize, PERF_PIPE_HEADER_SIZE } from "../header/header.ts";
import type { RandomAccessSink } from "./sink.ts";
import {
  type ByteSource,
  bytesSource,
  isRandomAccess,
  putBack,
  type RandomAccessSource,
  type StreamSource,
  type TempFile,
} from "./source.ts";

/** Bytes that are read at once. */
const BLOCK = 1 << 18;

/** A source that can be read at any place: what comes as a stream goes through the file that `temp` makes. */
export async function spooled(
  source: ByteSource,
  temp: () => TempFile,
): Promise<RandomAccessSource> {
  if (isRandomAccess(source)) return source;
  const file = tempStore(temp());
  for await (const block of blocksOf(source)) file.write(block);
  return file;
}

/** A temporary file as a sink, and as a source of what was written. */
export function tempStore(file: TempFile): RandomAccessSink & RandomAccessSource {
  let size = 0;
  return {
    write(bytes) {
      file.writeAt(bytes, size);
      size += bytes.length;
    },
    writeAt: (bytes, position) => file.writeAt(bytes, position),
    get size() {
      return size;
    },
    readAt(into, position) {
      const length = Math.max(0, Math.min(into.length, size - position));
      return length === 0 ? 0 : file.readAt(into.subarray(0, length), position);
    },
  };
}

/** Size of an allocation of {@linkcode memoryFile} in bytes. */
const CHUNK = 1 << 24;

/**
 * A temporary file in memory. It grows by chunks, without copying.
 *
 * @example
 * ```ts
 * import { memoryFile, tempStore } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const store = tempStore(memoryFile());
 * store.write(Uint8Array.of(1, 2, 3));
 * store.writeAt(Uint8Array.of(9), 1);
 * const into = new Uint8Array(8);
 * assertEquals([store.size, store.readAt(into, 1), into[0], into[1]], [3, 2, 9, 3]);
 * ```
 */
export function memoryFile(): TempFile {
  const chunks: Uint8Array[] = [];
  /**
   * Splits `[position, position + length)` at the borders of chunks, and calls `take` for each
   * part.
   */
  const parts = (
    position: number,
    length: number,
    take: (chunk: Uint8Array, at: number) => void,
  ) => {
    for (let done = 0; done < length;) {
      const at = (position + done) % CHUNK;
      const part = Math.min(length - done, CHUNK - at);
      const number = Math.floor((position + done) / CHUNK);
      take((chunks[number] ??= new Uint8Array(CHUNK)).subarray(at, at + part), done);
      done += part;
    }
  };
  return {
    writeAt: (bytes, position) =>
      parts(
        position,
        bytes.length,
        (chunk, at) => chunk.set(bytes.subarray(at, at + chunk.length)),
      ),
    readAt(into, position) {
      parts(position, into.length, (chunk, at) => into.set(chunk, at));
      return into.length;
    },
    close: () => void (chunks.length = 0),
  };
}

/** The same, but what comes as a stream is held in memory unless temporary files were allowed. */
export async function held(source: ByteSource): Promise<RandomAccessSource> {
  if (isRandomAccess(source)) return source;
  if (source.temp !== undefined) return await spooled(source, source.temp);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const block of blocksOf(source)) parts.push(block.slice());
  return bytesSource(new Uint8Array(await new Blob(parts).arrayBuffer()));
}

/**
 * A source for readers that need the features of a recording before its records: a stream of a file, which has
 * them at its end, is {@link held}. A pipe has them where they are needed.
 */
export async function featuresFirst(source: ByteSource): Promise<ByteSource> {
  if (isRandomAccess(source)) return source;
  const head = new Uint8Array(16);
  let count = 0;
  for (let n = 1; n > 0 && count < head.length; count += n) {
    n = await source.read(head.subarray(count));
  }
  const whole = putBack(source, head.subarray(0, count));
  return headerSize(head.subarray(0, count)).size === PERF_PIPE_HEADER_SIZE
    ? whole
    : await held(whole);
}

async function* blocksOf(source: StreamSource): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const block = new Uint8Array(BLOCK);
  for (;;) {
    const n = await source.read(block);
    if (n === 0) return;
    yield block.subarray(0, n);
  }
}
