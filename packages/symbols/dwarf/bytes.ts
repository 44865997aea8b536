import { DwarfError } from "./dwarf_error.ts";

/** Reads two bytes at `p`. The caller has checked the bounds. */
export function u16(b: Uint8Array, p: number, le: boolean): number {
  const x = b[p] as number, y = b[p + 1] as number;
  return le ? x | (y << 8) : (x << 8) | y;
}

/** Reads three bytes at `p`. The caller has checked the bounds. */
export function u24(b: Uint8Array, p: number, le: boolean): number {
  const x = b[p] as number, y = b[p + 1] as number, z = b[p + 2] as number;
  return le ? x | (y << 8) | (z << 16) : (x << 16) | (y << 8) | z;
}

/** Reads four bytes at `p`. The caller has checked the bounds. */
export function u32(b: Uint8Array, p: number, le: boolean): number {
  const w = b[p] as number, x = b[p + 1] as number;
  const y = b[p + 2] as number, z = b[p + 3] as number;
  return (le ? w | (x << 8) | (y << 16) | (z << 24) : (w << 24) | (x << 16) | (y << 8) | z) >>> 0;
}

/**
 * Reads eight bytes at `p` as an unsigned number, rounded above 2^53. Offsets and counts of files
 * are smaller.
 */
export function u64(b: Uint8Array, p: number, le: boolean): number {
  return le
    ? u32(b, p + 4, le) * 4294967296 + u32(b, p, le)
    : u32(b, p, le) * 4294967296 + u32(b, p + 4, le);
}

/** Reads eight bytes at `p` as a signed number, the form of an address. */
export function i64(b: Uint8Array, p: number, le: boolean): number {
  return le
    ? (u32(b, p + 4, le) | 0) * 4294967296 + u32(b, p, le)
    : (u32(b, p, le) | 0) * 4294967296 + u32(b, p + 4, le);
}

const decoder = new TextDecoder();

/**
 * Decodes `b[from, to)`. Short ASCII texts, as most names are, avoid the overhead of TextDecoder.
 */
export function text(b: Uint8Array, from: number, to: number): string {
  if (to - from <= 24) {
    let s = "";
    for (let i = from; i < to; i++) {
      const c = b[i] as number;
      if (c >= 0x80) return decoder.decode(b.subarray(from, to));
      s += String.fromCharCode(c);
    }
    return s;
  }
  return decoder.decode(b.subarray(from, to));
}

/** A bounds-checked reader of a part of a section, for code outside of hot loops. */
export class Cursor {
  readonly bytes: Uint8Array;
  pos: number;
  end: number;
  readonly le: boolean;
  readonly section: string;
  /** Offset of `bytes[0]` in the section, for messages. */
  readonly base: number;

  constructor(bytes: Uint8Array, section: string, base: number, le: boolean, pos = 0) {
    this.bytes = bytes;
    this.pos = pos;
    this.end = bytes.length;
    this.le = le;
    this.section = section;
    this.base = base;
  }

  /** Creates an error at `pos`, by default the current position. */
  error(what: string, pos: number = this.pos): DwarfError {
    return new DwarfError(this.section, this.base + pos, what);
  }

  /** Advances by `n` bytes. Returns the position before. */
  take(n: number): number {
    const p = this.pos;
    if (!(n <= this.end - p)) {
      throw this.error(`${n} bytes wanted, ${Math.max(0, this.end - p)} left`);
    }
    this.pos = p + n;
    return p;
  }

  u8(): number {
    return this.bytes[this.take(1)] as number;
  }
  u16(): number {
    return u16(this.bytes, this.take(2), this.le);
  }
  u24(): number {
    return u24(this.bytes, this.take(3), this.le);
  }
  u32(): number {
    return u32(this.bytes, this.take(4), this.le);
  }
  u64(): number {
    return u64(this.bytes, this.take(8), this.le);
  }

  /** Reads an unsigned number of 1, 2, 3, 4 or 8 bytes. */
  uint(size: number): number {
    switch (size) {
      case 1:
        return this.u8();
      case 2:
        return this.u16();
      case 3:
        return this.u24();
      case 4:
        return this.u32();
      case 8:
        return this.u64();
    }
    throw this.error(`a number of ${size} bytes; 1, 2, 4 or 8 expected`);
  }

  /** Reads an address: signed if it has 8 bytes. */
  address(size: number): number {
    return size === 8 ? i64(this.bytes, this.take(8), this.le) : this.uint(size);
  }

  /** Reads a ULEB128 of at most 10 bytes, which any 64-bit value fits in. Rounded above 2^53. */
  uleb(): number {
    const b = this.bytes, start = this.pos;
    let p = start, result = 0, scale = 1;
    for (;;) {
      if (p >= this.end) throw this.error("LEB128 runs past the end", start);
      const c = b[p++] as number;
      result += (c & 0x7f) * scale;
      if (c < 0x80) break;
      if (p - start >= 10) throw this.error("LEB128 of more than 10 bytes", start);
      scale *= 128;
    }
    this.pos = p;
    return result;
  }

  /** Reads an SLEB128, with the limits of {@link uleb}. */
  sleb(): number {
    const b = this.bytes, start = this.pos;
    let p = start, result = 0, scale = 1, c;
    for (;;) {
      if (p >= this.end) throw this.error("LEB128 runs past the end", start);
      c = b[p++] as number;
      result += (c & 0x7f) * scale;
      scale *= 128;
      if (c < 0x80) break;
      if (p - start >= 10) throw this.error("LEB128 of more than 10 bytes", start);
    }
    this.pos = p;
    return c & 0x40 ? result - scale : result;
  }

  /** Skips a NUL-terminated string. Returns the position of its first byte. */
  skipString(): number {
    const start = this.pos;
    const nul = this.bytes.indexOf(0, start);
    if (nul < 0 || nul >= this.end) throw this.error("string without an end", start);
    this.pos = nul + 1;
    return start;
  }

  /** Reads a unit length (DWARF 5, 7.4). `offsetSize` is 4 or 8. */
  unitLength(): { length: number; offsetSize: 4 | 8 } {
    const at = this.pos;
    const length = this.u32();
    if (length < 0xfffffff0) return { length, offsetSize: 4 };
    if (length !== 0xffffffff) throw this.error("reserved unit length", at);
    return { length: this.u64(), offsetSize: 8 };
  }
}
