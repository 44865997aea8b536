/** Room for the text of the longest record: 64 KB, printed as bytes and as addresses. */
export const RECORD_ROOM: number = 1 << 20;

const encoder = new TextEncoder();

/** A buffer of text that is written out when it is full. */
export class TextOut {
  /** View of the buffer. The next text is written at {@link TextOut.p}. */
  readonly view: DataView;
  readonly bytes: Uint8Array;
  /** Bytes of text in the buffer. */
  p = 0;
  readonly #full: number;
  readonly #write: (text: Uint8Array) => void;

  /**
   * @param full Smallest block that is written out.
   * @param write Receives the text; the bytes are only valid during the call.
   * @param room Bytes that {@link TextOut.reserve} makes available.
   */
  constructor(full: number, write: (text: Uint8Array) => void, room: number = RECORD_ROOM) {
    this.#full = full;
    this.#write = write;
    this.bytes = new Uint8Array(full + room);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Writes out the buffer if it is full, so that there is room. */
  reserve(): void {
    if (this.p >= this.#full) this.flush();
  }

  text(text: string): void {
    this.add(encoder.encode(text));
  }

  add(bytes: Uint8Array): void {
    this.reserve();
    if (bytes.length > this.bytes.length - this.p) {
      this.flush();
      if (bytes.length > this.bytes.length) return this.#write(bytes);
    }
    this.bytes.set(bytes, this.p);
    this.p += bytes.length;
  }

  flush(): void {
    if (this.p > 0) this.#write(this.bytes.subarray(0, this.p));
    this.p = 0;
  }
}
