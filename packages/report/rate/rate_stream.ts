/** Number of successive periods that have to agree for a settled period. */
export const SETTLED_SAMPLES = 16;

/** Largest ratio between them: 1.25 is a quarter. */
export const SETTLED_RATIO = 1.25;

/** Values from two successive samples of a counter. */
export interface RatePoint {
  /** Index of the event. */
  readonly event: number;
  /** CPU of the counter, or -1 if it is not recorded. */
  readonly cpu: number;
  /** Thread of the counter, or -1 for all threads of the CPU. */
  readonly tid: number;
  /** Time of the later sample in nanoseconds since the start of the analysis. */
  readonly time: number;
  /** Nanoseconds since the earlier sample: Δt. */
  readonly interval: number;
  /** Count at the later sample, if READ values were recorded. */
  readonly count: bigint | undefined;
  /** Events between both samples: Δcount. */
  readonly delta: number;
  /** Events per sample at the later one; `undefined` for a counter without samples. */
  readonly period: number | undefined;
  /** Events per second: λ = Δcount/Δt. */
  readonly rate: number;
  /** Samples per second at this rate and period: λ/P. */
  readonly frequency: number | undefined;
}

/** Minimum, mean and maximum of a quantity. */
export interface Spread {
  /** Minimum. */
  readonly min: number;
  /** Mean: for rates weighted by time, for periods by samples. */
  readonly mean: number;
  /** Maximum. */
  readonly max: number;
}

/** The time at which the kernel had found a period for the requested frequency. */
export interface Settled {
  /** Number of samples until then. */
  readonly samples: number;
  /** Seconds since the counter's first sample. */
  readonly seconds: number;
  /** The settled period. */
  readonly period: number;
}

/** Statistics of one counter: an event on a CPU, or of a thread on a CPU. */
export interface RateStreamSummary {
  /** Index of the event. */
  readonly event: number;
  /** CPU of the counter, or -1 if it is not recorded. */
  readonly cpu: number;
  /** Thread of the counter, or -1 for all threads of the CPU. */
  readonly tid: number;
  /** Source of counts: `read` for READ values, `period` for sums of periods. */
  readonly source: "read" | "period";
  /** Samples of this event, or READs of a counter that others sample. */
  readonly samples: number;
  /** Seconds between the first and the last of these samples. */
  readonly seconds: number;
  /** Events counted in that time. */
  readonly count: number;
  /** Events per second; `undefined` with fewer than two samples. */
  readonly rate: Spread | undefined;
  /** Samples per second (λ/P), if the counter samples. */
  readonly frequency: Spread | undefined;
  /** Events per sample. */
  readonly period: Spread | undefined;
  /** Period of the first sample. */
  readonly firstPeriod: number | undefined;
  /** Period of the last sample. */
  readonly lastPeriod: number | undefined;
  /** The time at which the period had settled; `undefined` if it never did. */
  readonly settled: Settled | undefined;
  /** Number of throttlings. */
  readonly throttled: number;
  /** Number of resumptions after throttling. */
  readonly unthrottled: number;
  /** Lost samples, by the counter's own count (`PERF_FORMAT_LOST`). */
  readonly lost: number;
  /** Pairs of samples dropped because time or count did not increase. */
  readonly leftOut: number;
}

/**
 * Follows one counter from sample to sample.
 *
 * @example
 * ```ts
 * import { RateStream } from "@perfdata/report/figures";
 * import { assertEquals } from "@std/assert";
 *
 * const stream = new RateStream(0, 2, -1, "read");
 * stream.sample(0, 94708n, 1389);
 * const point = stream.sample(33352, 96097n, 1389);
 * assertEquals(Math.round(point?.rate ?? 0), 41646678);
 * assertEquals(Math.round(point?.frequency ?? 0), 29983);
 * ```
 */
export class RateStream {
  /** Number of throttlings. */
  throttled = 0;
  /** Number of resumptions after throttling. */
  unthrottled = 0;
  /** Lost samples, by the counter's own count. */
  lost = 0;

  readonly #event: number;
  readonly #cpu: number;
  readonly #tid: number;
  readonly #source: "read" | "period";
  #samples = 0;
  #leftOut = 0;
  /** Whether there was a sample, selected or not. */
  #begun = false;
  #firstTime = 0;
  #lastChosen = 0;
  #lastTime = 0;
  #lastCount = 0n;
  #count = 0;
  #counted = 0;
  #minRate = Infinity;
  #maxRate = 0;
  #minFrequency = Infinity;
  #maxFrequency = 0;
  #intervals = 0;
  #minPeriod = Infinity;
  #maxPeriod = 0;
  #periodSum = 0;
  #periods = 0;
  #firstPeriod: number | undefined;
  #lastPeriod: number | undefined;
  /** The last periods. Most counters of short processes have one sample. */
  #window = new Float64Array(1);
  #settled: Settled | undefined;

  /**
   * Creates a counter without samples.
   *
   * @param event Index of the event.
   * @param cpu CPU of the counter, or -1.
   * @param tid Thread of the counter, or -1.
   * @param source Source of counts.
   */
  constructor(event: number, cpu: number, tid: number, source: "read" | "period") {
    this.#event = event;
    this.#cpu = cpu;
    this.#tid = tid;
    this.#source = source;
  }

  /**
   * Adds the next sample.
   *
   * @param time Time in ns, from any origin.
   * @param count READ value of the counter; `undefined` if the period is the number of events since
   * the previous sample.
   * @param period Events per sample; `undefined` if the counter does not sample.
   * @param chosen Whether the sample is selected. If not, it is only the predecessor of the next
   * one.
   * @returns The values of this sample and its predecessor; `undefined` for the first sample, and
   * if time or count did not increase.
   */
  sample(
    time: number,
    count: bigint | undefined,
    period: number | undefined,
    chosen = true,
  ): RatePoint | undefined {
    const isFirst = !this.#begun;
    if (!chosen) {
      if (isFirst || time > this.#lastTime) {
        this.#lastTime = time;
        this.#lastCount = count ?? 0n;
      }
      this.#begun = true;
      return undefined;
    }
    this.#begun = true;
    const n = this.#samples++;
    if (period !== undefined && period > 0) this.#takePeriod(time, period, n);
    const interval = time - this.#lastTime;
    const delta = count === undefined ? period ?? 0 : Number(count - this.#lastCount);
    if (n === 0) this.#firstTime = time;
    if (!isFirst && interval <= 0) {
      this.#leftOut++;
      return undefined;
    }
    this.#lastTime = this.#lastChosen = time;
    this.#lastCount = count ?? 0n;
    if (isFirst) return undefined;
    if (delta < 0) {
      // Another counter of the same event took over, beginning at 0.
      this.#leftOut++;
      return undefined;
    }
    this.#count += delta;
    this.#counted += interval;
    const rate = delta / interval * 1e9;
    if (rate < this.#minRate) this.#minRate = rate;
    if (rate > this.#maxRate) this.#maxRate = rate;
    let frequency: number | undefined;
    if (period !== undefined && period > 0) {
      frequency = rate / period;
      if (frequency < this.#minFrequency) this.#minFrequency = frequency;
      if (frequency > this.#maxFrequency) this.#maxFrequency = frequency;
      this.#intervals++;
    }
    return {
      event: this.#event,
      cpu: this.#cpu,
      tid: this.#tid,
      time,
      interval,
      count,
      delta,
      period,
      rate,
      frequency,
    };
  }

  #takePeriod(time: number, period: number, n: number): void {
    this.#firstPeriod ??= period;
    this.#lastPeriod = period;
    if (period < this.#minPeriod) this.#minPeriod = period;
    if (period > this.#maxPeriod) this.#maxPeriod = period;
    this.#periodSum += period;
    if (this.#periods === 1) {
      const [first = 0] = this.#window;
      this.#window = new Float64Array(SETTLED_SAMPLES);
      this.#window[0] = first;
    }
    this.#window[this.#periods++ % SETTLED_SAMPLES] = period;
    if (this.#settled !== undefined || this.#periods < SETTLED_SAMPLES) return;
    let low = Infinity;
    let high = 0;
    for (const each of this.#window) {
      if (each < low) low = each;
      if (each > high) high = each;
    }
    if (high > low * SETTLED_RATIO) return;
    this.#settled = { samples: n + 1, seconds: (time - this.#firstTime) / 1e9, period };
  }

  /** The statistics so far. */
  summary(): RateStreamSummary {
    const seconds = this.#counted / 1e9;
    const mean = seconds > 0 ? this.#count / seconds : 0;
    return {
      event: this.#event,
      cpu: this.#cpu,
      tid: this.#tid,
      source: this.#source,
      samples: this.#samples,
      seconds: (this.#lastChosen - this.#firstTime) / 1e9,
      count: this.#count,
      rate: seconds > 0 ? { min: this.#minRate, mean, max: this.#maxRate } : undefined,
      frequency: this.#intervals > 0
        ? { min: this.#minFrequency, mean: this.#intervals / seconds, max: this.#maxFrequency }
        : undefined,
      period: this.#periods > 0
        ? { min: this.#minPeriod, mean: this.#periodSum / this.#periods, max: this.#maxPeriod }
        : undefined,
      firstPeriod: this.#firstPeriod,
      lastPeriod: this.#lastPeriod,
      settled: this.#settled,
      throttled: this.throttled,
      unthrottled: this.unthrottled,
      lost: this.lost,
      leftOut: this.#leftOut,
    };
  }
}
