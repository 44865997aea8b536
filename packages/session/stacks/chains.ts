import {
  PERF_CONTEXT_GUEST_KERNEL,
  PERF_CONTEXT_GUEST_USER,
  PERF_CONTEXT_HV,
  PERF_CONTEXT_KERNEL,
  PERF_CONTEXT_USER,
  PERF_CONTEXT_USER_DEFERRED,
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_RECORD_MISC_GUEST_USER,
  PERF_RECORD_MISC_HYPERVISOR,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
} from "@perfdata/format/constants";
import type { Places } from "../places/places.ts";
import type { StackTable } from "./stacks.ts";

/** `PERF_CONTEXT_MAX`: from here on, low halves of entries are context markers. */
const CONTEXT_MAX = -4095;

/** The mode of a marker that says nothing; of such a chain perf uses nothing. */
export const INVALID: number = -1;
/** What follows PERF_CONTEXT_USER_DEFERRED is a cookie, and no address. */
const COOKIE = -2;

/** CPU modes of the entries after a marker, by its low half: the only table of them. */
const MARKER_MODES: ReadonlyMap<number, number> = new Map(
  ([
    [PERF_CONTEXT_HV, PERF_RECORD_MISC_HYPERVISOR],
    [PERF_CONTEXT_KERNEL, PERF_RECORD_MISC_KERNEL],
    [PERF_CONTEXT_USER, PERF_RECORD_MISC_USER],
    [PERF_CONTEXT_USER_DEFERRED, COOKIE],
    [PERF_CONTEXT_GUEST_KERNEL, PERF_RECORD_MISC_GUEST_KERNEL],
    [PERF_CONTEXT_GUEST_USER, PERF_RECORD_MISC_GUEST_USER],
  ] as const).map(([marker, mode]) => [Number(BigInt.asIntN(32, marker)), mode]),
);

/** Whether an entry of a call chain is no address, but says what those after it are. */
export function isContextMarker(hi: number, lo: number): boolean {
  return (hi | 0) === -1 && (lo | 0) >= CONTEXT_MAX && (lo | 0) < 0;
}

/**
 * The CPU mode of the entries after a marker, by its low half; negative if they are no addresses,
 * or nothing is known of them.
 */
export function contextMode(lo: number): number {
  return MARKER_MODES.get(lo | 0) ?? INVALID;
}

/** Entries of a chain that are looked at: `PERF_MAX_STACK_DEPTH`. */
const MOST_FRAMES = 127;

/** Chains that are remembered, each for threads of some numbers. */
const MEMORIES = 16;

/** The last chain of a thread, outermost caller first, as it was recorded and as nodes. */
class ChainMemory {
  thread = -1;
  moment = -1;
  outer = -1;
  length = 0;
  readonly hi = new Int32Array(MOST_FRAMES);
  readonly lo = new Int32Array(MOST_FRAMES);
  readonly mode = new Int32Array(MOST_FRAMES);
  readonly isReturn = new Uint8Array(MOST_FRAMES);
  readonly node = new Int32Array(MOST_FRAMES);
}

/** A sample and its chain: one object, which the next sample fills again. */
export interface SampledChain {
  /** Its thread: a number of the machine. */
  thread: number;
  /** Its CPU mode. */
  mode: number;
  /** Upper half of its address. */
  hi: number;
  /** Lower half. */
  lo: number;
  /** The place of that address. */
  place: number;
  /** Bytes that hold its chain. */
  view: DataView;
  /** Where the entries of the chain begin. */
  at: number;
  /** How many there are. */
  length: number;
  /** Whether its user callers are in their calls: see `SampleShape.isUnwound`. */
  isUnwound: boolean;
}

/**
 * Turns recorded call chains into interned stacks.
 *
 * It goes by perf's rules (`thread__resolve_callchain_sample` of tools/perf/util/machine.c, with callers
 * first): the CPU mode of an entry is that of the `PERF_CONTEXT_*` before it, a chain with a marker
 * that means nothing is none, of a chain that is too long the outermost entries are kept. The address
 * that was sampled itself comes last, where it is not the innermost entry.
 *
 * Successive samples of a thread mostly share their outermost callers: these are looked up once.
 */
export class ChainStep {
  readonly #places: Places;
  readonly #stacks: StackTable;
  readonly #le: boolean;
  readonly #calls: boolean;
  readonly #memories = Array.from({ length: MEMORIES }, () => new ChainMemory());

  /**
   * Interns into `stacks`; what is mapped is what `places` says at the time of each call.
   *
   * @param calls Whether callers are interned at their calls. What is interrupted has no call: the
   *   innermost entry, and the first one after a marker.
   */
  constructor(places: Places, stacks: StackTable, littleEndian: boolean, calls: boolean = false) {
    this.#calls = calls;
    this.#places = places;
    this.#stacks = stacks;
    this.#le = littleEndian;
  }

  /** Forgets the nodes of the samples before: they are no longer there. */
  reset(): void {
    for (const memory of this.#memories) memory.length = 0;
  }

  /**
   * The stack of a sample.
   *
   * @param moment A number that changes whenever anything is mapped.
   * @param outer The node that all of it was called from: the user stack, where it was unwound.
   */
  stack(sample: SampledChain, moment: number, outer: number = -1): number {
    const { thread, view, at, length, hi, lo, isUnwound } = sample;
    const memory = this.#memories[thread & MEMORIES - 1] as ChainMemory;
    const { hi: his, lo: los, mode: modes, isReturn: returns, node: nodes } = memory;
    let same = memory.thread === thread && memory.moment === moment && memory.outer === outer
      ? memory.length
      : 0;
    memory.thread = thread;
    memory.outer = outer;
    memory.moment = moment;
    const le = this.#le;
    const lowAt = le ? at : at + 4;
    const highAt = le ? at + 4 : at;
    let frames = 0;
    /** Frames whose place does not depend on the time, from the outermost on. */
    let lasting = MOST_FRAMES;
    let parent = outer;
    let mode = this.#modeBefore(view, at, length, PERF_RECORD_MISC_USER);
    for (let i = length - 1; i >= 0 && mode !== INVALID && frames < MOST_FRAMES; i--) {
      const frameLo = view.getInt32(lowAt + 8 * i, le);
      const frameHi = view.getInt32(highAt + 8 * i, le);
      if (frameHi === -1 && frameLo >= CONTEXT_MAX && frameLo < 0) {
        mode = this.#modeBefore(view, at, i, mode);
        continue;
      }
      if (mode === COOKIE) continue;
      const isExact = isUnwound && mode === PERF_RECORD_MISC_USER;
      const isReturn = this.#calls && !isExact && i > 0 && !this.isMarker(view, at + 8 * (i - 1))
        ? 1
        : 0;
      if (
        frames >= same || los[frames] !== frameLo || his[frames] !== frameHi ||
        modes[frames] !== mode || returns[frames] !== isReturn
      ) {
        same = 0;
        his[frames] = frameHi;
        los[frames] = frameLo;
        modes[frames] = mode;
        returns[frames] = isReturn;
        const found = this.#places.find(thread, mode, frameHi, frameLo);
        if (lasting > frames && this.#places.hasVersions(found)) lasting = frames;
        nodes[frames] = this.#stacks.child(
          parent,
          isReturn === 1 ? this.#places.call(found) : found,
        );
      }
      parent = nodes[frames] as number;
      frames++;
    }
    memory.length = Math.min(frames, lasting);
    if (mode === INVALID) parent = outer;
    else if (
      frames > 0 && los[frames - 1] === lo && his[frames - 1] === hi &&
      modes[frames - 1] === sample.mode
    ) return parent;
    return this.#stacks.child(parent, sample.place);
  }

  /** Whether the entry at `at` is a marker. */
  isMarker(view: DataView, at: number): boolean {
    const le = this.#le;
    return isContextMarker(
      view.getInt32(le ? at + 4 : at, le),
      view.getInt32(le ? at : at + 4, le),
    );
  }

  /** Whether a chain has an address: not markers only. */
  hasAddress(view: DataView, at: number, length: number): boolean {
    let k = 0;
    while (k < length && this.isMarker(view, at + 8 * k)) k++;
    return k < length;
  }

  /** Whether a chain has user callers already. */
  hasUser(view: DataView, at: number, length: number): boolean {
    const le = this.#le;
    for (let i = 0; i < length - 1; i++) {
      if (view.getInt32(at + 8 * i + (le ? 4 : 0), le) !== -1) continue;
      const lo = view.getInt32(at + 8 * i + (le ? 0 : 4), le);
      if (MARKER_MODES.get(lo) === PERF_RECORD_MISC_USER) return true;
    }
    return false;
  }

  /** The mode of the entries before entry `end`, as the last marker there says. */
  #modeBefore(view: DataView, at: number, end: number, otherwise: number): number {
    const le = this.#le;
    for (let i = end - 1; i >= 0; i--) {
      if (view.getInt32(at + 8 * i + (le ? 4 : 0), le) !== -1) continue;
      const lo = view.getInt32(at + 8 * i + (le ? 0 : 4), le);
      if (lo >= CONTEXT_MAX && lo < 0) return MARKER_MODES.get(lo) ?? INVALID;
    }
    return otherwise;
  }
}
