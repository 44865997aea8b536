import { BRANCH_WORDS } from "../samples/pt_sample_rows.ts";

/** The last branches of a thread, as perf records them for `--itrace=l`. */
export class BranchRing {
  count = 0;
  readonly #size: number;
  readonly #words: Int32Array;
  /** Index of the newest branch. */
  #at = 0;

  /** Keeps at most `size` branches. */
  constructor(size: number) {
    this.#size = size;
    this.#words = new Int32Array(size * BRANCH_WORDS);
  }

  clear(): void {
    this.count = 0;
    this.#at = 0;
  }

  /** Adds a branch; returns the offset of its words: see {@linkcode BRANCH_WORDS}. */
  add(): number {
    this.#at = (this.#at === 0 ? this.#size : this.#at) - 1;
    if (this.count < this.#size) this.count++;
    return this.#at * BRANCH_WORDS;
  }

  get words(): Int32Array {
    return this.#words;
  }

  /** Offset of a branch's words; the newest branch is number 0. */
  at(number: number): number {
    return (this.#at + number) % this.#size * BRANCH_WORDS;
  }

  /** Writes `count` branches to `to`, newest first, from number `skip` on; returns the end. */
  put(to: Int32Array, at: number, count: number, skip = 0): number {
    const start = (this.#at + skip) % this.#size;
    const first = Math.min(count, this.#size - start);
    const from = start * BRANCH_WORDS;
    to.set(this.#words.subarray(from, from + first * BRANCH_WORDS), at);
    const rest = (count - first) * BRANCH_WORDS;
    to.set(this.#words.subarray(0, rest), at + first * BRANCH_WORDS);
    return at + count * BRANCH_WORDS;
  }
}
