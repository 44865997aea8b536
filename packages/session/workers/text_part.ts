import type { Diagnostics } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";
import type { Consumer } from "../engine/engine_consumer.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import type { Applied, HistoryIndex } from "../history/history.ts";
import { openPass, type Pass } from "../engine/pass.ts";
import type { Rounds } from "../index/rounds.ts";
import type { Window } from "../windows/plan.ts";
import { WindowReader } from "../windows/window_reader.ts";
import { openEngine } from "./open_engine.ts";
import { type JoinedNumbers, Joiner, type StretchPart, type ThreadTotals } from "./part.ts";

/** Makes text from records in order, for some windows of a recording, independent of the others. */
export interface TextConsumer<Part = unknown> extends Consumer {
  /** Called for the records that change the machine, in their order, before the first window. */
  readonly happened?: Applied | undefined;
  /** Which samples count, and with what their stacks are unwound. */
  readonly options?: Pick<EngineOptions, "filter" | "unwind"> | undefined;
  /** Hands out the text of all rows so far. */
  flush(): void | Promise<void>;
  /** What it counted: what can be sent to another thread. */
  part(): Part;
  /**
   * Adds what another one counted.
   *
   * @param numbers Numbers of the places that it names.
   */
  join(part: Part, numbers: JoinedNumbers): void;
}

/** Takes text; the bytes are valid during the call only. */
export type WriteText = (text: Uint8Array) => void;

/** Makes a consumer of a recording. */
export type MakeText<About> = (
  reader: PerfDataReader,
  about: About,
  write: WriteText,
) => TextConsumer | Promise<TextConsumer>;

/** Where the windows of a recording are, and what of its past they need. */
export interface TextPast {
  /** FINISHED_ROUND records. */
  readonly rounds: Rounds;
  /** Whether records are ordered by time. */
  readonly isTimed: boolean;
  /** What the past of the machine is made of, where that is needed. */
  readonly machine: HistoryIndex | undefined;
}

/** Results of another thread for its windows. */
export interface TextPartAnswer {
  /** What it collected. */
  readonly part: StretchPart;
  /** What it counted. */
  readonly totals: ThreadTotals;
  /** Records in its windows. */
  readonly records: number;
}

/** Makes text of windows, in one thread. */
export class TextPart {
  /** What makes the text. */
  readonly consumer: TextConsumer;
  /** What it resolves samples with. */
  readonly engine: Engine;
  /** Records in the windows that it took. */
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

  /** Gets ready for windows of a recording. */
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

  /** What was found in all of them. */
  async part(): Promise<StretchPart> {
    await this.consumer.flush();
    const { places, stacks } = this.engine;
    return {
      places: places.part(0, 0),
      stacks: stacks.part(0),
      collected: this.consumer.part(),
    };
  }

  /** What was counted in all of them. */
  totals(): ThreadTotals {
    const { resolver: { leftOut, userChains } } = this.#pass;
    return { leftOut, unjoined: userChains.unjoined, unwound: this.engine.unwound?.part() };
  }

  /** Adds what other threads found. */
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
