import type { PerfEvent } from "@perfdata/format";
import type { Engine, EngineOptions, Needs } from "@perfdata/session/engine";
import type { ObjectCodeReader } from "@perfdata/session/object-code";
import type { Run } from "@perfdata/session/run";
import type { OutcomesPart, SymbolTrust } from "@perfdata/session/symbolize";
import type { JoinedNumbers, TextConsumer, WriteText } from "@perfdata/session/workers";
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
  /** The fields that are asked for; those of perf without. */
  readonly wish: FieldWish | undefined;
  /** Whether call chains are printed. */
  readonly chains: boolean;
  /** Whether times have nanoseconds. */
  readonly nanoseconds: boolean;
  /** Whether addresses in call chains at which nothing is mapped count among those without a name. */
  readonly unmapped: boolean;
  /** What is looked up beside names. */
  readonly wants: PlaceWants;
  /** Turns times into times of day, where the recording says how. */
  readonly clock: ClockTimes | undefined;
  /** Which samples, and with what their stacks are unwound. */
  readonly options: Pick<EngineOptions, "filter" | "unwind" | "stitchLbr">;
  /** Knows the symbols of a recording. */
  readonly resolver: (engine: Engine) => Promise<SymbolResolver>;
  /** Reads code, where fields need it. */
  readonly code?: ((engine: Engine) => Promise<ObjectCodeReader>) | undefined;
  /** Records that are not samples, which are printed among them; not by windows. */
  readonly shown?: ShownRecords | undefined;
  /** Whether a sample is printed. */
  readonly keep?: ((places: ScriptPlaces, comm: string, place: number) => boolean) | undefined;
}

/** Output of one thread. */
export interface ScriptPart {
  /** Samples that were printed. */
  readonly printed: number;
  /** What was counted. */
  readonly rows: RowCounts;
  /** What became of look-ups. */
  readonly names: OutcomesPart;
  /** Pieces of code that were wanted, and those that could not be read. */
  readonly code: CodePieces;
}

/** Blocks of rows that are held while records go by. */
const HELD = 2;

/**
 * Writes samples as `perf script` does. Where all objects of a recording are known before its samples, as in a
 * file, the text of some of them can be made at any time: names are looked up as places are met.
 */
export class ScriptText implements TextConsumer<ScriptPart> {
  readonly needs: Needs;
  /** Which samples, and with what their stacks are unwound. */
  readonly options: ScriptTextOptions["options"];
  /** Samples that were printed. */
  printed: number = 0;
  /** What is kept of samples until its text is made, and counted. */
  readonly samples: ScriptRows;
  /** The fields of events, by number; known when there is text. */
  fields: readonly ReadonlySet<ScriptField>[] = [];
  /** Of what is not read by windows: makes text of what is held. */
  readonly settle?: () => Promise<void>;
  /** Where records are shown: `ScriptRows.applied`. */
  readonly applied?: (run: Run, row: number) => void;
  readonly #wish: ScriptTextOptions;
  readonly #write: WriteText;
  #places: ScriptPlaces | undefined;
  #writer: ScriptWriter | undefined;
  /** Of other threads. */
  readonly #otherCode = { wanted: 0, missing: 0 };

  /**
   * Has written nothing yet.
   *
   * @param events What the recording says of its events by now.
   * @param early Whether all objects are known before the samples, which need not be held then.
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

  /** Takes what the pass shares. */
  async start(engine: Engine): Promise<void> {
    await this.samples.start(engine);
  }

  /** The formats of tracepoints came with a stream. */
  async described(): Promise<void> {
    await this.samples.described();
  }

  /** Keeps the samples of a run. */
  rows(run: Run): void {
    this.samples.rows(run);
  }

  /** Makes the last text. */
  async finish(): Promise<void> {
    await this.samples.finish();
    await this.flush();
  }

  /** Makes the text of all samples that are kept. */
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
    const { wish, clock, chains, nanoseconds, keep } = this.#wish;
    this.fields = eventFields(engine.reader.events.all, engine.eventNames, wish);
    return new ScriptWriter(engine, places, {
      fields: this.fields,
      clock,
      chains,
      nanoseconds,
      traces: this.samples.traces,
      code,
      counters,
      ...(keep === undefined ? {} : { keep: (comm, place) => keep(places, comm, place) }),
    });
  }

  /** How far names can be trusted, when all text is made. */
  trust(): SymbolTrust {
    return (this.#places as ScriptPlaces).trust(this.samples.samples());
  }

  /** Pieces of code between branches: how many, and how many of them could not be read. */
  get code(): CodePieces {
    const { wanted = 0, missing = 0 } = this.#writer?.code ?? {};
    return {
      wanted: wanted + this.#otherCode.wanted,
      missing: missing + this.#otherCode.missing,
    };
  }

  /** What was printed and counted. */
  part(): ScriptPart {
    return {
      printed: this.printed,
      rows: this.samples.part(),
      names: (this.#places as ScriptPlaces).part(),
      code: this.code,
    };
  }

  /** Adds what another thread printed. */
  join({ printed, rows, names, code }: ScriptPart, numbers: JoinedNumbers): void {
    this.printed += printed;
    this.#otherCode.wanted += code.wanted;
    this.#otherCode.missing += code.missing;
    this.samples.join(rows, numbers.place);
    (this.#places as ScriptPlaces).join(names, numbers);
  }
}
