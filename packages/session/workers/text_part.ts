import type { Diagnostics, PerfDataReader } from "@perfdata/format";
import type { Consumer, Engine } from "../engine.ts";
import type { Applied, HistoryIndex } from "../history/history.ts";
import { openPass } from "../pass.ts";
import type { Rounds } from "../index/rounds.ts";
import type { Window } from "../windows/plan.ts";
import { WindowReader } from "../windows/window_reader.ts";
import { openEngine } from "./open_engine.ts";

/** Makes text of records in order: of some windows of a recording, whatever is in the others. */
export interface TextConsumer<Part = unknown> extends Consumer {
  /** Called for the records that change the machine, in their order, before the first window. */
  readonly happened?: Applied | undefined;
  /** Hands out the text of all rows so far. */
  flush(): void;
  /** What it counted: what can be sent to another thread. */
  part(): Part;
  /** Adds what another one counted. */
  join(part: Part): void;
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

/** Makes text of windows, in one thread. */
export class TextPart {
  /** What makes the text. */
  readonly consumer: TextConsumer;
  /** What it resolves samples with. */
  readonly engine: Engine;
  /** Records in the windows that it took. */
  records = 0;
  readonly #windows: WindowReader;

  private constructor(consumer: TextConsumer, engine: Engine, windows: WindowReader) {
    this.consumer = consumer;
    this.engine = engine;
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
    const pass = await openPass(engine, [consumer], {});
    const windows = new WindowReader(reader, rounds, isTimed, (run) => pass.take(run));
    return new TextPart(consumer, engine, windows);
  }

  /** Makes the text of a window. */
  async take(window: Window): Promise<void> {
    this.records += await this.#windows.read(window);
    this.consumer.flush();
  }
}
