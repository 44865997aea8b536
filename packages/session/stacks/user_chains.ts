import {
  BRANCH_ENTRY,
  CALLCHAIN_DEFERRED,
  layoutOf,
  type PerfDataReader,
  type RecordBatch,
  type SampleFields,
  trailerEnd,
} from "@perfdata/format/records";
import {
  PERF_CONTEXT_USER,
  PERF_CONTEXT_USER_DEFERRED,
  PERF_RECORD_CALLCHAIN_DEFERRED,
  PERF_RECORD_MISC_USER,
} from "@perfdata/format/constants";
import { isContextMarker } from "./chains.ts";
import { LbrStitch } from "./lbr_stitch.ts";
import type { Places } from "../places/places.ts";
import type { RecordedObjects } from "../places/recorded_objects.ts";
import type { UserFrames } from "./stacks.ts";

const DEFERRED = layoutOf(CALLCHAIN_DEFERRED);
const NR_AT = DEFERRED["nr"] as number;
const USER = Number(BigInt.asIntN(32, PERF_CONTEXT_USER));
const USER_DEFERRED = Number(BigInt.asIntN(32, PERF_CONTEXT_USER_DEFERRED));
/** Maximum number of user call chains of a stream that wait for their samples. */
const KEPT = 1 << 16;

/**
 * User parts of call chains in records after their samples (`PERF_RECORD_CALLCHAIN_DEFERRED`). A
 * file is scanned for them in advance. In a stream, they are read before the samples are delivered
 * in most cases, because samples wait for the end of a round of the kernel's buffers.
 */
export class DeferredChains {
  /**
   * Halves of addresses by thread and cookie, the innermost address first, its upper half first.
   */
  readonly #chains = new Map<string, Int32Array>();

  /** Whether an event records such chains. */
  static areAsked({ events }: PerfDataReader): boolean {
    return events.all.some(({ attr }) => attr.flags.defer_callchain || attr.flags.defer_output);
  }

  /** Reads all chains of a file. Does nothing for a stream, which can be read only once. */
  async readAll(reader: PerfDataReader): Promise<void> {
    if (!DeferredChains.areAsked(reader) || isStream(reader)) return;
    for await (const batch of reader.batches({ quiet: true })) this.take(batch, Infinity);
  }

  /** Adds the chains of a batch. */
  take(batch: RecordBatch, most: number = KEPT): void {
    const { view, littleEndian: le } = batch;
    const chains = this.#chains;
    for (let i = 0; i < batch.count; i++) {
      if (batch.type(i) !== PERF_RECORD_CALLCHAIN_DEFERRED || batch.size(i) < DEFERRED.ips) {
        continue;
      }
      const start = batch.start(i), end = start + batch.size(i);
      const count = Math.min(
        Number(view.getBigUint64(start + NR_AT, le)),
        (batch.size(i) - DEFERRED.ips) >>> 3,
      );
      const chain = new Int32Array(2 * count);
      for (let k = 0; k < count; k++) {
        const at = start + DEFERRED.ips + 8 * k;
        chain[2 * k] = view.getInt32(le ? at + 4 : at, le);
        chain[2 * k + 1] = view.getInt32(le ? at : at + 4, le);
      }
      const tidAt = batch.eventOf(i)?.layout.trailer.tid ?? 0;
      const tid = tidAt < 0 ? view.getInt32(trailerEnd(start, end) + tidAt, le) : -1;
      chains.set(`${tid} ${view.getBigUint64(start + DEFERRED.cookie, le)}`, chain);
      // Remove the oldest chain, which was added first.
      if (chains.size > most) chains.delete(chains.keys().next().value ?? "");
    }
  }

  /** The chain of a thread by its cookie. */
  find(tid: number, cookie: bigint): Int32Array | undefined {
    return this.#chains.get(`${tid} ${cookie}`) ?? this.#chains.get(`-1 ${cookie}`);
  }
}

function isStream({ fileSize, isPipe }: PerfDataReader): boolean {
  return fileSize === undefined || isPipe;
}

/**
 * User parts of stacks that are not in the call chain: in the branch stack (`perf record
 * --call-graph lbr`), or in a later record.
 */
export class UserChains {
  /** Samples whose deferred user part was not found. */
  unjoined: number = 0;
  /** Chains of deferred records. */
  readonly deferred: DeferredChains = new DeferredChains();
  /** Whether to stitch branch stacks of successive samples. */
  stitches: boolean = false;
  /** Whether stitching is possible and in use. */
  get isStitching(): boolean {
    return this.#stitch !== undefined;
  }
  /** Entries of the chain before its user part; set by {@link UserChains.find}. */
  kernelLength: number = 0;
  readonly #places: Places;
  readonly #recorded: Pick<RecordedObjects, "branchRegisters">;
  readonly #le: boolean;
  #stitch: LbrStitch | undefined;

  /** Prepares for the places of an engine. */
  constructor(
    places: Places,
    recorded: Pick<RecordedObjects, "branchRegisters">,
    littleEndian: boolean,
  ) {
    this.#places = places;
    this.#recorded = recorded;
    this.#le = littleEndian;
  }

  /**
   * Finds the user part of a sample's stack, if it is not in the chain.
   *
   * @param thread Index of the thread in the machine.
   * @param tid Its thread id.
   * @param fields Offsets of the fields of the sample.
   * @param calls Whether its branch stack is a call stack.
   * @param frames Receives the user part.
   */
  find(
    thread: number,
    tid: number,
    view: DataView,
    fields: SampleFields,
    calls: boolean,
    frames: UserFrames,
  ): void {
    const le = this.#le;
    const { callchain: at, callchainLength: length } = fields;
    this.kernelLength = length;
    for (let i = 0; i < length; i++) {
      if (view.getInt32(at + 8 * i + (le ? 4 : 0), le) !== -1) continue;
      const marker = view.getInt32(at + 8 * i + (le ? 0 : 4), le);
      if (marker === USER && calls && fields.branchStackLength > 0) {
        this.kernelLength = i;
        this.#calls(thread, view, fields, frames);
        return;
      }
      if (marker === USER_DEFERRED && i + 1 < length) {
        this.kernelLength = i;
        this.#joined(thread, tid, view.getBigUint64(at + 8 * (i + 1), le), frames);
        return;
      }
    }
  }

  /**
   * Adds the frames of a branch stack of unreturned calls: the target of the last one, then the
   * source of each (`resolve_lbr_callchain_sample` of tools/perf/util/machine.c).
   */
  #calls(thread: number, view: DataView, fields: SampleFields, frames: UserFrames): void {
    const { branchStack: at, branchStackLength: count, branchHwIdx } = fields;
    const { from, to, size } = BRANCH_ENTRY;
    this.#add(thread, view, at + to, frames);
    for (let i = 0; i < count; i++) this.#add(thread, view, at + size * i + from, frames);
    const { branchRegisters } = this.#recorded;
    if (!this.stitches || branchHwIdx < 0 || branchRegisters === 0) return;
    this.#stitch ??= new LbrStitch(branchRegisters);
    const le = this.#le;
    const high = view.getInt32(le ? branchHwIdx + 4 : branchHwIdx, le);
    const hwIdx = high === 0 ? view.getInt32(le ? branchHwIdx : branchHwIdx + 4, le) : -1;
    this.#stitch.take(thread, { view, at, count, hwIdx }, frames);
  }

  #add(thread: number, view: DataView, at: number, frames: UserFrames): void {
    const le = this.#le;
    const hi = view.getInt32(le ? at + 4 : at, le);
    const lo = view.getInt32(le ? at : at + 4, le);
    frames.add(this.#places.find(thread, PERF_RECORD_MISC_USER, hi, lo), hi, lo);
  }

  #joined(thread: number, tid: number, cookie: bigint, frames: UserFrames): void {
    const chain = this.deferred.find(tid, cookie);
    frames.isExact = false;
    if (chain === undefined) {
      this.unjoined++;
      return;
    }
    for (let k = 0; k < chain.length; k += 2) {
      const hi = chain[k] as number, lo = chain[k + 1] as number;
      if (isContextMarker(hi, lo)) continue;
      frames.add(this.#places.find(thread, PERF_RECORD_MISC_USER, hi, lo), hi, lo);
    }
  }
}
