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
const MOST_STACK = 2 ** 23;
/** Where two stacks of a thread begin is no further apart, unless it has another one now. */
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
  /** The deepest stack of those that did not reach their start, as far as that is known. */
  #deepest = 0;

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

  #need({ top, lowest }: ThreadStack): void {
    if (top > lowest && top - lowest < MOST_STACK) {
      this.#deepest = Math.max(this.#deepest, top - lowest);
    }
  }

  /**
   * The bytes of stack that a sample has to hold so that all stacks reach their start, as far as
   * stacks of the same threads show; where none of a thread's did, what its next frame needs.
   */
  get needed(): number {
    return Math.max(this.wanted, this.#deepest);
  }
}
