import { intAt } from "@perfdata/format/bytes";
import { type Engine, type Run, TracepointJson } from "@perfdata/session";
import type { ColumnValues, RowSink } from "../schema/column_types.ts";
import { allRows, IntegerColumn, WordColumn } from "../schema/growing.ts";

/** Collects events of tracepoints with their fields as JSON, and writes them as rows. */
export class TracepointRows {
  /** Number of collected rows. */
  length: number = 0;
  readonly #engine: Engine;
  readonly #json: TracepointJson;
  readonly #ts = new WordColumn();
  readonly #event = new IntegerColumn();
  readonly #cpu = new IntegerColumn();
  readonly #pid = new IntegerColumn();
  readonly #tid = new IntegerColumn();
  readonly #comm = new IntegerColumn();
  readonly #fields: string[] = [];

  private constructor(engine: Engine, json: TracepointJson) {
    this.#engine = engine;
    this.#json = json;
  }

  /** Creates a collector and reads the recording's formats. */
  static async open(engine: Engine): Promise<TracepointRows> {
    return new TracepointRows(engine, await TracepointJson.open(engine));
  }

  /** Reads the formats again: those of a stream arrive after its start. */
  async learn(): Promise<void> {
    await this.#json.learn();
  }

  /** Number of events whose data is too short for their fields. */
  get damaged(): number {
    return this.#json.damaged;
  }

  /** Adds a sample, if its event is a tracepoint with a known format. */
  add(run: Run, i: number): void {
    const fields = this.#json.of(run, i);
    if (fields === undefined) return;
    const [hi, lo] = [intAt(run.timeHi, i), intAt(run.timeLo, i)];
    if ((hi | lo) === 0) this.#ts.skip();
    else this.#ts.push(lo, hi);
    this.#event.push(intAt(run.event, i));
    this.#cpu.push(intAt(run.cpu, i));
    this.#pid.push(intAt(run.pid, i));
    this.#tid.push(intAt(run.tid, i));
    this.#comm.push(intAt(run.comm, i));
    this.#fields.push(fields);
    this.length++;
  }

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
