import { byteAt, ByteText, intAt, TextPool } from "@perfdata/format/bytes";
import { CALL_ROW, type CallEvents, type NameFilter, type PtNames } from "@perfdata/pt/decode";

const encoder = new TextEncoder();

/** Selection of calls and members. */
export interface CallJsonOptions {
  /** Only calls of these functions. */
  readonly filter?: NameFilter;
  /** Whether the trace has core clocks. */
  readonly cycles?: boolean;
}

/** Calls of a trace as JSON lines, written when each call ends. */
export class CallJson {
  /** Text that was not written out yet. */
  readonly text: ByteText = new ByteText();
  readonly #names: PtNames;
  readonly #options: CallJsonOptions;
  readonly #pool = new TextPool();
  readonly #time = this.#add(`"time":`);
  readonly #duration = this.#add(`"duration":`);
  readonly #depth = this.#add(`"depth":`);
  readonly #cycles = this.#add(`,"cycles":`);
  readonly #end = this.#add("}\n");
  readonly #openEnd = this.#add(`,"returned":false}\n`);
  /** For each place, the text between depth and instructions. */
  readonly #functions: number[] = [];
  /** Start of lines for one thread and CPU. */
  readonly #head = new TextPool();
  #tid = NaN;
  #cpu = NaN;
  #unsure = NaN;

  /** Creates the writer. With a filter, only calls of its functions are written. */
  constructor(names: PtNames, options: CallJsonOptions = {}) {
    this.#names = names;
    this.#options = options;
  }

  /** Writes the calls that ended. Their places' names are known. */
  rows(events: CallEvents, out: (bytes: Uint8Array) => void): void {
    const { text } = this;
    const pool = this.#pool;
    const { filter, cycles = false } = this.#options;
    for (let i = 0; i < events.count; i++) {
      const place = intAt(events.place, i);
      if (events.kind[i] === 0) continue;
      if (filter !== undefined && !filter.has(this.#names.names[place] as string)) continue;
      if (events.kind[i] === CALL_ROW.PTWRITE) {
        this.#putWritten(events, i);
        if (text.isFull) out(text.lend());
        continue;
      }
      this.#putHead(events, i);
      const duration = events.duration[i] ?? -1;
      const time = events.time[i] ?? -1;
      if (time >= 0 && duration >= 0) {
        text.pooled(pool, this.#time);
        this.#putTime(time - duration);
        text.byte(0x2c);
      }
      if (duration >= 0) {
        text.pooled(pool, this.#duration);
        text.number(Math.round(duration));
        text.byte(0x2c);
      }
      text.pooled(pool, this.#depth);
      text.number(events.depth[i] ?? 0);
      text.pooled(pool, this.#function(place));
      text.number(events.insns[i] ?? 0);
      if (cycles) {
        text.pooled(pool, this.#cycles);
        text.number(Math.round(events.cycles[i] ?? 0));
      }
      text.pooled(pool, events.kind[i] === 2 ? this.#openEnd : this.#end);
      if (text.isFull) out(text.lend());
    }
  }

  /** Writes the line of a value of PTWRITE. */
  #putWritten(events: CallEvents, i: number): void {
    const { text } = this;
    const cpu = events.cpu[i] ?? -1;
    const time = events.time[i] ?? -1;
    text.string(`{"event":"ptwrite","tid":${events.tid[i]},`);
    if (events.unsure[i] === 1) text.string(`"unsure":true,`);
    if (cpu >= 0) text.string(`"cpu":${cpu},`);
    if (time >= 0) {
      text.pooled(this.#pool, this.#time);
      this.#putTime(time);
      text.byte(0x2c);
    }
    const value = events.written(i);
    text.string(
      `"depth":${events.depth[i]},${this.#names.jsonOfFunction(intAt(events.place, i))},` +
        `"payload":"0x${value.toString(16)}","value":${value}}\n`,
    );
  }

  /** Writes the thread, and its CPU if known. */
  #putHead(events: CallEvents, i: number): void {
    const tid = intAt(events.tid, i);
    const cpu = events.cpu[i] ?? -1;
    const unsure = byteAt(events.unsure, i);
    if (tid !== this.#tid || cpu !== this.#cpu || unsure !== this.#unsure) {
      this.#tid = tid;
      this.#cpu = cpu;
      this.#unsure = unsure;
      const ofCpu = cpu < 0 ? "" : `"cpu":${cpu},`;
      this.#head.only(
        encoder.encode(
          `{"event":"call","tid":${tid},${unsure === 1 ? `"unsure":true,` : ""}${ofCpu}`,
        ),
      );
    }
    this.text.pooled(this.#head, 0);
  }

  /** Writes ns of the recording's clock, which can exceed a number's precision. */
  #putTime(since: number): void {
    const { origin } = this.#names;
    const seconds = origin.secondsOf(since);
    const rest = origin.restOf(since);
    if (seconds === 0) return this.text.number(rest);
    this.text.number(seconds);
    this.text.zeros(rest, 9);
  }

  #function(place: number): number {
    return this.#functions[place] ??= this.#add(
      `,${this.#names.jsonOfFunction(place)},"insns":`,
    );
  }

  #add(text: string): number {
    return this.#pool.add(encoder.encode(text));
  }
}
