/** Streams that are read more than once, or from any place. */
import { headerSize, PERF_PIPE_HEADER_SIZE } from "../header/header.ts";
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
  const file = temp();
  let size = 0;
  for await (const block of blocksOf(source)) {
    file.writeAt(block, size);
    size += block.length;
  }
  return { size, readAt: (into, position) => file.readAt(into, position) };
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
