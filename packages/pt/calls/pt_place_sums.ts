import { enlarge } from "@perfdata/format/bytes";

/**
 * Times and cycles are rounded to multiples of 2^-10: sums below 2^43 (ns: two hours) are exact, and do
 * not depend on the order of addition.
 */
const GRAIN = 1.5 * 2 ** 42;

/** Up to where sums of {@linkcode grained} numbers are exact. */
export const EXACT: number = 2 ** 43;

/** A multiple of 2^-10 next to a number. */
export function grained(value: number): number {
  return value + GRAIN - GRAIN;
}

/** Numbers of a place that is handed out. */
const WORDS = 4;

/** Instructions, time and core clocks by place. */
export class PlaceSums {
  /** Instructions executed, by place. */
  insnsOf: Float64Array = new Float64Array(1024);
  /** Time spent in the place itself, ns. */
  timeOf: Float64Array = new Float64Array(1024);
  /** Core clocks of the place itself, if the trace has CYC packets. */
  cyclesOf: Float64Array = new Float64Array(1024);
  /** Instructions in all. */
  insns = 0;
  /** Time in all that was given to instructions, ns. */
  time = 0;

  /** Makes room for this many places. */
  room(places: number): void {
    if (this.insnsOf.length >= places) return;
    this.insnsOf = enlarge(this.insnsOf, places);
    this.timeOf = enlarge(this.timeOf, places);
    this.cyclesOf = enlarge(this.cyclesOf, places);
  }

  /** Adds instructions of a place, each of which took this many ns and core clocks. */
  add(place: number, insns: number, nsEach: number, clocksEach: number): void {
    this.insnsOf[place] = (this.insnsOf[place] as number) + insns;
    this.timeOf[place] = (this.timeOf[place] as number) + grained(insns * nsEach);
    if (clocksEach === 0) return;
    this.cyclesOf[place] = (this.cyclesOf[place] as number) + grained(insns * clocksEach);
  }

  /** Hands out all sums, and is empty then: place, instructions, ns, core clocks of each. */
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
   * Adds sums that another one has handed out.
   *
   * @param placeOf The place here of one there.
   */
  join(words: Float64Array, placeOf: Int32Array): void {
    for (let i = 0; i < words.length; i += WORDS) {
      const place = placeOf[words[i] as number] as number;
      this.insnsOf[place] = (this.insnsOf[place] as number) + (words[i + 1] as number);
      this.timeOf[place] = (this.timeOf[place] as number) + (words[i + 2] as number);
      this.cyclesOf[place] = (this.cyclesOf[place] as number) + (words[i + 3] as number);
    }
  }

  /** Whether all sums are exact, and so the same in whichever order they were added. */
  get isExact(): boolean {
    const isSmall = (sum: number) => sum < EXACT;
    return Number.isSafeInteger(this.time) && this.timeOf.every(isSmall) &&
      this.cyclesOf.every(isSmall);
  }
}
