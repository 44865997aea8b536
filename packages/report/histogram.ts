/** Words of a key: see {@link Histogram.add}. */
export const KEY_WORDS = 9;

/** Words of an entry: the key, then the number of samples. */
const ENTRY = KEY_WORDS + 1;

/**
 * Samples and periods by event, comm, binary and address: an open-addressing table in typed arrays.
 *
 * Adding allocates nothing; the table doubles where it is three quarters full.
 *
 * @example
 * ```ts
 * import { Histogram } from "@perfdata/report";
 * import { assertEquals } from "@std/assert";
 *
 * const histogram = new Histogram();
 * histogram.add(0, 3, 1, 2, 0, 0x401000, 0, 0, 0, 250000);
 * histogram.add(0, 3, 1, 2, 0, 0x401000, 0, 0, 0, 1000);
 * const rows: number[][] = [];
 * histogram.forEach((key, samples, period) => rows.push([key[5] as number, samples, period]));
 * assertEquals(rows, [[0x401000, 2, 251000]]);
 * ```
 */
export class Histogram {
  /** Number of distinct keys. */
  size = 0;
  #entries: Int32Array<ArrayBuffer>;
  #periods: Float64Array<ArrayBuffer>;
  #used: Uint8Array<ArrayBuffer>;
  #mask: number;

  /**
   * Makes an empty table.
   *
   * @param capacity Entries that there is room for at first: a power of two.
   */
  constructor(capacity: number = 1 << 12) {
    this.#entries = new Int32Array(capacity * ENTRY);
    this.#periods = new Float64Array(capacity);
    this.#used = new Uint8Array(capacity);
    this.#mask = capacity - 1;
  }

  /**
   * Adds a sample.
   *
   * @param event Number of the event.
   * @param comm Number of the comm.
   * @param binary Number of what is mapped, or -1 for an address without a map.
   * @param cpumode `misc & PERF_RECORD_MISC_CPUMODE_MASK`.
   * @param hi High half of the address.
   * @param lo Low half of the address.
   * @param pid Process, or 0 where processes are not told apart.
   * @param tid Thread, or 0 where threads are not told apart.
   * @param cpu CPU, or 0 where CPUs are not told apart.
   * @param period Events that the sample stands for.
   * @param samples Number of samples.
   */
  add(
    event: number,
    comm: number,
    binary: number,
    cpumode: number,
    hi: number,
    lo: number,
    pid: number,
    tid: number,
    cpu: number,
    period: number,
    samples: number = 1,
  ): void {
    hi |= 0;
    lo |= 0;
    const entries = this.#entries;
    const used = this.#used;
    const mask = this.#mask;
    let hash = Math.imul(lo ^ Math.imul(binary, 0x9e3779b1), 0x85ebca6b);
    hash = Math.imul(hash ^ hash >>> 15 ^ comm ^ Math.imul(event + 1, 0x27d4eb2f), 0xc2b2ae35);
    hash ^= hash >>> 13 ^ hi ^ Math.imul(tid ^ cpu << 20, 0x165667b1);
    let slot = (hash ^ hash >>> 16) & mask;
    for (;;) {
      const at = slot * ENTRY;
      if (used[slot] === 0) {
        used[slot] = 1;
        entries[at] = event;
        entries[at + 1] = comm;
        entries[at + 2] = binary;
        entries[at + 3] = cpumode;
        entries[at + 4] = hi;
        entries[at + 5] = lo;
        entries[at + 6] = pid;
        entries[at + 7] = tid;
        entries[at + 8] = cpu;
        entries[at + 9] = samples;
        this.#periods[slot] = period;
        if (++this.size * 4 > mask * 3) this.#grow();
        return;
      }
      if (
        entries[at + 5] === lo && entries[at + 2] === binary && entries[at + 1] === comm &&
        entries[at + 4] === hi && entries[at] === event && entries[at + 3] === cpumode &&
        entries[at + 7] === tid && entries[at + 6] === pid && entries[at + 8] === cpu
      ) {
        (entries[at + 9] as number) += samples;
        (this.#periods[slot] as number) += period;
        return;
      }
      slot = slot + 1 & mask;
    }
  }

  /** Adds all of another table's entries. */
  merge(other: HistogramColumns): void {
    const { entries, periods } = other;
    for (let i = 0; i < periods.length; i++) {
      const at = i * ENTRY;
      this.add(
        entries[at] as number,
        entries[at + 1] as number,
        entries[at + 2] as number,
        entries[at + 3] as number,
        entries[at + 4] as number,
        entries[at + 5] as number,
        entries[at + 6] as number,
        entries[at + 7] as number,
        entries[at + 8] as number,
        periods[i] as number,
        entries[at + 9] as number,
      );
    }
  }

  /** The entries without the gaps between them, to be handed to another thread. */
  columns(): HistogramColumns {
    const entries = new Int32Array(this.size * ENTRY);
    const periods = new Float64Array(this.size);
    let n = 0;
    for (let slot = 0; slot <= this.#mask; slot++) {
      if (this.#used[slot] === 0) continue;
      entries.set(this.#entries.subarray(slot * ENTRY, (slot + 1) * ENTRY), n * ENTRY);
      periods[n++] = this.#periods[slot] as number;
    }
    return { entries, periods };
  }

  /**
   * Calls `each` for all entries, in no particular order.
   *
   * @param each Gets the key as {@link Histogram.add} took it: a view that the next call overwrites.
   */
  forEach(each: (key: Int32Array, samples: number, period: number) => void): void {
    for (let slot = 0; slot <= this.#mask; slot++) {
      if (this.#used[slot] === 0) continue;
      const at = slot * ENTRY;
      each(
        this.#entries.subarray(at, at + KEY_WORDS),
        this.#entries[at + KEY_WORDS] as number,
        this.#periods[slot] as number,
      );
    }
  }

  #grow(): void {
    const { entries, periods } = this.columns();
    const capacity = (this.#mask + 1) * 2;
    this.#entries = new Int32Array(capacity * ENTRY);
    this.#periods = new Float64Array(capacity);
    this.#used = new Uint8Array(capacity);
    this.#mask = capacity - 1;
    this.size = 0;
    this.merge({ entries, periods });
  }
}

/** The entries of a {@link Histogram}, one after the other. */
export interface HistogramColumns {
  /** Keys and samples: ten words an entry. */
  readonly entries: Int32Array<ArrayBuffer>;
  /** Periods. */
  readonly periods: Float64Array<ArrayBuffer>;
}
