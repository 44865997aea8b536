import type { FrameWalker } from "@perfdata/symbols/dwarf";
import { WALK_END } from "@perfdata/symbols/resolver";

/** Counts of stacks by the reason of their end. */
export interface UnwindTally {
  /** Stacks that were unwound. */
  stacks: number;
  /** Number of stacks by `WALK_END`. */
  readonly ends: number[];
  /** Stacks with a frame that was guessed from the frame pointer. */
  guessed: number;
}

/** Maximum size of a stack. A larger difference means two stacks, before and after an `exec`. */
const MOST_STACK = 2 ** 23;
/** Maximum distance between start addresses of one stack of a thread. */
const SAME_TOP = 2 ** 16;

const ENDS = Object.keys(WALK_END).length;

function tally(): UnwindTally {
  return { stacks: 0, ends: new Array<number>(ENDS).fill(0), guessed: 0 };
}

function tallyOf<K>(map: Map<K, UnwindTally>, key: K): UnwindTally {
  let found = map.get(key);
  if (found === undefined) map.set(key, found = tally());
  return found;
}

function count(to: UnwindTally, { end, guessed }: FrameWalker): void {
  to.stacks++;
  to.ends[end] = (to.ends[end] as number) + 1;
  if (guessed > 0) to.guessed++;
}

function add(to: UnwindTally, { stacks, ends, guessed }: UnwindTally): void {
  to.stacks += stacks;
  to.guessed += guessed;
  for (let i = 0; i < ends.length; i++) to.ends[i] = (to.ends[i] as number) + (ends[i] as number);
}

/** Counts of one thread: see {@link UnwindCounts.part}. */
export interface UnwindPart {
  /** Sums of the recording. */
  readonly all: UnwindTally;
  /** Sums by process. */
  readonly processes: ReadonlyMap<number, UnwindTally>;
  /** Sums by the object in which stacks ended, a number of the thread's places. */
  readonly objects: ReadonlyMap<number, UnwindTally>;
  /** Samples with registers of an unknown machine. */
  readonly otherMachine: number;
  /** The largest copy of a stack. */
  readonly copied: number;
  /** Maximum number of bytes that the next frame alone would have needed. */
  readonly wanted: number;
  /** Known depths of threads' stacks, by thread id. */
  readonly threads: ReadonlyMap<number, ThreadStack>;
  /** The deepest stack of those that did not reach their start. */
  readonly deepest: number;
}

/** Known depth of a thread's stack. */
export interface ThreadStack {
  /** The stack pointer at the thread's start, from a stack that reached it; 0 if no stack did. */
  top: number;
  /** The lowest stack pointer of stacks whose copy was too short. */
  lowest: number;
}

/**
 * Counts unwound stacks by the reason of their end: in total, by process, and by the object where
 * they ended.
 */
export class UnwindCounts {
  /** Sums of the recording. */
  readonly all: UnwindTally = tally();
  /** Sums by process. */
  readonly processes: Map<number, UnwindTally> = new Map();
  /** Sums by the object in which stacks ended before their start: its index in the places. */
  readonly objects: Map<number, UnwindTally> = new Map();
  /** Samples with registers of an unknown machine. */
  otherMachine: number = 0;
  /** The largest copy of a stack. */
  copied: number = 0;
  /** Maximum number of bytes that the next frame alone would have needed. */
  wanted: number = 0;
  readonly #threads = new Map<number, ThreadStack>();
  /** The deepest known stack of those that did not reach their start. */
  #deepest = 0;

  /** Counts one stack. */
  take(
    walker: FrameWalker,
    process: number,
    thread: number,
    object: number,
    sp: number,
    size: number,
  ): void {
    count(this.all, walker);
    count(tallyOf(this.processes, process), walker);
    if (size > this.copied) this.copied = size;
    const { end, top } = walker;
    let known = this.#threads.get(thread);
    if (end === WALK_END.START) {
      if (known === undefined || Math.abs(top - known.top) > SAME_TOP && known.top !== 0) {
        this.#threads.set(thread, known = { top: 0, lowest: Infinity });
      }
      if (top > known.top) known.top = top;
      this.#need(known);
      return;
    }
    count(tallyOf(this.objects, object), walker);
    if (end !== WALK_END.STACK) return;
    if (walker.wanted > this.wanted) this.wanted = walker.wanted;
    if (known === undefined || known.top !== 0 && !(known.top - sp < MOST_STACK)) {
      this.#threads.set(thread, known = { top: 0, lowest: Infinity });
    }
    if (sp < known.lowest) known.lowest = sp;
    this.#need(known);
  }

  /** All counts, for sending to another thread. */
  part(): UnwindPart {
    const { all, processes, objects, otherMachine, copied, wanted } = this;
    return {
      all,
      processes,
      objects,
      otherMachine,
      copied,
      wanted,
      threads: this.#threads,
      deepest: this.#deepest,
    };
  }

  /**
   * Adds the counts of another thread.
   *
   * @param objects Indices in this thread of the other thread's objects.
   */
  join(part: UnwindPart, objects: Int32Array): void {
    add(this.all, part.all);
    for (const [process, tally] of part.processes) add(tallyOf(this.processes, process), tally);
    for (const [object, tally] of part.objects) {
      add(tallyOf(this.objects, object < 0 ? object : objects[object] as number), tally);
    }
    this.otherMachine += part.otherMachine;
    this.copied = Math.max(this.copied, part.copied);
    this.wanted = Math.max(this.wanted, part.wanted);
    this.#deepest = Math.max(this.#deepest, part.deepest);
    for (const [thread, { top, lowest }] of part.threads) {
      const known = this.#threads.get(thread);
      if (known === undefined) this.#threads.set(thread, { top, lowest });
      else if (Math.abs(top - known.top) <= SAME_TOP || top === 0 || known.top === 0) {
        known.top = Math.max(known.top, top);
        known.lowest = Math.min(known.lowest, lowest);
        this.#need(known);
      }
    }
  }

  #need({ top, lowest }: ThreadStack): void {
    if (top > lowest && top - lowest < MOST_STACK) {
      this.#deepest = Math.max(this.#deepest, top - lowest);
    }
  }

  /**
   * The size of the copied stack with which all stacks would reach their start, estimated from
   * complete stacks of the same threads. For threads without a complete stack, the size for their
   * next frame.
   */
  get needed(): number {
    return Math.max(this.wanted, this.#deepest);
  }
}
