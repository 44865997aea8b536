/** Size of a piece in bytes. */
const PIECE = 1 << 20;

/** Text in reused buffers: allocating memory takes longer than filling it with text. */
export class TextPieces {
  readonly #spare: ArrayBuffer[] = [];
  #full: Uint8Array<ArrayBuffer>[] = [];
  #piece = new Uint8Array(0);
  #used = 0;

  /** Adds text, which is valid during the call only. */
  readonly write = (text: Uint8Array): void => {
    for (let from = 0; from < text.length;) {
      if (this.#used === this.#piece.length) this.#next();
      const size = Math.min(text.length - from, this.#piece.length - this.#used);
      this.#piece.set(text.subarray(from, from + size), this.#used);
      this.#used += size;
      from += size;
    }
  };

  /** Returns the text since the last call. */
  take(): Uint8Array<ArrayBuffer>[] {
    if (this.#used > 0) this.#full.push(this.#piece.subarray(0, this.#used));
    this.#piece = new Uint8Array(0);
    this.#used = 0;
    const full = this.#full;
    this.#full = [];
    return full;
  }

  reuse(pieces: readonly ArrayBuffer[]): void {
    this.#spare.push(...pieces);
  }

  #next(): void {
    if (this.#used > 0) this.#full.push(this.#piece);
    this.#piece = new Uint8Array(this.#spare.pop() ?? new ArrayBuffer(PIECE));
    this.#used = 0;
  }
}
