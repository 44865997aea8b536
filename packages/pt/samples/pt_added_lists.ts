import type { PtClock } from "../decode/pt_clock.ts";
import { PtSampleRows } from "./pt_sample_rows.ts";
import type { SampleStacks } from "./pt_sample_stacks.ts";

/** Samples that were recorded beside a trace, in order of time. */
export interface RecordedSamples {
  /** How many. */
  readonly count: number;
  /** When, ns. */
  readonly time: Float64Array;
  /** The thread; the idle thread of CPU n is -1 - n. */
  readonly thread: Int32Array;
  /** The address, bits 63:32. */
  readonly high: Int32Array;
  /** The address, bits 31:0. */
  readonly low: Int32Array;
}

/**
 * Call chains and branch stacks for samples that were recorded without them: those of their thread in
 * the trace up to their time (`--itrace=G`, `L`).
 */
export class AddedLists {
  /** The lists, from {@linkcode AddedLists.of} on, as `PtSampleRows.lists` has them. */
  readonly rows: PtSampleRows = new PtSampleRows();
  readonly #samples: RecordedSamples;
  readonly #stacks: SampleStacks;
  /** When samples were taken, ticks of the decoder's clock: several are one ns. */
  readonly #ticks: Float64Array;
  /** Where the lists of each sample begin, + 1; 0 if they were not made yet. */
  readonly #at: Int32Array;
  /** By thread: its samples, and which of them is next. */
  readonly #waiting = new Map<number, { readonly samples: number[]; next: number }>();

  /** Begins before the first sample. */
  constructor(samples: RecordedSamples, clock: PtClock, stacks: SampleStacks) {
    this.#samples = samples;
    this.#ticks = samples.time.map((ns) => clock.ticks(ns));
    this.#stacks = stacks;
    this.#at = new Int32Array(samples.count);
    for (let i = 0; i < samples.count; i++) {
      const thread = samples.thread[i] as number;
      const waiting = this.#waiting.get(thread);
      if (waiting === undefined) this.#waiting.set(thread, { samples: [i], next: 0 });
      else waiting.samples.push(i);
    }
  }

  /** A thread is about to take a branch at a time, in ticks: samples up to then have what came before. */
  before(thread: number, ticks: number): void {
    const waiting = this.#waiting.get(thread);
    if (waiting === undefined) return;
    const { samples } = waiting;
    for (; waiting.next < samples.length; waiting.next++) {
      const sample = samples[waiting.next] as number;
      if ((this.#ticks[sample] as number) > ticks) return;
      this.of(sample);
    }
  }

  /** Where the lists of a sample begin; what the trace says now, if no branch came after the sample. */
  of(sample: number): number {
    const known = (this.#at[sample] as number) - 1;
    if (known >= 0) return known;
    const { thread, high, low } = this.#samples;
    const at = this.#stacks.added(
      this.rows,
      thread[sample] as number,
      high[sample] as number,
      low[sample] as number,
    );
    this.#at[sample] = at + 1;
    return at;
  }
}
