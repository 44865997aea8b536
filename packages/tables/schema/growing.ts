import { byteAt, enlarge, intAt } from "@perfdata/format/bytes";
import type { ColumnValues } from "./column_types.ts";

/** A growing column of 64-bit numbers, two words each; some may be missing. */
export class WordColumn {
  /** Number of rows. */
  length: number = 0;
  // A column without numbers takes no memory.
  #words = new Int32Array(0);
  #valid = new Uint8Array(0);
  #missing = 0;

  push(lo: number, hi: number): void {
    this.#grow();
    if (this.#missing === this.length && this.length > 0) this.#valid.fill(0, 0, this.length);
    this.#words[2 * this.length] = lo;
    this.#words[2 * this.length + 1] = hi;
    this.#valid[this.length++] = 1;
  }

  skip(): void {
    if (this.#missing === this.length) {
      this.#missing = ++this.length;
      return;
    }
    this.#grow();
    this.#words[2 * this.length] = this.#words[2 * this.length + 1] = 0;
    this.#valid[this.length++] = 0;
    this.#missing++;
  }

  #grow(): void {
    if (this.length < this.#valid.length) return;
    const room = Math.max(64, this.length + 1);
    this.#words = enlarge(this.#words, 2 * room);
    this.#valid = enlarge(this.#valid, room);
  }

  /** Returns the lower word of a number; 0 if it is missing. */
  lo(at: number): number {
    return this.#words[2 * at] ?? 0;
  }

  /** Returns the upper word of a number; 0 if it is missing. */
  hi(at: number): number {
    return this.#words[2 * at + 1] ?? 0;
  }

  has(at: number): boolean {
    return this.#valid[at] === 1;
  }

  clear(): void {
    this.length = this.#missing = 0;
  }

  /** Returns the numbers of some rows, in the given order, as a column. */
  values(rows: Int32Array): ColumnValues {
    if (this.#missing === this.length) return { kind: "none" };
    const words = new Int32Array(2 * rows.length);
    const from = this.#words;
    for (let i = 0; i < rows.length; i++) {
      const row = 2 * intAt(rows, i);
      words[2 * i] = intAt(from, row);
      words[2 * i + 1] = intAt(from, row + 1);
    }
    if (this.#missing === 0) return { kind: "words", words };
    const valid = new Uint8Array(rows.length);
    for (let i = 0; i < rows.length; i++) valid[i] = byteAt(this.#valid, intAt(rows, i));
    return { kind: "words", words, valid };
  }
}

/** A growing column of 32-bit numbers. */
export class IntegerColumn {
  /** Number of rows. */
  length: number = 0;
  #ints = new Int32Array(64);

  push(value: number): void {
    if (this.length === this.#ints.length) this.#ints = enlarge(this.#ints, this.length + 1);
    this.#ints[this.length++] = value;
  }

  at(row: number): number {
    return intAt(this.#ints, row);
  }

  clear(): void {
    this.length = 0;
  }

  /** Returns the numbers of some rows, in the given order. */
  picked(rows: Int32Array): Int32Array<ArrayBuffer> {
    const picked = new Int32Array(rows.length);
    const from = this.#ints;
    for (let i = 0; i < rows.length; i++) picked[i] = intAt(from, intAt(rows, i));
    return picked;
  }

  /**
   * Returns the numbers of some rows as a column.
   *
   * @param none Number that means a missing value.
   */
  values(rows: Int32Array, none?: number): ColumnValues {
    const ints = this.picked(rows);
    if (none === undefined || !ints.includes(none)) return { kind: "ints", ints };
    const valid = new Uint8Array(ints.length);
    let hasValue = false;
    for (let i = 0; i < ints.length; i++) {
      if (ints[i] === none) continue;
      valid[i] = 1;
      hasValue = true;
    }
    return hasValue ? { kind: "ints", ints, valid } : { kind: "none" };
  }

  /** Returns the texts of some rows as a column; `text` converts the numbers, of which negative ones are missing. */
  texts(rows: Int32Array, text: (number: number) => string): ColumnValues {
    const codes = this.picked(rows);
    const codeOf = new Map<number, number>();
    const byText = new Map<string, number>();
    const dictionary: string[] = [];
    for (let i = 0; i < codes.length; i++) {
      const number = intAt(codes, i);
      if (number < 0) {
        codes[i] = -1;
        continue;
      }
      let code = codeOf.get(number);
      if (code === undefined) {
        const value = text(number);
        code = byText.get(value);
        if (code === undefined) byText.set(value, code = dictionary.push(value) - 1);
        codeOf.set(number, code);
      }
      codes[i] = code;
    }
    return dictionary.length === 0 ? { kind: "none" } : { kind: "codes", codes, dictionary };
  }
}

/** Returns the numbers of all rows of a table, in order. */
export function allRows(count: number): Int32Array<ArrayBuffer> {
  return Int32Array.from({ length: count }, (_, row) => row);
}

/** Returns a column of texts, some of which may be missing. */
export function textValues(texts: readonly (string | undefined)[]): ColumnValues {
  const numbers = new Map<string, number>();
  const dictionary: string[] = [];
  const codes = new Int32Array(texts.length);
  for (const [row, text] of texts.entries()) {
    let code = text === undefined ? -1 : numbers.get(text);
    if (code === undefined) {
      code = dictionary.push(text as string) - 1;
      numbers.set(text as string, code);
    }
    codes[row] = code;
  }
  return dictionary.length === 0 ? { kind: "none" } : { kind: "codes", codes, dictionary };
}

/** Returns a 64-bit number as words. */
export function wordsOf(value: bigint): Int32Array<ArrayBuffer> {
  return Int32Array.of(Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n)));
}
