import type { CallTree } from "./call_tree.ts";

const USER = 2;
/** `PERF_CONTEXT_MAX`: addresses from here on say what comes after them. */
const CONTEXT_MAX = -4095;
/** Low halves of `PERF_CONTEXT_HV`, `PERF_CONTEXT_KERNEL`, `PERF_CONTEXT_USER`. */
const CONTEXT_HV = -32;
const CONTEXT_KERNEL = -128;
const CONTEXT_USER = -512;
const HYPERVISOR = 3;
const KERNEL = 1;

/** Entries of a chain that are looked at: `PERF_MAX_STACK_DEPTH`. */
const MOST_FRAMES = 127;

/** Words of a {@link ChainCounter}'s memory of calls: caller, cpumode, hi, lo, space, node. */
const CALL_WORDS = 6;
const CALLS = 1 << 13;

/** Tells what is mapped at an address, for the thread of the sample that is being counted. */
export interface FrameLookup {
  /** High half of the address that was found, in the terms of the binary. */
  foundHi: number;
  /** Low half of it. */
  foundLo: number;
  /** The binary at an address, or -1; leaves the address in {@link FrameLookup.foundHi} and `foundLo`. */
  locate(cpumode: number, hi: number, lo: number): number;
}

/**
 * Puts the call chains of samples into a tree.
 *
 * Samples of a thread come in flocks, and their chains begin alike at the outermost caller: what a
 * chain shares with the one before is neither looked up nor searched for.
 */
export class ChainCounter {
  /** The tree. */
  readonly tree: CallTree;
  readonly #lookup: FrameLookup;
  // The chain of the last sample, outermost caller first.
  readonly #hi = new Int32Array(MOST_FRAMES);
  readonly #lo = new Int32Array(MOST_FRAMES);
  readonly #mode = new Uint8Array(MOST_FRAMES);
  readonly #nodes = new Int32Array(MOST_FRAMES);
  #length = 0;
  #context = 0;
  #space = -1;
  #kernel = -1;
  /** Calls that were met, each at the place that its hash says. */
  readonly #calls = new Int32Array(CALLS * CALL_WORDS);

  /** Counts into `tree`, with addresses looked up by `lookup`. */
  constructor(tree: CallTree, lookup: FrameLookup) {
    this.tree = tree;
    this.#lookup = lookup;
    // No caller is node 2^31 - 1.
    this.#calls.fill(0x7fff_ffff);
  }

  /**
   * Counts a sample.
   *
   * Its chain goes by perf's rules (`thread__resolve_callchain_sample` of tools/perf/util/machine.c,
   * with callers first): the cpumode of an entry is that of the `PERF_CONTEXT_*` before it, a chain
   * with a marker that means nothing is none, of a chain that is too long the outermost entries are
   * kept. The address that was sampled itself comes last, where it is not the innermost entry.
   *
   * @param context What `CallTree.context` returned.
   * @param space A number that stands for what the thread has mapped, and for nothing else.
   * @param kernel A number that stands for what the kernel has mapped, and for nothing else.
   * @param at Where the entries start in `view`.
   * @param length How many there are.
   * @param cpumode Of the sample.
   * @param hi High half of its address.
   * @param lo Low half of its address.
   * @param period Its period.
   */
  add(
    context: number,
    space: number,
    kernel: number,
    view: DataView,
    at: number,
    length: number,
    littleEndian: boolean,
    cpumode: number,
    hi: number,
    lo: number,
    period: number,
  ): void {
    hi |= 0;
    lo |= 0;
    const his = this.#hi;
    const los = this.#lo;
    const modes = this.#mode;
    const nodes = this.#nodes;
    const high = at + (littleEndian ? 4 : 0);
    const low = at + (littleEndian ? 0 : 4);
    let same = context === this.#context && space === this.#space && kernel === this.#kernel
      ? this.#length
      : 0;
    let frames = 0;
    let parent = context;
    let mode = modeBefore(view, high, low, length, littleEndian, USER);
    for (let i = length - 1; i >= 0 && mode >= 0 && frames < MOST_FRAMES; i--) {
      const frameLo = view.getInt32(low + 8 * i, littleEndian);
      const frameHi = view.getInt32(high + 8 * i, littleEndian);
      if (frameHi === -1 && frameLo >= CONTEXT_MAX && frameLo < 0) {
        mode = modeBefore(view, high, low, i, littleEndian, mode);
        continue;
      }
      if (
        frames >= same || los[frames] !== frameLo || his[frames] !== frameHi ||
        modes[frames] !== mode
      ) {
        same = 0;
        his[frames] = frameHi;
        los[frames] = frameLo;
        modes[frames] = mode;
        nodes[frames] = this.#call(
          parent,
          mode,
          mode === KERNEL ? kernel : space,
          frameHi,
          frameLo,
        );
      }
      parent = nodes[frames] as number;
      frames++;
    }
    this.#length = frames;
    this.#context = context;
    this.#space = space;
    this.#kernel = kernel;
    if (mode < 0) parent = context;
    const node = frames > 0 && mode >= 0 && los[frames - 1] === lo && his[frames - 1] === hi &&
        modes[frames - 1] === cpumode
      ? parent
      : this.#call(parent, cpumode, cpumode === KERNEL ? kernel : space, hi, lo);
    this.tree.add(node, 1, period);
  }

  /** The node of an address that was called from `parent`. */
  #call(parent: number, mode: number, space: number, hi: number, lo: number): number {
    const calls = this.#calls;
    let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(lo, 0x85ebca6b) ^
      Math.imul(space, 0xc2b2ae35);
    hash ^= hash >>> 15;
    const slot = ((hash ^ hash >>> 8) & CALLS - 1) * CALL_WORDS;
    if (
      calls[slot] === parent && calls[slot + 1] === mode && calls[slot + 2] === hi &&
      calls[slot + 3] === lo && calls[slot + 4] === space
    ) return calls[slot + 5] as number;
    const binary = this.#lookup.locate(mode, hi, lo);
    const { tree } = this;
    const node = tree.child(
      parent,
      tree.address(binary, mode, this.#lookup.foundHi, this.#lookup.foundLo),
    );
    calls[slot] = parent;
    calls[slot + 1] = mode;
    calls[slot + 2] = hi;
    calls[slot + 3] = lo;
    calls[slot + 4] = space;
    calls[slot + 5] = node;
    return node;
  }
}

/**
 * The cpumode of the entries before entry `end` of a chain, as the last marker there says; -1 where
 * it is one that means nothing, `otherwise` where there is none.
 */
function modeBefore(
  view: DataView,
  high: number,
  low: number,
  end: number,
  littleEndian: boolean,
  otherwise: number,
): number {
  for (let i = end - 1; i >= 0; i--) {
    if (view.getInt32(high + 8 * i, littleEndian) !== -1) continue;
    const lo = view.getInt32(low + 8 * i, littleEndian);
    if (lo < CONTEXT_MAX || lo >= 0) continue;
    return lo === CONTEXT_USER
      ? USER
      : lo === CONTEXT_KERNEL
      ? KERNEL
      : lo === CONTEXT_HV
      ? HYPERVISOR
      : -1;
  }
  return otherwise;
}
