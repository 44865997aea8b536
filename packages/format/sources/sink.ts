import { enlarge } from "../columns/enlarge.ts";

/** Takes bytes in sequence. */
export interface ByteSink {
  /** Appends `bytes`; they may be reused when the call, or its promise, is done. */
  write(bytes: Uint8Array): void | Promise<void>;
}

/** Takes bytes, and replaces some that it has already. */
export interface RandomAccessSink extends ByteSink {
  /** Replaces what is at `position`. */
  writeAt(bytes: Uint8Array, position: number): void | Promise<void>;
}

/** A file that is made in memory. */
export interface MemorySink extends RandomAccessSink {
  /** What was written so far, as one array of its own. */
  bytes(): Uint8Array<ArrayBuffer>;
}

/**
 * Makes a file in memory.
 *
 * @example
 * ```ts
 * import { memorySink } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * sink.write(Uint8Array.of(1, 2, 3));
 * sink.writeAt(Uint8Array.of(9), 1);
 * assertEquals(sink.bytes(), Uint8Array.of(1, 9, 3));
 * ```
 */
export function memorySink(): MemorySink {
  let buffer = new Uint8Array(1 << 12);
  let length = 0;
  return {
    write(bytes) {
      if (length + bytes.length > buffer.length) buffer = enlarge(buffer, length + bytes.length);
      buffer.set(bytes, length);
      length += bytes.length;
    },
    writeAt(bytes, position) {
      if (position + bytes.length > length) {
        throw new RangeError(`writeAt: ${position} + ${bytes.length} is beyond ${length} bytes`);
      }
      buffer.set(bytes, position);
    },
    bytes: () => buffer.slice(0, length),
  };
}
