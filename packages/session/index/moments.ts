import { enlarge } from "@perfdata/format/bytes";
import { isKnownTime } from "../order/record_time.ts";
import type { Rounds } from "./rounds.ts";

/**
 * The step at which a record is delivered.
 *
 * @param round Number of FINISHED_ROUND records before it.
 * @param hi Upper half of its time.
 * @param lo Lower half.
 */
export function stepOf(rounds: Rounds, round: number, hi: number, lo: number): number {
  return isKnownTime(hi | 0, lo | 0) ? 2 * rounds.flush(round, hi, lo) : 2 * round + 1;
}

/** Moments in the form for sending them to another thread. */
export type MomentsPart = Pick<Moments, "step" | "hi" | "lo" | "position">;

/**
 * Columns of moments: sort keys for the order in which perf delivers records.
 *
 * A key is the step of the delivery, the time, and the position among the records of the file. Step
 * `2k` is flush `k` of {@link Rounds}. A record without a time is delivered when it is read,
 * between two flushes, at an odd step. Keys are unique.
 */
export class Moments {
  /** Number of keys. */
  count: number = 0;
  /** Step of the delivery. */
  step: Int32Array<ArrayBuffer> = new Int32Array(64);
  /** Upper half of the time; 0 if only the position counts. */
  hi: Uint32Array<ArrayBuffer> = new Uint32Array(64);
  /** Lower half. */
  lo: Uint32Array<ArrayBuffer> = new Uint32Array(64);
  /** Index of the record among those of the file. */
  position: Float64Array<ArrayBuffer> = new Float64Array(64);

  /** Copies the keys into the form for another thread. */
  part(): MomentsPart {
    const { count, step, hi, lo, position } = this;
    return {
      step: step.slice(0, count),
      hi: hi.slice(0, count),
      lo: lo.slice(0, count),
      position: position.slice(0, count),
    };
  }

  /** Restores the keys that another thread sent. */
  static of(part: MomentsPart): Moments {
    return Object.assign(new Moments(), part, { count: part.step.length });
  }

  /** Adds a key; returns its number. */
  add(step: number, hi: number, lo: number, position: number): number {
    const at = this.count++;
    this.#reserve(at + 1);
    this.set(at, step, hi, lo, position);
    return at;
  }

  /**
   * Copies keys of another list.
   *
   * @param numbers Indices of the keys; all by default.
   */
  append(from: Moments, numbers?: Int32Array): void {
    const at = this.count;
    const added = numbers?.length ?? from.count;
    this.count = at + added;
    this.#reserve(this.count);
    if (numbers === undefined) {
      this.step.set(from.step.subarray(0, added), at);
      this.hi.set(from.hi.subarray(0, added), at);
      this.lo.set(from.lo.subarray(0, added), at);
      this.position.set(from.position.subarray(0, added), at);
      return;
    }
    const { step, hi, lo, position } = from;
    for (let i = 0; i < added; i++) {
      const number = numbers[i] as number;
      this.set(
        at + i,
        step[number] as number,
        hi[number] as number,
        lo[number] as number,
        position[number] as number,
      );
    }
  }

  #reserve(count: number): void {
    if (count <= this.step.length) return;
    this.step = enlarge(this.step, count);
    this.hi = enlarge(this.hi, count);
    this.lo = enlarge(this.lo, count);
    this.position = enlarge(this.position, count);
  }

  /** Overwrites a key. */
  set(at: number, step: number, hi: number, lo: number, position: number): void {
    this.step[at] = step;
    this.hi[at] = hi;
    this.lo[at] = lo;
    this.position[at] = position;
  }

  /** Whether key `at` equals the given key or comes before it. */
  isUpTo(at: number, step: number, hi: number, lo: number, position: number): boolean {
    const ownStep = this.step[at] as number;
    if (ownStep !== step) return ownStep < step;
    const ownHi = this.hi[at] as number;
    hi >>>= 0;
    if (ownHi !== hi) return ownHi < hi;
    const ownLo = this.lo[at] as number;
    lo >>>= 0;
    return ownLo !== lo ? ownLo < lo : (this.position[at] as number) <= position;
  }

  /**
   * Replaces the round of each key by its step, after all rounds are known.
   *
   * @param isTimed Whether records happen in the order of their times; otherwise positions decide.
   */
  settle(rounds: Rounds, isTimed: boolean): void {
    const { step, hi, lo } = this;
    for (let i = 0; i < this.count; i++) {
      const [h, l] = [hi[i] as number, lo[i] as number];
      if (isTimed) step[i] = stepOf(rounds, step[i] as number, h, l);
      else step[i] = hi[i] = lo[i] = 0;
    }
  }

  /** Indices of the keys, sorted. */
  order(): Int32Array<ArrayBuffer> {
    const { step, hi, lo, position } = this;
    // An array: its sort merges rising stretches, and typed arrays are sorted from the beginning.
    const numbers = Array.from({ length: this.count }, (_, i) => i);
    return Int32Array.from(
      numbers.sort((a, b) =>
        (step[a] as number) - (step[b] as number) || (hi[a] as number) - (hi[b] as number) ||
        (lo[a] as number) - (lo[b] as number) || (position[a] as number) - (position[b] as number)
      ),
    );
  }
}
