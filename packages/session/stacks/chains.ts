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

/** Mode after an unknown marker: perf ignores the whole chain. */
export const INVALID: number = -1;
/** Mode after PERF_CONTEXT_USER_DEFERRED: the next entry is a cookie, not an address. */
const COOKIE = -2;

/** The only table of context markers: CPU modes of the entries after a marker, by its low half. */
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

/** Whether an entry of a call chain is a context marker, not an address. */
export function isContextMarker(hi: number, lo: number): boolean {
  return (hi | 0) === -1 && (lo | 0) >= CONTEXT_MAX && (lo | 0) < 0;
}

/**
 * The CPU mode of the entries after a marker, by its low half. Negative if these are no addresses
 * or the marker is unknown.
 */
export function contextMode(lo: number): number {
  return MARKER_MODES.get(lo | 0) ?? INVALID;
}

/** Maximum number of entries of a chain that are used: `PERF_MAX_STACK_DEPTH`. */
const MOST_FRAMES = 127;

/** Number of remembered chains. Threads share a memory by the low bits of their numbers. */
const MEMORIES = 16;

/** The last chain of a thread, outermost caller first, as recorded entries and as nodes. */
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

/** A sample and its chain, in an object that is reused for the next sample. */
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
  /** Bytes that contain the chain. */
  view: DataView;
  /** Offset of the first entry of the chain. */
  at: number;
  /** Number of entries. */
  length: number;
  /** Whether its user callers are addresses in their calls: see `SampleShape.isUnwound`. */
  isUnwound: boolean;
}

/**
 * Converts recorded call chains to interned stacks.
 *
 * It follows perf's rules (`thread__resolve_callchain_sample` of tools/perf/util/machine.c, callers
 * first): an entry has the CPU mode of the last `PERF_CONTEXT_*` before it. A chain with an unknown
 * marker is ignored. Of a chain that is too long, the outermost entries are kept. The sampled
 * address is added as the last frame, unless it is the innermost entry already.
 *
 * Successive samples of a thread often share their outermost callers, which are then not looked up
 * again.
 */
export class ChainStep {
  readonly #places: Places;
  readonly #stacks: StackTable;
  readonly #le: boolean;
  readonly #calls: boolean;
  readonly #memories = Array.from({ length: MEMORIES }, () => new ChainMemory());

  /**
   * Interns into `stacks`, with places from `places` and its present mappings.
   *
   * @param calls Whether callers get the place of their call. Interrupted code has no call: the
   * innermost entry, and the first one after a marker.
   */
  constructor(places: Places, stacks: StackTable, littleEndian: boolean, calls: boolean = false) {
    this.#calls = calls;
    this.#places = places;
    this.#stacks = stacks;
    this.#le = littleEndian;
  }

  /** Forgets the nodes of previous samples, after the stacks were cleared. */
  reset(): void {
    for (const memory of this.#memories) memory.length = 0;
  }

  /**
   * The stack of a sample.
   *
   * @param moment A number that changes whenever a mapping changes.
   * @param outer Node of the caller of the whole chain: the user stack, if it was unwound.
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

  /** Whether a chain has an address, not only markers. */
  hasAddress(view: DataView, at: number, length: number): boolean {
    let k = 0;
    while (k < length && this.isMarker(view, at + 8 * k)) k++;
    return k < length;
  }

  /** Whether a chain has user callers. */
  hasUser(view: DataView, at: number, length: number): boolean {
    const le = this.#le;
    for (let i = 0; i < length - 1; i++) {
      if (view.getInt32(at + 8 * i + (le ? 4 : 0), le) !== -1) continue;
      const lo = view.getInt32(at + 8 * i + (le ? 0 : 4), le);
      if (MARKER_MODES.get(lo) === PERF_RECORD_MISC_USER) return true;
    }
    return false;
  }

  /** The mode of the entries before entry `end`, from the last marker before it. */
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
