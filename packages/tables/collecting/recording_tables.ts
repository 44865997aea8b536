import type { PerfDataReader, PerfEventAttr, RecordBatch } from "@perfdata/format/records";
import { floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import {
  HEADER_ARCH,
  HEADER_CLOCK_DATA,
  HEADER_CMDLINE,
  HEADER_CPUDESC,
  HEADER_HOSTNAME,
  HEADER_NRCPUS,
  HEADER_OSRELEASE,
  HEADER_VERSION,
  PERF_RECORD_SAMPLE,
} from "@perfdata/format/constants";
import {
  CHOSEN,
  type Consumer,
  type Engine,
  type Needs,
  recordedFeatures,
  type Run,
  SampleReads,
} from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import { PlaceIds } from "../ids/place_ids.ts";
import { type ColumnValues, constant, type RowSink, type Table } from "../schema/column_types.ts";
import { textValues, WordColumn, wordsOf } from "../schema/growing.ts";
import {
  FRAMES,
  MAPPINGS,
  RECORDINGS,
  SAMPLES,
  STACKS,
  SWITCHES,
  TABLES_VERSION,
  THREADS,
  TRACEPOINTS,
} from "../schema/tables.ts";
import { type ClockReference, DayClock } from "./day_clock.ts";
import { frameRows } from "./frame_rows.ts";
import { RecordRows } from "./record_rows.ts";
import { SampleRows } from "./sample_rows.ts";
import { TracepointRows } from "./tracepoint_rows.ts";

/** Opens a table for writing rows. */
export type OpenTable = (table: Table, about: RecordingKey) => RowSink;

/** Identification of a recording. */
export interface RecordingKey {
  /** Id in 16 hex digits. */
  readonly id: string;
  /** Date of the first sample in UTC, such as `2026-11-23`; `undefined` without a clock for the time of day. */
  readonly date: string | undefined;
}

/** Options of {@link RecordingTables}. */
export interface RecordingTablesOptions {
  /** Name of the recording's file. */
  readonly name: string;
  /** Opens tables. */
  readonly open: OpenTable;
  /** Creates the resolver for names of frames; without it, they have no names. */
  readonly resolver?: ((engine: Engine) => Promise<SymbolResolver>) | undefined;
  /** Number of sample rows written at a time. */
  readonly groupRows?: number | undefined;
  /** Called between tables at the end, which take a while, so that the caller can process signals. */
  readonly pause?: (() => Promise<void> | undefined) | undefined;
}

/** Default number of sample rows in a group. */
const GROUP_ROWS = 1 << 20;

/** Features about the machine and the recording that `recordings` has. */
const FEATURES: ReadonlySet<number> = new Set([
  HEADER_HOSTNAME,
  HEADER_OSRELEASE,
  HEADER_VERSION,
  HEADER_ARCH,
  HEADER_NRCPUS,
  HEADER_CPUDESC,
  HEADER_CMDLINE,
  HEADER_CLOCK_DATA,
]);

const CLOCKS: Readonly<Record<number, string>> = {
  0: "CLOCK_REALTIME",
  1: "CLOCK_MONOTONIC",
  4: "CLOCK_MONOTONIC_RAW",
  7: "CLOCK_BOOTTIME",
  11: "CLOCK_TAI",
};
const CLOCK_REALTIME = 0;

/**
 * Converts a recording to tables, as a consumer of one pass. Samples of a file are written in groups.
 * Samples of a stream wait for its end, since the ids of frames depend on build ids, which arrive there.
 *
 * @example
 * ```ts
 * import { bytesSource, memorySink, PerfDataReader } from "@perfdata/format";
 * import { runEngine } from "@perfdata/session";
 * import { ParquetFile, RecordingTables } from "@perfdata/tables";
 * import { assertEquals } from "@std/assert";
 *
 * const file = bytesSource(await Deno.readFile("fixtures/recorded/callchain.perf.data"));
 * const files = new Map<string, ParquetFile>();
 * const reader = await PerfDataReader.open(file);
 * const tables = new RecordingTables(reader, {
 *   name: "callchain.perf.data",
 *   open(table) {
 *     const file = new ParquetFile(memorySink(), table);
 *     files.set(table.name, file);
 *     return file;
 *   },
 * });
 * await runEngine(reader, [tables]);
 * await tables.write();
 * for (const file of files.values()) file.finish();
 * assertEquals(files.get("recordings")?.count, 1);
 * assertEquals(files.get("samples")?.count, tables.samples);
 * ```
 */
export class RecordingTables implements Consumer {
  /** The engine has to provide stacks, with callers at their calls, and branches. */
  readonly needs: Needs = {
    order: "any",
    stacks: true,
    unmapped: false,
    calls: true,
    branches: true,
  };
  /** Number of sample rows. */
  samples: number = 0;
  /** Number of damaged samples and samples of unknown events. */
  leftOut: number = 0;

  readonly #options: RecordingTablesOptions;
  readonly #reader: PerfDataReader;
  readonly #records: RecordRows;
  /** Hash of the samples, which identifies a recording without kernel records. */
  readonly #lone: RecordRows;
  readonly #reads: SampleReads;
  #engine: Engine | undefined;
  #samples: SampleRows | undefined;
  #tracepoints: TracepointRows | undefined;
  #ids: PlaceIds | undefined;
  #features: ReadonlyMap<number, unknown> = new Map();
  #clock: DayClock | undefined;
  #recording: Int32Array = new Int32Array(2);
  #key: RecordingKey | undefined;
  readonly #tables = new Map<Table, RowSink>();
  #hasTimes = false;
  /** The count of a stream's samples, including filtered ones. */
  #rows = 0;
  readonly #youngest = { hi: 0, lo: 0 };
  readonly #first = { hi: 0, lo: 0 };
  readonly #last = { hi: 0, lo: 0 };

  /** Creates tables of a recording. */
  constructor(reader: PerfDataReader, options: RecordingTablesOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#records = new RecordRows(reader);
    this.#lone = new RecordRows(reader);
    this.#reads = new SampleReads(reader);
  }

  /**
   * Identification of the recording, available after {@link RecordingTables.write}.
   *
   * @throws {Error} Before that.
   */
  get key(): RecordingKey {
    if (this.#key === undefined) {
      throw new Error("what a recording is known by follows from its records");
    }
    return this.#key;
  }

  /** Adds a record that is not a sample, if samples come in any order. */
  other(batch: RecordBatch, i: number, hi: number, lo: number): void {
    const start = batch.start(i);
    this.#records.take(batch.bytes, batch.view, start, start + batch.size(i), hi, lo);
  }

  /** Begins the pass. Of a file, all records that are not samples have been added before. */
  async start(engine: Engine): Promise<void> {
    this.#engine = engine;
    this.#samples = new SampleRows(engine);
    this.#tracepoints = await TracepointRows.open(engine);
    if (engine.past !== undefined && this.#records.count > 0) await this.#identify();
  }

  /** Reads the formats of tracepoints that arrived in a stream. */
  async described(): Promise<void> {
    await this.#tracepoints?.learn();
  }

  /** Computes the recording's id, and with it the ids of frames and stacks. */
  async #identify(): Promise<void> {
    this.#features = await recordedFeatures(this.#reader, FEATURES, this.#records.features);
    const by = this.#records.count > 0 ? this.#records : this.#lone;
    const extent = (this.#engine as Engine).extent ??
      { samples: this.#rows, youngest: this.#joined(this.#youngest) };
    const words = this.#recording = by.recordingId(extent);
    const id = [words[1], words[0]].map((word) =>
      ((word as number) >>> 0).toString(16).padStart(8, "0")
    ).join("");
    this.#ids = new PlaceIds(this.#engine as Engine, id);
    const reference = this.#clockReference();
    if (reference !== undefined) this.#clock = new DayClock(reference);
    this.#key = { id, date: undefined };
  }

  #clockReference(): ClockReference | undefined {
    const found = this.#features.get(HEADER_CLOCK_DATA) as ClockReference | undefined;
    if (found !== undefined) return found;
    const { all } = this.#reader.events;
    const isDay = all.length > 0 &&
      all.every(({ attr }) => attr.flags.use_clockid && attr.clockid === CLOCK_REALTIME);
    return isDay ? { wall_clock_ns: 0n, clockid_time_ns: 0n } : undefined;
  }

  /** Adds a group of records. */
  rows(run: Run): void {
    const { count, type, chosen, timeHi, timeLo } = run;
    const isStream = (this.#engine as Engine).past === undefined;
    for (let i = 0; i < count; i++) {
      if (isStream) this.#countStream(intAt(type, i), intAt(timeHi, i), intAt(timeLo, i));
      if (type[i] === PERF_RECORD_SAMPLE) {
        if (chosen[i] !== CHOSEN.NO) this.#sample(run, i);
        else this.#reads.skip(run, i);
      } else if (isStream) {
        const { bytes, view } = run.at(i);
        this.#records.take(
          bytes,
          view,
          intAt(run.start, i),
          intAt(run.end, i),
          intAt(timeHi, i),
          intAt(timeLo, i),
        );
      }
    }
    const { groupRows = GROUP_ROWS } = this.#options;
    const waiting = (this.#samples as SampleRows).length;
    if (this.#ids !== undefined && waiting >= groupRows) this.#writeSamples();
  }

  /** Counts samples of a stream and keeps its last time. */
  #countStream(type: number, hi: number, lo: number): void {
    if (type === PERF_RECORD_SAMPLE) this.#rows++;
    const youngest = this.#youngest;
    const [h, l] = [hi >>> 0, lo >>> 0];
    if (h < youngest.hi || h === youngest.hi && l <= youngest.lo) return;
    youngest.hi = h;
    youngest.lo = l;
  }

  #sample(run: Run, i: number): void {
    const reads = this.#reads;
    const event = intAt(run.event, i);
    const period = floatAt(run.period, i);
    const isPlain = reads.isPlain(event) && period < 2 ** 53;
    const values = isPlain ? 1 : reads.take(run, i);
    if (run.chosen[i] !== CHOSEN.YES) return;
    if (this.#records.count === 0) {
      this.#lone.identify(run.at(i).bytes, intAt(run.start, i), intAt(run.end, i));
    }
    this.#noteTime(intAt(run.timeHi, i), intAt(run.timeLo, i));
    const samples = this.#samples as SampleRows;
    if (isPlain) {
      samples.add(run, i, event, period % 2 ** 32 | 0, Math.floor(period / 2 ** 32));
    } else {
      for (let k = 0; k < values; k++) {
        const [lo = 0, hi = 0] = [reads.periodLo[k], reads.periodHi[k]];
        samples.add(run, i, numberAt(reads.event, k), lo, hi);
      }
    }
    this.samples += values;
    this.#tracepoints?.add(run, i);
  }

  #noteTime(hi: number, lo: number): void {
    if ((hi | lo) === 0) return;
    const [h, l] = [hi >>> 0, lo >>> 0];
    const [first, last] = [this.#first, this.#last];
    if (!this.#hasTimes || h < first.hi || h === first.hi && l < first.lo) {
      first.hi = h;
      first.lo = l;
    }
    if (!this.#hasTimes || h > last.hi || h === last.hi && l > last.lo) {
      last.hi = h;
      last.lo = l;
    }
    this.#hasTimes = true;
  }

  #table(table: Table): RowSink {
    let sink = this.#tables.get(table);
    if (sink === undefined) {
      const key = this.#key as RecordingKey;
      const date = key.date ?? this.#date();
      if (date !== undefined) this.#key = { id: key.id, date };
      sink = this.#options.open(table, this.#key as RecordingKey);
      this.#tables.set(table, sink);
    }
    return sink;
  }

  /** Returns the date of the first sample so far. */
  #date(): string | undefined {
    const clock = this.#clockReference();
    if (clock === undefined || !this.#hasTimes) return undefined;
    const ns = this.#joined(this.#first) + clock.wall_clock_ns - clock.clockid_time_ns;
    return new Date(Number(ns / 1_000_000n)).toISOString().slice(0, 10);
  }

  #joined({ hi, lo }: { readonly hi: number; readonly lo: number }): bigint {
    return BigInt(hi) << 32n | BigInt(lo);
  }

  readonly #constant = (count: number): ColumnValues => constant(this.#recording, count);

  #writeSamples(): void {
    const ids = this.#ids as PlaceIds;
    const samples = this.#samples as SampleRows;
    const { groupRows = GROUP_ROWS } = this.#options;
    ids.update();
    if (samples.length > 0) {
      samples.handOn(this.#table(SAMPLES), ids, this.#constant, this.#clock, groupRows);
    }
    const tracepoints = this.#tracepoints;
    if (tracepoints !== undefined && tracepoints.length > 0) {
      tracepoints.handOn(this.#table(TRACEPOINTS), this.#constant);
    }
  }

  /** Writes the remaining rows and tables. To be called after the pass. */
  async write(): Promise<void> {
    const engine = this.#engine as Engine;
    if (this.#ids === undefined) await this.#identify();
    const ids = this.#ids as unknown as PlaceIds;
    const { pause } = this.#options;
    this.#writeSamples();
    await pause?.();
    this.leftOut = engine.leftOut + this.#reads.leftOut + (this.#tracepoints?.damaged ?? 0);
    this.#writeStacks(ids);
    await pause?.();
    const resolver = await this.#options.resolver?.(engine);
    await frameRows(engine, ids, resolver, this.#table(FRAMES));
    await pause?.();
    this.#records.mappings(this.#table(MAPPINGS), this.#constant);
    this.#records.threads(this.#table(THREADS), this.#constant);
    this.#records.switches(this.#table(SWITCHES), this.#constant);
    this.#table(SAMPLES);
    this.#table(TRACEPOINTS);
    this.#writeRecording();
  }

  #writeStacks(ids: PlaceIds): void {
    const { stacks } = this.#engine as Engine;
    const to = this.#table(STACKS);
    for (let from = 0; from < stacks.count; from += GROUP_ROWS) {
      const end = Math.min(stacks.count, from + GROUP_ROWS);
      const count = end - from;
      const parents = new Int32Array(2 * count);
      const hasParent = new Uint8Array(count);
      const frames = new Int32Array(2 * count);
      for (let i = 0; i < count; i++) {
        const parent = intAt(stacks.parent, from + i);
        if (parent >= 0) {
          hasParent[i] = 1;
          parents[2 * i] = intAt(ids.stacks, 2 * parent);
          parents[2 * i + 1] = intAt(ids.stacks, 2 * parent + 1);
        }
        const place = intAt(stacks.place, from + i);
        frames[2 * i] = intAt(ids.frames, 2 * place);
        frames[2 * i + 1] = intAt(ids.frames, 2 * place + 1);
      }
      to.rows(count, {
        stack_id: { kind: "words", words: ids.stacks.subarray(2 * from, 2 * end) },
        parent_id: { kind: "words", words: parents, valid: hasParent },
        frame_id: { kind: "words", words: frames },
        depth: { kind: "ints", ints: ids.depths.subarray(from, end) },
      });
    }
  }

  #writeRecording(): void {
    const { events } = this.#reader;
    const { eventNames } = this.#engine as Engine;
    const features = this.#features;
    const text = (id: number): ColumnValues => {
      const value = features.get(id);
      return textValues([typeof value === "string" ? value : undefined]);
    };
    const number = (value: bigint | undefined): ColumnValues =>
      value === undefined ? { kind: "none" } : { kind: "words", words: wordsOf(value) };
    const command = features.get(HEADER_CMDLINE) as
      | { readonly argv?: readonly string[]; readonly line?: string }
      | undefined;
    const argv = command?.argv ?? (command?.line === undefined ? undefined : [command.line]);
    const cpus = features.get(HEADER_NRCPUS) as { readonly nr_cpus_online: number } | undefined;
    const described = events.all.map(({ attr }, i) => eventJson(eventNames[i] ?? "", attr));
    const clockid = events.all.find(({ attr }) => attr.flags.use_clockid)?.attr.clockid;
    const times = new WordColumn();
    if (this.#clock === undefined || !this.#hasTimes) times.skip();
    else {
      this.#clock.at(this.#first.lo, this.#first.hi);
      times.push(this.#clock.lo, this.#clock.hi);
    }
    this.#table(RECORDINGS).rows(1, {
      recording_id: this.#constant(1),
      version: { kind: "ints", ints: Int32Array.of(TABLES_VERSION) },
      name: textValues([this.#options.name]),
      events: textValues([`[${described.join(",")}]`]),
      samples: number(BigInt(this.samples)),
      lost: number(BigInt(this.#records.lost)),
      throttled: number(BigInt(this.#records.throttled)),
      left_out: number(BigInt(this.leftOut)),
      host: text(HEADER_HOSTNAME),
      os_release: text(HEADER_OSRELEASE),
      arch: text(HEADER_ARCH),
      cpu_desc: text(HEADER_CPUDESC),
      cpus: cpus === undefined
        ? { kind: "none" }
        : { kind: "ints", ints: Int32Array.of(cpus.nr_cpus_online) },
      perf_version: text(HEADER_VERSION),
      command: textValues([argv === undefined ? undefined : JSON.stringify(argv)]),
      clock: textValues([
        clockid === undefined ? undefined : CLOCKS[clockid] ?? `clockid ${clockid}`,
      ]),
      first_ts: number(this.#hasTimes ? this.#joined(this.#first) : undefined),
      last_ts: number(this.#hasTimes ? this.#joined(this.#last) : undefined),
      time: times.values(Int32Array.of(0)),
    });
  }
}

/** Formats an event as JSON with exact 64-bit numbers. */
function eventJson(name: string, attr: PerfEventAttr): string {
  const { type, config, sample_period, sample_type, flags } = attr;
  const period = flags.freq ? "sample_freq" : "sample_period";
  return `{"name":${JSON.stringify(name)},"type":${type},"config":${config},` +
    `"${period}":${sample_period},"sample_type":${sample_type}}`;
}
