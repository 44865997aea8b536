/** Room for the text of the longest record, whose 64 KB are printed as bytes and as addresses. */
export const RECORD_ROOM: number = 1 << 20;

const encoder = new TextEncoder();

/** Text on its way out: a buffer that is written to, and handed on when it is full. */
export class TextOut {
  /** Where text is written to, at {@link TextOut.p}. */
  readonly view: DataView;
  /** The same as bytes. */
  readonly bytes: Uint8Array;
  /** Bytes of text in the buffer. */
  p = 0;
  readonly #full: number;
  readonly #write: (text: Uint8Array) => void;

  /**
   * @param full Text is handed on in pieces of at least this many bytes.
   * @param write Receives the text; the bytes are valid during the call only.
   * @param room What {@link TextOut.reserve} guarantees.
   */
  constructor(full: number, write: (text: Uint8Array) => void, room: number = RECORD_ROOM) {
    this.#full = full;
    this.#write = write;
    this.bytes = new Uint8Array(full + room);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Makes sure that there is room. */
  reserve(): void {
    if (this.p >= this.#full) this.flush();
  }

  /** Adds a text of any length. */
  text(text: string): void {
    this.add(encoder.encode(text));
  }

  /** Adds text of any length. */
  add(bytes: Uint8Array): void {
    this.reserve();
    if (bytes.length > this.bytes.length - this.p) {
      this.flush();
      if (bytes.length > this.bytes.length) return this.#write(bytes);
    }
    this.bytes.set(bytes, this.p);
    this.p += bytes.length;
  }

  /** Hands on what there is. */
  flush(): void {
    if (this.p > 0) this.#write(this.bytes.subarray(0, this.p));
    this.p = 0;
  }
}
