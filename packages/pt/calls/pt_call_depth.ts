import { enlarge } from "@perfdata/format/bytes";
import { IP_FLAG } from "../samples/pt_sample_rows.ts";

/**
 * The open calls of a thread by perf's rules (`thread_stack__event` of
 * tools/perf/util/thread-stack.c): only return addresses count, not the called function.
 */
export class CallDepth {
  /** Return addresses of the open calls, outermost first: the first `count`. */
  low: Int32Array = new Int32Array(64);
  high: Int32Array = new Int32Array(64);
  /** The place of each call, or -1. */
  place: Int32Array = new Int32Array(64);
  /** Number of open calls. */
  count = 0;
  /** Index of the piece of AUX data with these calls, which end with the piece. */
  trace = -1;
  #traceEnd = new Uint8Array(64);
  #last = 0;
  #pushed = false;

  /** The depth at the last branch; a return has the depth of its call. */
  get depth(): number {
    return this.#last;
  }

  /**
   * Whether the last branch was a call. If so, {@linkcode CallDepth.setPlace} may set its place.
   */
  get pushed(): boolean {
    return this.#pushed;
  }

  clear(): void {
    this.count = 0;
    this.#last = 0;
  }

  setPlace(place: number): void {
    this.place[this.count - 1] = place;
  }

  /** Applies a branch from an instruction of `size` bytes; unknown addresses are 0. */
  branch(
    flags: number,
    fromLow: number,
    fromHigh: number,
    size: number,
    toLow: number,
    toHigh: number,
  ): void {
    this.#pushed = false;
    const isTo = toLow !== 0 || toHigh !== 0;
    if ((flags & IP_FLAG.CALL) !== 0) {
      const sum = (fromLow >>> 0) + size;
      const low = sum | 0;
      const high = sum >= 2 ** 32 ? fromHigh + 1 | 0 : fromHigh;
      if (isTo && (low !== toLow || high !== toHigh)) {
        this.#push(low, high, (flags & IP_FLAG.TRACE_END) !== 0);
      }
    } else if ((flags & IP_FLAG.TRACE_BEGIN) !== 0) {
      this.#pop(toLow, toHigh);
      while (this.count > 0 && this.#traceEnd[this.count - 1] === 1) this.count--;
    } else if ((flags & IP_FLAG.RETURN) !== 0 && isTo) this.#pop(toLow, toHigh);
    this.#last = this.count + ((flags & IP_FLAG.RETURN) !== 0 ? 1 : 0);
  }

  #push(low: number, high: number, traceEnd: boolean): void {
    const n = this.count++;
    if (n === this.low.length) {
      this.low = enlarge(this.low, n + 1);
      this.high = enlarge(this.high, n + 1);
      this.place = enlarge(this.place, n + 1);
      this.#traceEnd = enlarge(this.#traceEnd, n + 1);
    }
    this.low[n] = low;
    this.high[n] = high;
    this.place[n] = -1;
    this.#traceEnd[n] = traceEnd ? 1 : 0;
    this.#pushed = true;
  }

  #pop(low: number, high: number): void {
    for (let i = this.count - 1; i >= 0; i--) {
      if (this.low[i] === low && this.high[i] === high) {
        this.count = i;
        return;
      }
    }
  }
}
