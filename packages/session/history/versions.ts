import { enlarge } from "@perfdata/format/bytes";

/**
 * Values of things over time: each thing has rows with the moment from which on they hold.
 *
 * Rows are added in order of moments. A thing that changes twice at one moment has one row. After
 * {@link Versions.seal}, the rows of a thing are contiguous.
 */
export class Versions {
  /** Number of rows. */
  count: number = 0;
  /** First moment of each row. */
  from: Int32Array<ArrayBuffer> = new Int32Array(64);
  /** Values of the rows, one column each. */
  readonly values: Int32Array<ArrayBuffer>[];
  /** First row of each thing, and the end of the last one; after sealing. */
  starts: Int32Array<ArrayBuffer> = new Int32Array(1);
  #thing = new Int32Array(64);
  /** Last row of each thing, or -1. */
  #last = new Int32Array(64).fill(-1);
  #things = 0;

  /** Creates a table without rows. */
  constructor(columns: number) {
    this.values = Array.from({ length: columns }, () => new Int32Array(64));
  }

  /** The moment of the last row of a thing; -1 without rows. */
  lastFrom(thing: number): number {
    const row = thing < this.#last.length ? this.#last[thing] as number : -1;
    return row < 0 ? -1 : this.from[row] as number;
  }

  /** Sets the values of a thing from a moment on. */
  add(thing: number, from: number, a: number, b = 0, c = 0, d = 0): void {
    if (thing >= this.#last.length) {
      const known = this.#last.length;
      this.#last = enlarge(this.#last, thing + 1).fill(-1, known);
    }
    if (thing >= this.#things) this.#things = thing + 1;
    let row = this.#last[thing] as number;
    if (row < 0 || this.from[row] !== from) {
      if (row >= 0 && this.#holds(row, a, b, c, d)) return;
      row = this.count++;
      if (row >= this.from.length) {
        this.from = enlarge(this.from, row + 1);
        this.#thing = enlarge(this.#thing, row + 1);
        for (let i = 0; i < this.values.length; i++) {
          this.values[i] = enlarge(this.values[i] as Int32Array<ArrayBuffer>, row + 1);
        }
      }
      this.#thing[row] = thing;
      this.from[row] = from;
      this.#last[thing] = row;
    }
    const [first, second, third, fourth] = this.values;
    (first as Int32Array)[row] = a;
    if (second !== undefined) second[row] = b;
    if (third !== undefined) third[row] = c;
    if (fourth !== undefined) fourth[row] = d;
  }

  #holds(row: number, a: number, b: number, c: number, d: number): boolean {
    const [first, second, third, fourth] = this.values;
    return first?.[row] === a && (second === undefined || second[row] === b) &&
      (third === undefined || third[row] === c) &&
      (fourth === undefined || fourth[row] === d);
  }

  /** Sorts the rows by thing and moment; nothing can be added afterwards. */
  seal(): void {
    const { count } = this;
    const starts = this.starts = new Int32Array(this.#things + 1);
    for (let row = 0; row < count; row++) {
      (starts[(this.#thing[row] as number) + 1] as number)++;
    }
    for (let thing = 0; thing < this.#things; thing++) {
      (starts[thing + 1] as number) += starts[thing] as number;
    }
    const next = starts.slice();
    const columns = [this.from, ...this.values];
    const sorted = columns.map(() => new Int32Array(count));
    for (let row = 0; row < count; row++) {
      const thing = this.#thing[row] as number;
      const at = next[thing] as number;
      next[thing] = at + 1;
      for (let i = 0; i < columns.length; i++) {
        (sorted[i] as Int32Array)[at] = columns[i]?.[row] as number;
      }
    }
    this.from = sorted[0] as Int32Array<ArrayBuffer>;
    for (let i = 0; i < this.values.length; i++) {
      this.values[i] = sorted[i + 1] as Int32Array<ArrayBuffer>;
    }
    this.#thing = this.#last = new Int32Array(0);
  }

  /** Whether a thing has rows; after sealing. */
  has(thing: number): boolean {
    return thing < this.#things && this.starts[thing] !== this.starts[thing + 1];
  }

  /** The row of a thing at a moment; -1 before its first row. After sealing. */
  at(thing: number, moment: number): number {
    if (thing < 0 || thing >= this.#things) return -1;
    let low = this.starts[thing] as number;
    const first = low;
    let high = this.starts[thing + 1] as number;
    // Binary search for the first row that begins later.
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.from[middle] as number) <= moment) low = middle + 1;
      else high = middle;
    }
    return low === first ? -1 : low - 1;
  }

  /** First moment of the row after `row` of a thing; the largest number after the last row. */
  until(thing: number, row: number): number {
    const next = row < 0 ? this.starts[thing] as number : row + 1;
    return next < (this.starts[thing + 1] as number) ? this.from[next] as number : 0x7fff_ffff;
  }
}
