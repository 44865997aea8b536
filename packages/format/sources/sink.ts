import { enlarge } from "../columns/enlarge.ts";

/** Output for sequential bytes. */
export interface ByteSink {
  /** Appends `bytes`. The caller may reuse the array after the call, or after its promise. */
  write(bytes: Uint8Array): void | Promise<void>;
}

/** Output that can also replace written bytes. */
export interface RandomAccessSink extends ByteSink {
  /** Replaces the bytes at `position`. */
  writeAt(bytes: Uint8Array, position: number): void | Promise<void>;
}

/** A file in memory. */
export interface MemorySink extends RandomAccessSink {
  /** Returns a copy of all bytes written so far. */
  bytes(): Uint8Array<ArrayBuffer>;
}

/**
 * Creates a file in memory.
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
