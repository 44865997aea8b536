const MAGIC = "\x17\x08\x44tracing";

/** Reads numbers and ranges of bytes in sequence; throws a RangeError at the end. */
class Walk {
  at = 0;
  littleEndian = true;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  skip(size: number): void {
    if (size > this.#bytes.length - this.at) throw new RangeError("beyond the end");
    this.at += size;
  }

  u8(): number {
    return this.#view.getUint8(this.at++);
  }

  u32(): number {
    const value = this.#view.getUint32(this.at, this.littleEndian);
    this.at += 4;
    return value;
  }

  u64(): number {
    const value = this.#view.getBigUint64(this.at, this.littleEndian);
    this.at += 8;
    return Number(value);
  }

  text(): string {
    const end = this.#bytes.indexOf(0, this.at);
    if (end < 0) throw new RangeError("beyond the end");
    const text = new TextDecoder("latin1").decode(this.#bytes.subarray(this.at, end));
    this.at = end + 1;
    return text;
  }
}

/**
 * Returns TRACING_DATA with only the formats of tracepoints, which perf needs to read their events.
 * Removes all texts of the machine: addresses and names of kernel symbols, texts of trace_printk, process
 * names.
 *
 * Layout: `tracing_data_get` of tools/perf/util/trace-event-info.c.
 *
 * @returns `undefined` if the bytes are malformed.
 *
 * @example
 * ```ts
 * import { formatsOnly } from "@perfdata/edit";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(formatsOnly(new Uint8Array(10)), undefined);
 * ```
 */
export function formatsOnly(bytes: Uint8Array): Uint8Array | undefined {
  const walk = new Walk(bytes);
  try {
    for (const character of MAGIC) if (walk.u8() !== character.charCodeAt(0)) return undefined;
    const version = Number(walk.text());
    walk.littleEndian = walk.u8() === 0;
    walk.skip(1 + 4);
    for (const name of ["header_page", "header_event"]) {
      if (walk.text() !== name) return undefined;
      walk.skip(walk.u64());
    }
    for (let formats = walk.u32(); formats > 0; formats--) walk.skip(walk.u64());
    for (let systems = walk.u32(); systems > 0; systems--) {
      walk.text();
      for (let formats = walk.u32(); formats > 0; formats--) walk.skip(walk.u64());
    }
    // Sizes of symbols and printk texts, and from version 0.6 on, of process names: all 0.
    const kept = new Uint8Array(walk.at + 4 + 4 + (version >= 0.6 ? 8 : 0));
    kept.set(bytes.subarray(0, walk.at));
    return kept;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
