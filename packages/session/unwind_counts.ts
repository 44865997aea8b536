import { type FrameWalker, WALK_END } from "@perfdata/symbols/cfi";

/** How many stacks ended why. */
export interface UnwindTally {
  /** Stacks that were unwound. */
  stacks: number;
  /** By `WALK_END`: how many ended so. */
  readonly ends: number[];
  /** Stacks with a frame that was guessed from the frame pointer. */
  guessed: number;
}

/** Stacks are not larger: what seems so are two stacks, before and after an `exec`. */
const MOST_STACK = 2 ** 26;

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

/** How deep a thread's stack is known to be. */
interface ThreadStack {
  /** The stack pointer at the thread's start, from a stack that reached it; 0 where none did. */
  top: number;
  /** The lowest stack pointer of stacks whose copy was too short. */
  lowest: number;
}

/** Counts how unwinding went: for the recording, by process, and by the object where it ended. */
export class UnwindCounts {
  /** All of it. */
  readonly all: UnwindTally = tally();
  /** By process. */
  readonly processes: Map<number, UnwindTally> = new Map();
  /** By object in which stacks ended other than at their start: its number in the places. */
  readonly objects: Map<number, UnwindTally> = new Map();
  /** Samples whose registers are of a machine that is not known. */
  otherMachine: number = 0;
  /** The largest copy of a stack. */
  copied: number = 0;
  /** The most bytes that the next frame alone would have needed. */
  wanted: number = 0;
  readonly #threads = new Map<number, ThreadStack>();

  /** Counts one walk. */
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
    const { end } = walker;
    if (end === WALK_END.START) {
      const known = this.#threads.get(thread);
      if (known === undefined) this.#threads.set(thread, { top: walker.top, lowest: Infinity });
      else if (walker.top > known.top) known.top = walker.top;
      return;
    }
    count(tallyOf(this.objects, object), walker);
    if (end !== WALK_END.STACK) return;
    if (walker.wanted > this.wanted) this.wanted = walker.wanted;
    const known = this.#threads.get(thread);
    if (known === undefined) this.#threads.set(thread, { top: 0, lowest: sp });
    else if (sp < known.lowest) known.lowest = sp;
  }

  /**
   * The bytes of stack that a sample has to hold so that all stacks reach their start, as far as
   * stacks of the same threads tell; where none of a thread's did, what its next frame needs.
   */
  get needed(): number {
    let needed = this.wanted;
    for (const { top, lowest } of this.#threads.values()) {
      if (top > lowest && top - lowest < MOST_STACK) needed = Math.max(needed, top - lowest);
    }
    return needed;
  }
}
