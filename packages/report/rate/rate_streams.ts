import { byteAt, enlarge, floatAt } from "@perfdata/format/bytes";
import { NodeTable } from "@perfdata/profile";
import { type RatePoint, RateStream, type RateStreamSummary } from "./rate_stream.ts";

/** Flags of a counter's only sample. */
const FIRST = { SAMPLE: 1, READ: 2, CHOSEN: 4, SOURCE_READ: 8 } as const;

/**
 * The counters of a recording. A counter with a single sample, as in short processes, of which
 * there may be millions, is stored as a row of numbers; others are followed.
 */
export class RateStreams implements Iterable<RateStreamSummary> {
  readonly #cpus = new NodeTable();
  readonly #counters = new NodeTable();
  /** Counters with more than one sample. */
  readonly #followed = new Map<number, RateStream>();
  // The only sample of each counter.
  #flags = new Uint8Array(256);
  #time = new Float64Array(256);
  #period = new Float64Array(256);
  #count = new BigUint64Array(256);
  #order: Int32Array | undefined;

  /** Number of counters with samples or throttlings. */
  get length(): number {
    return this.#inOrder().length;
  }

  /**
   * Returns the index of a counter, and adds it if it is new.
   *
   * @param event Index of the event.
   * @param cpu CPU of the counter, or -1.
   * @param tid Thread of the counter, or -1.
   * @param source Source of counts, for a new counter.
   */
  counter(event: number, cpu: number, tid: number, source: "read" | "period"): number {
    const counters = this.#counters;
    const known = counters.length;
    const counter = counters.node(this.#cpus.node(event, cpu), tid);
    if (counter < known) return counter;
    this.#order = undefined;
    if (counter >= this.#flags.length) {
      this.#flags = enlarge(this.#flags, counter + 1);
      this.#time = enlarge(this.#time, counter + 1);
      this.#period = enlarge(this.#period, counter + 1);
      this.#count = enlarge(this.#count, counter + 1);
    }
    this.#flags[counter] = source === "read" ? FIRST.SOURCE_READ : 0;
    return counter;
  }

  /** Adds a sample of a counter: see {@link RateStream.sample}. */
  sample(
    counter: number,
    time: number,
    count: bigint | undefined,
    period: number | undefined,
    chosen: boolean,
  ): RatePoint | undefined {
    const flags = byteAt(this.#flags, counter);
    const followed = this.#followed.get(counter);
    if (followed !== undefined || (flags & FIRST.SAMPLE) !== 0) {
      return (followed ?? this.stream(counter)).sample(time, count, period, chosen);
    }
    this.#flags[counter] = flags | FIRST.SAMPLE | (count === undefined ? 0 : FIRST.READ) |
      (chosen ? FIRST.CHOSEN : 0);
    this.#time[counter] = time;
    this.#count[counter] = count ?? 0n;
    this.#period[counter] = period ?? NaN;
    return undefined;
  }

  /** The followed counter, created on first use. */
  stream(counter: number): RateStream {
    let stream = this.#followed.get(counter);
    if (stream === undefined) this.#followed.set(counter, stream = this.#made(counter));
    return stream;
  }

  #made(counter: number): RateStream {
    const flags = byteAt(this.#flags, counter);
    const stream = new RateStream(
      this.#event(counter),
      this.#cpu(counter),
      this.#tid(counter),
      (flags & FIRST.SOURCE_READ) !== 0 ? "read" : "period",
    );
    if ((flags & FIRST.SAMPLE) !== 0) {
      const period = floatAt(this.#period, counter);
      stream.sample(
        floatAt(this.#time, counter),
        (flags & FIRST.READ) === 0 ? undefined : this.#count[counter],
        Number.isNaN(period) ? undefined : period,
        (flags & FIRST.CHOSEN) !== 0,
      );
    }
    return stream;
  }

  #event(counter: number): number {
    return this.#cpus.parent(this.#counters.parent(counter));
  }

  #cpu(counter: number): number {
    return this.#cpus.item(this.#counters.parent(counter));
  }

  #tid(counter: number): number {
    return this.#counters.item(counter);
  }

  /** The statistics by event, CPU and thread. */
  *[Symbol.iterator](): Generator<RateStreamSummary, void, void> {
    for (const counter of this.#inOrder()) yield this.#summary(counter);
  }

  #summary(counter: number): RateStreamSummary {
    return (this.#followed.get(counter) ?? this.#made(counter)).summary();
  }

  #inOrder(): Int32Array {
    return this.#order ??= this.#counters.items().map((_, counter) => counter)
      .filter((counter) => this.#counts(counter))
      .sort((a, b) =>
        this.#event(a) - this.#event(b) || this.#cpu(a) - this.#cpu(b) ||
        this.#tid(a) - this.#tid(b)
      );
  }

  #counts(counter: number): boolean {
    const stream = this.#followed.get(counter);
    if (stream === undefined) return (byteAt(this.#flags, counter) & FIRST.CHOSEN) !== 0;
    const { samples, throttled, unthrottled } = stream.summary();
    return samples + throttled + unthrottled > 0;
  }
}
