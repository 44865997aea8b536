// Uses Deno's file API; everything else in this package runs in any JavaScript runtime.
/**
 * Files as byte sinks, on Deno.
 *
 * @module
 */
import type { RandomAccessSink } from "./sink.ts";

/** A file on disk; close it with `using` or {@link FileSink.close}. */
export interface FileSink extends RandomAccessSink {
  /** Closes the file. */
  close(): void;
  /** Closes the file. */
  [Symbol.dispose](): void;
}

/** Writes all of `bytes`: one `write` may take fewer. */
export function writeAllSync(
  to: { writeSync(bytes: Uint8Array): number },
  bytes: Uint8Array,
): void {
  for (let n = 0; n < bytes.length;) n += to.writeSync(bytes.subarray(n));
}

/**
 * Creates a file for writing.
 *
 * @param options `createNew`: fail where the file exists, instead of replacing it.
 * @throws {Deno.errors.AlreadyExists} With `createNew`; see `Deno.openSync` for others.
 */
export function fileSink(path: string, options: { createNew?: boolean } = {}): FileSink {
  const file = Deno.openSync(path, {
    write: true,
    ...(options.createNew ? { createNew: true } : { create: true, truncate: true }),
  });
  return {
    write: (bytes) => writeAllSync(file, bytes),
    writeAt(bytes, position) {
      const end = file.seekSync(0, Deno.SeekMode.Current);
      file.seekSync(position, Deno.SeekMode.Start);
      writeAllSync(file, bytes);
      file.seekSync(end, Deno.SeekMode.Start);
    },
    close: () => file.close(),
    [Symbol.dispose]: () => file.close(),
  };
}
