import { enlarge } from "@perfdata/format/bytes";

/**
 * Byte strings by index: paths and comms are stored once, and compared as numbers.
 *
 * Names are decoded to JavaScript strings on demand, since a name in a record is any bytes up to a
 * NUL.
 *
 * @example
 * ```ts
 * import { NameTable } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const names = new NameTable();
 * const bytes = new TextEncoder().encode("sh\0bash\0sh\0");
 * const sh = names.internUntilNul(bytes, 0, bytes.length);
 * assertEquals(names.internUntilNul(bytes, 8, bytes.length), sh);
 * assertEquals(names.text(names.internUntilNul(bytes, 3, bytes.length)), "bash");
 * ```
 */
export class NameTable {
  /** Number of names. */
  count: number = 0;
  /** All names, one after the other. */
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1 << 14);
  /** Offset of name `i` in {@link NameTable.bytes}; it ends at the offset of name `i + 1`. */
  starts: Int32Array<ArrayBuffer> = new Int32Array(1 << 8);
  #hashes = new Int32Array(1 << 8);
  #slots = new Int32Array(1 << 9).fill(-1);

  /** The index of the name in `bytes[start, end)`; it is added if it is new. */
  intern(bytes: Uint8Array, start: number, end: number): number {
    let hash = 0x811c9dc5 | 0;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
    const mask = this.#slots.length - 1;
    let slot = (hash ^ hash >>> 15) & mask;
    for (;;) {
      const id = this.#slots[slot] as number;
      if (id < 0) break;
      if (this.#hashes[id] === hash && this.#equals(id, bytes, start, end)) return id;
      slot = (slot + 1) & mask;
    }
    return this.#add(hash, slot, bytes, start, end);
  }

  /** The index of the name that starts at `start` and ends at a NUL, or at `end`. */
  internUntilNul(bytes: Uint8Array, start: number, end: number): number {
    let stop = start;
    while (stop < end && bytes[stop] !== 0) stop++;
    return this.intern(bytes, start, stop);
  }

  /** The index of a name given as text. */
  internText(text: string): number {
    const bytes = new TextEncoder().encode(text);
    return this.intern(bytes, 0, bytes.length);
  }

  /** A view of the bytes of a name. */
  get(id: number): Uint8Array {
    return this.bytes.subarray(this.starts[id], this.starts[id + 1]);
  }

  /** A name as text; bytes that are not UTF-8 become U+FFFD. */
  text(id: number): string {
    return new TextDecoder().decode(this.get(id));
  }

  #equals(id: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = this.starts[id] as number;
    if ((this.starts[id + 1] as number) - from !== end - start) return false;
    const own = this.bytes;
    for (let i = start, j = from; i < end; i++, j++) if (bytes[i] !== own[j]) return false;
    return true;
  }

  #add(hash: number, slot: number, bytes: Uint8Array, start: number, end: number): number {
    const id = this.count++;
    const from = this.starts[id] as number;
    const to = from + end - start;
    if (to > this.bytes.length) this.bytes = enlarge(this.bytes, to);
    this.bytes.set(bytes.subarray(start, end), from);
    if (id + 1 >= this.starts.length) this.starts = enlarge(this.starts, id + 2);
    if (id >= this.#hashes.length) this.#hashes = enlarge(this.#hashes, id + 1);
    this.starts[id + 1] = to;
    this.#hashes[id] = hash;
    this.#slots[slot] = id;
    if (this.count * 2 > this.#slots.length) this.#rehash();
    return id;
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2).fill(-1);
    const mask = slots.length - 1;
    for (let id = 0; id < this.count; id++) {
      const hash = this.#hashes[id] as number;
      let slot = (hash ^ hash >>> 15) & mask;
      while ((slots[slot] as number) >= 0) slot = (slot + 1) & mask;
      slots[slot] = id;
    }
    this.#slots = slots;
  }
}
