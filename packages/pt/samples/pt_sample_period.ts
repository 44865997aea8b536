import type { ItraceOptions } from "./itrace.ts";
import type { PtClock } from "../decode/pt_clock.ts";

/**
 * Selects the instructions to sample: every Nth, or one every N ticks of the TSC. As in perf, an
 * instruction takes one tick (`intel_pt_next_sample` and `intel_pt_sample_insn` of perf's decoder).
 */
export class SamplePeriod {
  /** Whether instructions are sampled at all. */
  readonly isOn: boolean;
  readonly #isTicks: boolean;
  readonly #period: number;
  /** Shift of the decoder's times that makes multiples of the period round. */
  readonly #phase: number = 0;
  /** Instructions up to the next sample, this one included; 0 if it has to be worked out. */
  #left = 0;
  /** Instructions since the last sample. */
  #passed = 0;
  #ticks = 0;
  #insns = 0;
  #lastRound = 0;
  #isContinuous = false;
  /** Samples since {@linkcode SamplePeriod.takePart}. */
  #takes = 0;

  /** Begins at the first instruction. */
  constructor(wish: ItraceOptions["instructions"], clock: PtClock) {
    this.isOn = wish !== undefined;
    const { unit = "instructions", period = 1 } = wish ?? {};
    let ticks = unit === "ns" ? clock.period(period) : period;
    // Without times, or with less than a tick, each instruction is one.
    this.#isTicks = unit !== "instructions" && ticks > 0;
    if (this.#isTicks) {
      ticks = 2 ** Math.floor(Math.log2(ticks));
      this.#phase = Number(clock.base % BigInt(ticks));
    }
    this.#period = this.#isTicks ? ticks : unit === "instructions" ? period : 1;
  }

  /** The time changed. */
  time(ticks: number): void {
    if (ticks < 0) return;
    this.#ticks = ticks;
    this.#insns = 0;
  }

  /** A branch or an event ends a walk of perf. */
  branch(): void {
    if (this.#isTicks) this.#left = 0;
  }

  /**
   * Goes on to the next instruction to be sampled of those from `from` up to `count`.
   *
   * @returns Its number, or `count` where none of them is.
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
   * Goes on after instructions, the last of which is a branch, if none of them is to be sampled.
   *
   * @returns Whether it has.
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
      // Wherever branches are, the next sample is not before the time is a multiple of the period again.
      if (round > this.#lastRound || count >= round + this.#period - now) return false;
      this.#insns += count;
    }
    this.#passed += count;
    return true;
  }

  /** Instructions since the sample before; counts from here. */
  take(): number {
    const passed = this.#passed;
    this.#passed = 0;
    this.#takes++;
    return passed;
  }

  /** Whether the sample that was taken last is the first since {@linkcode SamplePeriod.takePart}. */
  get isFirst(): boolean {
    return this.#takes === 1;
  }

  /** Ends a part of the trace: how many samples were taken in it, and instructions since the last; counts from here. */
  takePart(): { readonly takes: number; readonly passed: number } {
    const part = { takes: this.#takes, passed: this.#passed };
    this.#takes = this.#passed = 0;
    return part;
  }

  /**
   * All that decides at which instructions the next samples are; how many instructions they stand for depends on what
   * was before, too.
   */
  state(): readonly number[] {
    if (!this.#isTicks) return this.#period === 1 ? [] : [this.#left];
    const round = this.#roundOf(this.#ticks + this.#phase + this.#insns);
    return [
      this.#left,
      this.#ticks,
      this.#insns,
      // Time goes on: of an earlier multiple it only matters that it is over.
      this.#lastRound < round ? -1 : this.#lastRound,
      this.#isContinuous ? 1 : 0,
    ];
  }

  /** What was taken last counts for the next sample. */
  back(passed: number): void {
    this.#passed += passed;
  }

  /** The last multiple of the period, a power of two, up to a time. */
  #roundOf(now: number): number {
    // Of numbers above 2^31, `%` takes several times as long.
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

  /** Tracing ended: the time until it begins again is not sampled. */
  stop(): void {
    this.#isContinuous = false;
  }
}
