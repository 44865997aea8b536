import type { RandomAccessSource } from "@perfdata/format/bytes";

/** Bytes of a chunk. A browser reads 1 MB in pieces of this size in a fifth of the time of small ones. */
const CHUNK = 1 << 23;

interface Chunk {
  readonly from: number;
  readonly to: number;
  readonly bytes: Promise<Uint8Array>;
  /** The bytes, once they were read. */
  loaded?: Uint8Array;
}

/**
 * Creates a source for a dropped file that reads ahead: if a read begins where the last one ended,
 * a large chunk is read, and the next one while that is used. Other reads get their bytes only.
 *
 * @param chunkBytes Bytes of a chunk; 8 MB by default. Two chunks are in memory.
 */
export function readAhead(blob: Blob, chunkBytes: number = CHUNK): RandomAccessSource {
  const { size } = blob;
  let current: Chunk | undefined;
  let next: Chunk | undefined;
  let end = -1;
  const load = (from: number): Chunk => {
    const to = Math.min(size, from + chunkBytes);
    const bytes = blob.slice(from, to).arrayBuffer().then((buffer) =>
      chunk.loaded = new Uint8Array(buffer)
    );
    // Only a read of this chunk reports the error.
    bytes.catch(() => {});
    const chunk: Chunk = { from, to, bytes };
    return chunk;
  };
  const chunkAt = (position: number): Chunk => {
    if (current !== undefined && isIn(current, position)) return current;
    current = next !== undefined && isIn(next, position) ? next : load(position);
    next = current.to < size ? load(current.to) : undefined;
    return current;
  };
  const readChunks = async (into: Uint8Array, position: number): Promise<number> => {
    let count = 0;
    while (count < into.length) {
      const at = position + count;
      const { from, bytes } = chunkAt(at);
      const part = (await bytes).subarray(at - from, at - from + into.length - count);
      // A file that shrinks while it is read has fewer bytes.
      if (part.length === 0) break;
      into.set(part, count);
      count += part.length;
    }
    return count;
  };
  return {
    size,
    readAt(into, position) {
      const length = Math.max(0, Math.min(into.length, size - position));
      const isNext = position === end;
      end = position + length;
      if (!isNext) {
        return blob.slice(position, end).arrayBuffer().then((buffer) => {
          into.set(new Uint8Array(buffer));
          return buffer.byteLength;
        });
      }
      if (current?.loaded === undefined || position < current.from || end > current.to) {
        return readChunks(into.subarray(0, length), position);
      }
      into.set(current.loaded.subarray(position - current.from, end - current.from));
      return length;
    },
  };
}

function isIn({ from, to }: Chunk, position: number): boolean {
  return position >= from && position < to;
}
