import type { ItraceOptions } from "./itrace.ts";
import type { PtClock } from "../decode/pt_clock.ts";

/**
 * Selects the instructions to sample: every Nth, or one every N ticks of the TSC. As in perf, an
 * instruction counts as one tick (`intel_pt_next_sample` and `intel_pt_sample_insn` of perf's
 * decoder).
 */
export class SamplePeriod {
  readonly isOn: boolean;
  readonly #isTicks: boolean;
  readonly #period: number;
  /** Added to the decoder's times, so that multiples of the period are those of the TSC. */
  readonly #phase: number = 0;
  /** Instructions up to and including the next sample; 0 if it has to be computed. */
  #left = 0;
  /** Instructions since the last sample. */
  #passed = 0;
  #ticks = 0;
  #insns = 0;
  #lastRound = 0;
  #isContinuous = false;
  /** Samples since {@linkcode SamplePeriod.takePart}. */
  #takes = 0;

  /** Starts before the first instruction. */
  constructor(wish: ItraceOptions["instructions"], clock: PtClock) {
    this.isOn = wish !== undefined;
    const { unit = "instructions", period = 1 } = wish ?? {};
    let ticks = unit === "ns" ? clock.period(period) : period;
    // Without times, or with a period below one tick, every instruction is sampled.
    this.#isTicks = unit !== "instructions" && ticks > 0;
    if (this.#isTicks) {
      ticks = 2 ** Math.floor(Math.log2(ticks));
      this.#phase = Number(clock.base % BigInt(ticks));
    }
    this.#period = this.#isTicks ? ticks : unit === "instructions" ? period : 1;
  }

  /** Sets the time of the last packet. */
  time(ticks: number): void {
    if (ticks < 0) return;
    this.#ticks = ticks;
    this.#insns = 0;
  }

  /** Handles a branch or an event, which ends a walk of perf. */
  branch(): void {
    if (this.#isTicks) this.#left = 0;
  }

  /**
   * Advances to the next sampled instruction among those from `from` up to `count`.
   *
   * @returns Its number, or `count` if there is none.
   */
  next(count: number, from = 0): number {
    if (count <= from) return count;
    if (this.#left === 0) this.#left = this.#isTicks ? this.#nextPeriod() : this.#period;
    const rest = count - from;
    if (rest < this.#left) {
      this.#left -= rest;
      this.#passed += rest;
      this.#insns += rest;
      return count;
    }
    const n = this.#left;
    this.#left = 0;
    this.#passed += n;
    this.#insns += n;
    if (this.#isTicks) this.#sampled();
    return from + n - 1;
  }

  /**
   * Skips instructions, the last of which is a branch, if none of them is sampled.
   *
   * @returns Whether they were skipped.
   */
  passes(count: number): boolean {
    if (!this.#isTicks) {
      if (this.#left === 0) this.#left = this.#period;
      if (count >= this.#left) return false;
      this.#left -= count;
    } else {
      if (this.#left !== 0) return false;
      const now = this.#ticks + this.#phase + this.#insns + (this.#isContinuous ? 0 : 1);
      const round = this.#roundOf(now);
      // Wherever branches are, the next sample is not before the next multiple of the period.
      if (round > this.#lastRound || count >= round + this.#period - now) return false;
      this.#insns += count;
    }
    this.#passed += count;
    return true;
  }

  /** Returns the number of instructions since the last sample, and resets it. */
  take(): number {
    const passed = this.#passed;
    this.#passed = 0;
    this.#takes++;
    return passed;
  }

  /** Whether the last sample is the first since {@linkcode SamplePeriod.takePart}. */
  get isFirst(): boolean {
    return this.#takes === 1;
  }

  /**
   * Ends a part of the trace: returns the number of its samples, and of instructions since the last
   * one, and resets both.
   */
  takePart(): { readonly takes: number; readonly passed: number } {
    const part = { takes: this.#takes, passed: this.#passed };
    this.#takes = this.#passed = 0;
    return part;
  }

  /**
   * The state that determines the next sampled instructions. Their periods depend on earlier code,
   * too.
   */
  state(): readonly number[] {
    if (!this.#isTicks) return this.#period === 1 ? [] : [this.#left];
    const round = this.#roundOf(this.#ticks + this.#phase + this.#insns);
    return [
      this.#left,
      this.#ticks,
      this.#insns,
      // Time only increases: all earlier multiples are equivalent.
      this.#lastRound < round ? -1 : this.#lastRound,
      this.#isContinuous ? 1 : 0,
    ];
  }

  /** Adds the instructions of a skipped sample to the next one. */
  back(passed: number): void {
    this.#passed += passed;
  }

  /** The last multiple of the period, a power of two, up to a time. */
  #roundOf(now: number): number {
    // `%` takes several times as long for numbers above 2^31.
    return Math.floor(now / this.#period) * this.#period;
  }

  #nextPeriod(): number {
    const period = this.#period;
    let now = this.#ticks + this.#phase + this.#insns;
    let round = this.#roundOf(now);
    if (this.#isContinuous) {
      if (round > this.#lastRound) return 1;
    } else {
      now++;
      round = this.#roundOf(now);
      if (round > this.#lastRound) {
        this.#lastRound = round;
        this.#isContinuous = true;
      }
    }
    return round < this.#lastRound ? period : period - (now - round);
  }

  #sampled(): void {
    const period = this.#period;
    const now = this.#ticks + this.#phase + this.#insns;
    const round = this.#roundOf(now);
    if (round > this.#lastRound) this.#lastRound = round;
    else this.#lastRound += period;
  }

  /** Handles the end of tracing: the time until its next start is not sampled. */
  stop(): void {
    this.#isContinuous = false;
  }
}
