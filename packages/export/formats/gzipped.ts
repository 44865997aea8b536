/**
 * Compresses a format's output with gzip.
 *
 * @example
 * ```ts
 * import { gzipped } from "@perfdata/export/tree";
 * import { assertEquals } from "@std/assert";
 *
 * const packed = await Array.fromAsync(gzipped([new TextEncoder().encode("text")]));
 * assertEquals([...packed[0]!.subarray(0, 2)], [0x1f, 0x8b]);
 * ```
 */
export async function* gzipped(
  chunks: Iterable<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  const iterator = chunks[Symbol.iterator]();
  const source = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller): void {
      const { done, value } = iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  const reader = source.pipeThrough(new CompressionStream("gzip")).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
