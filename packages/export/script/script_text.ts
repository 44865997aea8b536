import type { PerfEvent } from "@perfdata/format/records";
import {
  askAgain,
  type AskedNames,
  type Engine,
  type EngineOptions,
  type JoinedNumbers,
  type NameTests,
  type Needs,
  type OutcomesPart,
  type Run,
  type SentTests,
  type SymbolTrust,
} from "@perfdata/session";
import type { ObjectCodeReader } from "@perfdata/session/code";
import type { TextConsumer, WriteText } from "@perfdata/session/workers";
import type { SymbolResolver } from "@perfdata/symbols";
import { type CodePieces, ScriptWriter } from "./script.ts";
import { branchCounters } from "./branch_counters.ts";
import {
  asksFor,
  eventFields,
  type FieldWish,
  rowNeeds,
  type ScriptField,
} from "./script_fields.ts";
import { type PlaceWants, ScriptPlaces } from "./script_places.ts";
import { type RowCounts, ScriptRows, type ShownRecords } from "./script_rows.ts";
import type { ClockTimes } from "./time_of_day.ts";

/** Options of {@linkcode ScriptText}. */
export interface ScriptTextOptions {
  /** Requested fields; `undefined` for perf's. */
  readonly wish: FieldWish | undefined;
  /** Whether call chains are printed. */
  readonly chains: boolean;
  /** Whether times have nanoseconds. */
  readonly nanoseconds: boolean;
  /** Whether unmapped addresses in call chains count as unnamed. */
  readonly unmapped: boolean;
  /** Data to look up besides names. */
  readonly wants: PlaceWants;
  /** Converts times to times of day, if the recording has the data. */
  readonly clock: ClockTimes | undefined;
  /** Selection of samples, and unwinding. */
  readonly options: Pick<EngineOptions, "filter" | "unwind" | "stitchLbr">;
  /** Finds symbols. */
  readonly resolver: (engine: Engine) => Promise<SymbolResolver>;
  /** Reads code, if fields need it. */
  readonly code?: ((engine: Engine) => Promise<ObjectCodeReader>) | undefined;
  /** Records other than samples, printed among the samples; not with windows. */
  readonly shown?: ShownRecords | undefined;
  /** Selection of samples by name. */
  readonly names?: NameTests<ScriptName> | undefined;
  /** The origin of `names`, if another thread sent them. */
  readonly sent?: SentTests<ScriptName> | undefined;
}

/** The names by which samples are selected. */
export type ScriptName = "comm" | "dso" | "symbol";

/** Output of one thread. */
export interface ScriptPart {
  /** Number of printed samples. */
  readonly printed: number;
  /** Counts of rows. */
  readonly rows: RowCounts;
  /** Results of look-ups. */
  readonly names: OutcomesPart;
  /** Counts of pieces of code. */
  readonly code: CodePieces;
  /** Names that its filters tested. */
  readonly asked: AskedNames<ScriptName> | undefined;
}

/** Blocks of rows that are stored while records are read. */
const HELD = 2;

/**
 * Writes samples in the format of `perf script`. If all objects are known before the samples, as in
 * a file, the text of stored samples can be written at any time: names are looked up as places
 * occur.
 */
export class ScriptText implements TextConsumer<ScriptPart> {
  readonly needs: Needs;
  /** Selection of samples, and unwinding. */
  readonly options: ScriptTextOptions["options"];
  /** Number of printed samples. */
  printed: number = 0;
  /** Samples that are stored until their text is written, with counts. */
  readonly samples: ScriptRows;
  /** The fields of each event, once text was written. */
  fields: readonly ReadonlySet<ScriptField>[] = [];
  /** Writes stored samples, if the recording is not read by windows. */
  readonly settle?: () => Promise<void>;
  /** `ScriptRows.applied`, if records are printed. */
  readonly applied?: (run: Run, row: number) => void;
  readonly #wish: ScriptTextOptions;
  readonly #write: WriteText;
  #places: ScriptPlaces | undefined;
  #writer: ScriptWriter | undefined;
  /** Pieces of code of other threads. */
  readonly #otherCode = { wanted: 0, missing: 0 };

  /**
   * Creates the writer.
   *
   * @param events The events known so far.
   * @param early Whether all objects are known before the samples, which then need not be stored.
   */
  constructor(
    events: readonly PerfEvent[],
    wish: ScriptTextOptions,
    write: WriteText,
    early: boolean = false,
  ) {
    this.samples = new ScriptRows(
      rowNeeds(events, wish.wish, wish.chains),
      wish.unmapped,
      wish.shown,
    );
    if (this.samples.applied !== undefined) this.applied = this.samples.applied;
    this.needs = this.samples.needs;
    this.options = wish.options;
    this.#wish = wish;
    this.#write = write;
    if (early) {
      this.settle = async () => {
        if (this.samples.blocks.length > HELD) await this.flush();
      };
    }
  }

  /** Sets the engine of the pass. */
  async start(engine: Engine): Promise<void> {
    await this.samples.start(engine);
  }

  /** Reads the formats of tracepoints that a stream has sent. */
  async described(): Promise<void> {
    await this.samples.described();
  }

  /** Stores the samples of a group of records. */
  rows(run: Run): void {
    this.samples.rows(run);
  }

  /** Writes the remaining text. */
  async finish(): Promise<void> {
    await this.samples.finish();
    await this.flush();
  }

  /** Writes the text of all stored samples. */
  async flush(): Promise<void> {
    const { samples } = this;
    const places = this.#places ??= await this.#open(samples.engine);
    await places.learn();
    const writer = this.#writer ??= await this.#begin(samples.engine, places);
    for (const block of samples.blocks) writer.block(block, this.#write);
    samples.clear();
    this.#write(writer.text.take());
    this.printed += writer.printed;
    writer.printed = 0;
  }

  async #open(engine: Engine): Promise<ScriptPlaces> {
    return new ScriptPlaces(engine, await this.#wish.resolver(engine), this.#wish.wants);
  }

  async #begin(engine: Engine, places: ScriptPlaces): Promise<ScriptWriter> {
    const code = await this.#wish.code?.(engine);
    const counters = asksFor(this.#wish.wish, "brcntr")
      ? await branchCounters(engine.reader)
      : undefined;
    const { wish, clock, chains, nanoseconds, names: { comm, dso, symbol } = {} } = this.#wish;
    this.fields = eventFields(engine.reader.events.all, engine.eventNames, wish);
    return new ScriptWriter(engine, places, {
      fields: this.fields,
      clock,
      chains,
      nanoseconds,
      traces: this.samples.traces,
      code,
      counters,
      keep: (comm ?? dso ?? symbol) === undefined
        ? undefined
        : (name, place) =>
          (comm?.(name) ?? true) && (dso?.(places.shortDso(place)) ?? true) &&
          (symbol?.(places.symbol(place)) ?? true),
    });
  }

  /** Trust in the names, after all text was written. */
  trust(): SymbolTrust {
    return (this.#places as ScriptPlaces).trust(this.samples.samples());
  }

  /** Counts of pieces of code between branches, and of unreadable ones. */
  get code(): CodePieces {
    const { wanted = 0, missing = 0 } = this.#writer?.code ?? {};
    return {
      wanted: wanted + this.#otherCode.wanted,
      missing: missing + this.#otherCode.missing,
    };
  }

  /** Counts of the output, for another thread. */
  part(): ScriptPart {
    return {
      printed: this.printed,
      rows: this.samples.part(),
      names: (this.#places as ScriptPlaces).part(),
      code: this.code,
      asked: this.#wish.sent?.asked(),
    };
  }

  /** Adds the counts of another thread. */
  join({ printed, rows, names, code, asked }: ScriptPart, numbers: JoinedNumbers): void {
    if (asked !== undefined) askAgain(this.#wish.names ?? {}, asked);
    this.printed += printed;
    this.#otherCode.wanted += code.wanted;
    this.#otherCode.missing += code.missing;
    this.samples.join(rows, numbers.place);
    (this.#places as ScriptPlaces).join(names, numbers);
  }
}
