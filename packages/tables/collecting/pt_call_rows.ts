import { floatAt, intAt } from "@perfdata/format/bytes";
import { CALL_ROW, type CallEvents, type PtNames, type PtThreads } from "@perfdata/pt/decode";
import { constant, type RowSink } from "../schema/column_types.ts";
import { allRows, IntegerColumn, textValues, WordColumn, wordsOf } from "../schema/growing.ts";

/** Number of rows written at a time. */
const GROUP = 1 << 18;

/** Collects calls of a trace, in the order of their ends, as rows of `pt_calls`. */
export class PtCallRows {
  /** Number of calls added. */
  count: number = 0;
  readonly #sink: RowSink;
  readonly #recording: Int32Array;
  readonly #ts = new WordColumn();
  readonly #duration = new WordColumn();
  readonly #insns = new WordColumn();
  readonly #cycles = new WordColumn();
  readonly #tid = new IntegerColumn();
  readonly #cpu = new IntegerColumn();
  readonly #pid = new IntegerColumn();
  readonly #depth = new IntegerColumn();
  readonly #returned = new IntegerColumn();
  #functions: (string | undefined)[] = [];
  #objects: (string | undefined)[] = [];

  /**
   * Creates a collector that writes to a table.
   *
   * @param recording Id of the recording in hex.
   */
  constructor(to: RowSink, recording: string) {
    this.#sink = to;
    this.#recording = wordsOf(BigInt(`0x${recording}`));
  }

  /** Adds calls that ended. The names of their places have to be resolved. */
  take(events: CallEvents, names: PtNames, threads: PtThreads): void {
    for (let i = 0; i < events.count; i++) {
      if (events.kind[i] === 0 || events.kind[i] === CALL_ROW.PTWRITE) continue;
      const tid = intAt(events.tid, i);
      const place = intAt(events.place, i);
      const [time, duration] = [floatAt(events.time, i), floatAt(events.duration, i)];
      if (time < 0 || duration < 0) {
        this.#ts.skip();
        this.#duration.skip();
      } else {
        const began = names.origin.exact(time - duration);
        if (typeof began === "number") push(this.#ts, began);
        else this.#ts.push(...wordsOf(began) as unknown as [number, number]);
        push(this.#duration, Math.round(duration));
      }
      push(this.#insns, floatAt(events.insns, i));
      const cycles = Math.round(floatAt(events.cycles, i));
      if (cycles === 0) this.#cycles.skip();
      else push(this.#cycles, cycles);
      this.#tid.push(tid);
      this.#cpu.push(intAt(events.cpu, i));
      this.#pid.push(threads.pid(tid, Infinity));
      this.#depth.push(intAt(events.depth, i));
      this.#returned.push(events.kind[i] === 2 ? 0 : 1);
      this.#functions.push(names.names[place]);
      this.#objects.push(names.object(place));
      this.count++;
      if (this.#tid.length === GROUP) this.finish();
    }
  }

  /** Writes the remaining rows. */
  finish(): void {
    const rows = allRows(this.#tid.length);
    this.#sink.rows(rows.length, {
      recording_id: constant(this.#recording, rows.length),
      tid: this.#tid.values(rows),
      depth: this.#depth.values(rows),
      insns: this.#insns.values(rows),
      is_returned: this.#returned.values(rows),
      ts: this.#ts.values(rows),
      duration: this.#duration.values(rows),
      cpu: this.#cpu.values(rows, -1),
      pid: this.#pid.values(rows, -1),
      cycles: this.#cycles.values(rows),
      function: textValues(this.#functions),
      object: textValues(this.#objects),
    });
    for (
      const column of [
        ...[this.#ts, this.#duration, this.#insns, this.#cycles],
        ...[this.#tid, this.#cpu, this.#pid, this.#depth, this.#returned],
      ]
    ) column.clear();
    this.#functions = [];
    this.#objects = [];
  }
}

/** Appends a non-negative number, rounded down. */
function push(column: WordColumn, value: number): void {
  const whole = Math.floor(value);
  column.push(whole % 2 ** 32 | 0, Math.floor(whole / 2 ** 32));
}
