import { enlarge } from "@perfdata/format/bytes";
import { UserFrames } from "./stacks.ts";

/** Words of a `perf_branch_entry`: from, to, flags. */
const ENTRY = 6;
/** Frames that are kept of what is no longer in the registers: recursion could go on for ever. */
const MOST_STITCHED = 1024;

/** The branch stack of a sample. */
export interface BranchStack {
  /** What holds it. */
  readonly view: DataView;
  /** Where its entries are. */
  readonly at: number;
  /** How many there are. */
  readonly count: number;
  /** `hw_idx`: the register that the newest entry was in; -1 if that is not known. */
  readonly hwIdx: number;
}

/** What is remembered of a thread. */
class ThreadCalls {
  hwIdx = -1;
  count = 0;
  /** The branch stack of its last sample. */
  words = new Int32Array(ENTRY * 32);
  /** What the entries of that were shown as. */
  frames = new UserFrames();
  /** Callers beyond the branch stack of the last sample that was stitched. */
  older = new UserFrames();
}

/**
 * Call stacks of more calls than the processor has registers for (LBR): what fell out of the registers
 * is taken from the sample before of the same thread, if the two have a branch in common, in the same
 * register (`--stitch-lbr`; `has_stitched_lbr` of tools/perf/util/machine.c).
 */
export class LbrStitch {
  readonly #registers: number;
  readonly #threads = new Map<number, ThreadCalls>();

  /** @param registers How many branches the processor keeps: `branches` of its capabilities. */
  constructor(registers: number) {
    this.#registers = registers;
  }

  /**
   * Adds what is stitched to the frames of a sample, and remembers the sample.
   *
   * @param thread A number of the machine.
   * @param frames Where the last branch went, then the source of each entry.
   */
  take(thread: number, stack: BranchStack, frames: UserFrames): void {
    let last = this.#threads.get(thread);
    if (last === undefined) this.#threads.set(thread, last = new ThreadCalls());
    const distance = this.#distance(last, stack);
    const older = new UserFrames();
    if (distance >= 0) {
      // What lay between the oldest entry of this sample and that of the sample before.
      for (let i = distance + 1; i < last.count; i++) addOf(older, last.frames, i);
      for (let i = 0; i < last.older.count && older.count < MOST_STITCHED; i++) {
        addOf(older, last.older, i);
      }
    }
    this.#remember(last, stack, frames);
    last.older = older;
    for (let i = 0; i < older.count; i++) addOf(frames, older, i);
  }

  /**
   * The entry of the sample before that is in the register of the oldest one of this sample; -1 where
   * the two have nothing in common.
   */
  #distance(last: ThreadCalls, { view, at, count, hwIdx }: BranchStack): number {
    if (last.count === 0 || count === 0 || hwIdx < 0 || last.hwIdx < 0) return -1;
    const registers = this.#registers;
    const oldest = registers - count + hwIdx + 1;
    const distance = last.hwIdx > oldest ? last.hwIdx - oldest : registers + last.hwIdx - oldest;
    if (distance < 0 || distance + 1 > last.count) return -1;
    // One that is equal is enough, as for perf: that of the oldest entry.
    const theirs = ENTRY * distance, ours = at + 4 * ENTRY * (count - 1);
    for (let k = 0; k < ENTRY; k++) {
      if (last.words[theirs + k] !== view.getInt32(ours + 4 * k, true)) return -1;
    }
    return distance;
  }

  #remember(last: ThreadCalls, { view, at, count, hwIdx }: BranchStack, frames: UserFrames): void {
    last.hwIdx = hwIdx;
    last.count = count;
    if (last.words.length < ENTRY * count) last.words = enlarge(last.words, ENTRY * count);
    for (let k = 0; k < ENTRY * count; k++) last.words[k] = view.getInt32(at + 4 * k, true);
    const kept = new UserFrames();
    for (let i = 0; i < count; i++) addOf(kept, frames, i + 1);
    last.frames = kept;
  }
}

function addOf(to: UserFrames, from: UserFrames, i: number): void {
  to.add(
    from.places[i] as number,
    from.words[2 * i + 1] as number,
    from.words[2 * i] as number,
  );
}
