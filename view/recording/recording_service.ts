import {
  bytesSource,
  type PerfDataError,
  type RandomAccessSource,
  settleable,
} from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import {
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_RECORD_THROTTLE,
} from "@perfdata/format/constants";
import {
  type Advice,
  adviceOf,
  headLines,
  type InfoCounter,
  infoCounter,
  infoLines,
  recordingHead,
  type RecordingInfo,
  recordingInfo,
} from "@perfdata/report/figures";
import {
  type Consumer,
  type Engine,
  EventNames,
  type IndexBlock,
  RecordingIndex,
  type Shareable,
} from "@perfdata/session";
import { FloatColumn, IntColumn } from "@perfdata/profile";
import type { Switched } from "../data/switched.ts";
import type { Marks } from "../data/marks.ts";
import type { StatSeries } from "./stat_series.ts";
import { RecordFacts, recordTypeName } from "./record_facts.ts";
import type { RecordDetail, RecordList, RecordQuery, RecordRows } from "./record_list.ts";

/** Facts about a recording from one scan of its record headers. */
export interface IndexAnswer {
  /** Size in bytes. */
  readonly size: number;
  /** First time of a record, in ns as decimal text; `undefined` without times. */
  readonly start: string | undefined;
  /** Nanoseconds from there to the last time. */
  readonly duration: number;
  /** Blocks of records in file order: samples, and times in ns from the start. */
  readonly blocks: {
    readonly samples: Float64Array;
    readonly from: Float64Array;
    readonly to: Float64Array;
  };
  /** Number of records of each type, in descending order. */
  readonly types: readonly { readonly name: string; readonly count: number }[];
  /** Notable records other than samples: ns from the start, and the type. */
  readonly marks: { readonly time: Float64Array; readonly type: Int32Array };
  /** Whether there are context switches, so that time without a CPU can be counted. */
  readonly switches: boolean;
  /** Set if listed records are inflated, so that their offsets are not those of the file. */
  readonly isInflated: boolean;
  /** Reason why records cannot be listed. */
  readonly unlisted: string | undefined;
}

/** The output of `info`. */
export interface InfoAnswer {
  /** The lines of the command `info`. */
  readonly lines: readonly string[];
  readonly advice: readonly Advice[];
  /** Errors found in the recording. */
  readonly damage: readonly string[];
}

/** Conditions for the records of a slice; all records by default. */
export interface SliceQuery {
  /** Start and end in nanoseconds as decimal text: `from` inclusive, `to` exclusive. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly pids?: readonly number[] | undefined;
  readonly tids?: readonly number[] | undefined;
  readonly cpus?: readonly number[] | undefined;
}

/** Maximum size of a slice, which is kept in memory until it is saved. */
const MOST_SLICED = 1 << 30;
/** Maximum number of errors in an answer. */
const MOST_FAULTS = 100;
/** Maximum number of marks. */
const MOST_MARKS = 100_000;
/** Maximum number of context switches. */
const MOST_SWITCHES = 100_000;
/** Maximum number of tracepoints and other events that the timeline marks. */
const MOST_EVENTS = 100_000;
/** Maximum size of a compressed recording that is kept inflated in memory. */
const MOST_INFLATED = 1 << 29;

/** Events that show when threads had no CPU. */
const SCHEDULED = /^(?:sched:sched_switch|offcpu-time)\b/;

const MARKED: ReadonlySet<number> = new Set([
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
]);

interface Opened {
  readonly reader: PerfDataReader;
  readonly index: RecordingIndex;
  readonly counter: InfoCounter;
  readonly damage: Damage;
  readonly marks: IndexAnswer["marks"];
  /** Context switches, by the recording's clock. */
  readonly switched: Switched;
}

/** Errors found in a recording. */
class Damage {
  /** The first ones. */
  readonly texts: string[] = [];
  count = 0;

  readonly take = (error: PerfDataError): void => {
    if (this.count++ < MOST_FAULTS) this.texts.push(error.located());
  };
}

/** Parts of the service for a pass over all samples, so that the recording is read for both. */
export interface SharedPass {
  /** The index, so that the file is not scanned again; `undefined` if it can be used only once. */
  readonly index: RecordingIndex | undefined;
  /** Counts for {@linkcode RecordingService.info}; `undefined` if that needs no counts. */
  readonly beside: (Consumer & Shareable) | undefined;
  /** To be called with the engine after the pass. */
  readonly counted: (engine: Engine) => void;
}

type CountedInfo = InfoAnswer & { readonly info: RecordingInfo };

/** Answers the page's queries about a recording. It runs in a worker, or in the process that serves the page. */
export class RecordingService {
  readonly #source: RandomAccessSource;
  readonly #name: string;
  #opened: Promise<Opened> | undefined;
  #list: Promise<{ readonly list?: RecordList }> | undefined;
  #index: Promise<IndexAnswer> | undefined;
  #scheduled: Promise<Switched> | undefined;
  #marks: Promise<Marks> | undefined;
  #counts: Promise<readonly StatSeries[]> | undefined;
  #info: Promise<CountedInfo> | undefined;
  /** The answer with the counts of a pass; `undefined` after a pass that failed. */
  #ofPass: Promise<CountedInfo | undefined> | undefined;

  /** @param name Name of the recording in suggestions. */
  constructor(source: RandomAccessSource, name: string) {
    this.#source = source;
    this.#name = name;
  }

  /** Returns the lines of `info` that need no records. */
  async head(): Promise<readonly string[]> {
    const reader = await PerfDataReader.open(this.#source, { diagnostics: () => {} });
    const head = await recordingHead(reader);
    return head === undefined ? [] : headLines(head);
  }

  /** Returns the facts from the record headers. */
  index(): Promise<IndexAnswer> {
    return this.#index ??= this.#indexed();
  }

  /** Returns context switches: from SWITCH records, or without them from `sched:sched_switch`. */
  async switched(): Promise<Switched> {
    const { switches, start } = await this.index();
    const { switched } = await this.#main();
    const by = Number(start ?? 0);
    if (switched.time.length > 0 || !switches || start === undefined) {
      return { ...switched, time: switched.time.map((time) => time - by) };
    }
    return await (this.#scheduled ??= import("./scheduled_switches.ts").then((
      { scheduledSwitches },
    ) => scheduledSwitches(this.#source, BigInt(start), MOST_SWITCHES)));
  }

  /** Returns tracepoints and notable records; `undefined` without times. */
  async marks(): Promise<Marks | undefined> {
    const { start } = await this.index();
    if (start === undefined) return undefined;
    return await (this.#marks ??= import("./recorded_marks.ts").then(({ recordedMarks }) =>
      recordedMarks(this.#source, BigInt(start), MOST_EVENTS)
    ));
  }

  /** Returns the counts of `perf stat record`; none of other recordings. */
  async counts(): Promise<readonly StatSeries[]> {
    const { types } = await this.index();
    if (!types.some(({ name }) => name === "STAT")) return [];
    const read = async () =>
      await (await import("./stat_series.ts")).statSeries(
        await PerfDataReader.open(this.#source, { diagnostics: () => {} }),
      );
    return await (this.#counts ??= read());
  }

  /**
   * Returns the output of `info`, and advice. If a pass has begun, its counts are used; otherwise,
   * the samples are read for them.
   */
  info(): Promise<CountedInfo> {
    return this.#info ??= (async () => {
      // The index takes almost no time, so it is computed first.
      await this.index();
      return await this.#ofPass ?? await (this.#ofPass = this.#informed());
    })();
  }

  /**
   * Reads all samples, so that the index and the counts of {@linkcode RecordingService.info} need no
   * pass of their own.
   *
   * @param read Reads the samples.
   * @returns The result of `read`.
   */
  async pass<T>(read: (shared: SharedPass) => Promise<T>): Promise<T> {
    const isFirst = this.#ofPass === undefined;
    const { promise, resolve } = settleable<CountedInfo | undefined>();
    if (isFirst) this.#ofPass = promise;
    // Only `info` reports the error.
    promise.catch(() => {});
    try {
      const { reader, index, counter: scanned, damage } = await this.#main();
      // Blocks of compressed records are used up, so the file is scanned again.
      const isAgain = index.isCompressed;
      const counter = isAgain ? infoCounter(reader) : scanned;
      return await read({
        index: isAgain ? undefined : index,
        beside: isFirst ? counter.counts : undefined,
        counted: (engine) =>
          resolve(counter.info(engine).then((info) => this.#answer(info, damage))),
      });
    } finally {
      resolve(undefined);
    }
  }

  async records(query: RecordQuery, from: number, count: number): Promise<RecordRows> {
    const { list } = await this.#listed();
    return await list?.rows(query, from, count) ?? { count: 0, rows: [] };
  }

  async position(query: RecordQuery, number: number): Promise<number> {
    const { list } = await this.#listed();
    return await list?.position(query, number) ?? 0;
  }

  /** A record with its fields and bytes. */
  async record(number: number): Promise<RecordDetail | undefined> {
    const { list } = await this.#listed();
    return await list?.detail(number);
  }

  /**
   * Returns a part of the recording like the command `slice`; AUX data is kept as a whole.
   *
   * @throws {Error} If the recording is too large for memory.
   */
  async slice({ from, to, pids, tids, cpus }: SliceQuery): Promise<Uint8Array<ArrayBuffer>> {
    const reader = await PerfDataReader.open(this.#source, { diagnostics: () => {} });
    if ((reader.fileSize ?? 0) > MOST_SLICED) {
      throw new Error("the recording has more than 1 GB: perfdata slice makes a part of it");
    }
    const first = BigInt(from ?? 0);
    const last = to === undefined ? (1n << 64n) - 1n : BigInt(to) - 1n;
    const isTimed = from !== undefined || to !== undefined;
    const { copied } = await import("./slice_recording.ts");
    return await copied(reader, {
      ...(isTimed ? { time: [first, last] as const } : {}),
      ...(pids === undefined ? {} : { pids: new Set(pids) }),
      ...(tids === undefined ? {} : { tids: new Set(tids) }),
      ...(cpus === undefined ? {} : { cpus: new Set(cpus) }),
    });
  }

  async #open(source: RandomAccessSource): Promise<Opened> {
    const damage = new Damage();
    const reader = await PerfDataReader.open(source, { diagnostics: damage.take });
    const counter = infoCounter(reader);
    const time = new FloatColumn();
    const type = new IntColumn();
    const switches = {
      time: new FloatColumn(),
      pid: new IntColumn(),
      tid: new IntColumn(),
      cpu: new IntColumn(),
      out: new IntColumn(),
    };
    let count = 0;
    const facts = new RecordFacts();
    const index = await RecordingIndex.read(reader, {
      other(batch, i, hi, lo) {
        counter.counts.other?.(batch, i, hi, lo);
        const of = batch.type(i);
        if (of === PERF_RECORD_SWITCH || of === PERF_RECORD_SWITCH_CPU_WIDE) {
          if ((hi === 0 && lo === 0) || count++ >= MOST_SWITCHES) return;
          const { pid, tid, cpu } = facts.read(batch, i);
          switches.time.push((hi >>> 0) * 4294967296 + (lo >>> 0));
          switches.pid.push(pid);
          switches.tid.push(tid);
          switches.cpu.push(cpu);
          switches.out.push((batch.misc(i) & PERF_RECORD_MISC_SWITCH_OUT) === 0 ? 0 : 1);
          return;
        }
        if (!MARKED.has(of) || (hi === 0 && lo === 0) || type.length === MOST_MARKS) return;
        time.push((hi >>> 0) * 4294967296 + (lo >>> 0));
        type.push(of);
      },
    });
    return {
      reader,
      index,
      counter,
      damage,
      marks: { time: time.array().slice(), type: type.array().slice() },
      switched: {
        time: switches.time.array().slice(),
        pid: switches.pid.array().slice(),
        tid: switches.tid.array().slice(),
        cpu: switches.cpu.array().slice(),
        out: Uint8Array.from(switches.out.array()),
        more: count > MOST_SWITCHES,
      },
    };
  }

  #main(): Promise<Opened> {
    return this.#opened ??= this.#open(this.#source);
  }

  async #indexed(): Promise<IndexAnswer> {
    const { reader, index, marks } = await this.#main();
    const names = await new EventNames(reader, () => {}).all();
    const timed = index.blocks.filter(({ youngest, samples }) => youngest > 0n && samples > 0);
    const least = (a: bigint, { oldest }: IndexBlock) => oldest < a ? oldest : a;
    const start = timed.reduce(least, timed[0]?.oldest ?? 0n);
    const end = timed.reduce((a, { youngest }) => youngest > a ? youngest : a, 0n);
    const from = (time: bigint) => Number(time - start);
    return {
      size: reader.fileSize ?? 0,
      start: timed.length === 0 ? undefined : `${start}`,
      duration: timed.length === 0 ? 0 : from(end),
      blocks: {
        samples: Float64Array.from(timed, ({ samples }) => samples),
        from: Float64Array.from(timed, ({ oldest }) => from(oldest)),
        to: Float64Array.from(timed, ({ youngest }) => from(youngest)),
      },
      types: [...index.types].sort(([, a], [, b]) => b - a)
        .map(([type, count]) => ({ name: recordTypeName(type), count })),
      marks: { time: marks.time.map((time) => time - Number(start)), type: marks.type },
      switches: index.types.has(PERF_RECORD_SWITCH) ||
        index.types.has(PERF_RECORD_SWITCH_CPU_WIDE) || names.some((name) => SCHEDULED.test(name)),
      isInflated: index.isCompressed,
      unlisted: tooLarge(index),
    };
  }

  #listed() {
    return this.#list ??= this.#makeList();
  }

  async #makeList(): Promise<{ readonly list?: RecordList }> {
    const { reader, index } = await this.#main();
    const { RecordList } = await import("./record_list.ts");
    const names = async (of: PerfDataReader) => await new EventNames(of, () => {}).all();
    if (!index.isCompressed) {
      return { list: new RecordList(reader, index, await names(reader)) };
    }
    // Inflated records cannot be read independently, so the whole recording is inflated.
    if (tooLarge(index) !== undefined) return {};
    const again = await PerfDataReader.open(this.#source, { diagnostics: () => {} });
    const { copied } = await import("./slice_recording.ts");
    const inflated = await this.#open(bytesSource(await copied(again)));
    return {
      list: new RecordList(inflated.reader, inflated.index, await names(inflated.reader)),
    };
  }

  async #informed(): Promise<CountedInfo> {
    const damage = new Damage();
    const reader = await PerfDataReader.open(this.#source, { diagnostics: damage.take });
    return this.#answer(await recordingInfo(reader), damage);
  }

  #answer(info: RecordingInfo, { count, texts }: Damage): CountedInfo {
    return {
      info,
      lines: infoLines(info, count, this.#name),
      advice: adviceOf(info, count, this.#name),
      damage: texts,
    };
  }
}

/** Returns the reason why records of a compressed recording are not listed; `undefined` if they are. */
function tooLarge({ isCompressed, stats: { inflatedBytes } }: RecordingIndex): string | undefined {
  if (!isCompressed || inflatedBytes <= MOST_INFLATED) return undefined;
  return `the records are compressed, and ${Math.round(inflatedBytes / 1e6)} MB inflated: ` +
    "perfdata convert makes a file whose records can be listed";
}
