import type { PerfEvent, SampleFields } from "@perfdata/format/records";
import { intAt } from "@perfdata/format/bytes";
import { PERF_TYPE_TRACEPOINT } from "@perfdata/format/constants";
import type { TracepointField } from "@perfdata/format/tracepoint";
import type { Engine, Run } from "@perfdata/session";
import type { ColumnValues, RowSink } from "../schema/column_types.ts";
import { allRows, IntegerColumn, WordColumn } from "../schema/growing.ts";

const decoder = new TextDecoder();

interface Format {
  readonly fields: readonly TracepointField[];
}

interface Source extends Format {
  readonly sample: SampleFields;
}

/** Collects events of tracepoints with their fields as JSON, and writes them as rows. */
export class TracepointRows {
  /** Number of collected rows. */
  length: number = 0;
  /** Number of events whose data is too short for their fields. */
  damaged: number = 0;
  readonly #engine: Engine;
  readonly #le: boolean;
  #formats = new Map<bigint, Format>();
  readonly #sources: (Source | undefined)[] = [];
  readonly #ts = new WordColumn();
  readonly #event = new IntegerColumn();
  readonly #cpu = new IntegerColumn();
  readonly #pid = new IntegerColumn();
  readonly #tid = new IntegerColumn();
  readonly #comm = new IntegerColumn();
  readonly #fields: string[] = [];

  private constructor(engine: Engine) {
    this.#engine = engine;
    this.#le = engine.reader.littleEndian;
  }

  /** Creates a collector and reads the recording's formats. */
  static async open(engine: Engine): Promise<TracepointRows> {
    const rows = new TracepointRows(engine);
    await rows.learn();
    return rows;
  }

  /** Reads the formats again: those of a stream arrive after its start. */
  async learn(): Promise<void> {
    const tracing = await this.#engine.described.tracing();
    if (tracing === undefined) return;
    const { parseTracepoint } = await import("@perfdata/format/tracepoint");
    this.#formats = new Map();
    this.#sources.length = 0;
    for (const { formats } of tracing.systems) {
      for (const text of formats) {
        const format = parseTracepoint(text, tracing.long_size);
        if (format !== undefined) this.#formats.set(BigInt(format.id), { fields: format.fields });
      }
    }
  }

  /** Adds a sample of a run, if its event is a tracepoint with a known format. */
  add(run: Run, i: number): void {
    if (this.#formats.size === 0) return;
    const event = intAt(run.event, i);
    const source = this.#sources[event] ?? this.#source(event);
    if (source === undefined) return;
    const { sample, fields } = source;
    const { bytes, view } = run.at(i);
    if (!sample.locate(view, intAt(run.start, i), intAt(run.end, i), this.#le)) return;
    if (sample.raw < 0) return;
    const parts: string[] = [];
    for (const field of fields) {
      const text = this.#value(field, bytes, view, sample.raw, sample.raw + sample.rawSize);
      if (text === undefined) {
        this.damaged++;
        return;
      }
      parts.push(`${JSON.stringify(field.name)}:${text}`);
    }
    const [hi, lo] = [intAt(run.timeHi, i), intAt(run.timeLo, i)];
    if ((hi | lo) === 0) this.#ts.skip();
    else this.#ts.push(lo, hi);
    this.#event.push(event);
    this.#cpu.push(intAt(run.cpu, i));
    this.#pid.push(intAt(run.pid, i));
    this.#tid.push(intAt(run.tid, i));
    this.#comm.push(intAt(run.comm, i));
    this.#fields.push(`{${parts.join(",")}}`);
    this.length++;
  }

  #source(event: number): Source | undefined {
    const { attr } = this.#engine.reader.events.all[event] as PerfEvent;
    const known = attr.type === PERF_TYPE_TRACEPOINT ? this.#formats.get(attr.config) : undefined;
    if (known === undefined) return undefined;
    const sample = (this.#engine.reader.events.all[event] as PerfEvent).sampleFields();
    return this.#sources[event] = { ...known, sample };
  }

  /** Returns the JSON of a field of the raw data `[start, end)`; `undefined` if the data is too short. */
  #value(
    field: TracepointField,
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
  ): string | undefined {
    let from = start + field.offset;
    let size = field.size;
    if (from + size > end) return undefined;
    if (field.dynamic !== "no") {
      const where = view.getUint32(from, this.#le);
      from = (field.dynamic === "data" ? start : from + 4) + (where & 0xffff);
      size = where >>> 16;
      if (from + size > end) return undefined;
    }
    if (field.string) {
      const text = bytes.subarray(from, from + size);
      const nul = text.indexOf(0);
      return JSON.stringify(decoder.decode(nul < 0 ? text : text.subarray(0, nul)));
    }
    if (!field.array && field.dynamic === "no") return this.#number(field, view, from, size);
    const { elementSize: step } = field;
    if (step === 0) return undefined;
    const values: string[] = [];
    for (let at = from; at + step <= from + size; at += step) {
      values.push(this.#number(field, view, at, step) ?? "null");
    }
    return `[${values.join(",")}]`;
  }

  #number(
    { signed }: TracepointField,
    view: DataView,
    at: number,
    size: number,
  ): string | undefined {
    const le = this.#le;
    switch (size) {
      case 1:
        return String(signed ? view.getInt8(at) : view.getUint8(at));
      case 2:
        return String(signed ? view.getInt16(at, le) : view.getUint16(at, le));
      case 4:
        return String(signed ? view.getInt32(at, le) : view.getUint32(at, le));
      case 8: {
        const hi = view.getInt32(le ? at + 4 : at, le);
        if (hi === 0) return String(view.getUint32(le ? at : at + 4, le));
        return String(signed ? view.getBigInt64(at, le) : view.getBigUint64(at, le));
      }
      default:
        return undefined;
    }
  }

  /** Writes the collected rows. */
  handOn(to: RowSink, recording: (count: number) => ColumnValues): void {
    const rows = allRows(this.length);
    const { eventNames, names } = this.#engine;
    to.rows(this.length, {
      recording_id: recording(this.length),
      ts: this.#ts.values(rows),
      event: this.#event.texts(rows, (event) => eventNames[event] ?? `event ${event}`),
      fields: { kind: "texts", texts: this.#fields.slice() },
      cpu: this.#cpu.values(rows, -1),
      pid: this.#pid.values(rows, -1),
      tid: this.#tid.values(rows, -1),
      comm: this.#comm.texts(rows, (comm) => names.text(comm)),
    });
    this.length = this.#fields.length = 0;
    for (const column of [this.#ts, this.#event, this.#cpu, this.#pid, this.#tid, this.#comm]) {
      column.clear();
    }
  }
}
