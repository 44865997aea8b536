import { byteAt, intAt } from "@perfdata/format/elements";
import type { CallEvents } from "@perfdata/pt/calls";
import type { PtNames } from "@perfdata/pt/code";
import type { NameFilter } from "@perfdata/pt/lists";
import { ByteText, TextPool } from "../formats/byte_text.ts";

const encoder = new TextEncoder();

/** Selects the calls to write, and their members. */
export interface CallJsonOptions {
  /** Only calls of these functions. */
  readonly filter?: NameFilter;
  /** Whether the trace counts core clocks. */
  readonly cycles?: boolean;
}

/** Calls of a trace as lines of JSON: one for each call, when it ends. */
export class CallJson {
  /** What was written and not yet taken. */
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
  /** By place: what follows the depth, up to the instructions. */
  readonly #functions: number[] = [];
  /** What lines begin with, and which thread and CPU that is of. */
  readonly #head = new TextPool();
  #tid = NaN;
  #cpu = NaN;
  #unsure = NaN;

  /** With a filter, only calls of those functions are written. */
  constructor(names: PtNames, options: CallJsonOptions = {}) {
    this.#names = names;
    this.#options = options;
  }

  /** Writes the calls that ended; the names of their places are known. */
  rows(events: CallEvents, out: (bytes: Uint8Array) => void): void {
    const { text } = this;
    const pool = this.#pool;
    const { filter, cycles = false } = this.#options;
    for (let i = 0; i < events.count; i++) {
      const place = intAt(events.place, i);
      if (events.kind[i] === 0) continue;
      if (filter !== undefined && !filter.has(this.#names.names[place] as string)) continue;
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

  /** The thread, and its CPU if that is known. */
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

  /** ns of the recording's clock, which may be more than a number holds. */
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
