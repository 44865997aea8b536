/** Size of the buffer in bytes. */
const CHUNK = 1 << 18;

/** Collects records, since writing each record separately is slow. */
export class Pieces {
  readonly #bytes = new Uint8Array(CHUNK);
  readonly #write: (records: Uint8Array) => Promise<void>;
  #used = 0;

  constructor(write: (records: Uint8Array) => Promise<void>) {
    this.#write = write;
  }

  /** Adds whole records; returns a promise only if the buffer is written. */
  put(records: Uint8Array): Promise<void> | undefined {
    if (this.#used + records.length > CHUNK) return this.#flushAnd(records);
    this.#bytes.set(records, this.#used);
    this.#used += records.length;
    return undefined;
  }

  async #flushAnd(records: Uint8Array): Promise<void> {
    await this.flush();
    if (records.length > CHUNK) await this.#write(records);
    else this.put(records);
  }

  async flush(): Promise<void> {
    const used = this.#used;
    this.#used = 0;
    if (used > 0) await this.#write(this.#bytes.subarray(0, used));
  }
}
