// One class, since its methods share the source, its reader and the options; what they do is in other modules.
import type { Profile, SampleCollector } from "@perfdata/profile";
import type { DumpStats, HeaderOptions } from "@perfdata/dump";
import type { CopyStats, Edit } from "@perfdata/edit";
import type { NameConditions } from "@perfdata/edit/slice";
import type { WrittenScript } from "@perfdata/export/script";
import type { CallTree, CallTreeOptions, ExportFormat } from "@perfdata/export/tree";
import {
  type ByteSource,
  type EventLoopTurns,
  floatAt,
  intAt,
  isRandomAccess,
  memorySink,
  type RandomAccessSource,
  type TempFile,
} from "@perfdata/format/bytes";
import { featuresFirst, held, PerfDataReader, type ReaderOptions } from "@perfdata/format/records";
import type { FunctionOptions, FunctionTable, NamedFunctionRow } from "@perfdata/report";
import type {
  RateOptions,
  RateReport,
  RecordingInfo,
  StatOptions,
  StatReport,
} from "@perfdata/report/figures";
import type { Consumer, Engine, EngineOptions, Needs, Workers } from "@perfdata/session";
import type { WriteText } from "@perfdata/session/workers";
import type { SymbolBundle, SymbolResolver } from "@perfdata/symbols";
import type { OpenTable } from "@perfdata/tables";
import type { LocatedRecord } from "@perfdata/user-records";
import type { AuxCopyOptions, AuxData, AuxHost, CopiedAux } from "./auxtrace/aux_data.ts";
import { ownProcess } from "./files/node_fs.ts";
import type { RecordingTrace } from "./trace/recording_trace.ts";
import type { DecodedBytes, OpenCode, SynthesizedSamples } from "./trace/trace_question.ts";
import type { Frame } from "./sample_frames.ts";
import { type InputOfKind, isAgain } from "./input_kind.ts";
import type { OpenOptions } from "./open.ts";
import type {
  Collected,
  ProfileAnswer,
  ProfileQuestion,
  SampleReading,
  SymbolsWanted,
} from "./profile_question.ts";
import { noRecords, type ReadyKind, readyProfile } from "./ready_profile.ts";
import type { TablesOptions, WrittenTables } from "./tables_of_recording.ts";
import type { ReadingHost } from "./samples_profile.ts";
import type { DumpTextOptions, RecordText, RecordTextOptions } from "./text/record_text.ts";
import type { SampleTextOptions } from "./text/script_of_recording.ts";
import type { TextHost } from "./text/text_host.ts";

/** A sample with names. */
export interface Sample {
  /** Time in ns of the recording's clock, if samples have times. */
  readonly time?: bigint;
  /** The event, as passed to `perf record -e`. */
  readonly event: string;
  /** The number of events that the sample represents. */
  readonly period: number;
  /** The CPU, if it was recorded. */
  readonly cpu?: number;
  /** The process; -1 if unknown. */
  readonly pid: number;
  /** The thread; -1 if unknown. */
  readonly tid: number;
  /** The thread's name at that time. */
  readonly comm: string;
  /** Functions, innermost first. */
  readonly stack: readonly Frame[];
}

/** A selection of samples. */
export interface SampleChoice {
  /** Filter; all samples pass by default. */
  readonly filter?: EngineOptions["filter"] | undefined;
}

/** Options of {@linkcode Recording.functions}. */
export interface FunctionsOptions extends FunctionOptions, SampleChoice {
  /** Whether a sample also counts for each caller in its call chain, as in `perf report --children`. */
  readonly children?: boolean;
}

/** Inputs of decoding Intel PT. */
export interface OpenedTracing {
  /** Opens the code that it executed. */
  readonly code: OpenCode;
  /** Reports progress, yields to the event loop, and stops if the signal is aborted. */
  readonly decoding: DecodedBytes;
}

/** Constructor arguments of {@linkcode Recording}. */
export interface OpenedRecording {
  /** The bytes, or tables, with their kind. Reading them yields to the event loop. */
  readonly input: InputOfKind<ByteSource>;
  /** A reader that has read the header, for the first method call. */
  readonly reader: PerfDataReader | undefined;
  /** Closes the source. */
  readonly close: () => void;
  /** Yields to the event loop. */
  readonly turns: EventLoopTurns;
  /** The name of the recording. */
  readonly name: string;
  /** The options of {@linkcode open}. */
  readonly options: OpenOptions;
  /** The bundle that is searched for symbols first. */
  readonly bundle: SymbolBundle | undefined;
  /** Inputs of decoding Intel PT. */
  readonly tracing: OpenedTracing;
  /** The recording before samples were synthesized, and facts about these. */
  readonly synthesized:
    | { readonly recorded: RandomAccessSource; readonly made: SynthesizedSamples }
    | undefined;
}

/**
 * An open recording.
 *
 * Each method imports the modules that it needs on its first call, so that a page that only shows a
 * summary loads neither symbols nor formats. Each call reads the recording again. Only the result of
 * {@linkcode Recording.profile} is kept, for call trees and exports.
 */
export class Recording implements Disposable {
  /** The kind of an input that has a profile and no records; `undefined` for a recording. */
  readonly ready: ReadyKind | undefined;
  /** The samples that {@linkcode OpenOptions.itrace} asked for. */
  readonly synthesized: SynthesizedSamples | undefined;
  #input: InputOfKind<ByteSource>;
  #close: () => void;
  /** The recording before samples were synthesized. */
  readonly #unsampled: RandomAccessSource | undefined;
  readonly #tracing: OpenedTracing;
  /** The reader of {@linkcode open}, until the first call uses it. */
  #first: PerfDataReader | undefined;
  /** Whether the bytes were read. */
  #isUsed: boolean;
  /** Bytes that the last call read. */
  #bytes = 0;
  readonly #name: string;
  readonly #options: OpenOptions;
  readonly #bundle: SymbolBundle | undefined;
  readonly #profiles = new Map<boolean, Promise<Profile>>();
  /** Profiles of Intel PT. */
  readonly #durations = new WeakSet<Profile>();
  readonly #turns: EventLoopTurns;

  /** Called by {@linkcode open}. */
  constructor(
    { input, reader, name, options, bundle, turns, close, tracing, synthesized }: OpenedRecording,
  ) {
    this.synthesized = synthesized?.made;
    this.#unsampled = synthesized?.recorded;
    this.#tracing = tracing;
    this.ready = input.kind;
    this.#bundle = bundle;
    this.#turns = turns;
    this.#input = input;
    this.#first = reader;
    this.#isUsed = reader !== undefined;
    this.#close = close;
    this.#name = name;
    this.#options = options;
  }

  /** Closes the file. */
  close(): void {
    this.#close();
  }

  /** Closes the file. */
  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * A summary of the recording: machine, command, events, samples, losses.
   *
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   */
  async info(): Promise<RecordingInfo> {
    const reader = await this.#open();
    const { recordingInfo } = await import("./info_calls.ts");
    const workers = await this.#workers(reader);
    const info = await recordingInfo(reader, { ...this.#progressIn(reader), workers });
    this.#isRead();
    return info;
  }

  /**
   * The header as text lines, as `perf report --header-only -I` prints it.
   *
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   */
  async *header(options: HeaderOptions = {}): AsyncGenerator<string, void, void> {
    const reader = await this.#open();
    const { headerLines } = await import("@perfdata/dump");
    yield* headerLines(reader, options);
  }

  /**
   * The counts of `perf stat record`. The intervals are delivered to the option `round`.
   *
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   */
  async stat(options: Omit<StatOptions, "progress"> = {}): Promise<StatReport> {
    // The description of the counts.
    const reader = await this.#open({ features: true });
    const { analyzeStat } = await import("@perfdata/report/figures");
    const report = await analyzeStat(reader, { ...options, ...this.#progressIn(reader) });
    this.#isRead();
    return report;
  }

  /**
   * The rate of each counter over time, throttling and losses. Points are delivered to the option
   * `point`.
   *
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   *
   * @example
   * ```ts
   * import { open } from "@perfdata/perfdata";
   * import { assert } from "@std/assert";
   *
   * using recording = await open("fixtures/recorded/two-events.perf.data");
   * const { events } = await recording.rate({ by: "cpu" });
   * assert(events.every(({ name, samples }) => name !== "" && samples > 0));
   * ```
   */
  async rate(options: Omit<RateOptions, "progress"> = {}): Promise<RateReport> {
    const reader = await this.#open();
    const { analyzeRate } = await import("@perfdata/report/figures");
    const report = await analyzeRate(reader, { ...options, ...this.#progressIn(reader) });
    this.#isRead();
    return report;
  }

  /**
   * Times of the first and the last sample, in ns of the recording's clock. A stream of a file is held
   * for this.
   *
   * @throws {RangeError} If the recording is a pipe of `perf record` without
   * {@linkcode OpenOptions.temp}, or has no times.
   */
  async span(): Promise<readonly [bigint, bigint]> {
    const { temp } = this.#options;
    if (temp !== undefined && !isAgain(this.#input)) await this.#copyTo(temp);
    const { sampleSpan } = await import("./engine_calls.ts");
    const reader = this.#first ?? await this.#open({ features: true });
    // The span of a pipe is refused before a record is read.
    if (!isAgain(this.#input)) this.#first = reader;
    return await sampleSpan(reader);
  }

  /**
   * The functions by descending share of each event's period, as in `perf report`.
   *
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   */
  async functions(options: FunctionsOptions = {}): Promise<NamedFunctionRow[]> {
    const table = await this.#functionTable(options);
    const rows: NamedFunctionRow[] = [];
    for (const row of table.rows) {
      if ((rows.length & 0xff) === 0) await this.#turns.turn();
      rows.push({ ...table.row(row), eventName: table.eventNames[table.event(row)] ?? "" });
    }
    return rows;
  }

  async #functionTable(
    { children = false, filter, ...shown }: FunctionsOptions,
  ): Promise<FunctionTable> {
    const [{ functionColumns, FunctionTable, functionTable }, { SampleCollector }] = await Promise
      .all([import("@perfdata/report"), import("./profile_calls.ts")]);
    const callees = children && shown.callees !== false;
    if (this.ready !== undefined) {
      const timed = shown.sort?.includes("cpu") === true;
      const profile = await this.profile({ timed, filter });
      return new FunctionTable(profile, { ...shown, callees });
    }
    const counts = new SampleCollector(functionColumns(shown, children));
    const { symbols } = await this.collect(counts, { filter });
    return await functionTable(counts, await symbols(), { ...shown, callees });
  }

  /**
   * The samples in order of time, with names. Reads all samples before it yields the first one, because
   * names are looked up last. Samples take about 30 bytes of memory each.
   *
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   *
   * @example
   * ```ts
   * import { open } from "@perfdata/perfdata";
   * import { assert } from "@std/assert";
   *
   * using recording = await open("fixtures/recorded/callchain.perf.data");
   * let n = 0;
   * for await (const { time, comm, stack } of recording.samples()) {
   *   assert(time !== undefined && comm !== "" && stack.length > 0);
   *   n++;
   * }
   * assert(n > 0);
   * ```
   */
  async *samples(options: SampleChoice = {}): AsyncGenerator<Sample, void, void> {
    const profile = await this.profile({ timed: true, ...options });
    const { Frames } = await import("./sample_frames.ts");
    const { samples, events, threads, epoch } = profile;
    const frames = new Frames(profile);
    for (let row = 0; row < samples.length; row++) {
      if ((row & 0xff) === 0) await this.#turns.turn();
      const time = samples.time?.[row];
      const cpu = samples.cpu?.[row] ?? -1;
      const { pid = -1, tid = -1, comm = "" } = threads.at(intAt(samples.thread, row)) ?? {};
      yield {
        ...(time === undefined || Number.isNaN(time) ? {} : { time: epoch + BigInt(time) }),
        event: events[samples.event[row] as number]?.name ?? "",
        period: floatAt(samples.period, row),
        ...(cpu < 0 ? {} : { cpu }),
        pid,
        tid,
        comm,
        stack: frames.stack(intAt(samples.stack, row)),
      };
    }
  }

  /**
   * All samples as columns with names, the input of trees, pictures and formats. Kept for later
   * calls if there is no filter.
   *
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   */
  async profile(
    { timed = false, filter }: SampleChoice & { readonly timed?: boolean } = {},
  ): Promise<
    Profile
  > {
    if (filter !== undefined) return await this.#profile(timed, filter);
    const kept = this.#profiles.get(timed);
    if (kept !== undefined) return await kept;
    const made = this.#profile(timed);
    this.#profiles.set(timed, made);
    // Forget an aborted profile, so that a later call reads it again.
    made.catch(() => this.#profiles.delete(timed));
    return await made;
  }

  async #profile(timed: boolean, filter?: EngineOptions["filter"]): Promise<Profile> {
    const input = this.#input;
    if (input.kind === undefined) {
      return (await this.ask({ timed, timeline: timed, filter })).profile;
    }
    this.#once();
    const profile = await readyProfile(input, {
      title: this.#name,
      timed,
      filter,
      ...this.#progressOf(Infinity),
    });
    this.#isRead();
    return profile;
  }

  /**
   * The profile that a question asks for, with the facts about its samples: the trust in names,
   * unwound stacks, totals. If no sample passes the filter, it is of the Intel PT that the recording
   * has. Not kept for later calls. If times are missing because no context switches
   * were recorded, `missingSwitches` of `@perfdata/session` says so, from the collector.
   *
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   *
   * @example
   * ```ts
   * import { open } from "@perfdata/perfdata";
   * import { assertEquals } from "@std/assert";
   *
   * using recording = await open("fixtures/recorded/switch.perf.data", { symbols: "none" });
   * const { profile, trust } = await recording.ask({ weight: "off-cpu", lines: false });
   * assertEquals(profile.events.map(({ name }) => name), ["off-cpu"]);
   * assertEquals(trust.resolved.samples, 0);
   * ```
   */
  async ask(question: ProfileQuestion = {}): Promise<ProfileAnswer> {
    const { naming } = this.#options;
    const { isTimeWeight, namedProfile, profileCollector } = await import("./samples_profile.ts");
    const collector = profileCollector(question);
    const collected = await this.collect(collector, question);
    const { ranges } = question;
    const how = { title: this.#name, naming, ranges };
    const answer = await namedProfile(collector, collected, how);
    const isTraced = collector.samples === 0 && this.synthesized === undefined &&
      !isTimeWeight(collector.weight) && await this.hasTrace();
    if (!isTraced) return answer;
    const { profile, loss } = await (await this.trace()).profile(question);
    this.#durations.add(profile);
    return { ...answer, profile, traced: loss };
  }

  /**
   * Reads the samples into a collector: for other tables than those of the methods.
   *
   * @returns The engine, with the places and stacks that the collector refers to, and the symbols.
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   *
   * @example
   * ```ts
   * import { open } from "@perfdata/perfdata";
   * import { SampleCollector } from "@perfdata/profile";
   * import { assert } from "@std/assert";
   *
   * using recording = await open("fixtures/recorded/callchain.perf.data");
   * const collector = new SampleCollector();
   * await recording.collect(collector, { filter: { cpus: new Set([0]) } });
   * assert(collector.samples >= 0);
   * ```
   */
  async collect(collector: SampleCollector, reading: SampleReading = {}): Promise<Collected> {
    const reader = await this.#open(collector.needs);
    const { collectSamples } = await import("./samples_profile.ts");
    const collected = await collectSamples(reader, collector, reading, this.#host(reader));
    this.#isRead();
    return collected;
  }

  /**
   * Reads the recording for consumers of the engine: for tables of one's own.
   *
   * @returns The engine, with the places and stacks that the consumers refer to.
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   *
   * @example
   * ```ts
   * import { open } from "@perfdata/perfdata";
   * import { assert } from "@std/assert";
   *
   * using recording = await open("fixtures/recorded/callchain.perf.data");
   * let records = 0;
   * await recording.read([{ needs: {}, rows: ({ count }) => records += count }]);
   * assert(records > 0);
   * ```
   */
  async read(
    consumers: readonly Consumer[],
    options: Pick<EngineOptions, "filter" | "unwind" | "jit" | "stitchLbr"> = {},
  ): Promise<Engine> {
    const reader = await this.#open({ features: consumers.some(({ needs }) => needs.features) });
    const { runEngine } = await import("./engine_calls.ts");
    const engine = await runEngine(reader, consumers, {
      ...options,
      ...this.#progressIn(reader),
      workers: await this.#workers(reader),
      diagnostics: this.#options.diagnostics,
    });
    this.#isRead();
    return engine;
  }

  /**
   * Selects samples by the names of their commands, objects and functions, as a filter for other
   * methods. This is one more pass over the recording, and another one for functions.
   *
   * @param names The conditions, all of which must hold.
   * @param filter The other conditions.
   * @throws {TypeError} If the recording is a stream without {@linkcode OpenOptions.temp}.
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   *
   * @example
   * ```ts
   * import { open } from "@perfdata/perfdata";
   * import { assertEquals } from "@std/assert";
   *
   * using recording = await open("fixtures/recorded/callchain.perf.data");
   * const filter = await recording.chosen({ comm: (name) => name === "nobody" });
   * assertEquals(await recording.functions({ filter }), []);
   * ```
   */
  async chosen(
    names: NameConditions,
    filter: NonNullable<EngineOptions["filter"]> = {},
  ): Promise<NonNullable<EngineOptions["filter"]>> {
    const { temp, diagnostics } = this.#options;
    const { chooseSamples, isCompressed, memoryFile } = await import("./slice_calls.ts");
    const isFile = isAgain(this.#input);
    if (!isFile && temp === undefined) {
      throw new TypeError("samples are chosen by name in a pass before: not in a stream");
    }
    if (!isFile || await isCompressed(await this.#reader({ diagnostics: () => {} }))) {
      await this.#copyTo(temp ?? memoryFile);
    }
    // The next method reports errors of a damaged recording.
    const reader = await this.#reader(diagnostics === undefined ? {} : { diagnostics: () => {} });
    const symbols = (machine: SymbolsWanted["machine"]) => this.#symbols({ machine, lines: false });
    return {
      ...filter,
      records: (await chooseSamples(reader, names, symbols, { filter })).records,
    };
  }

  /** Copies the recording to a temporary file, which methods read from then on. */
  async #copyTo(temp: () => TempFile): Promise<void> {
    const { diagnostics } = this.#options;
    const { plainCopy } = await import("./slice_calls.ts");
    const file = temp();
    this.#source = await plainCopy(await this.#open(), file, diagnostics);
    this.#close();
    this.#close = () => file.close();
  }

  /** Other threads for counts that are not of a collector. */
  async #workers(reader: PerfDataReader): Promise<Workers | undefined> {
    return await this.#threads?.({
      collect: undefined,
      reader,
      isScanned: false,
      isShared: false,
    });
  }

  #host(reader: PerfDataReader): ReadingHost {
    const { diagnostics } = this.#options;
    const symbols = (wanted: SymbolsWanted) => this.#symbols(wanted);
    return { ...this.#progressIn(reader), diagnostics, threads: this.#threads, symbols };
  }

  /** Other threads for samples. They open the file, which does not have synthesized samples. */
  get #threads(): OpenOptions["threads"] {
    return this.synthesized === undefined ? this.#options.threads : undefined;
  }

  /** The call tree of an event; by default that with most samples (see `shownEvents`). */
  async callTree(options: Partial<CallTreeOptions> & SampleChoice = {}): Promise<CallTree> {
    const { filter, ...how } = options;
    const profile = await this.profile({ filter });
    const { callTree } = await import("@perfdata/export/tree");
    if (how.event !== undefined) return callTree(profile, { ...how, event: how.event });
    const { shownEvents } = await import("./profile_calls.ts");
    return callTree(shownEvents(profile), { ...how, event: 0 });
  }

  /**
   * All records in file order, as `perfdata records` prints them.
   *
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   */
  async *records(): AsyncGenerator<LocatedRecord, void, void> {
    const { records } = await import("@perfdata/user-records");
    for await (const record of records(await this.#open())) {
      await this.#turns.turn();
      yield record;
    }
  }

  /**
   * Writes all records as `perf report -D` prints them: offset, bytes and fields, with statistics at
   * the end.
   *
   * @param write Receives the text as UTF-8. The bytes are valid during the call only.
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   *
   * @example
   * ```ts
   * import { open } from "@perfdata/perfdata";
   * import { assertEquals } from "@std/assert";
   *
   * using recording = await open("fixtures/recorded/callchain.perf.data");
   * let lines = 0;
   * const { printed } = await recording.dump((text) => {
   *   lines += text.filter((byte) => byte === 10).length;
   * });
   * assertEquals([printed > 10, lines > printed], [true, true]);
   * ```
   */
  async dump(write: WriteText, options: DumpTextOptions = {}): Promise<DumpStats> {
    const { dumpText } = await import("./text/record_text.ts");
    return await this.#text(write, (host) => dumpText(host, options));
  }

  /**
   * Writes records as lines of JSON or CSV, as `perfdata records` prints them.
   *
   * @param write Receives blocks of whole lines as UTF-8, which are valid during the call only.
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   *
   * @example
   * ```ts
   * import { open } from "@perfdata/perfdata";
   * import { assertEquals } from "@std/assert";
   *
   * using recording = await open("fixtures/recorded/callchain.perf.data");
   * let text = "";
   * const { count } = await recording.writeRecords(
   *   (block) => text += new TextDecoder().decode(block),
   *   { types: new Set(["COMM"]) },
   * );
   * const [first = ""] = text.split("\n");
   * assertEquals([count > 0, JSON.parse(first).type], [true, "COMM"]);
   * ```
   */
  async writeRecords(write: WriteText, options: RecordTextOptions = {}): Promise<RecordText> {
    const { recordText } = await import("./text/record_text.ts");
    return await this.#text(write, (host) => recordText(host, options));
  }

  /**
   * Writes samples as `perf script` prints them. Function names are those of the option `symbols` of
   * {@linkcode open}. Intel PT is not decoded.
   *
   * @param write Receives the text as UTF-8. The bytes are valid during the call only.
   * @throws {FieldError} If a field is unknown, or no event has it.
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   *
   * @example
   * ```ts
   * import { open } from "@perfdata/perfdata";
   * import { assertMatch } from "@std/assert";
   *
   * using recording = await open("fixtures/recorded/callchain.perf.data", { symbols: "none" });
   * let text = "";
   * await recording.script((part) => text += new TextDecoder().decode(part), {
   *   fields: "comm,tid,time",
   * });
   * assertMatch(text, /^ +demo +\d+ +\d+\.\d{6}: $/m);
   * ```
   */
  async script(write: WriteText, options: SampleTextOptions = {}): Promise<WrittenScript> {
    const { sampleText } = await import("./text/script_of_recording.ts");
    return await this.#text(write, (host) => sampleText(host, options));
  }

  async #text<T>(write: WriteText, action: (host: TextHost) => Promise<T>): Promise<T> {
    const reader = await this.#open();
    const { diagnostics, textThreads } = this.#options;
    const result = await action({
      ...this.#progressIn(reader),
      reader,
      write,
      path: this.#name,
      diagnostics,
      textThreads,
      symbols: (wanted) => this.#symbols(wanted),
    });
    this.#isRead();
    return result;
  }

  /**
   * Writes the recording as tables: samples, stacks, frames, threads, mappings, and others that have
   * rows (docs/tables.md).
   *
   * @param open Creates a table when its first rows are written, such as a `ParquetFile` of
   * `@perfdata/tables`. The caller finishes the files.
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing, or has no Intel PT for `calls`.
   *
   * @example
   * ```ts
   * import { memorySink } from "@perfdata/format";
   * import { open } from "@perfdata/perfdata";
   * import { ParquetFile } from "@perfdata/tables";
   * import { assertEquals } from "@std/assert";
   *
   * using recording = await open("fixtures/recorded/callchain.perf.data", { symbols: "none" });
   * const files = new Map<string, ParquetFile>();
   * const { samples } = await recording.writeTables((table) => {
   *   const file = new ParquetFile(memorySink(), table);
   *   files.set(table.name, file);
   *   return file;
   * });
   * for (const file of files.values()) file.finish();
   * assertEquals(files.get("samples")?.count, samples);
   * ```
   */
  async writeTables(open: OpenTable, options: TablesOptions = {}): Promise<WrittenTables> {
    const reader = await this.#open();
    const { writeTables } = await import("./tables_of_recording.ts");
    const written = await writeTables(
      {
        ...this.#progressIn(reader),
        reader,
        name: this.#name,
        turns: this.#turns,
        diagnostics: this.#options.diagnostics,
        symbols: (wanted) => this.#symbols(wanted),
        trace: () => this.trace(),
      },
      open,
      options,
    );
    this.#isRead();
    return written;
  }

  /**
   * The AUX data of each CPU or thread, such as Intel PT.
   *
   * @throws {TypeError} If the recording is a stream: see {@linkcode Recording.copyAux}.
   */
  async auxStreams(): Promise<AuxData[]> {
    const { auxData } = await import("./auxtrace/aux_data.ts");
    return await auxData(await this.#auxHost());
  }

  /**
   * Copies the AUX data of each CPU or thread, of a file or stream. Where buffers overlap, each byte
   * is copied once.
   *
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   *
   * @example
   * ```ts
   * import { memorySink } from "@perfdata/format";
   * import { open } from "@perfdata/perfdata";
   * import { assertEquals } from "@std/assert";
   *
   * using recording = await open("fixtures/synthesized/pt-cpus.perf.data");
   * const sinks = new Map<number, ReturnType<typeof memorySink>>();
   * await recording.copyAux({
   *   open({ cpu = -1 }) {
   *     const sink = memorySink();
   *     sinks.set(cpu, sink);
   *     return sink;
   *   },
   * });
   * assertEquals([...sinks].map(([cpu, sink]) => [cpu, sink.bytes().length]), [
   *   [0, 3248],
   *   [1, 6824],
   *   [3, 3224],
   * ]);
   * ```
   */
  async copyAux(options: AuxCopyOptions): Promise<CopiedAux> {
    const { copyAux } = await import("./auxtrace/aux_data.ts");
    const copied = await copyAux(await this.#auxHost(), options);
    this.#isRead();
    return copied;
  }

  async #auxHost(): Promise<AuxHost> {
    return {
      reader: await this.#openRecorded(),
      source: this.#recorded,
      diagnostics: this.#options.diagnostics,
      progress: (total) => this.#progressOf(total ?? Infinity).progress,
    };
  }

  /**
   * Opens the Intel PT: executed stacks, calls, branches and instructions.
   *
   * @throws {PerfDataError} If there is no AUX data (code `no-aux-data`), if it is not Intel PT
   * (`not-intel-pt`), or if the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   * @throws {TypeError} If the recording is a stream that was read.
   *
   * @example
   * ```ts
   * import { open } from "@perfdata/perfdata";
   * import { assertEquals } from "@std/assert";
   *
   * using recording = await open("fixtures/synthesized/pt-cpus.perf.data", { symbols: "none" });
   * const trace = await recording.trace();
   * const { profile, loss } = await trace.profile();
   * assertEquals([profile.samples.length, typeof loss.undecoded], [0, "string"]);
   * ```
   */
  async trace(): Promise<RecordingTrace> {
    const { diagnostics, naming, traceThreads } = this.#options;
    const source = await this.#heldRecorded();
    const { openTrace } = await import("./trace/open_trace.ts");
    return await openTrace(await this.#openRecorded(), source, {
      ...this.#tracing,
      diagnostics: this.synthesized === undefined ? diagnostics : () => {},
      title: this.#name,
      symbols: (wanted) => this.#symbols(wanted),
      threads: traceThreads,
      naming,
    });
  }

  /** Whether the recording has Intel PT. A stream is not read: `false`. */
  async hasTrace(): Promise<boolean> {
    if (this.ready !== undefined) return false;
    const source = this.#recorded;
    if (!isRandomAccess(source)) return false;
    return await (await import("./trace/open_trace.ts")).hasIntelPt(source);
  }

  /** Whether the recording has Intel PT and no samples. A stream is not read: `false`. */
  async hasOnlyTrace(): Promise<boolean> {
    if (this.ready !== undefined) return false;
    const source = this.#recorded;
    if (!isRandomAccess(source)) return false;
    return await (await import("./trace/open_trace.ts")).isTraceAlone(source);
  }

  /** The bytes with AUX data: without the samples of `itrace`. */
  get #recorded(): ByteSource {
    return this.#unsampled ?? this.#source;
  }

  /** The bytes with AUX data, which are read where they are: a stream is held. */
  async #heldRecorded(): Promise<RandomAccessSource> {
    if (!this.#isUsed && !isRandomAccess(this.#recorded)) {
      this.#source = this.#turns.source(await held(this.#source));
    }
    const source = this.#recorded;
    if (isRandomAccess(source)) return source;
    throw new TypeError("AUX data is read where it is: not of a stream that was read");
  }

  /** A reader of the recording with AUX data. */
  async #openRecorded(): Promise<PerfDataReader> {
    if (this.synthesized === undefined) return await this.#open();
    // Errors were reported when samples were synthesized.
    return await PerfDataReader.open(this.#recorded, { diagnostics: () => {} });
  }

  /**
   * The profile in a format of another tool, in chunks. The caller may keep the chunks.
   *
   * @throws {RangeError} If there is no such format.
   *
   * @example
   * ```ts
   * import { open } from "@perfdata/perfdata";
   * import { assert } from "@std/assert";
   *
   * using recording = await open("fixtures/recorded/callchain.perf.data");
   * const chunks = await Array.fromAsync(recording.exportAs("folded"));
   * const text = await new Blob(chunks).text();
   * assert(/^\S.* \d+$/m.test(text));
   * ```
   */
  async *exportAs(format: ExportFormat): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
    const { formatOf, FORMATS } = await import("@perfdata/export/tree");
    const found = formatOf(format);
    if (found === undefined) {
      const known = Object.keys(FORMATS).join(", ");
      throw new RangeError(`exportAs: ${JSON.stringify(format)}; formats: ${known}`);
    }
    const profile = await this.profile({ timed: found.timed === true });
    for await (
      const chunk of await found.write(profile, { durations: this.#durations.has(profile) })
    ) {
      await this.#turns.turn();
      yield chunk;
    }
  }

  /**
   * An edited copy of the recording: see `Edit` of `@perfdata/edit`.
   *
   * @throws {PerfDataError} If the recording is damaged and {@linkcode OpenOptions.diagnostics} is
   * missing.
   */
  async edit(edit: Edit): Promise<{ readonly bytes: Uint8Array; readonly stats: CopyStats }> {
    const { copyRecording, FileOutput } = await import("@perfdata/edit");
    const sink = memorySink();
    const output = new FileOutput(sink);
    const reader = await this.#open();
    const stats = await copyRecording(reader, output, { edit, ...this.#progressIn(reader) });
    this.#isRead();
    return { bytes: sink.bytes(), stats };
  }

  /**
   * Opens the recording from the start. If feature sections are needed before the records, a stream of
   * a file is held.
   */
  async #open({ features = false }: Pick<Needs, "features"> = {}): Promise<PerfDataReader> {
    const { diagnostics, signal } = this.#options;
    signal?.throwIfAborted();
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined) return first;
    if (features) await this.#holdFile();
    return await this.#reader(diagnostics === undefined ? {} : { diagnostics });
  }

  async #reader(options: ReaderOptions): Promise<PerfDataReader> {
    const source = this.#source;
    this.#once();
    return await PerfDataReader.open(source, options);
  }

  /** The bytes of the recording. */
  get #source(): ByteSource {
    const { source, kind } = this.#input;
    // The reader says what a profile of another tool is.
    if (kind === "tables") throw noRecords();
    return source;
  }

  set #source(source: ByteSource) {
    this.#input = { source, kind: undefined };
  }

  /** Makes a stream of a file seekable. */
  async #holdFile(): Promise<void> {
    const { source, kind } = this.#input;
    if (kind !== undefined || this.#isUsed || isRandomAccess(source)) return;
    const whole = await featuresFirst(source);
    this.#source = isRandomAccess(whole) ? this.#turns.source(whole) : whole;
  }

  /** Checks that the input can be read, and marks it as read: once if it is a stream. */
  #once(): void {
    if (this.#isUsed && !isAgain(this.#input)) {
      throw new TypeError("the recording is a stream that was read: it answers one question");
    }
    this.#isUsed = true;
  }

  /** Reports the share 1. */
  #isRead(): void {
    this.#options.progress?.(1, this.#bytes, this.#bytes);
  }

  /** Reports progress while data is read, and stops if the signal is aborted. */
  #progressIn({ data }: PerfDataReader): Pick<EngineOptions, "progress"> {
    return this.#progressOf(data.size);
  }

  /** Reports progress of reading that many bytes; infinite if unknown. */
  #progressOf(total: number): { readonly progress?: (bytes: number, more?: number) => void } {
    const { signal, progress } = this.#options;
    if (signal === undefined && progress === undefined) return {};
    let done = 0;
    const { source, kind } = this.#input;
    const size = kind !== "tables" && isRandomAccess(source) ? source.size : 0;
    let all = Number.isFinite(total) ? total : size;
    return {
      progress: (bytes, more = 0) => {
        signal?.throwIfAborted();
        done += bytes;
        all += more;
        this.#bytes = done;
        progress?.(all > 0 ? Math.min(1, done / all) : 0, done, all > 0 ? all : undefined);
      },
    };
  }

  /** Opens the symbols of the recorded machine. */
  async #symbols(wanted: SymbolsWanted): Promise<SymbolResolver> {
    const { symbols = ownProcess() === undefined ? "none" : "machine" } = this.#options;
    if (typeof symbols === "function") return await symbols(wanted);
    const [{ SymbolResolver }, machine] = await Promise.all([
      import("@perfdata/symbols"),
      import("./files/machine_files.ts"),
    ]);
    const files = symbols === "machine"
      ? machine.machineFiles
      : symbols === "none"
      ? { open: () => undefined, read: () => undefined }
      : symbols;
    return new SymbolResolver(files, {
      machine: wanted.machine,
      parameters: false,
      turn: this.#turns.turn,
      places: symbols === "machine" ? machine.machinePlaces() : {},
      bundle: this.#bundle,
    });
  }
}
