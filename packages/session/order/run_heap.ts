/** A binary heap of sorted runs that have rows left, by the time of their next row. */
export class RunHeap {
  readonly heads: Int32Array;
  readonly #timeHi: Int32Array;
  readonly #timeLo: Int32Array;
  readonly #heap: Int32Array;
  /** The count of runs that have rows left. */
  size: number;

  /**
   * Creates a heap of sorted runs.
   *
   * @param starts First row of each run.
   */
  constructor(starts: readonly number[], timeHi: Int32Array, timeLo: Int32Array) {
    this.heads = Int32Array.from(starts);
    this.#timeHi = timeHi;
    this.#timeLo = timeLo;
    this.size = starts.length;
    this.#heap = Int32Array.from(starts, (_, run) => run);
    for (let i = (this.size >> 1) - 1; i >= 0; i--) this.#sink(i);
  }

  /** The run with the earliest head, or -1. */
  get first(): number {
    return this.size > 0 ? this.#heap[0] as number : -1;
  }

  /** The run with the second earliest head, or -1. */
  get second(): number {
    if (this.size < 2) return -1;
    const left = this.#heap[1] as number;
    if (this.size === 2) return left;
    const right = this.#heap[2] as number;
    return this.#isBefore(right, left) ? right : left;
  }

  /** Sets the next row of the first run, which ends before `end`. */
  advance(row: number, end: number): void {
    const heap = this.#heap;
    this.heads[heap[0] as number] = row;
    if (row === end) heap[0] = heap[--this.size] as number;
    this.#sink(0);
  }

  /** Sets the next rows of the last two runs. At most one of them may be finished. */
  set(a: number, headA: number, endA: number, b: number, headB: number, endB: number): void {
    const heap = this.#heap;
    this.heads[a] = headA;
    this.heads[b] = headB;
    if (headA === endA || headB === endB) {
      heap[0] = headA === endA ? b : a;
      this.size = 1;
      return;
    }
    const isFirst = this.#isBefore(a, b);
    heap[0] = isFirst ? a : b;
    heap[1] = isFirst ? b : a;
  }

  #isBefore(a: number, b: number): boolean {
    const i = this.heads[a] as number;
    const j = this.heads[b] as number;
    const hi = this.#timeHi[i] as number;
    const lo = this.#timeLo[i] as number;
    const otherHi = this.#timeHi[j] as number;
    const otherLo = this.#timeLo[j] as number;
    return hi < otherHi || (hi === otherHi && (lo < otherLo || (lo === otherLo && a < b)));
  }

  #sink(from: number): void {
    const heap = this.#heap;
    const size = this.size;
    for (let i = from, child = 2 * i + 1; child < size; child = 2 * i + 1) {
      if (child + 1 < size && this.#isBefore(heap[child + 1] as number, heap[child] as number)) {
        child++;
      }
      const run = heap[i] as number;
      if (!this.#isBefore(heap[child] as number, run)) break;
      heap[i] = heap[child] as number;
      heap[child] = run;
      i = child;
    }
  }
}
