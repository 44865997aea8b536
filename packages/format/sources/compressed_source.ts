import { type RandomAccessSource, type StreamSource, streamSource } from "./source.ts";
import { fileKind } from "../header/file_kind.ts";
import { zstdStream } from "../zstd/zstd.ts";

/** Compression method of a whole file. */
export type FileCompression = "gzip" | "bzip2" | "xz" | "zstd";

const COMPRESSIONS: readonly FileCompression[] = ["gzip", "bzip2", "xz", "zstd"];

/** Size of the pieces of input for the decoders. A piece may expand a thousandfold. */
const PIECE = 1 << 13;

/**
 * Detects the compression of a file: gzip (RFC 1952), bzip2, xz or Zstandard (RFC 8878).
 *
 * @param start the file's first six bytes or more
 * @returns `undefined` if the file is not compressed in any of these formats
 *
 * @example
 * ```ts
 * import { fileCompression } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(fileCompression(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd)), "zstd");
 * assertEquals(fileCompression(new TextEncoder().encode("\x7fELF")), undefined);
 * ```
 */
export function fileCompression(start: Uint8Array): FileCompression | undefined {
  const kind = fileKind(start.subarray(0, 6));
  return COMPRESSIONS.find((compression) => compression === kind);
}

/** A mutex that is always free. */
const NO_LOCK = { acquire: () => Promise.resolve(), release: () => {} };

/**
 * Decompresses a file as a web stream. Only the bytes that are read are inflated, except for a piece of 8 KB of input.
 *
 * @example
 * ```ts
 * import { bytesSource } from "@perfdata/format";
 * import { expandedStream } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const stream = new Blob(["as it was"]).stream().pipeThrough(new CompressionStream("gzip"));
 * const compressed = new Uint8Array(await new Response(stream).arrayBuffer());
 * const expanded = await expandedStream(bytesSource(compressed), "gzip");
 * assertEquals(await new Response(expanded).text(), "as it was");
 * ```
 */
export async function expandedStream(
  source: RandomAccessSource,
  compression: FileCompression,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  if (compression === "bzip2") {
    const { bzip2Parts } = await import("./bzip2.ts");
    return streamOf(bzip2Parts(source));
  }
  if (compression === "zstd") return streamOf(zstdPieces(source));
  let at = 0;
  // Each piece is read only after the one before is used up. Otherwise, the decoder would expand all input
  // before the first output can be counted.
  const input = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const piece = new Uint8Array(PIECE);
      const size = await source.readAt(piece, at);
      if (size === 0) return controller.close();
      at += size;
      controller.enqueue(piece.subarray(0, size));
    },
  }, { highWaterMark: 0 });
  if (compression === "gzip") return input.pipeThrough(new DecompressionStream("gzip"));
  const { default: xz } = await import("xz-decompress");
  // xz-decompress has one global mutex, which a stream holds until its end: an abandoned stream would block all later
  // ones.
  Object.assign(xz.XzReadableStream, { _contextMutex: NO_LOCK });
  return new xz.XzReadableStream(input) as ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** Converts a generator to a stream; some browsers lack `ReadableStream.from`. */
function streamOf(
  parts: AsyncGenerator<Uint8Array<ArrayBuffer>, void, void>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await parts.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await parts.return();
    },
  }, { highWaterMark: 0 });
}

async function* zstdPieces(
  source: RandomAccessSource,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  const frames = zstdStream();
  let at = 0;
  for (;;) {
    const piece = new Uint8Array(PIECE);
    const size = await source.readAt(piece, at);
    if (size === 0) break;
    at += size;
    // Copied, because the next part overwrites it.
    for (const part of frames.push(piece.subarray(0, size))) yield part.slice();
  }
  if (at === 0 || !frames.isBetweenFrames) throw new Error("zstd data is cut");
}

/**
 * Decompresses a file as a stream, in memory that does not depend on the expanded size.
 *
 * Damage is thrown as an error that `failed` creates from the message and the cause.
 */
export function expandedSource(
  source: RandomAccessSource,
  compression: FileCompression,
  failed: (message: string, cause: unknown) => Error,
): StreamSource {
  let opened: Promise<StreamSource> | undefined;
  return {
    async read(into) {
      try {
        opened ??= expandedStream(source, compression).then(streamSource);
        return await (await opened).read(into);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw failed(`${compression} data is damaged or cut: ${why}`, error);
      }
    },
  };
}
