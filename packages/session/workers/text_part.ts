import type { Diagnostics } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";
import type { Consumer } from "../engine/engine_consumer.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import type { Applied, HistoryIndex } from "../history/history_keeper.ts";
import { openPass, type Pass } from "../engine/pass.ts";
import type { Rounds } from "../index/rounds.ts";
import type { Window } from "../windows/plan.ts";
import { WindowReader } from "../windows/window_reader.ts";
import { openEngine } from "./open_engine.ts";
import { type JoinedNumbers, Joiner, type StretchPart, type ThreadTotals } from "./part.ts";

/** Makes text from records in order, for some windows of a recording, independent of the others. */
export interface TextConsumer<Part = unknown> extends Consumer {
  /** Called in order for the records that change the machine, before the first window. */
  readonly happened?: Applied | undefined;
  /** Filter of samples, and the finder of code for unwinding. */
  readonly options?: Pick<EngineOptions, "filter" | "unwind"> | undefined;
  /** Writes the text of all rows so far. */
  flush(): void | Promise<void>;
  /** The counts, for sending to another thread. */
  part(): Part;
  /**
   * Adds the counts of another consumer.
   *
   * @param numbers Indices in this thread of the part's places.
   */
  join(part: Part, numbers: JoinedNumbers): void;
}

/** Receives text; the bytes are valid during the call only. */
export type WriteText = (text: Uint8Array) => void;

/** Creates a consumer for a recording. */
export type MakeText<About> = (
  reader: PerfDataReader,
  about: About,
  write: WriteText,
) => TextConsumer | Promise<TextConsumer>;

/** Inputs for reading windows of a recording, and for its history. */
export interface TextPast {
  /** FINISHED_ROUND records. */
  readonly rounds: Rounds;
  /** Whether records are sorted by time. */
  readonly isTimed: boolean;
  /** Inputs of the machine's history, if needed. */
  readonly machine: HistoryIndex | undefined;
}

/** Results of another thread for its windows. */
export interface TextPartAnswer {
  /** Part of the consumer, with its places and stacks. */
  readonly part: StretchPart;
  /** Totals of the thread. */
  readonly totals: ThreadTotals;
  /** Number of records in its windows. */
  readonly records: number;
}

/** Makes text of windows, in one thread. */
export class TextPart {
  /** The consumer that makes the text. */
  readonly consumer: TextConsumer;
  /** The engine that resolves samples. */
  readonly engine: Engine;
  /** Number of records in the windows so far. */
  records = 0;
  readonly #pass: Pass;
  readonly #windows: WindowReader;

  private constructor(
    consumer: TextConsumer,
    engine: Engine,
    pass: Pass,
    windows: WindowReader,
  ) {
    this.consumer = consumer;
    this.engine = engine;
    this.#pass = pass;
    this.#windows = windows;
  }

  /** Prepares for the windows of a recording. */
  static async open(
    reader: PerfDataReader,
    consumer: TextConsumer,
    { rounds, isTimed, machine }: TextPast,
    diagnostics: Diagnostics,
  ): Promise<TextPart> {
    const engine = await openEngine(reader, machine, diagnostics, consumer.happened);
    const pass = await openPass(engine, [consumer], consumer.options ?? {});
    const windows = new WindowReader(reader, rounds, isTimed, (run) => pass.take(run));
    return new TextPart(consumer, engine, pass, windows);
  }

  /** Makes the text of a window. */
  async take(window: Window): Promise<void> {
    this.records += await this.#windows.read(window);
    await this.consumer.flush();
  }

  /** The results of all windows. */
  async part(): Promise<StretchPart> {
    await this.consumer.flush();
    const { places, stacks } = this.engine;
    return {
      places: places.part(0, 0),
      stacks: stacks.part(0),
      collected: this.consumer.part(),
    };
  }

  /** The totals of all windows. */
  totals(): ThreadTotals {
    const { resolver: { leftOut, userChains } } = this.#pass;
    return { leftOut, unjoined: userChains.unjoined, unwound: this.engine.unwound?.part() };
  }

  /** Adds the results of other threads. */
  async finish(others: readonly TextPartAnswer[]): Promise<void> {
    await this.consumer.flush();
    const { engine } = this;
    const { leftOut, unjoined } = this.totals();
    engine.leftOut = leftOut;
    engine.unjoined = unjoined;
    for (const { part, totals, records } of others) {
      const joiner = new Joiner(engine, this.consumer);
      joiner.join(part);
      joiner.finish(totals);
      this.records += records;
    }
  }
}
