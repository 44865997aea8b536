import type { PerfDataReader } from "@perfdata/format";
import {
  PERF_CONTEXT_USER,
  PERF_CONTEXT_USER_DEFERRED,
  PERF_RECORD_MISC_USER,
} from "@perfdata/format/perf-event";
import { PERF_RECORD_CALLCHAIN_DEFERRED } from "@perfdata/format/record-types";
import type { Places } from "./places.ts";
import type { StackTable } from "./stacks.ts";

const USER = Number(BigInt.asIntN(32, PERF_CONTEXT_USER));
const USER_DEFERRED = Number(BigInt.asIntN(32, PERF_CONTEXT_USER_DEFERRED));
/** `PERF_CONTEXT_MAX`: from here on, low halves of entries say what comes after them. */
const CONTEXT_MAX = -4095;

/** User parts of call chains by thread and cookie: halves of addresses, the innermost first. */
export type DeferredChains = ReadonlyMap<string, Int32Array>;

/**
 * Reads the user parts of call chains that come in records of their own, after the samples
 * (`PERF_RECORD_CALLCHAIN_DEFERRED`).
 *
 * @returns Nothing where no event asks for such, and of a stream, which can be read only once.
 */
export async function readDeferredChains(reader: PerfDataReader): Promise<DeferredChains> {
  const found = new Map<string, Int32Array>();
  const asked = reader.events.all.some(({ attr }) =>
    attr.flags.defer_callchain || attr.flags.defer_output
  );
  if (!asked || reader.fileSize === undefined || reader.isPipe) return found;
  const le = reader.littleEndian;
  for await (const batch of reader.batches({ quiet: true })) {
    const { view } = batch;
    for (let i = 0; i < batch.count; i++) {
      if (batch.type(i) !== PERF_RECORD_CALLCHAIN_DEFERRED || batch.size(i) < 24) continue;
      const start = batch.start(i), end = start + batch.size(i);
      const count = Math.min(
        view.getUint32(start + (le ? 16 : 20), le),
        (end - start - 24) >>> 3,
      );
      const chain = new Int32Array(2 * count);
      for (let k = 0; k < count; k++) {
        const at = start + 24 + 8 * k;
        chain[2 * k] = view.getInt32(le ? at + 4 : at, le);
        chain[2 * k + 1] = view.getInt32(le ? at : at + 4, le);
      }
      const pid = batch.eventOf(i)?.layout.trailer.pid ?? 0;
      const last = end - (batch.size(i) & 7);
      const tid = pid < 0 ? view.getInt32(last + pid + 4, le) : -1;
      found.set(`${tid} ${view.getBigUint64(start + 8, le)}`, chain);
    }
  }
  return found;
}

/**
 * User parts of stacks that are not in the call chain itself: in the branch stack
 * (`perf record --call-graph lbr`), or in a record that follows.
 */
export class UserChains {
  /** Samples whose user part was to follow and did not. */
  unjoined: number = 0;
  /** What was read of the records that follow. */
  deferred: DeferredChains = new Map();
  /** Entries of the chain before its user part; set by {@link UserChains.find}. */
  kernelLength: number = 0;
  readonly #places: Places;
  readonly #stacks: StackTable;
  readonly #le: boolean;

  /** Interns into `stacks`. */
  constructor(places: Places, stacks: StackTable, littleEndian: boolean) {
    this.#places = places;
    this.#stacks = stacks;
    this.#le = littleEndian;
  }

  /**
   * The user part of a sample's stack.
   *
   * @param thread A number of the machine.
   * @param tid Its thread id.
   * @param at Where the entries of the call chain are.
   * @param length How many there are.
   * @param branches Where the entries of the branch stack are, if it is a stack of calls.
   * @param branchCount How many there are.
   * @returns The innermost node; -1 where there is none but in the chain.
   */
  find(
    thread: number,
    tid: number,
    view: DataView,
    at: number,
    length: number,
    branches: number,
    branchCount: number,
  ): number {
    const le = this.#le;
    this.kernelLength = length;
    for (let i = 0; i < length; i++) {
      if (view.getInt32(at + 8 * i + (le ? 4 : 0), le) !== -1) continue;
      const marker = view.getInt32(at + 8 * i + (le ? 0 : 4), le);
      if (marker === USER && branchCount > 0) {
        this.kernelLength = i;
        return this.#calls(thread, view, branches, branchCount);
      }
      if (marker === USER_DEFERRED && i + 1 < length) {
        this.kernelLength = i;
        return this.#joined(thread, tid, view.getBigUint64(at + 8 * (i + 1), le));
      }
    }
    return -1;
  }

  /**
   * Branches that are calls not yet returned from: where the last one went, then from where each was
   * made (`resolve_lbr_callchain_sample` of tools/perf/util/machine.c).
   */
  #calls(thread: number, view: DataView, at: number, count: number): number {
    let node = -1;
    // perf_branch_entry: from, to, flags.
    for (let i = count - 1; i >= 0; i--) node = this.#child(node, thread, view, at + 24 * i);
    return this.#child(node, thread, view, at + 8);
  }

  #child(parent: number, thread: number, view: DataView, at: number): number {
    const le = this.#le;
    const hi = view.getInt32(le ? at + 4 : at, le);
    const lo = view.getInt32(le ? at : at + 4, le);
    return this.#stacks.child(parent, this.#places.find(thread, PERF_RECORD_MISC_USER, hi, lo));
  }

  #joined(thread: number, tid: number, cookie: bigint): number {
    const chain = this.deferred.get(`${tid} ${cookie}`) ?? this.deferred.get(`-1 ${cookie}`);
    if (chain === undefined) {
      this.unjoined++;
      return -1;
    }
    let node = -1;
    for (let k = chain.length - 2; k >= 0; k -= 2) {
      const hi = chain[k] as number, lo = chain[k + 1] as number;
      if (hi === -1 && lo >= CONTEXT_MAX && lo < 0) continue;
      node = this.#stacks.child(node, this.#places.find(thread, PERF_RECORD_MISC_USER, hi, lo));
    }
    return node;
  }
}
