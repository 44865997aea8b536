import { byteAt } from "@perfdata/format/bytes";
import { Cursor, text, u16, u24, u32, u64 } from "./bytes.ts";
import { DwarfError } from "./dwarf_error.ts";
import type { BinarySource } from "../files/binary_source.ts";
import type { DwarfSections } from "./sections.ts";

const CHUNK = 0x10000;
const NOTHING = new Uint8Array(0);

/**
 * One section, either in memory or read in parts from a {@link BinarySource}.
 *
 * Small reads at random offsets (`at` and its callers) use a window of 64 KiB. After a sixteenth of
 * the section was read like this, the whole section is loaded, which is then cheaper.
 */
export class Section {
  readonly name: string;
  readonly size: number;
  readonly le: boolean;
  /** Loaded bytes; `bytes[0]` is at offset `base` of the section. */
  bytes: Uint8Array;
  base = 0;
  readonly #source: BinarySource | undefined;
  #loaded = 0;
  #lent: Uint8Array = NOTHING;
  #cursor: Cursor | undefined;

  constructor(name: string, le: boolean, content: Uint8Array | BinarySource) {
    this.name = name;
    this.le = le;
    if (content instanceof Uint8Array) {
      this.bytes = content;
      this.size = content.length;
    } else {
      this.bytes = NOTHING;
      this.size = content.size;
      this.#source = content;
    }
  }

  /** Opens the section with that name. A missing section has length 0. */
  static open(sections: DwarfSections, name: string): Section {
    const content = sections.open?.(name) ?? sections.get(name) ?? NOTHING;
    return new Section(name, sections.littleEndian, content);
  }

  /** The part `[offset, offset + size)` as a section (a contribution in a `.dwp`). */
  part(offset: number, size: number): Section {
    this.#check(offset, size);
    const source = this.#source;
    return new Section(
      this.name,
      this.le,
      source === undefined
        ? this.bytes.subarray(offset, offset + size)
        : { size, read: (at, length) => source.read(offset + at, length) },
    );
  }

  /** Returns the bytes `[offset, offset + length)`. */
  window(offset: number, length: number): Uint8Array {
    this.#check(offset, length);
    if (this.#source === undefined) return this.bytes.subarray(offset, offset + length);
    const i = offset - this.base;
    if (i >= 0 && i + length <= this.bytes.length) return this.bytes.subarray(i, i + length);
    return this.#source.read(offset, length);
  }

  /**
   * {@link window} in memory that the next call overwrites, if the source supports it: fresh pages
   * cost several times the read.
   */
  borrow(offset: number, length: number): Uint8Array {
    const source = this.#source;
    if (source?.readInto === undefined || length < CHUNK) return this.window(offset, length);
    this.#check(offset, length);
    if (this.#lent.length < length) this.#lent = new Uint8Array(length);
    const bytes = this.#lent.subarray(0, length);
    source.readInto(offset, bytes);
    return bytes;
  }

  /** {@link window} in the memory of `into`, if the source can read there. */
  windowIn(offset: number, length: number, into: Uint8Array): Uint8Array {
    const source = this.#source;
    if (source?.readInto === undefined || this.bytes.length === this.size) {
      return this.window(offset, length);
    }
    this.#check(offset, length);
    const bytes = into.subarray(0, length);
    source.readInto(offset, bytes);
    return bytes;
  }

  /** Whether windows are copies that use memory. */
  get copies(): boolean {
    return this.#source !== undefined;
  }

  #check(offset: number, length: number): void {
    if (!(offset >= 0 && length >= 0 && offset + length <= this.size)) {
      throw new DwarfError(
        this.name,
        offset,
        `${length} bytes wanted, the section has 0x${this.size.toString(16)} bytes`,
      );
    }
  }

  /** Creates a cursor over `[offset, offset + length)`. */
  cursor(offset: number, length: number): Cursor {
    return new Cursor(this.window(offset, length), this.name, offset, this.le);
  }

  /**
   * Returns a cursor at `offset` over at least `want` loaded bytes. The object is reused, since
   * short lists are read very often.
   */
  cursorAt(offset: number, want: number): Cursor {
    const i = this.at(offset, want);
    let c = this.#cursor;
    if (c === undefined || c.bytes !== this.bytes) {
      c = this.#cursor = new Cursor(this.bytes, this.name, this.base, this.le);
    }
    c.pos = i;
    return c;
  }

  /** Index in `bytes` of the byte at `offset`, after loading `want` bytes. */
  at(offset: number, want: number): number {
    const i = offset - this.base;
    return i >= 0 && i + want <= this.bytes.length ? i : this.#load(offset, want);
  }

  #load(offset: number, want: number): number {
    this.#check(offset, want);
    const source = this.#source;
    if (source === undefined) return offset;
    if (this.size <= 4 * CHUNK || this.#loaded > this.size / 16) {
      this.base = 0;
      this.bytes = source.read(0, this.size);
    } else {
      // Load 128 bytes before, because lists and strings are often read backwards in small steps.
      const start = Math.max(0, offset - 128);
      const length = Math.min(this.size - start, Math.max(CHUNK, offset + want - start));
      this.bytes = source.read(start, length);
      this.base = start;
      this.#loaded += length;
    }
    return offset - this.base;
  }

  /** Reads an unsigned number of 1, 2, 3, 4 or 8 bytes. */
  uint(offset: number, size: number): number {
    const i = this.at(offset, size);
    switch (size) {
      case 1:
        return byteAt(this.bytes, i);
      case 2:
        return u16(this.bytes, i, this.le);
      case 3:
        return u24(this.bytes, i, this.le);
      case 4:
        return u32(this.bytes, i, this.le);
      default:
        return u64(this.bytes, i, this.le);
    }
  }

  /** Reads the NUL-terminated string at `offset`. */
  string(offset: number): string {
    const bytes = this.stringBytes(offset);
    return text(bytes, 0, bytes.length);
  }

  /** Reads the bytes of the string at `offset`, without the NUL. */
  stringBytes(offset: number): Uint8Array {
    let i = this.at(offset, 1);
    let nul = this.bytes.indexOf(0, i);
    for (let want = 4096; nul < 0; want *= 8) {
      const rest = this.size - offset;
      if (this.base + this.bytes.length >= this.size) {
        throw new DwarfError(this.name, offset, "string without an end");
      }
      i = this.at(offset, Math.min(want, rest));
      nul = this.bytes.indexOf(0, i);
    }
    return this.bytes.subarray(i, nul);
  }
}
