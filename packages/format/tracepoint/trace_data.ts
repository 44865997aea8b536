/** The raw data of a sample of a tracepoint; reads outside it return 0. */
export class TraceData {
  /** Bytes of a `long` of the recorded kernel. */
  readonly longSize: number;
  /** Byte order of the recorded kernel. */
  readonly littleEndian: boolean;
  bytes: Uint8Array = new Uint8Array(0);
  /** Index of the data's first byte. */
  start: number = 0;
  /** Index of the data's end. */
  end: number = 0;
  #view: DataView = new DataView(new ArrayBuffer(0));

  /** Creates a reader for the data of one recording. */
  constructor(longSize: number, littleEndian: boolean) {
    this.longSize = longSize;
    this.littleEndian = littleEndian;
  }

  /** Sets the data: `[start, end)` of `bytes`. */
  take(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    this.bytes = bytes;
    this.#view = view;
    this.start = start;
    this.end = end;
  }

  /** Returns the same data in a byte order of its own. */
  inByteOrder(littleEndian: boolean): TraceData {
    if (littleEndian === this.littleEndian) return this;
    const data = new TraceData(this.longSize, littleEndian);
    data.take(this.bytes, this.#view, this.start, this.end);
    return data;
  }

  /** Whether the data has `size` bytes at `offset`. */
  has(offset: number, size: number): boolean {
    return offset >= 0 && this.start + offset + size <= this.end;
  }

  /** Returns an unsigned number of 1, 2 or 4 bytes; 0 for other sizes. */
  small(offset: number, size: number): number {
    const at = this.start + offset;
    if (at + size > this.end) return 0;
    const view = this.#view;
    const le = this.littleEndian;
    if (size === 4) return view.getUint32(at, le);
    if (size === 2) return view.getUint16(at, le);
    return size === 1 ? view.getUint8(at) : 0;
  }

  /** Returns the upper half of the 8 bytes at `offset`. */
  high(offset: number): number {
    return this.small(this.littleEndian ? offset + 4 : offset, 4);
  }

  /** Returns the lower half of the 8 bytes at `offset`. */
  low(offset: number): number {
    return this.small(this.littleEndian ? offset : offset + 4, 4);
  }

  /** Returns an unsigned number of 1, 2, 4 or 8 bytes; 0 for other sizes. */
  number(offset: number, size: number): bigint {
    if (size !== 8) return BigInt(this.small(offset, size));
    const at = this.start + offset;
    return at + 8 > this.end ? 0n : this.#view.getBigUint64(at, this.littleEndian);
  }

  /** Returns a floating-point number of 4 or 8 bytes. */
  float(offset: number, size: 4 | 8): number {
    if (!this.has(offset, size)) return 0;
    const at = this.start + offset;
    return size === 4
      ? this.#view.getFloat32(at, this.littleEndian)
      : this.#view.getFloat64(at, this.littleEndian);
  }

  /** Returns the index in `bytes` at which a text at `offset` ends: at a NUL, or after `most` bytes. */
  textEnd(offset: number, most: number): number {
    const from = this.start + offset;
    const end = Math.min(this.end, from + most);
    let at = from;
    while (at < end && this.bytes[at] !== 0) at++;
    return Math.max(from, at);
  }
}
