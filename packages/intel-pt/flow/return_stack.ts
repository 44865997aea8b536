/** How many calls the processor remembers (SDM, "Indirect Transfer Compression for Returns"). */
const DEPTH = 64;

/** The calls that a compressed return goes back to, as addresses and as blocks. */
export class ReturnStack {
  /** Bits 31:0 of the address taken last. */
  low = 0;
  /** Bits 63:32 of the address taken last. */
  high = 0;
  /** The block of the call taken last, or -1 where it has to be looked up by its address. */
  block: number = -1;

  readonly #low = new Int32Array(DEPTH);
  readonly #high = new Int32Array(DEPTH);
  readonly #block = new Int32Array(DEPTH);
  #top = 0;
  #depth = 0;

  /** Remembers a call: its return address, and the block that it ends. */
  push(low: number, high: number, block: number): void {
    const top = this.#top = this.#top + 1 & DEPTH - 1;
    this.#low[top] = low;
    this.#high[top] = high;
    this.#block[top] = block;
    if (this.#depth < DEPTH) this.#depth++;
  }

  /** Takes the last call; false where there is none. */
  pop(): boolean {
    if (this.#depth === 0) return false;
    const top = this.#top;
    this.low = this.#low[top] as number;
    this.high = this.#high[top] as number;
    this.block = this.#block[top] as number;
    this.#top = top - 1 & DEPTH - 1;
    this.#depth--;
    return true;
  }

  /** Forgets all calls. */
  clear(): void {
    this.#depth = 0;
  }

  /** Forgets the numbers of blocks, which mean nothing any more. */
  forgetBlocks(): void {
    this.#block.fill(-1);
  }
}
