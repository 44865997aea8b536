/** Collects bytes. */
const CHUNK = 1 << 18;

/** Collects records: to write each by itself would take longer than to make it. */
export class Pieces {
  readonly #bytes = new Uint8Array(CHUNK);
  readonly #write: (records: Uint8Array) => Promise<void>;
  #used = 0;

  constructor(write: (records: Uint8Array) => Promise<void>) {
    this.#write = write;
  }

  /** Takes whole records; a promise is returned only where something is written. */
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

  /** Writes what was collected. */
  async flush(): Promise<void> {
    const used = this.#used;
    this.#used = 0;
    if (used > 0) await this.#write(this.#bytes.subarray(0, used));
  }
}
