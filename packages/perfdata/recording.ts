import type { AuxStream } from "@perfdata/session/auxtrace";
import type { Profile, SampleCollector } from "@perfdata/profile";
import type { HeaderOptions } from "@perfdata/dump";
import type { CopyStats, Edit } from "@perfdata/edit";
import type { CallTree, CallTreeOptions, ExportFormat } from "@perfdata/export/tree";
import {
  type ByteSource,
  type EventLoopTurns,
  floatAt,
  intAt,
  isRandomAccess,
  memorySink,
} from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import type { FunctionOptions, NamedFunctionRow } from "@perfdata/report";
import type { RecordingInfo } from "@perfdata/report/figures";
import type { Engine, EngineOptions } from "@perfdata/session";
import type { SymbolBundle, SymbolResolver } from "@perfdata/symbols";
import type { LocatedRecord } from "@perfdata/user-records";
import { ownProcess } from "./files/node_fs.ts";
import type { Frame } from "./sample_frames.ts";
import type { OpenOptions } from "./open.ts";

/** A sample with its names. */
export interface Sample {
  /** Time of the recording's clock in ns, if samples have times. */
  readonly time?: bigint;
  /** The event, as given to `perf record -e`. */
  readonly event: string;
  /** What it stands for, in units of the event. */
  readonly period: number;
  /** CPU, where it was recorded. */
  readonly cpu?: number;
  /** Process; -1 if it is not known. */
  readonly pid: number;
  /** Thread; -1 if it is not known. */
  readonly tid: number;
  /** The thread's name at that time. */
  readonly comm: string;
  /** Functions, innermost first. */
  readonly stack: readonly Frame[];
}

/** Which samples count. */
export interface SampleChoice {
  /** Which samples count; all if it is missing. */
  readonly filter?: EngineOptions["filter"];
}

/** How {@linkcode Recording.functions} counts. */
export interface FunctionsOptions extends FunctionOptions, SampleChoice {
  /** Also count callees, from call chains. */
  readonly children?: boolean;
}

/** What {@linkcode Recording} is made of. */
export interface OpenedRecording {
  /** Its bytes, which are read in turns. */
  readonly source: ByteSource;
  /** The same, with the header that was read: for the first question. */
  readonly reader: PerfDataReader | undefined;
  /** Closes what the bytes are from. */
  readonly close: () => void;
  /** Turns of the event loop. */
  readonly turns: EventLoopTurns;
  /** What it is called. */
  readonly name: string;
  /** How it was opened. */
  readonly options: OpenOptions;
  /** The bundle that is asked for symbols first. */
  readonly bundle: SymbolBundle | undefined;
}

/** AUX data of a CPU or a thread, such as Intel PT. */
export interface AuxData {
  /** The CPU; missing if the data is that of a thread on all of them. */
  readonly cpu?: number;
  /** The thread; missing if the data is that of a CPU. */
  readonly tid?: number;
  /** Bytes in all. */
  readonly size: number;
  /** The bytes, those that buffers have in common once. */
  read(): Promise<Uint8Array>;
}

/**
 * A recording that was opened. Each question loads the modules that it needs when it is asked first, so that a
 * page that shows a summary does not load symbols and formats. Each question reads the recording once more; {@linkcode Recording.profile} is what
 * call trees and exports are made of, and kept.
 */
export class Recording implements Disposable {
  readonly #source: ByteSource;
  readonly #close: () => void;
  /** What was opened first, until it is asked. */
  #first: PerfDataReader | undefined;
  /** Bytes that the last question has read. */
  #bytes = 0;
  readonly #name: string;
  readonly #options: OpenOptions;
  readonly #bundle: SymbolBundle | undefined;
  readonly #profiles = new Map<boolean, Promise<Profile>>();
  readonly #turns: EventLoopTurns;

  /** For {@linkcode open}. */
  constructor({ source, reader, name, options, bundle, turns, close }: OpenedRecording) {
    this.#bundle = bundle;
    this.#turns = turns;
    this.#source = source;
    this.#first = reader;
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
   * The recording in short: machine, command, events, samples, loss.
   *
   * @throws {PerfDataError} If it is damaged, and nothing takes diagnostics.
   */
  async info(): Promise<RecordingInfo> {
    const reader = await this.#open();
    const { recordingInfo } = await import("@perfdata/report/figures");
    const info = await recordingInfo(reader, this.#progressIn(reader));
    this.#isRead();
    return info;
  }

  /**
   * What the recording says about itself and its machine, in lines as `perf report --header-only -I` prints them.
   *
   * @throws {PerfDataError} If it is damaged, and nothing takes diagnostics.
   */
  async *header(options: HeaderOptions = {}): AsyncGenerator<string, void, void> {
    const reader = await this.#open();
    const { headerLines } = await import("@perfdata/dump");
    yield* headerLines(reader, options);
  }

  /**
   * The functions with the largest share of each event's period first, as `perf report` counts them.
   *
   * @throws {PerfDataError} If it is damaged, and nothing takes diagnostics.
   */
  async functions(options: FunctionsOptions = {}): Promise<NamedFunctionRow[]> {
    const { children = false, filter, ...shown } = options;
    const [{ functionColumns, functionTable }, { SampleCollector }] = await Promise.all([
      import("@perfdata/report"),
      import("@perfdata/profile"),
    ]);
    const counts = new SampleCollector(functionColumns(shown, children));
    const { engine, resolver } = await this.#run(counts, filter);
    const table = await functionTable(engine, counts, resolver, shown);
    const rows: NamedFunctionRow[] = [];
    for (const row of table.rows) {
      if ((rows.length & 0xff) === 0) await this.#turns.turn();
      rows.push({ ...table.row(row), eventName: table.eventNames[table.event(row)] ?? "" });
    }
    return rows;
  }

  /**
   * The samples in order of time, with names. All are read before the first is given, since names come
   * last; they are held in columns, some 30 bytes each.
   *
   * @throws {PerfDataError} If it is damaged, and nothing takes diagnostics.
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
   * All samples in columns with names: what trees, pictures and formats are made from. Kept, where no
   * samples are chosen.
   *
   * @throws {PerfDataError} If it is damaged, and nothing takes diagnostics.
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
    // What was aborted can be asked for again.
    made.catch(() => this.#profiles.delete(timed));
    return await made;
  }

  async #profile(timed: boolean, filter?: EngineOptions["filter"]): Promise<Profile> {
    const { profileColumns, recordedProfile, SampleCollector } = await import(
      "@perfdata/profile"
    );
    const consumer = new SampleCollector(profileColumns({ timed, lines: true }));
    const { resolver } = await this.#run(consumer, filter);
    const { profile } = await recordedProfile(consumer, { resolver, title: this.#name });
    return profile;
  }

  /** Who called whom; of the event with most samples, if none is named (see `shownEvents`). */
  async callTree(options: Partial<CallTreeOptions> & SampleChoice = {}): Promise<CallTree> {
    const { filter, ...how } = options;
    const profile = await this.profile(filter === undefined ? {} : { filter });
    const { callTree } = await import("@perfdata/export/tree");
    if (how.event !== undefined) return callTree(profile, { ...how, event: how.event });
    const { shownEvents } = await import("@perfdata/profile");
    return callTree(shownEvents(profile), { ...how, event: 0 });
  }

  /**
   * Every record, in the order of the file, as `perfdata records` prints them.
   *
   * @throws {PerfDataError} If it is damaged, and nothing takes diagnostics.
   */
  async *records(): AsyncGenerator<LocatedRecord, void, void> {
    const { records } = await import("@perfdata/user-records");
    for await (const record of records(await this.#open())) {
      await this.#turns.turn();
      yield record;
    }
  }

  /** AUX data, such as Intel PT: that of each CPU or thread. */
  async auxStreams(): Promise<AuxData[]> {
    const { copyAuxStream, auxStreamBytes, readAuxTrace } = await import(
      "@perfdata/session/auxtrace"
    );
    const { streams } = await readAuxTrace(await this.#open());
    const source = this.#source;
    if (!isRandomAccess(source)) {
      throw new TypeError("AUX data is read where it is: not of a stream");
    }
    return streams.map((stream: AuxStream) => ({
      cpu: stream.cpu,
      ...(stream.tid === undefined || stream.tid < 0 ? {} : { tid: stream.tid }),
      size: auxStreamBytes(stream),
      read: async () => {
        const sink = memorySink();
        await copyAuxStream(stream, source, sink);
        return sink.bytes();
      },
    }));
  }

  /**
   * The profile in a format that other tools open, in chunks that belong to the caller.
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
    for await (const chunk of await found.write(profile, {})) {
      await this.#turns.turn();
      yield chunk;
    }
  }

  /**
   * A changed copy as a file: see `Edit` of `@perfdata/edit` for what may change.
   *
   * @throws {PerfDataError} If the recording is damaged, and nothing takes diagnostics.
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

  async #open(): Promise<PerfDataReader> {
    const { diagnostics, signal } = this.#options;
    signal?.throwIfAborted();
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined) return first;
    const source = this.#source;
    if (!isRandomAccess(source)) {
      throw new TypeError("the recording is a stream that was read: it answers one question");
    }
    return await PerfDataReader.open(
      source,
      diagnostics === undefined ? {} : { diagnostics },
    );
  }

  /** Reports that all was read. */
  #isRead(): void {
    this.#options.progress?.(1, this.#bytes, this.#bytes);
  }

  /** Reports what was read of the data, and ends where the signal says so. */
  #progressIn({ data }: PerfDataReader): {
    readonly progress?: (bytes: number, more?: number) => void;
  } {
    const { signal, progress } = this.#options;
    if (signal === undefined && progress === undefined) return {};
    let done = 0;
    const size = isRandomAccess(this.#source) ? this.#source.size : 0;
    let all = Number.isFinite(data.size) ? data.size : size;
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

  async #run(
    consumer: SampleCollector,
    filter: EngineOptions["filter"],
  ): Promise<{ engine: Engine; resolver: SymbolResolver }> {
    const [{ collect }, { SymbolResolver }, machine] = await Promise.all([
      import("./collect.ts"),
      import("@perfdata/symbols"),
      import("./files/machine_files.ts"),
    ]);
    const { symbols = ownProcess() === undefined ? "none" : "machine" } = this.#options;
    const files = symbols === "machine"
      ? machine.machineFiles
      : symbols === "none"
      ? { open: () => undefined, read: () => undefined }
      : symbols;
    const reader = await this.#open();
    const { engine, symbols: opened } = await collect(reader, consumer, {
      ...this.#progressIn(reader),
      filter,
      diagnostics: this.#options.diagnostics,
      symbols: ({ recorded }) =>
        new SymbolResolver(files, {
          machine: recorded,
          parameters: false,
          turn: this.#turns.turn,
          places: symbols === "machine" ? machine.machinePlaces() : {},
          bundle: this.#bundle,
        }),
    });
    this.#isRead();
    return { engine, resolver: await opened() };
  }
}
