import { PERF_RECORD_MISC_USER } from "@perfdata/format/constants";
import { contextMode, INVALID, isContextMarker, type SampledChain } from "./chains.ts";
import { enlarge } from "@perfdata/format/bytes";
import { type Places, UNMAPPED } from "../places/places.ts";
import { PLACE_FRAME, type Run } from "../order/run.ts";
import type { UserFrames } from "./stacks.ts";

/** Maximum number of entries of a chain: `PERF_MAX_STACK_DEPTH`. */
const MOST_FRAMES = 127;

/**
 * Fills `Run.frames`: the stack of each sample as a list, for output that needs no interned nodes.
 *
 * It follows perf's rules for callees first (`thread__resolve_callchain_sample` of
 * tools/perf/util/machine.c): an entry has the CPU mode of the last `PERF_CONTEXT_*` before it. A
 * chain with an unknown marker is ignored. Of a chain that is too long, the innermost entries are
 * kept. In code without frame pointers, most entries are not addresses of code: they get no place
 * if they would share one (`Places.isShared`).
 */
export class FrameStep {
  readonly #places: Places;
  readonly #le: boolean;
  #count = 0;

  /** Finds places of mapped addresses; of unmapped ones, too, unless they share a place. */
  constructor(places: Places, littleEndian: boolean) {
    this.#places = places;
    this.#le = littleEndian;
  }

  begin(): void {
    this.#count = 0;
  }

  /** Sets the index of the first frame of a row. */
  start(run: Run, row: number): void {
    run.frameStart[row] = this.#count;
  }

  /**
   * Adds the frames of a sample: the entries of its chain, and the frames of `user`.
   *
   * @param user The frames that are not in the chain.
   * @param isFirst Whether the sample's address is the first frame; otherwise the chain has it.
   */
  add(run: Run, sample: SampledChain, user: UserFrames, isFirst: boolean): void {
    const { thread, view, at, length } = sample;
    const first = this.#count;
    const most = first + 2 * (1 + length + user.count);
    if (most > run.frames.length) run.frames = enlarge(run.frames, most);
    const { frames } = run;
    const places = this.#places;
    const le = this.#le;
    const lowAt = le ? at : at + 4;
    const highAt = le ? at + 4 : at;
    let to = first;
    if (isFirst) to = this.#put(frames, to, sample.place, sample.hi, sample.lo);
    const last = to + 2 * MOST_FRAMES;
    let mode = PERF_RECORD_MISC_USER;
    for (let k = 0; k < length && to < last; k++) {
      const entryLo = view.getInt32(lowAt + 8 * k, le);
      const entryHi = view.getInt32(highAt + 8 * k, le);
      if (isContextMarker(entryHi, entryLo)) {
        mode = contextMode(entryLo);
        if (mode !== INVALID) continue;
        to = first;
        break;
      }
      // The entry after PERF_CONTEXT_USER_DEFERRED is a cookie.
      if (mode < 0) continue;
      const place = places.findOwn(thread, mode, entryHi, entryLo);
      to = this.#put(frames, to, place, entryHi, entryLo);
    }
    const { places: found, words } = user;
    for (let k = 0; k < user.count; k++) {
      const place = found[k] as number;
      to = this.#put(frames, to, place, words[2 * k + 1] as number, words[2 * k] as number);
    }
    this.#count = to;
  }

  /** Writes a frame: its place, or its address if it has no place of its own. */
  #put(frames: Int32Array, at: number, place: number, hi: number, lo: number): number {
    const places = this.#places;
    const isPlace = place >= 0 && !places.isShared(places.object(place));
    if (isPlace || hi === PLACE_FRAME) {
      frames[at] = PLACE_FRAME;
      frames[at + 1] = isPlace ? place : places.row(UNMAPPED, hi, lo);
    } else {
      frames[at] = hi;
      frames[at + 1] = lo;
    }
    return at + 2;
  }
}
