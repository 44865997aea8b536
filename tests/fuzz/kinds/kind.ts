/** The parts of a kind of input: seeds, their fields, and the code that reads them. */
import type { Random } from "../random.ts";

/** Kind of an input, which determines its targets. */
export type Kind =
  | "recording"
  | "elf"
  | "kallsyms"
  | "perf map"
  | "jitdump"
  | "bundle"
  | "table"
  | "archive"
  | "profile";

/** Encoding of a field: little-endian, in groups of 7 bits, or as digits of a text. */
export type FieldForm = "bytes" | "varint" | "octal" | "hex";

/** A field of an input: a size, count or type. */
export interface Field {
  readonly offset: number;
  readonly size: number;
  /** Whether other fields depend on it. */
  readonly steers: boolean;
  /** Default: `bytes`. */
  readonly form?: FieldForm;
}

/** A seed. */
export interface Seed {
  readonly name: string;
  readonly kind: Kind;
  readonly bytes: Uint8Array;
  /** Whether it is in this repository. */
  readonly ours: boolean;
  /** Its fields; those of a recording come from its hexdump. */
  readonly fields?: readonly Field[];
}

/** Paths for an input and its output. */
export interface Place {
  /** A file with the input. */
  readonly path: string;
  /** A directory for output. */
  readonly folder: string;
}

/** A target. Its errors are findings, unless `isExpected` knows them. */
export interface Target {
  readonly name: string;
  readonly kind: Kind;
  /** Number of calls of which `random` picks one; 1 if missing. */
  readonly ways?: number;
  /** @param seed Name of the seed that the input was made from. */
  run(
    bytes: Uint8Array<ArrayBuffer>,
    place: Place,
    random: Random,
    seed: string,
  ): Promise<void> | void;
}

/** Everything that the fuzzer needs for a kind of input. */
export interface InputKind {
  readonly kind: Kind;
  /** The seeds, all made from files of this repository. */
  seeds(): Promise<Omit<Seed, "kind" | "ours">[]> | Omit<Seed, "kind" | "ours">[];
  /** Corrects the checksums of a changed input in place. */
  seal?(bytes: Uint8Array): void;
  /** The targets. */
  readonly targets: readonly Omit<Target, "kind">[];
}

/** Consecutive fields of equal size. */
export function row(offset: number, size: number, count: number, steers: boolean): Field[] {
  return Array.from({ length: count }, (_, i) => ({ offset: offset + size * i, size, steers }));
}

/** The digits of addresses and sizes in a text. */
export function digits(text: string): Field[] {
  const found = text.matchAll(/(?<=^|^0x|[ \t]|[ \t]0x)[0-9a-f]{8,16}(?=[ \t])/gm);
  return Array.from(found, ({ index, 0: { length } }) => (
    { offset: index, size: length, steers: true, form: "hex" }
  ));
}

/** Appends numbers and texts, and stores the positions of the numbers. */
export class Laid {
  readonly fields: Field[] = [];
  readonly #bytes: number[] = [];

  /** Number of bytes so far. */
  get length(): number {
    return this.#bytes.length;
  }

  /** Appends a little-endian number of this size. */
  int(size: number, value: number | bigint, steers = true): this {
    this.fields.push({ offset: this.length, size, steers });
    for (let i = 0, rest = BigInt(value); i < size; i++, rest >>= 8n) {
      this.#bytes.push(Number(rest & 0xffn));
    }
    return this;
  }

  /** Appends numbers in groups of 7 bits (LEB128), each at least this long. */
  varints(width: number, ...values: readonly (number | bigint)[]): this {
    for (const value of values) {
      const at = this.length;
      let rest = BigInt(value);
      do {
        const more = rest >= 0x80n || this.length + 1 < at + width;
        this.#bytes.push(Number(rest & 0x7fn) | (more ? 0x80 : 0));
        rest >>= 7n;
      } while (rest > 0n || this.length < at + width);
      this.fields.push({ offset: at, size: this.length - at, steers: true, form: "varint" });
    }
    return this;
  }

  /** Appends bytes that are no field. */
  raw(bytes: Iterable<number>): this {
    for (const byte of bytes) this.#bytes.push(byte);
    return this;
  }

  /** Appends a text and a zero byte. */
  text(text: string): this {
    return this.raw(new TextEncoder().encode(`${text}\0`));
  }

  /** Appends another buffer with its fields. */
  append(other: Laid): this {
    const at = this.length;
    this.fields.push(...other.fields.map((field) => ({ ...field, offset: field.offset + at })));
    return this.raw(other.bytes);
  }

  /** The bytes. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.#bytes);
  }
}
