import { enlarge } from "@perfdata/format/bytes";
import { UserFrames } from "./stacks.ts";

/** Words of a `perf_branch_entry`: from, to, flags. */
const ENTRY = 6;
/** Maximum number of stitched frames, since recursion could add frames forever. */
const MOST_STITCHED = 1024;

/** The branch stack of a sample. */
export interface BranchStack {
  readonly view: DataView;
  /** Offset of its entries. */
  readonly at: number;
  readonly count: number;
  /** `hw_idx`: the register that the newest entry was in; -1 if unknown. */
  readonly hwIdx: number;
}

/** Branches of a thread's last sample. */
class ThreadCalls {
  hwIdx = -1;
  count = 0;
  /** The branch stack of its last sample. */
  words = new Int32Array(ENTRY * 32);
  frames = new UserFrames();
  /** Frames of older callers, which were stitched to the last sample. */
  older = new UserFrames();
}

/**
 * Stitches call stacks with more calls than the processor has branch registers (LBR). Callers that
 * are no longer in the registers are copied from the thread's previous sample, if both samples have
 * a common branch in the same register (`--stitch-lbr`; `has_stitched_lbr` of
 * tools/perf/util/machine.c).
 */
export class LbrStitch {
  readonly #registers: number;
  readonly #threads = new Map<number, ThreadCalls>();

  /**
   * Prepares for a processor.
   *
   * @param registers Number of branches that the processor keeps: `branches` of its capabilities.
   */
  constructor(registers: number) {
    this.#registers = registers;
  }

  /**
   * Appends stitched callers to the frames of a sample, and remembers the sample.
   *
   * @param thread Index of the thread in the machine.
   * @param frames The target of the last branch, then the source of each entry.
   */
  take(thread: number, stack: BranchStack, frames: UserFrames): void {
    let last = this.#threads.get(thread);
    if (last === undefined) this.#threads.set(thread, last = new ThreadCalls());
    const distance = this.#distance(last, stack);
    const older = new UserFrames();
    if (distance >= 0) {
      // Callers between the oldest entry of this sample and that of the previous one.
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
   * Index of the entry of the previous sample that is in the register of this sample's oldest
   * entry; -1 if the samples have no common branch.
   */
  #distance(last: ThreadCalls, { view, at, count, hwIdx }: BranchStack): number {
    if (last.count === 0 || count === 0 || hwIdx < 0 || last.hwIdx < 0) return -1;
    const registers = this.#registers;
    const oldest = registers - count + hwIdx + 1;
    const distance = last.hwIdx > oldest ? last.hwIdx - oldest : registers + last.hwIdx - oldest;
    if (distance < 0 || distance + 1 > last.count) return -1;
    // Like perf, compare the oldest entry only.
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
