import { byteAt, intAt } from "@perfdata/format/elements";
import { visible } from "@perfdata/format/visible";
import type { CallEvents } from "@perfdata/pt/calls";
import type { PtNames } from "@perfdata/pt/code";
import { durationText, type NameFilter } from "@perfdata/pt/lists";
import { UNVERIFIED_MARK } from "@perfdata/profile/profile";
import { enlarge } from "@perfdata/format/enlarge";
import { ByteText, TextPool } from "../formats/byte_text.ts";

const encoder = new TextEncoder();
/** Maximum number of levels shown by indentation. */
const LEVELS = 61;
/** What a line ends with: of a call that calls others, of its end, of one that calls none. */
const Ending = { BEGIN: 0, RETURN: 1, OPEN: 2, LEAF: 3, OPEN_LEAF: 4 } as const;
type Ending = typeof Ending[keyof typeof Ending];
const OPEN = "  /* no return seen */";
const NO_LINES = new Int32Array(0);
const ENDINGS = ["() {", "", OPEN, "();", `();${OPEN}`] as const;
/** The text of durations below this many ns is kept. */
const DURATIONS = 1 << 16;
/** What is known of a thread. */
interface Thread {
  /** The depth of the innermost call that the filter names, or -1. */
  inside: number;
  /** A call that is not printed yet, since its return may be the next line. */
  held: boolean;
  /** What lines begin with: tid and whole seconds, and which seconds. */
  readonly head: TextPool;
  headSeconds: number;
  headUnsure: number;
  /** When the held call was, ns, what it is of, and how deep. */
  heldTime: number;
  heldPlace: number;
  heldLevel: number;
  /** 1 if it may be of another thread. */
  heldUnsure: number;
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
  readonly #pool = new TextPool();
  readonly #threads = new Map<number, Thread>();
  /** By place: the texts of its lines, by level and ending; numbers + 1, or 0. */
  readonly #lines: (Int32Array | undefined)[] = [];
  /** By ns + 1, so that there is one of what is not known: the text; numbers + 1, or 0. */
  readonly #durations = new Int32Array(DURATIONS);
  /** A duration that is not kept. */
  readonly #duration = new TextPool();
  readonly #noDuration = this.#add(`${" ".repeat(10)} `);

  /** With a filter, only calls of those functions and what they call are printed. */
  constructor(names: PtNames, filter?: NameFilter) {
    this.#names = names;
    this.#filter = filter;
  }

  /** Writes the lines of some events; the names of their places are known. */
  rows(events: CallEvents, out: (bytes: Uint8Array) => void): void {
    const { text } = this;
    const pool = this.#pool;
    for (let i = 0; i < events.count; i++) {
      const tid = intAt(events.tid, i);
      const thread = this.#threads.get(tid) ?? this.#thread(tid);
      const level = this.#level(thread, events, i);
      if (level < 0) continue;
      const time = events.time[i] ?? -1;
      const place = intAt(events.place, i);
      const isCall = events.kind[i] === 0;
      const unsure = byteAt(events.unsure, i);
      if (isCall && !thread.held) {
        thread.heldUnsure = unsure;
        thread.held = true;
        thread.heldTime = time;
        thread.heldPlace = place;
        thread.heldLevel = level;
        continue;
      }
      const { held, heldTime, heldPlace, heldLevel, heldUnsure } = thread;
      // A call that calls others has a line of its own; the return of any other has the doubt of its call.
      this.#putStart(thread, tid, held ? heldTime : time, isCall ? heldUnsure : unsure);
      if (isCall) {
        thread.heldUnsure = unsure;
        text.pooled(pool, this.#noDuration);
        text.pooled(pool, this.#line(heldPlace, heldLevel, Ending.BEGIN));
        thread.heldTime = time;
        thread.heldPlace = place;
        thread.heldLevel = level;
      } else {
        this.#putDuration(events.duration[i] ?? -1);
        const isOpen = events.kind[i] === 2;
        thread.held = false;
        text.pooled(
          pool,
          held
            ? this.#line(heldPlace, heldLevel, isOpen ? Ending.OPEN_LEAF : Ending.LEAF)
            : this.#line(place, level, isOpen ? Ending.OPEN : Ending.RETURN),
        );
      }
      if (text.isFull) out(text.lend());
    }
  }

  /** How far a line is indented; -1 if it is not shown. */
  #level(thread: Thread, events: CallEvents, i: number): number {
    const depth = events.depth[i] ?? 0;
    if (this.#filter === undefined) return Math.min(depth, LEVELS - 1);
    const isCall = events.kind[i] === 0;
    const { inside } = thread;
    if (inside < 0) {
      const name = this.#names.names[intAt(events.place, i)] as string;
      if (!isCall || !this.#filter.has(name)) return -1;
      thread.inside = depth;
      return 0;
    }
    if (!isCall && inside === depth) thread.inside = -1;
    return Math.min(depth - inside, LEVELS - 1);
  }

  /** The text of a line after its duration. */
  #line(place: number, level: number, ending: Ending): number {
    const at = level * ENDINGS.length + ending;
    let lines = this.#lines[place];
    if (lines === undefined || at >= lines.length) {
      lines = this.#lines[place] = enlarge(lines ?? NO_LINES, at + 1);
    }
    const known = intAt(lines, at) - 1;
    if (known >= 0) return known;
    const name = visible(this.#names.labels[place] as string);
    const isReturn = ending === Ending.RETURN || ending === Ending.OPEN;
    const number = this.#add(
      `| ${"  ".repeat(level)}${isReturn ? `}  /* ${name} */` : name}${ENDINGS[ending]}\n`,
    );
    lines[at] = number + 1;
    return number;
  }

  #putDuration(ns: number): void {
    const known = this.#durations[ns + 1];
    if (known !== undefined && known > 0) return this.text.pooled(this.#pool, known - 1);
    const line = `${durationText(ns).padStart(10)} `;
    if (known === undefined) {
      this.#duration.only(encoder.encode(line));
      this.text.pooled(this.#duration, 0);
      return;
    }
    const number = this.#add(line);
    this.#durations[ns + 1] = number + 1;
    this.text.pooled(this.#pool, number);
  }

  #add(text: string): number {
    return this.#pool.add(encoder.encode(text));
  }

  #thread(tid: number): Thread {
    const thread: Thread = {
      inside: -1,
      held: false,
      head: new TextPool(),
      headSeconds: NaN,
      headUnsure: 0,
      heldTime: -1,
      heldPlace: 0,
      heldLevel: 0,
      heldUnsure: 0,
    };
    this.#threads.set(tid, thread);
    return thread;
  }

  /** What a line begins with: the thread, marked if it may be another one, and when. */
  #putStart(thread: Thread, tid: number, time: number, unsure: number): void {
    const { text } = this;
    const { origin } = this.#names;
    const seconds = time < 0 ? -1 : origin.secondsOf(time);
    if (seconds !== thread.headSeconds || unsure !== thread.headUnsure) {
      thread.headSeconds = seconds;
      thread.headUnsure = unsure;
      const shown = `${tid}${unsure === 1 ? UNVERIFIED_MARK : ""}`;
      const whole = seconds < 0 ? " ".repeat(18) : `${String(seconds).padStart(8)}.`;
      thread.head.only(encoder.encode(`${shown.padStart(7)} ${whole}`));
    }
    text.pooled(thread.head, 0);
    if (seconds >= 0) text.zeros(origin.restOf(time), 9);
    text.byte(0x20);
  }
}
