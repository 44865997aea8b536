import { byteAt, ByteText, enlarge, intAt, TextPool, visible } from "@perfdata/format/bytes";
import {
  CALL_ROW,
  type CallEvents,
  durationText,
  type NameFilter,
  type PtNames,
} from "@perfdata/pt/decode";
import { UNVERIFIED_MARK } from "@perfdata/profile";

const encoder = new TextEncoder();
/** Limit of the indentation. */
const LEVELS = 61;
/**
 * Endings of lines: at a call with callees, at its end, at an open call, at a call without callees.
 */
const Ending = { BEGIN: 0, RETURN: 1, OPEN: 2, LEAF: 3, OPEN_LEAF: 4 } as const;
type Ending = typeof Ending[keyof typeof Ending];
const OPEN = "  /* no return seen */";
const NO_LINES = new Int32Array(0);
const ENDINGS = ["() {", "", OPEN, "();", `();${OPEN}`] as const;
/** Texts of durations below this many ns are cached. */
const DURATIONS = 1 << 16;
/** State of a thread. */
interface Thread {
  /** Depth of the innermost call that the filter selects, or -1. */
  inside: number;
  /** Whether a call is not printed yet, since its return may be the next line. */
  held: boolean;
  /** Start of lines (tid and whole seconds), and the seconds it is for. */
  readonly head: TextPool;
  headSeconds: number;
  headUnsure: number;
  /** Time in ns, place and depth of the held call. */
  heldTime: number;
  heldPlace: number;
  heldLevel: number;
  /** 1 if the call may belong to another thread. */
  heldUnsure: number;
}

/**
 * A call trace as text, similar to the kernel's function_graph: a call with callees has a line at
 * its begin and one at its end, a call without callees has a single line.
 */
export class CallText {
  /** Text that was not written out yet. */
  readonly text: ByteText = new ByteText();
  readonly #names: PtNames;
  readonly #filter: NameFilter;
  readonly #pool = new TextPool();
  readonly #threads = new Map<number, Thread>();
  /** For each place, the indices of its texts plus one, by level and ending; 0 if missing. */
  readonly #lines: (Int32Array | undefined)[] = [];
  /** Index of each duration's text plus one, by ns + 1 (0: unknown duration); 0 if missing. */
  readonly #durations = new Int32Array(DURATIONS);
  /** The text of a duration that is not cached. */
  readonly #duration = new TextPool();
  readonly #noDuration = this.#add(`${" ".repeat(10)} `);

  /**
   * Creates the writer. With a filter, only calls of its functions and their callees are printed.
   */
  constructor(names: PtNames, filter?: NameFilter) {
    this.#names = names;
    this.#filter = filter;
  }

  /** Writes the lines of events. Their places' names are known. */
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
      if (events.kind[i] === CALL_ROW.PTWRITE) {
        this.#putWritten(thread, events, i, level);
        if (text.isFull) out(text.lend());
        continue;
      }
      if (isCall && !thread.held) {
        thread.heldUnsure = unsure;
        thread.held = true;
        thread.heldTime = time;
        thread.heldPlace = place;
        thread.heldLevel = level;
        continue;
      }
      const { held, heldTime, heldPlace, heldLevel, heldUnsure } = thread;
      // A call with callees has its own line. A single line is marked as unsure if its call is.
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

  /** Writes the line of a value of PTWRITE, after that of the call around it. */
  #putWritten(thread: Thread, events: CallEvents, i: number, level: number): void {
    const { text } = this;
    const { held, heldTime, heldPlace, heldLevel, heldUnsure } = thread;
    const tid = intAt(events.tid, i);
    if (held) {
      thread.held = false;
      this.#putStart(thread, tid, heldTime, heldUnsure);
      text.pooled(this.#pool, this.#noDuration);
      text.pooled(this.#pool, this.#line(heldPlace, heldLevel, Ending.BEGIN));
    }
    this.#putStart(thread, tid, events.time[i] ?? -1, byteAt(events.unsure, i));
    text.pooled(this.#pool, this.#noDuration);
    const value = events.written(i);
    const name = visible(this.#names.labels[intAt(events.place, i)] as string);
    text.string(
      `| ${"  ".repeat(level)}ptwrite 0x${value.toString(16)} (${value});  /* ${name} */\n`,
    );
  }

  /** Indentation of a line; -1 if it is not printed. */
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
    if (!isCall && inside === depth && events.kind[i] !== CALL_ROW.PTWRITE) thread.inside = -1;
    return Math.min(depth - inside, LEVELS - 1);
  }

  /** Index of a line's text after the duration. */
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

  /** Writes the start of a line: the thread, marked if unsure, and the time. */
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
