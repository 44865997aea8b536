import { enlarge } from "@perfdata/format/bytes";

/**
 * Times and cycles are rounded to multiples of 2^-10, so that sums below 2^43 (in ns, two hours)
 * are exact and independent of the order of addition.
 */
const GRAIN = 1.5 * 2 ** 42;

/** Sums of {@linkcode grained} numbers are exact below this one. */
export const EXACT: number = 2 ** 43;

/** Rounds a number to a multiple of 2^-10. */
export function grained(value: number): number {
  return value + GRAIN - GRAIN;
}

/** Number of words of a place in a result. */
const WORDS = 4;

/** Instructions, time and core clocks by place. */
export class PlaceSums {
  /** Instructions executed, by place. */
  insnsOf: Float64Array = new Float64Array(1024);
  /** Time spent in the place itself, ns. */
  timeOf: Float64Array = new Float64Array(1024);
  /** Core clocks of the place itself, if the trace has CYC packets. */
  cyclesOf: Float64Array = new Float64Array(1024);
  /** Total of instructions. */
  insns = 0;
  /** Total time of instructions in ns. */
  time = 0;

  /** Makes room for this many places. */
  room(places: number): void {
    if (this.insnsOf.length >= places) return;
    this.insnsOf = enlarge(this.insnsOf, places);
    this.timeOf = enlarge(this.timeOf, places);
    this.cyclesOf = enlarge(this.cyclesOf, places);
  }

  /** Adds instructions of a place, with the ns and core clocks of each. */
  add(place: number, insns: number, nsEach: number, clocksEach: number): void {
    this.insnsOf[place] = (this.insnsOf[place] as number) + insns;
    this.timeOf[place] = (this.timeOf[place] as number) + grained(insns * nsEach);
    if (clocksEach === 0) return;
    this.cyclesOf[place] = (this.cyclesOf[place] as number) + grained(insns * clocksEach);
  }

  /** Returns all sums and clears them: place, instructions, ns, core clocks of each. */
  take(): Float64Array<ArrayBuffer> {
    const words: number[] = [];
    for (let place = 0; place < this.insnsOf.length; place++) {
      const insns = this.insnsOf[place] as number;
      if (insns === 0) continue;
      words.push(place, insns, this.timeOf[place] as number, this.cyclesOf[place] as number);
    }
    for (const sums of [this.insnsOf, this.timeOf, this.cyclesOf]) sums.fill(0);
    this.insns = this.time = 0;
    return Float64Array.from(words);
  }

  /**
   * Adds the sums of another thread.
   *
   * @param placeOf Places here, by places of the other thread.
   */
  join(words: Float64Array, placeOf: Int32Array): void {
    for (let i = 0; i < words.length; i += WORDS) {
      const place = placeOf[words[i] as number] as number;
      this.insnsOf[place] = (this.insnsOf[place] as number) + (words[i + 1] as number);
      this.timeOf[place] = (this.timeOf[place] as number) + (words[i + 2] as number);
      this.cyclesOf[place] = (this.cyclesOf[place] as number) + (words[i + 3] as number);
    }
  }

  /** Whether all sums are exact, so that they do not depend on the order of addition. */
  get isExact(): boolean {
    const isSmall = (sum: number) => sum < EXACT;
    return Number.isSafeInteger(this.time) && this.timeOf.every(isSmall) &&
      this.cyclesOf.every(isSmall);
  }
}
