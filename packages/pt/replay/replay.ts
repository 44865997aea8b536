import { byteAt, intAt } from "@perfdata/format/bytes";
import { FLOW_ERROR_TEXT, FlowEvent, InsnKind } from "@perfdata/intel-pt";
import { CallTree } from "../calls/pt_call_tree.ts";
import type { PtNames } from "../code/pt_names.ts";
import { ptSpan } from "../decode/pt_span.ts";
import { ROW } from "../lists/pt_list.ts";
import { lastTimes, type LoadedSteps, loadSteps, type StepThread } from "./load_steps.ts";
import { cursorAt, type StepCursor, type StepRows } from "./step_rows.ts";

/** Maximum number of loaded parts, each of `most` steps. */
const MOST_PARTS = 4;
/** Maximum number of nodes of call sites, after which they are forgotten. */
const MOST_NODES = 1 << 20;
/** Steps of a part, if the caller chooses no number. */
const STEPS = 1 << 15;
/** ns that are decoded first, before the density of steps is known. */
const FIRST_LENGTH = 20_000;
/** ns by which the time of a step may differ if decoding begins elsewhere, at first. */
const SLACK = 20_000;
/** A part was decoded twice, with different results: the trace is damaged. */
const DIFFERS = "these steps are different if decoding begins at another place of the trace";
/** Factor by which the decoded time grows at most. */
const GROWTH = 16;

/** Options of {@linkcode Replay.open}. */
export interface ReplayOptions extends Omit<StepThread, "tree" | "tid"> {
  /** Names of its places. */
  readonly names: PtNames;
  /** The thread; by default, the one that ran last. */
  readonly tid?: number | undefined;
  /** Time in ns of the first shown step; the end of the trace by default. */
  readonly at?: number | undefined;
  /** First and last time of the trace in ns, if known. */
  readonly span?: readonly [number, number] | undefined;
  /** Steps of a part at most. */
  readonly most?: number | undefined;
  /** Steps of a part at least, if the trace has as many; half of `most` by default. */
  readonly least?: number | undefined;
}

/** A step: a row of a loaded part. */
export interface Step {
  /** The rows of the part. */
  readonly rows: StepRows;
  /** The index of the row. */
  readonly row: number;
  /** Texts of instructions, by number. */
  readonly texts: readonly string[];
}

/** Result of a move. */
export interface Moved {
  /** Whether there was a step to move to. */
  readonly isFound: boolean;
  /** The reason of a gap at which the move stopped. */
  readonly gap?: string;
}

/** The parts, the index of the current step, and whether the first and the last step are loaded. */
type ReplayState = readonly [LoadedSteps[], number, boolean, boolean];

/** Whether steps are searched before the current one, or after it. */
export type Direction = -1 | 1;

/**
 * The steps of a thread around a current one: its instructions, and the events between them.
 *
 * A step is known by the packet before it and its number after that packet. A part of some thousand
 * steps is decoded, from a PSB before it, when it is needed; only the parts around the current step
 * are held, so memory does not grow with the trace.
 */
export class Replay {
  /** The trace and the thread. */
  readonly thread: StepThread;
  /** Names of places. */
  readonly names: PtNames;
  /** First and last time of the trace in ns; `undefined` without times. */
  readonly span: readonly [number, number] | undefined;
  readonly #most: number;
  readonly #least: number;
  /** Consecutive parts. */
  #parts: LoadedSteps[] = [];
  /** Index of the current step in the parts. */
  #at = 0;
  #isFirst = false;
  #isLast = false;
  /** ns that gave about a part of steps. */
  #length = FIRST_LENGTH;

  private constructor(
    { names, most = STEPS, least = most >> 1, trace, text, wants, tid = -1 }: ReplayOptions,
    span: readonly [number, number] | undefined,
  ) {
    this.thread = { trace, text, wants, tid, tree: new CallTree() };
    this.names = names;
    this.span = span;
    this.#most = most;
    this.#least = least;
  }

  /** Opens the steps of a thread at a time; `undefined` if no thread ran before it. */
  static async open(options: ReplayOptions): Promise<Replay | undefined> {
    const span = options.span ?? await ptSpan(options.trace);
    const at = options.at ?? Infinity;
    const tid = options.tid ?? await lastThread(options, span, at);
    if (tid === undefined) return undefined;
    const replay = new Replay({ ...options, tid }, span);
    return await replay.goTo(at) || await replay.goToStart() ? replay : undefined;
  }

  /** Number of loaded steps. */
  get count(): number {
    return this.#parts.reduce((sum, { rows }) => sum + rows.count, 0);
  }

  /** The loaded parts, in order. */
  get parts(): readonly LoadedSteps[] {
    return this.#parts;
  }

  /** The current step. */
  get current(): Step {
    return this.#step(this.#at) as Step;
  }

  /** A step at a distance from the current one, if there is one; loads it if necessary. */
  async near(distance: number): Promise<Step | undefined> {
    const at = await this.#load(this.#at + distance);
    return at === undefined ? undefined : this.#step(at);
  }

  /** Moves by a number of steps, at most to the first or the last one. */
  async step(distance: number): Promise<Moved> {
    const at = await this.#load(this.#at + distance);
    const to = at ?? (distance < 0 ? 0 : this.count - 1);
    const isFound = at !== undefined || to !== this.#at;
    this.#at = to;
    return { isFound };
  }

  /** Moves to the next step with another source line; if `isOver`, in the same call or its callers. */
  async line(direction: Direction, isOver: boolean): Promise<Moved> {
    const { rows, row } = this.current;
    const line = this.#lineOf(this.current);
    const depth = intAt(rows.depth, row);
    return await this.#search(direction, (step) => {
      const stepDepth = intAt(step.rows.depth, step.row);
      if (isOver && stepDepth > depth) return false;
      return isInsn(step) && (stepDepth !== depth || this.#lineOf(step) !== line);
    });
  }

  /** Moves to the nearest call instruction. */
  async call(direction: Direction): Promise<Moved> {
    return await this.#search(direction, ({ rows, row }) => {
      const kind = byteAt(rows.kind, row);
      return rows.row[row] === ROW.INSN &&
        (kind === InsnKind.CALL || kind === InsnKind.CALL_INDIRECT);
    });
  }

  /** Moves to the step from which the function was called, or to which it returns. */
  async out(direction: Direction): Promise<Moved> {
    const { rows, row } = this.current;
    const depth = intAt(rows.depth, row);
    return await this.#search(
      direction,
      (step) => isInsn(step) && intAt(step.rows.depth, step.row) < depth,
    );
  }

  /** Moves to the nearest instruction that passes a test, also over gaps. */
  async find(direction: Direction, test: (step: Step) => boolean): Promise<Moved> {
    return await this.#search(direction, (step) => isInsn(step) && test(step), false);
  }

  /** Moves to the last step at a time in ns, or before. */
  async goTo(time: number): Promise<boolean> {
    return await this.#begin(cursorAt(time));
  }

  /** Moves to the first step of the thread. */
  async goToStart(): Promise<boolean> {
    const before = this.#state();
    const part = await this.#after(cursorAt(-Infinity), undefined);
    if (part.rows.count === 0) {
      this.#restore(before);
      return false;
    }
    this.#parts = [part];
    this.#at = 0;
    this.#isFirst = true;
    this.#isLast = false;
    await this.names.resolve();
    return true;
  }

  /**
   * The places of the calls around the current step, the innermost first, as far as they were
   * decoded.
   */
  callers(): number[] {
    const { rows, row } = this.current;
    const { tree } = this.thread;
    const places: number[] = [];
    for (let node = intAt(rows.node, row); node >= 0; node = intAt(tree.parent, node)) {
      places.push(intAt(tree.place, node));
    }
    return places;
  }

  /** Decodes more before the current step, to find more of the calls around it. */
  async deepen(): Promise<boolean> {
    if (this.span === undefined) return false;
    const { rows, row } = this.current;
    const [first] = this.span;
    const known = this.callers().length;
    const cursor = rows.cursor(row);
    for (let length = GROWTH * this.#length;; length *= GROWTH) {
      await this.#begin(cursor, length);
      if (this.callers().length > known) return true;
      if (cursor.time - length <= first || cursor.time === Infinity) return false;
    }
  }

  #state(): ReplayState {
    return [[...this.#parts], this.#at, this.#isFirst, this.#isLast];
  }

  #restore([parts, at, isFirst, isLast]: ReplayState): void {
    [this.#parts, this.#at, this.#isFirst, this.#isLast] = [parts, at, isFirst, isLast];
  }

  #step(index: number): Step | undefined {
    let row = index;
    for (const { rows, texts } of this.#parts) {
      if (row < rows.count) return row < 0 ? undefined : { rows, row, texts };
      row -= rows.count;
    }
    return undefined;
  }

  #lineOf({ rows, row }: Step): string | undefined {
    const place = intAt(rows.a, row);
    return place < 0 ? undefined : this.names.line(place) ?? this.names.names[place];
  }

  /** Begins with the steps up to a cursor. */
  async #begin(cursor: StepCursor, length?: number): Promise<boolean> {
    const before = this.#state();
    if (this.thread.tree.count > MOST_NODES) this.thread.tree.take();
    const part = await this.#before(cursor, length);
    const { count } = part.rows;
    if (count === 0) {
      this.#restore(before);
      return false;
    }
    this.#parts = [part];
    this.#at = count - 1;
    this.#isFirst = false;
    this.#isLast = cursor.time === Infinity;
    await this.names.resolve();
    return true;
  }

  /** Moves to the nearest step that passes a test, or to a gap. */
  async #search(
    direction: Direction,
    test: (step: Step) => boolean,
    stopsAtGaps = true,
  ): Promise<Moved> {
    const before = this.#state();
    for (let distance: number = direction;; distance += direction) {
      const at = await this.#load(this.#at + distance);
      if (at === undefined) {
        this.#restore(before);
        return { isFound: false };
      }
      const step = this.#step(at) as Step;
      const gap = gapText(step);
      if (test(step) || (stopsAtGaps && gap !== undefined)) {
        this.#at = at;
        return gap === undefined ? { isFound: true } : { isFound: true, gap };
      }
      if (Math.abs(distance) >= this.#most) {
        // Parts far behind may be dropped.
        this.#at = at;
        distance = 0;
      }
    }
  }

  /** Loads the step at an index; returns its index then, or `undefined` if it does not exist. */
  async #load(index: number): Promise<number | undefined> {
    let at = index;
    while (at < 0 && !this.#isFirst) {
      const added = await this.#addEarlier();
      at += added;
    }
    while (at >= this.count && !this.#isLast) at -= await this.#addLater();
    return at < 0 || at >= this.count ? undefined : at;
  }

  /** Adds the part before the first one; returns the number of its steps. */
  async #addEarlier(): Promise<number> {
    const first = (this.#parts[0] as LoadedSteps).rows;
    const part = await this.#before(first.cursor(0));
    const { rows } = part;
    // Its last step is the first one of the next part.
    const last = rows.count - 1;
    rows.shift(intAt(first.depth, 0) - intAt(rows.depth, last));
    rows.count = last;
    this.#isFirst ||= last === 0;
    if (last === 0) return 0;
    this.#parts.unshift(part);
    this.#at += last;
    if (this.#parts.length > MOST_PARTS && this.#isBefore(this.#parts.length - 1)) {
      this.#parts.pop();
      this.#isLast = false;
    }
    await this.names.resolve();
    return last;
  }

  /** Whether the current step is before a part. */
  #isBefore(part: number): boolean {
    const before = this.#parts.slice(0, part).reduce((sum, { rows }) => sum + rows.count, 0);
    return this.#at < before;
  }

  /** Adds the part after the last one; returns the number of steps that were removed at the start. */
  async #addLater(): Promise<number> {
    const last = (this.#parts.at(-1) as LoadedSteps).rows;
    const end = last.count - 1;
    const part = await this.#after(last.cursor(end), last.node[end]);
    const { rows } = part;
    rows.shift(intAt(last.depth, end) - intAt(rows.depth, 0));
    rows.dropFirst();
    if (rows.count === 0) {
      this.#isLast = true;
      return 0;
    }
    this.#parts.push(part);
    await this.names.resolve();
    const [first] = this.#parts;
    if (this.#parts.length <= MOST_PARTS || first === undefined) return 0;
    if (this.#at < first.rows.count) return 0;
    this.#parts.shift();
    this.#isFirst = false;
    this.#at -= first.rows.count;
    return first.rows.count;
  }

  /** The last steps up to a cursor, including the one at it. */
  async #before(cursor: StepCursor, least?: number): Promise<LoadedSteps> {
    const { time } = cursor;
    const [first, last] = this.span ?? [0, 0];
    const end = Math.min(time, last);
    // Without times, or at code before the first time, all is decoded from the start.
    const isTimed = this.span !== undefined && time >= 0;
    let isBounded = isTimed && time !== Infinity;
    const late = cursor.buffer < 0 ? 0 : SLACK;
    for (let length = least ?? this.#length;;) {
      const isWhole = !isTimed || end - length <= first;
      const part = await loadSteps(this.thread, {
        ...{ cursor, keeps: "last", most: this.#most },
        from: isWhole ? undefined : end - length,
        to: isBounded ? time + late : undefined,
      });
      const { rows } = part;
      if (!rows.isAt(rows.count - 1, cursor)) {
        if (isBounded) isBounded = false;
        else if (isWhole) throw new Error(DIFFERS);
        else length *= GROWTH;
        continue;
      }
      if (rows.count >= this.#least || isWhole) {
        if (least === undefined && !isWhole) this.#length = length;
        return part;
      }
      length *= growth(this.#most, rows.count);
    }
  }

  /** The first steps from a cursor on, including the one at it. */
  async #after(cursor: StepCursor, node: number | undefined): Promise<LoadedSteps> {
    const { time } = cursor;
    const [first, last] = this.span ?? [0, 0];
    const isTimed = this.span !== undefined && time >= first;
    let length = this.#length;
    // The step may be before its time in another decoding.
    let early = SLACK;
    for (;;) {
      const isWhole = !isTimed || time + length >= last;
      const isFromStart = !isTimed || time - early <= first;
      const part = await loadSteps(this.thread, {
        ...{ cursor, keeps: "first", most: this.#most, node },
        from: isFromStart ? undefined : time - early,
        to: isWhole ? undefined : time + length,
      });
      const { rows } = part;
      if (!rows.isAt(0, cursor)) {
        if (isWhole && isFromStart) throw new Error(DIFFERS);
        early *= GROWTH;
        length *= GROWTH;
        continue;
      }
      if (rows.count >= this.#least || isWhole) return part;
      length *= growth(this.#most, rows.count);
    }
  }
}

/** Factor for the length of a range that has too few steps. */
function growth(most: number, count: number): number {
  return Math.min(GROWTH, Math.max(2, most / Math.max(1, count)));
}

/** The thread that ran last up to a time. */
async function lastThread(
  { trace, wants }: ReplayOptions,
  span: readonly [number, number] | undefined,
  at: number,
): Promise<number | undefined> {
  const [first, end] = span ?? [0, 0];
  const to = Math.min(at, end);
  for (let length = FIRST_LENGTH;; length *= GROWTH) {
    const isWhole = span === undefined || to - length <= first;
    const range = {
      from: isWhole ? undefined : to - length,
      to: span === undefined || at === Infinity ? undefined : to,
    };
    const times = await lastTimes(trace, range, wants);
    let found: number | undefined;
    for (const [tid, time] of times) {
      // The idle task, and unknown threads, if there is no other.
      const isBetter = found === undefined || (found <= 0 && tid > 0) ||
        ((found > 0) === (tid > 0) && time >= (times.get(found) ?? -1));
      if (isBetter) found = tid;
    }
    if (found !== undefined && (found > 0 || isWhole)) return found;
    if (isWhole) return undefined;
  }
}

function isInsn({ rows, row }: Step): boolean {
  return rows.row[row] === ROW.INSN;
}

/** The reason of a gap in the execution; `undefined` if a step is no gap. */
export function gapText({ rows, row }: Step): string | undefined {
  return rows.row[row] === ROW.EVENT && rows.kind[row] === FlowEvent.ERROR
    ? FLOW_ERROR_TEXT[intAt(rows.b, row)]
    : undefined;
}
