import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
  PERF_TYPE_BREAKPOINT,
  PERF_TYPE_TRACEPOINT,
} from "@perfdata/format/constants";
import {
  COMM,
  FORK,
  layoutOf,
  LOST,
  PerfDataReader,
  prefixSize,
  type SampleFields,
} from "@perfdata/format/records";
import { intAt, type RandomAccessSource } from "@perfdata/format/bytes";
import type { TracepointText } from "@perfdata/format/tracepoint";
import { FloatColumn, IntColumn } from "@perfdata/profile";
import { type Consumer, type Engine, type Run, runEngine } from "@perfdata/session";
import type { Marks } from "../data/marks.ts";
import { recordTypeName } from "./record_facts.ts";

const COMM_SIZE = prefixSize(COMM);
const FORK_AT = layoutOf(FORK);
const LOST_SIZE = prefixSize(LOST);

/** Records that are marks, in addition to samples. */
const RECORDS: ReadonlySet<number> = new Set([
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_EXIT,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
]);

/** Collects marks in order of time. */
class Collector implements Consumer {
  readonly needs = { machine: false };
  readonly #start: bigint;
  readonly #most: number;
  #engine: Engine | undefined;
  #text: TracepointText | undefined;
  #count = 0;
  readonly #time = new FloatColumn();
  readonly #pid = new IntColumn();
  readonly #tid = new IntColumn();
  readonly #cpu = new IntColumn();
  readonly #name = new IntColumn();
  readonly #names: string[] = [];
  readonly #texts: string[] = [];
  /** By event: the fields of its samples; `null` for events that are no marks. */
  readonly #fields: (SampleFields | null | undefined)[] = [];
  readonly #decoder = new TextDecoder();

  constructor(start: bigint, most: number) {
    this.#start = start;
    this.#most = most;
  }

  async start(engine: Engine): Promise<void> {
    this.#engine = engine;
    await this.described();
  }

  async described(): Promise<void> {
    const formats = await this.#engine?.described.formats();
    if (formats === undefined) return;
    const { TracepointText } = await import("@perfdata/format/tracepoint");
    this.#text = new TracepointText(formats, () => undefined);
  }

  rows(run: Run): void {
    for (let i = 0; i < run.count; i++) {
      const isSample = run.type[i] === PERF_RECORD_SAMPLE;
      if (
        isSample ? this.#fieldsOf(intAt(run.event, i)) === null : !RECORDS.has(intAt(run.type, i))
      ) {
        continue;
      }
      const [hi, lo] = [intAt(run.timeHi, i), intAt(run.timeLo, i)];
      // Without a time, it has no place in the timeline.
      if ((hi | lo) === 0 || this.#count++ >= this.#most) continue;
      const time = BigInt(hi >>> 0) << 32n | BigInt(lo >>> 0);
      this.#time.push(Number(time - this.#start));
      this.#pid.push(intAt(run.pid, i));
      this.#tid.push(intAt(run.tid, i));
      this.#cpu.push(intAt(run.cpu, i));
      this.#name.push(this.#number(
        isSample
          ? this.#engine?.eventNames[intAt(run.event, i)] ?? "?"
          : recordTypeName(intAt(run.type, i)),
      ));
      this.#texts.push(isSample ? this.#sampleText(run, i) : this.#recordText(run, i));
    }
  }

  found(): Marks {
    return {
      time: this.#time.array().slice(),
      pid: this.#pid.array().slice(),
      tid: this.#tid.array().slice(),
      cpu: this.#cpu.array().slice(),
      name: this.#name.array().slice(),
      names: this.#names,
      text: this.#texts,
      left: Math.max(0, this.#count - this.#most),
    };
  }

  #number(name: string): number {
    const known = this.#names.indexOf(name);
    return known >= 0 ? known : this.#names.push(name) - 1;
  }

  #fieldsOf(number: number): SampleFields | null {
    const known = this.#fields[number];
    if (known !== undefined) return known;
    const event = this.#engine?.reader.events.all[number];
    const isMark = event !== undefined &&
      (event.attr.type === PERF_TYPE_TRACEPOINT || event.attr.type === PERF_TYPE_BREAKPOINT);
    return this.#fields[number] = isMark ? event.sampleFields() : null;
  }

  /** The fields of a tracepoint; empty without its format. */
  #sampleText(run: Run, i: number): string {
    const number = intAt(run.event, i);
    const event = this.#engine?.reader.events.all[number];
    const fields = this.#fieldsOf(number);
    if (event === undefined || fields === null || this.#text === undefined) return "";
    const id = Number(event.attr.config);
    const { bytes, view } = run.at(i);
    const le = this.#engine?.reader.littleEndian === true;
    const isSound = event.attr.type === PERF_TYPE_TRACEPOINT && this.#text.has(id) &&
      fields.locate(view, intAt(run.start, i), intAt(run.end, i), le) && fields.raw >= 0;
    if (!isSound) return "";
    const { raw, rawSize } = fields;
    return this.#decoder.decode(this.#text.text(id, bytes, view, raw, raw + rawSize)).trim();
  }

  /** The fields of a record that say more than its type. */
  #recordText(run: Run, i: number): string {
    const { bytes, view } = run.at(i);
    const [start, end] = [intAt(run.start, i), intAt(run.end, i)];
    const le = this.#engine?.reader.littleEndian === true;
    switch (run.type[i]) {
      case PERF_RECORD_COMM: {
        const nul = bytes.indexOf(0, start + COMM_SIZE);
        const comm = bytes.subarray(start + COMM_SIZE, nul < 0 || nul > end ? end : nul);
        const isExec = (intAt(run.misc, i) & PERF_RECORD_MISC_COMM_EXEC) !== 0;
        return `${isExec ? "exec " : ""}${this.#decoder.decode(comm)}`;
      }
      case PERF_RECORD_FORK: {
        const child = view.getInt32(start + FORK_AT.tid, le);
        const isThread = view.getInt32(start + FORK_AT.pid, le) !== child;
        return `${isThread ? "thread" : "process"} ${child}`;
      }
      case PERF_RECORD_LOST: {
        const lost = view.getBigUint64(start + LOST_SIZE - 8, le);
        return `${lost} ${lost === 1n ? "record" : "records"}`;
      }
      default:
        return "";
    }
  }
}

/**
 * Returns the tracepoints, breakpoints and notable records of a recording. This has to read the samples, which the
 * index skips.
 *
 * @param start Time 0 of the result, in ns.
 * @param most Maximum number of marks.
 */
export async function recordedMarks(
  source: RandomAccessSource,
  start: bigint,
  most: number,
): Promise<Marks> {
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  const collector = new Collector(start, most);
  await runEngine(reader, [collector]);
  return collector.found();
}
