/** A column of 32-bit integers that grows. */
export class IntColumn {
  /** Number of values. */
  length: number = 0;
  #values = new Int32Array(64);

  /** Adds a value. */
  push(value: number): void {
    if (this.length === this.#values.length) {
      const larger = new Int32Array(this.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.length++] = value;
  }

  /** The values so far, seen in place. */
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
    if (this.length === this.#values.length) {
      const larger = new Float64Array(this.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.length++] = value;
  }

  /** Adds to a value that is there. */
  add(at: number, value: number): void {
    this.#values[at] = (this.#values[at] as number) + value;
  }

  /** The values so far, seen in place. */
  array(): Float64Array<ArrayBuffer> {
    return this.#values.subarray(0, this.length);
  }
}

/** Values of a chunk of a long column. */
const CHUNK = 1 << 16;

/** A long column of numbers: chunks, so that it grows without a copy of all that there is. */
export class LongColumn<Values extends Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer>> {
  /** Number of values. */
  length: number = 0;
  readonly #make: (length: number) => Values;
  #chunks: Values[] = [];
  #last: Values;
  #used = CHUNK;

  /** @param make Makes an array, such as `(length) => new Int32Array(length)` */
  constructor(make: (length: number) => Values) {
    this.#make = make;
    this.#last = make(0);
  }

  /** Adds a value. */
  push(value: number): void {
    if (this.#used === CHUNK) {
      this.#chunks.push(this.#last = this.#make(CHUNK));
      this.#used = 0;
    }
    this.#last[this.#used++] = value;
    this.length++;
  }

  /** All values as one array; the column is empty then. */
  take(): Values {
    const all = this.#make(this.length);
    for (let i = 0, at = 0; at < this.length; i++, at += CHUNK) {
      const chunk = this.#chunks[i] as Values;
      all.set(chunk.subarray(0, Math.min(CHUNK, this.length - at)), at);
    }
    this.#chunks = [];
    this.#used = CHUNK;
    this.length = 0;
    return all;
  }
}
