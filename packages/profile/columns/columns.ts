import { enlarge, floatAt, intAt } from "@perfdata/format/bytes";

/** A column of 32-bit integers that grows. */
export class IntColumn {
  /** Number of values. */
  length: number = 0;
  #values = new Int32Array(64);

  /** Adds a value. */
  push(value: number): void {
    if (this.length === this.#values.length) this.#values = enlarge(this.#values, this.length + 1);
    this.#values[this.length++] = value;
  }

  /** A value. */
  at(index: number): number {
    return intAt(this.#values, index);
  }

  /** A view of the values so far. */
  array(): Int32Array<ArrayBuffer> {
    return this.#values.subarray(0, this.length);
  }
}

/** A column of doubles that grows. */
export class FloatColumn {
  /** Number of values. */
  length: number = 0;
  #values = new Float64Array(64);

  /** Adds a value. */
  push(value: number): void {
    if (this.length === this.#values.length) this.#values = enlarge(this.#values, this.length + 1);
    this.#values[this.length++] = value;
  }

  /** Adds to the value at an index. */
  add(at: number, value: number): void {
    this.#values[at] = floatAt(this.#values, at) + value;
  }

  /** A view of the values so far. */
  array(): Float64Array<ArrayBuffer> {
    return this.#values.subarray(0, this.length);
  }
}
