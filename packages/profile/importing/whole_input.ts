import { type ByteSource, ForwardReader, joinBytes, PerfDataError } from "@perfdata/format/bytes";

/** Maximum bytes of an input that is held in memory, which is V8's limit of a text. */
const MOST_BYTES = 2 ** 29 - 25;

/**
 * Reads an input to its end.
 *
 * @throws {PerfDataError} If it is larger than 512 MB.
 */
export async function wholeInput(
  source: ByteSource,
  progress?: (bytes: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new ForwardReader(source);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (;;) {
    const piece = new Uint8Array(1 << 20);
    const size = await reader.readFull(piece);
    progress?.(size);
    if (size === 0) break;
    pieces.push(piece.subarray(0, size));
    if (reader.position > MOST_BYTES) {
      throw new PerfDataError(`larger than ${MOST_BYTES} bytes, which is all that can be imported`);
    }
  }
  return joinBytes(pieces);
}
