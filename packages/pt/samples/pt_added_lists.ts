import type { PtClock } from "../decode/pt_clock.ts";
import { PtSampleRows } from "./pt_sample_rows.ts";
import type { SampleStacks } from "./pt_sample_stacks.ts";

/** Samples that were recorded in addition to the trace, in order of time. */
export interface RecordedSamples {
  /** Number of samples. */
  readonly count: number;
  /** Time of each sample in ns. */
  readonly time: Float64Array;
  /** Thread of each sample; -1 - n for the idle thread of CPU n. */
  readonly thread: Int32Array;
  /** Bits 63:32 of each address. */
  readonly high: Int32Array;
  /** Bits 31:0 of each address. */
  readonly low: Int32Array;
}

/**
 * Call chains and branch stacks for samples that were recorded without them. They are those of the
 * sample's thread in the trace up to the sample's time (`--itrace=G`, `L`).
 */
export class AddedLists {
  /** The lists, at the offsets of {@linkcode AddedLists.of}, as in `PtSampleRows.lists`. */
  readonly rows: PtSampleRows = new PtSampleRows();
  readonly #samples: RecordedSamples;
  readonly #stacks: SampleStacks;
  /** Times of samples in ticks of the decoder's clock, several of which are one ns. */
  readonly #ticks: Float64Array;
  /** Offset of each sample's lists, + 1; 0 if they were not made yet. */
  readonly #at: Int32Array;
  /** Samples of each thread, and the index of the next one. */
  readonly #waiting = new Map<number, { readonly samples: number[]; next: number }>();

  /** Starts before the first sample. */
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

  /** Makes the lists of a thread's samples up to a time in ticks, before its next branch. */
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

  /**
   * Offset of a sample's lists. If no branch came after the sample, they have the present state.
   */
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
