import type { ItraceOptions } from "./itrace.ts";
import type { PtClock } from "../decode/pt_run.ts";

/**
 * Which instructions are sampled: each N-th, or one each N ticks of the TSC, where perf lets an
 * instruction last a tick (`intel_pt_next_sample` and `intel_pt_sample_insn` of perf's decoder).
 */
export class SamplePeriod {
  /** Whether instructions are sampled at all. */
  readonly isOn: boolean;
  readonly #isTicks: boolean;
  readonly #period: number;
  /** What the times of the decoder have to be moved by, so that multiples of the period are round. */
  readonly #phase: number = 0;
  /** Instructions up to the next sample, this one included; 0 where it has to be worked out. */
  #left = 0;
  /** Instructions since the last sample. */
  #passed = 0;
  #ticks = 0;
  #insns = 0;
  #lastRound = 0;
  #isContinuous = false;

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

  /** A branch or an event ends what perf walks through at once. */
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

  /** Instructions since the sample before; counts from here. */
  take(): number {
    const passed = this.#passed;
    this.#passed = 0;
    return passed;
  }

  /** What was taken last counts for the next sample. */
  back(passed: number): void {
    this.#passed += passed;
  }

  #nextPeriod(): number {
    const period = this.#period;
    let now = this.#ticks + this.#phase + this.#insns;
    let round = now - now % period;
    if (this.#isContinuous) {
      if (round > this.#lastRound) return 1;
    } else {
      now++;
      round = now - now % period;
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
    const round = now - now % period;
    if (round > this.#lastRound) this.#lastRound = round;
    else this.#lastRound += period;
  }

  /** Tracing ended: the time until it begins again is not sampled. */
  stop(): void {
    this.#isContinuous = false;
  }
}
