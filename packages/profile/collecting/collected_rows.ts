import { floatAt, intAt } from "@perfdata/format/bytes";
import { FloatColumn, IntColumn } from "../columns/columns.ts";
import { NodeTable } from "../columns/node_table.ts";
import type { BuilderSample, ProfileBuilder } from "./profile_builder.ts";

/** Samples of one stack, event and thread. */
export interface RowSample extends Omit<BuilderSample, "time"> {
  /** Whole seconds of the time of the sample, if it is known. */
  readonly seconds?: number | undefined;
  /** Nanoseconds after the last whole second. */
  readonly nanoseconds?: number;
}

/** Seconds from which on times in ns exceed the range of exact doubles. */
const EXACT_SECONDS = Math.floor(2 ** 53 / 1e9);

/**
 * Collects the samples of a {@linkcode ProfileBuilder} in any order. Each sample keeps its time, if
 * requested and if all samples have one. Otherwise, samples of the same stack, event and thread are
 * summed.
 */
export class CollectedRows {
  readonly #builder: ProfileBuilder;
  #timed: boolean;
  readonly #pairs = new NodeTable();
  readonly #alike = new NodeTable();
  readonly #counts = new FloatColumn();
  readonly #periods = new FloatColumn();
  readonly #rows = {
    alike: new IntColumn(),
    count: new FloatColumn(),
    period: new FloatColumn(),
    cpu: new IntColumn(),
    seconds: new FloatColumn(),
    nanoseconds: new IntColumn(),
  };

  /** Starts without samples; `timed`: whether samples keep their times. */
  constructor(builder: ProfileBuilder, timed: boolean) {
    this.#builder = builder;
    this.#timed = timed;
  }

  /** Adds a sample, or several. */
  add(sample: RowSample): void {
    const { stack, event, thread, count = 1, period, cpu = -1, seconds, nanoseconds = 0 } = sample;
    const alike = this.#alike.node(this.#pairs.node(stack, thread), event);
    if (alike === this.#counts.length) {
      this.#counts.push(0);
      this.#periods.push(0);
    }
    this.#counts.add(alike, count);
    this.#periods.add(alike, period);
    if (!this.#timed) return;
    if (seconds === undefined) {
      this.#timed = false;
      return;
    }
    const rows = this.#rows;
    rows.alike.push(alike);
    rows.count.push(count);
    rows.period.push(period);
    rows.cpu.push(cpu);
    rows.seconds.push(seconds);
    rows.nanoseconds.push(nanoseconds);
  }

  /**
   * Passes the samples to the builder, sorted if they have times; returns the epoch of the profile.
   */
  finish(): bigint {
    const rows = this.#rows;
    if (!this.#timed || rows.alike.length === 0) {
      for (let alike = 0; alike < this.#counts.length; alike++) {
        this.#builder.sample({
          ...this.#alikeAt(alike),
          count: floatAt(this.#counts.array(), alike),
          period: floatAt(this.#periods.array(), alike),
        });
      }
      return 0n;
    }
    const [seconds, nanoseconds] = [rows.seconds.array(), rows.nanoseconds.array()];
    const order = Int32Array.from(seconds, (_, row) => row).sort((a, b) =>
      floatAt(seconds, a) - floatAt(seconds, b) || intAt(nanoseconds, a) - intAt(nanoseconds, b)
    );
    const [first, last] = [intAt(order, 0), intAt(order, order.length - 1)];
    const isExact = floatAt(seconds, last) < EXACT_SECONDS;
    const [from, rest] = isExact ? [0, 0] : [floatAt(seconds, first), intAt(nanoseconds, first)];
    const [alike, cpu] = [rows.alike.array(), rows.cpu.array()];
    const [count, period] = [rows.count.array(), rows.period.array()];
    for (const row of order) {
      this.#builder.sample({
        ...this.#alikeAt(intAt(alike, row)),
        count: floatAt(count, row),
        period: floatAt(period, row),
        cpu: intAt(cpu, row),
        time: (floatAt(seconds, row) - from) * 1e9 + intAt(nanoseconds, row) - rest,
      });
    }
    return BigInt(from) * 1_000_000_000n + BigInt(rest);
  }

  #alikeAt(alike: number): { stack: number; event: number; thread: number } {
    const pair = this.#alike.parent(alike);
    return {
      stack: this.#pairs.parent(pair),
      event: this.#alike.item(alike),
      thread: this.#pairs.item(pair),
    };
  }
}
