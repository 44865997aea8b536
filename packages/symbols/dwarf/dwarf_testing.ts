import type { DwarfSections } from "./sections.ts";

// For tests: writes DWARF number by number.

/** A growing buffer in either byte order. */
export class Bytes {
  readonly le: boolean;
  #bytes: number[] = [];

  constructor(le = true) {
    this.le = le;
  }

  get length(): number {
    return this.#bytes.length;
  }

  uint(size: number, value: number | bigint): this {
    let rest = BigInt.asUintN(64, BigInt(value));
    const bytes: number[] = [];
    for (let i = 0; i < size; i++) {
      bytes.push(Number(rest & 255n));
      rest >>= 8n;
    }
    this.#bytes.push(...(this.le ? bytes : bytes.reverse()));
    return this;
  }

  u8(...values: number[]): this {
    this.#bytes.push(...values.map((value) => value & 255));
    return this;
  }

  uleb(...values: number[]): this {
    for (let value of values) {
      for (; value >= 0x80; value = Math.floor(value / 128)) this.#bytes.push(value % 128 | 0x80);
      this.#bytes.push(value);
    }
    return this;
  }

  sleb(value: number): this {
    for (; value < -64 || value > 63; value >>= 7) this.#bytes.push(value & 0x7f | 0x80);
    this.#bytes.push(value & 0x7f);
    return this;
  }

  text(value: string): this {
    this.#bytes.push(...new TextEncoder().encode(value), 0);
    return this;
  }

  append(other: Bytes): this {
    for (const byte of other.#bytes) this.#bytes.push(byte);
    return this;
  }

  /** Appends the length of `body`, in the 32-bit or 64-bit form, then `body`. */
  sized(offsetSize: 4 | 8, body: Bytes): this {
    if (offsetSize === 8) this.uint(4, 0xffffffff);
    return this.uint(offsetSize, body.length).append(body);
  }

  done(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }
}

/** The sections by name. */
export function sectionsOf(
  parts: Readonly<Record<string, Bytes | Uint8Array>>,
  littleEndian = true,
): DwarfSections {
  return {
    littleEndian,
    get(name) {
      const part = parts[name];
      return part instanceof Bytes ? part.done() : part;
    },
  };
}

/** Format of a unit that {@linkcode unit} writes. */
export interface UnitShape {
  readonly le?: boolean;
  readonly version: number;
  readonly offsetSize?: 4 | 8;
  readonly addressSize?: 4 | 8;
}

/** A unit of `.debug_info` with `body` after its header. Its abbreviation table is at offset 0. */
export function unit(shape: UnitShape, body: Bytes): Bytes {
  const { le = true, version, offsetSize = 4, addressSize = 8 } = shape;
  const content = new Bytes(le).uint(2, version);
  if (version >= 5) content.u8(1, addressSize).uint(offsetSize, 0);
  else content.uint(offsetSize, 0).u8(addressSize);
  return new Bytes(le).sized(offsetSize, content.append(body));
}

/** Size of the header that {@linkcode unit} writes. */
export function headerSize({ version, offsetSize = 4 }: UnitShape): number {
  return (offsetSize === 4 ? 4 : 12) + 2 + (version >= 5 ? 2 : 1) + offsetSize;
}
