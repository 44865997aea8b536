import type { Consumer, Needs } from "../engine/engine_consumer.ts";
import type { Engine } from "../engine/engine.ts";
import type { Run } from "../order/run.ts";
import type { RecordBatch } from "@perfdata/format/records";
import type { JoinedNumbers, Shareable } from "./part.ts";

/** Several consumers of one pass as one, whose work several threads can share. */
export class SharedConsumers implements Consumer, Shareable<readonly unknown[]> {
  readonly needs: Needs;
  readonly #all: readonly (Consumer & Shareable)[];

  /**
   * Creates a consumer that passes everything to the given consumers, one after the other.
   *
   * @param all Consumers that read samples in any order and need no step of their own (`applied`, …).
   */
  constructor(all: readonly (Consumer & Shareable)[]) {
    this.#all = all;
    const any = (need: keyof Needs): boolean => all.some(({ needs }) => needs[need] === true);
    const unlessAll = (need: keyof Needs): boolean =>
      all.some(({ needs }) => needs[need] !== false);
    this.needs = {
      order: "any",
      machine: unlessAll("machine"),
      places: any("places"),
      stacks: any("stacks"),
      unmapped: unlessAll("unmapped"),
      addresses: unlessAll("addresses"),
      calls: any("calls"),
      addr: any("addr"),
      branches: any("branches"),
      chains: any("chains"),
      joined: any("joined"),
      frames: any("frames"),
      maps: any("maps"),
    };
  }

  /** Starts each consumer. */
  async start(engine: Engine): Promise<void> {
    for (const consumer of this.#all) await consumer.start?.(engine);
  }

  /** Passes a group of records to each consumer. */
  rows(run: Run): void {
    for (const consumer of this.#all) consumer.rows(run);
  }

  /** Passes a record that is not a sample to the consumers that want such records. */
  other(batch: RecordBatch, i: number, hi: number, lo: number): void {
    for (const consumer of this.#all) consumer.other?.(batch, i, hi, lo);
  }

  /** Finishes each consumer. */
  async finish(): Promise<void> {
    for (const consumer of this.#all) await consumer.finish?.();
  }

  /** Returns the parts of all consumers. */
  part(): readonly unknown[] {
    return this.#all.map((consumer) => consumer.part());
  }

  /** Lets each consumer reuse the memory of the same consumer of the previous stretch. */
  reuse(before: SharedConsumers): void {
    for (const [i, consumer] of this.#all.entries()) {
      const of = before.#all[i];
      if (of !== undefined) consumer.reuse?.(of);
    }
  }

  /** Passes each consumer its part of another thread. */
  join(parts: readonly unknown[], numbers: JoinedNumbers): void {
    for (const [i, consumer] of this.#all.entries()) consumer.join(parts[i], numbers);
  }
}
