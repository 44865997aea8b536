import {
  type CallEvents,
  durationText,
  type NameFilter,
  type PtNames,
  secondsText,
} from "@perfdata/session/pt";
import { ByteText, TextPool } from "./byte_text.ts";

const encoder = new TextEncoder();
/** Levels that are shown by indentation. */
const LEVELS = 61;
/** Durations whose text is kept. */
const DURATIONS = 1 << 16;
const NO_DURATION = encoder.encode(`${" ".repeat(10)} `);
const END = encoder.encode("\n");
const CALL = encoder.encode("() {\n");
const LEAF = encoder.encode("();\n");
const OPEN_LEAF = encoder.encode("();  /* no return seen */\n");
const OPEN = encoder.encode("  /* no return seen */\n");

/** What is known of a thread. */
interface Thread {
  /** The depth of the innermost call that the filter names, or -1. */
  inside: number;
  /** A call that is not printed yet, since its return may be the next line. */
  held: boolean;
  heldPrefix: Uint8Array;
  /** Number of its text. */
  heldText: number;
}

/**
 * A call trace as text, in the manner of the kernel's function_graph: a line at a call that calls others,
 * one at its end, and one alone for a call that calls none.
 */
export class CallText {
  /** What was written and not yet taken. */
  readonly text: ByteText = new ByteText();
  readonly #names: PtNames;
  readonly #filter: NameFilter;
  readonly #threads = new Map<number, Thread>();
  readonly #pool = new TextPool();
  /** Texts of calls and of returns, by place and level. */
  readonly #calls = new Map<number, number>();
  readonly #returns = new Map<number, number>();
  readonly #durations = new Map<number, Uint8Array>();
  #prefix: Uint8Array = new Uint8Array(0);
  #tid = -1;
  #time = NaN;

  /** With a filter, only calls of those functions and what they call are printed. */
  constructor(names: PtNames, filter?: NameFilter) {
    this.#names = names;
    this.#filter = filter;
  }

  /** Writes the lines of some events; the names of their places are known. */
  rows(events: CallEvents, out: (bytes: Uint8Array) => void): void {
    const { text } = this;
    for (let i = 0; i < events.count; i++) {
      const tid = events.tid[i] as number;
      let thread = this.#threads.get(tid);
      if (thread === undefined) {
        thread = { inside: -1, held: false, heldPrefix: this.#prefix, heldText: 0 };
        this.#threads.set(tid, thread);
      }
      const level = this.#level(thread, events, i);
      if (level < 0) continue;
      const time = events.time[i] as number;
      if (time !== this.#time || tid !== this.#tid) {
        this.#time = time;
        this.#tid = tid;
        this.#prefix = encoder.encode(
          `${String(tid).padStart(7)} ${secondsText(time).padStart(18)} `,
        );
      }
      const place = events.place[i] as number;
      if (events.kind[i] === 0) {
        if (thread.held) {
          text.bytes(thread.heldPrefix);
          text.bytes(NO_DURATION);
          text.pooled(this.#pool, thread.heldText);
          text.bytes(CALL);
        }
        thread.held = true;
        thread.heldPrefix = this.#prefix;
        thread.heldText = this.#call(place, level);
      } else {
        text.bytes(thread.held ? thread.heldPrefix : this.#prefix);
        text.bytes(this.#duration(events.duration[i] as number));
        const isOpen = events.kind[i] === 2;
        if (thread.held) {
          text.pooled(this.#pool, thread.heldText);
          text.bytes(isOpen ? OPEN_LEAF : LEAF);
          thread.held = false;
        } else {
          text.pooled(this.#pool, this.#return(place, level));
          text.bytes(isOpen ? OPEN : END);
        }
      }
      if (text.isFull) out(text.take());
    }
  }

  /** How far a line is indented; -1 where it is not shown. */
  #level(thread: Thread, events: CallEvents, i: number): number {
    const depth = events.depth[i] as number;
    if (this.#filter === undefined) return Math.min(depth, LEVELS - 1);
    const isCall = events.kind[i] === 0;
    const { inside } = thread;
    if (inside < 0) {
      const name = this.#names.names[events.place[i] as number] as string;
      if (!isCall || !this.#filter.has(name)) return -1;
      thread.inside = depth;
      return 0;
    }
    if (!isCall && inside === depth) thread.inside = -1;
    return Math.min(depth - inside, LEVELS - 1);
  }

  #call(place: number, level: number): number {
    const key = place * LEVELS + level;
    let number = this.#calls.get(key);
    if (number === undefined) {
      const line = `| ${"  ".repeat(level)}${this.#names.names[place]}`;
      this.#calls.set(key, number = this.#pool.add(encoder.encode(line)));
    }
    return number;
  }

  #return(place: number, level: number): number {
    const key = place * LEVELS + level;
    let number = this.#returns.get(key);
    if (number === undefined) {
      const line = `| ${"  ".repeat(level)}}  /* ${this.#names.names[place]} */`;
      this.#returns.set(key, number = this.#pool.add(encoder.encode(line)));
    }
    return number;
  }

  #duration(ns: number): Uint8Array {
    let bytes = this.#durations.get(ns);
    if (bytes === undefined) {
      bytes = encoder.encode(`${durationText(ns).padStart(10)} `);
      if (this.#durations.size < DURATIONS) this.#durations.set(ns, bytes);
    }
    return bytes;
  }
}
