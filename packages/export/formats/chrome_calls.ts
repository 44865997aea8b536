import { ByteText, floatAt, intAt, TextPool } from "@perfdata/format/bytes";
import { CALL_ROW, type CallEvents, type PtNames, type PtThreads } from "@perfdata/pt/decode";
import type { CallWriter } from "./call_writer.ts";

const encoder = new TextEncoder();

/**
 * Calls of a trace as trace events for Perfetto and `chrome://tracing`: a slice (complete event)
 * per call, with its number of instructions. Calls are written when they end, so memory does not
 * grow with their number.
 *
 * Times are microseconds of the recording's clock.
 */
export class ChromeCalls implements CallWriter {
  /** Text that was not written out yet. */
  readonly text: ByteText = new ByteText();
  /** Number of written calls. */
  calls = 0;
  /** Number of calls and values that were dropped because they have no time. */
  untimed = 0;
  /** Always 0: a call is written with its beginning when it ends. */
  readonly headless = 0;
  readonly #names: PtNames;
  readonly #recorded: PtThreads;
  readonly #pool = new TextPool();
  readonly #duration = this.#add(`,"dur":`);
  readonly #insns = this.#add(`,"args":{"insns":`);
  readonly #end = this.#add("}},\n");
  readonly #openEnd = this.#add(`,"end":"no return seen"}},\n`);
  readonly #starts: number[] = [];
  readonly #threads = new Map<number, { readonly pid: number; readonly text: Uint8Array }>();

  /** Writes the start of the file. */
  constructor(names: PtNames, recorded: PtThreads, about: { title: string }) {
    this.#names = names;
    this.#recorded = recorded;
    this.text.string(
      `{"otherData":${JSON.stringify(about)},"displayTimeUnit":"ns","traceEvents":[\n`,
    );
  }

  /** Writes the calls that ended. Their places' names are known. */
  rows(events: CallEvents, out: (bytes: Uint8Array) => void): void {
    const { text } = this;
    for (let i = 0; i < events.count; i++) {
      if (events.kind[i] === 0) continue;
      if (events.kind[i] === CALL_ROW.PTWRITE) {
        this.#written(events, i);
        if (text.isFull) out(text.lend());
        continue;
      }
      const duration = floatAt(events.duration, i);
      if (duration < 0) {
        this.untimed++;
        continue;
      }
      text.pooled(this.#pool, this.#start(intAt(events.place, i)));
      text.bytes(this.#thread(intAt(events.tid, i)).text);
      this.#time(text, floatAt(events.time, i) - duration);
      text.pooled(this.#pool, this.#duration);
      microseconds(text, duration);
      text.pooled(this.#pool, this.#insns);
      text.number(floatAt(events.insns, i));
      text.pooled(this.#pool, events.kind[i] === 2 ? this.#openEnd : this.#end);
      this.calls++;
      if (text.isFull) out(text.lend());
    }
  }

  /** Writes a value of PTWRITE as an instant event of its thread. */
  #written(events: CallEvents, i: number): void {
    const { text } = this;
    const time = floatAt(events.time, i);
    if (time < 0) {
      this.untimed++;
      return;
    }
    const value = events.written(i);
    const payload = `0x${value.toString(16)}`;
    text.string(`{"ph":"i","s":"t","name":"ptwrite ${payload}","pid":`);
    text.bytes(this.#thread(intAt(events.tid, i)).text);
    this.#time(text, time);
    const name = this.#names.names[intAt(events.place, i)];
    const args = { payload, value: String(value), function: name };
    text.string(`,"args":${JSON.stringify(args)}},\n`);
  }

  /** Writes a time in microseconds with three decimals. */
  #time(text: ByteText, ns: number): void {
    const { origin } = this.#names;
    if (origin.seconds === 0) return microseconds(text, ns);
    const rest = origin.restOf(ns);
    text.number(origin.secondsOf(ns));
    text.zeros(Math.floor(rest / 1000), 6);
    text.byte(0x2e);
    text.zeros(rest % 1000, 3);
  }

  /** Index of the text up to the end of a call's name. */
  #start(place: number): number {
    return this.#starts[place] ??= this.#add(
      `{"ph":"X","name":${JSON.stringify(this.#names.names[place])},"pid":`,
    );
  }

  #add(text: string): number {
    return this.#pool.add(encoder.encode(text));
  }

  #thread(tid: number): { readonly pid: number; readonly text: Uint8Array } {
    let thread = this.#threads.get(tid);
    if (thread === undefined) {
      const pid = this.#recorded.pid(tid, Infinity);
      thread = { pid, text: encoder.encode(`${pid},"tid":${tid},"ts":`) };
      this.#threads.set(tid, thread);
    }
    return thread;
  }

  /** Writes the names of threads and processes, and the end of the file. */
  finish(out: (bytes: Uint8Array) => void): void {
    const lines: string[] = [];
    const pids = new Set<number>();
    for (const [tid, { pid }] of this.#threads) {
      const named = (what: string, of: number) => {
        const name = this.#recorded.name(of, Infinity) ?? this.#recorded.name(pid, Infinity) ??
          `:${of}`;
        const args = JSON.stringify({ name });
        lines.push(`{"ph":"M","name":"${what}","pid":${pid},"tid":${of},"args":${args}}`);
      };
      if (!pids.has(pid)) named("process_name", pid);
      pids.add(pid);
      named("thread_name", tid);
    }
    // Without calls, add an entry, since the list must not end with a comma.
    if (lines.length === 0) lines.push(`{"ph":"M","name":"trace","pid":0,"tid":0,"args":{}}`);
    this.text.string(`${lines.join(",\n")}\n]}\n`);
    out(this.text.lend());
  }
}

/** Writes nanoseconds as microseconds with three decimals. */
function microseconds(text: ByteText, ns: number): void {
  const whole = Math.floor(ns / 1000);
  text.number(whole);
  text.byte(0x2e);
  text.zeros(Math.floor(ns - whole * 1000), 3);
}
