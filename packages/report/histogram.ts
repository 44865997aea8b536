/** Words of a key: see {@link Histogram.add}. */
export const KEY_WORDS = 9;

/** Words of an entry: the key, then the number of samples. */
const ENTRY = KEY_WORDS + 1;

/**
 * Samples and periods by event, comm, binary and address: an open-addressing table in typed arrays.
 *
 * Adding allocates nothing but when the table doubles. A key keeps its row, so that whoever adds to the
 * same key again and again need not look for it each time.
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
  /** Key and number of samples of each entry, in the order in which they were added. */
  #entries: Int32Array<ArrayBuffer>;
  #periods: Float64Array<ArrayBuffer>;
  #slots: Int32Array<ArrayBuffer>;

  /**
   * Makes an empty table.
   *
   * @param capacity Entries that there is room for at first: a power of two.
   */
  constructor(capacity: number = 1 << 12) {
    this.#entries = new Int32Array(capacity * ENTRY);
    this.#periods = new Float64Array(capacity);
    this.#slots = new Int32Array(2 * capacity).fill(-1);
  }

  /**
   * The row of a key, which stays the same; it is added, without samples, where it is new.
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
   */
  row(
    event: number,
    comm: number,
    binary: number,
    cpumode: number,
    hi: number,
    lo: number,
    pid: number,
    tid: number,
    cpu: number,
  ): number {
    hi |= 0;
    lo |= 0;
    const entries = this.#entries;
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hashKey(event, comm, binary, hi, lo, pid, tid, cpu) & mask;
    for (;;) {
      const row = slots[slot] as number;
      if (row < 0) break;
      const at = row * ENTRY;
      if (
        entries[at + 5] === lo && entries[at + 2] === binary && entries[at + 1] === comm &&
        entries[at + 4] === hi && entries[at] === event && entries[at + 3] === cpumode &&
        entries[at + 7] === tid && entries[at + 6] === pid && entries[at + 8] === cpu
      ) return row;
      slot = slot + 1 & mask;
    }
    const row = this.size++;
    if (row === this.#periods.length) {
      const more = new Int32Array(entries.length * 2);
      more.set(entries);
      this.#entries = more;
      const periods = new Float64Array(row * 2);
      periods.set(this.#periods);
      this.#periods = periods;
    }
    const into = this.#entries;
    const at = row * ENTRY;
    into[at] = event;
    into[at + 1] = comm;
    into[at + 2] = binary;
    into[at + 3] = cpumode;
    into[at + 4] = hi;
    into[at + 5] = lo;
    into[at + 6] = pid;
    into[at + 7] = tid;
    into[at + 8] = cpu;
    slots[slot] = row;
    if (this.size * 2 > mask) this.#rehash();
    return row;
  }

  /** Adds samples to a row. */
  count(row: number, period: number, samples: number = 1): void {
    (this.#entries[row * ENTRY + KEY_WORDS] as number) += samples;
    (this.#periods[row] as number) += period;
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
    this.count(this.row(event, comm, binary, cpumode, hi, lo, pid, tid, cpu), period, samples);
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

  /** A copy of the entries, to be handed to another thread. */
  columns(): HistogramColumns {
    return {
      entries: this.#entries.slice(0, this.size * ENTRY),
      periods: this.#periods.slice(0, this.size),
    };
  }

  /**
   * Calls `each` for all entries, in the order in which they were added.
   *
   * @param each Gets the key as {@link Histogram.add} took it, in an array that the next key is put
   * into as well.
   */
  forEach(each: (key: Int32Array, samples: number, period: number) => void): void {
    const key = new Int32Array(KEY_WORDS);
    for (let row = 0; row < this.size; row++) {
      const entries = this.#entries;
      const at = row * ENTRY;
      for (let i = 0; i < KEY_WORDS; i++) key[i] = entries[at + i] as number;
      each(key, entries[at + KEY_WORDS] as number, this.#periods[row] as number);
    }
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2).fill(-1);
    const mask = slots.length - 1;
    const entries = this.#entries;
    for (let row = 0; row < this.size; row++) {
      const at = row * ENTRY;
      let slot = hashKey(
        entries[at] as number,
        entries[at + 1] as number,
        entries[at + 2] as number,
        entries[at + 4] as number,
        entries[at + 5] as number,
        entries[at + 6] as number,
        entries[at + 7] as number,
        entries[at + 8] as number,
      ) & mask;
      while ((slots[slot] as number) >= 0) slot = slot + 1 & mask;
      slots[slot] = row;
    }
    this.#slots = slots;
  }
}

function hashKey(
  event: number,
  comm: number,
  binary: number,
  hi: number,
  lo: number,
  pid: number,
  tid: number,
  cpu: number,
): number {
  let hash = Math.imul(lo ^ Math.imul(binary, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ hash >>> 15 ^ comm ^ Math.imul(event + 1, 0x27d4eb2f), 0xc2b2ae35);
  hash ^= hash >>> 13 ^ hi ^ Math.imul(tid ^ cpu << 20 ^ Math.imul(pid, 0x9e3779b1), 0x165667b1);
  return hash ^ hash >>> 16;
}

/** The entries of a {@link Histogram}, one after the other. */
export interface HistogramColumns {
  /** Keys and samples: ten words an entry. */
  readonly entries: Int32Array<ArrayBuffer>;
  /** Periods. */
  readonly periods: Float64Array<ArrayBuffer>;
}
