import { type BlockCache, InsnKind } from "@perfdata/intel-pt";
import type { PtCode } from "../code/pt_code.ts";
import type { PtTrace } from "../code/pt_trace.ts";
import { insnBytes, InsnTable } from "../decode/pt_block_insns.ts";
import type { PtClock } from "../decode/pt_clock.ts";
import type { ItraceOptions } from "./itrace.ts";
import { AddedLists, type RecordedSamples } from "./pt_added_lists.ts";
import type { PebsEvents } from "./pt_pebs.ts";
import { KIND_FLAGS } from "./pt_flow_codes.ts";
import { IP_FLAG, SAMPLE, SAMPLE_WORD } from "./pt_sample_rows.ts";
import { type BranchEnds, SampleStacks } from "./pt_sample_stacks.ts";
import type { IpcCount, SampleTrack } from "./pt_sample_track.ts";

/** Inputs of `PtSamples`. */
export interface SamplesOptions {
  /** Options of the samples. */
  readonly itrace: ItraceOptions;
  /** Ratio of the TSC to the bus clock; 0 if unknown. */
  readonly maxNonTurboRatio: number;
  /** Whether bytes of instructions are needed: see `PtSamples.insnTexts`. */
  readonly bytes?: boolean;
  /** Whether the depth of calls is needed: see {@linkcode SAMPLE_WORD}. */
  readonly depths?: boolean;
  /** Whether instructions and core clocks are needed, if CYC packets count the latter. */
  readonly ipc?: boolean;
  /** Whether rows of several buffers have to be merged in order of time. */
  readonly merge: boolean;
  /** Whether the trace has gaps: between snapshots, or between pieces in samples. */
  readonly snapshots: boolean;
  /** Filter for a part of the trace. */
  readonly filter?: {
    readonly tids?: ReadonlySet<number> | undefined;
    readonly from?: number;
    readonly to?: number;
  };
  /** Recorded samples, if they get call chains or branch stacks. */
  readonly recorded?: RecordedSamples;
  /** Events of PEBS records. */
  readonly pebs?: PebsEvents;
  /** Whether the kernel is traced. */
  readonly hasKernel: boolean;
  /** Called between packets. The function may use and clear `rows`. */
  readonly idle: () => Promise<void> | void;
}

/** Samples that are possible while tracing is off. */
const OFF_SAMPLES: ReadonlySet<number> = new Set([
  SAMPLE.PTWRITE,
  SAMPLE.MWAIT,
  SAMPLE.PWRE,
  SAMPLE.EXSTOP,
  SAMPLE.PWRX,
  SAMPLE.EVENT,
]);

/**
 * Makes rows for a track: of the pending branch after its target is known, of an event at an
 * address, of a changed clock ratio. Has the requested kinds of samples, and the calls of threads.
 */
export class SampleMaker {
  /** Code and places of instructions. */
  readonly code: PtCode;
  /** Conversion of times. */
  readonly clock: PtClock;
  readonly options: SamplesOptions;
  /** Instructions of blocks. */
  readonly insns: InsnTable;
  /** Open calls, and last branches. */
  readonly stacks: SampleStacks;
  /**
   * Flags of the requested branches, which have at least one of them; 0 if all branches are
   * requested.
   */
  readonly branchesFilter: number;
  /** Whether the depth of calls is needed. */
  readonly depths: boolean;
  readonly added: AddedLists | undefined;
  /** Row of the first sampled instruction of a part, if it is among the rows; else -1. */
  firstRow = -1;
  /** The blocks of the current buffer. */
  blocks: BlockCache | undefined;

  /** The current branch, in a reused object. */
  readonly #ends: BranchEnds = {
    fromLow: 0,
    fromHigh: 0,
    fromPlace: -1,
    size: 0,
    toLow: 0,
    toHigh: 0,
    toPlace: -1,
  };
  /** The target block of the pending branch, or -1 if unknown. */
  #target = -1;
  #skip: number;
  #pieces = 0;

  /** Starts without samples. */
  constructor({ code, clock }: Pick<PtTrace, "code" | "clock">, options: SamplesOptions) {
    this.code = code;
    this.clock = clock;
    this.options = options;
    this.insns = new InsnTable(code, options.bytes === true ? insnBytes : undefined);
    const { calls, returns, skip } = options.itrace;
    this.branchesFilter = (calls ? IP_FLAG.CALL | IP_FLAG.ASYNC | IP_FLAG.TRACE_END : 0) |
      (returns ? IP_FLAG.RETURN | IP_FLAG.TRACE_BEGIN : 0);
    this.#skip = skip;
    this.stacks = new SampleStacks(code, options.itrace, options.hasKernel);
    const { isOn, isAdding } = this.stacks;
    if (isAdding && options.recorded !== undefined) {
      this.added = new AddedLists(options.recorded, clock, this.stacks);
    }
    this.depths = isOn || isAdding || options.depths === true;
  }

  newPiece(): number {
    return this.#pieces++;
  }

  /** Sets the time of samples to that of the last packet, and the core clocks. */
  takeTime(track: SampleTrack): void {
    track.hasIpc ||= track.isCounted;
    track.isCounted = false;
    if (track.sampleTicks === track.ticks) return;
    track.sampleTicks = track.ticks;
    const ns = this.clock.ns(track.ticks);
    if (ns <= track.now) return;
    track.now = ns;
    track.nowTicks = track.ticks;
  }

  /** Whether the next sample is one of the first ones, which are skipped. */
  skipped(): boolean {
    if (this.#skip === 0) return false;
    this.#skip--;
    return true;
  }

  /** Adds a row with the common fields of a track; returns -1 if the filter excludes it. */
  row(
    track: SampleTrack,
    kind: number,
    time: number,
    value: number,
    flags: number,
  ): number {
    const { tids, from = -Infinity, to = Infinity } = this.options.filter ?? {};
    if (tids !== undefined && !tids.has(track.tid)) return -1;
    if (time >= 0 && (time < from || time > to)) return -1;
    const { rows } = track;
    const at = rows.add(time, value);
    const { words } = rows;
    words[at + SAMPLE_WORD.KIND] = kind;
    words[at + SAMPLE_WORD.TID] = track.tid;
    words[at + SAMPLE_WORD.PID] = track.pid;
    words[at + SAMPLE_WORD.COMM] = track.comm;
    words[at + SAMPLE_WORD.CPU] = track.buffer.stream.cpu ?? -1;
    words[at + SAMPLE_WORD.FLAGS] = flags;
    words[at + SAMPLE_WORD.FROM_HI] = 0;
    words[at + SAMPLE_WORD.FROM_LO] = 0;
    words[at + SAMPLE_WORD.FROM] = -1;
    words[at + SAMPLE_WORD.TO_HI] = 0;
    words[at + SAMPLE_WORD.TO_LO] = 0;
    words[at + SAMPLE_WORD.TO] = -1;
    words[at + SAMPLE_WORD.INSN] = 0;
    words[at + SAMPLE_WORD.DEPTH] = 0;
    words[at + SAMPLE_WORD.LISTS] = -1;
    words[at + SAMPLE_WORD.PAYLOAD_HI] = 0;
    words[at + SAMPLE_WORD.IPC_INSNS] = 0;
    words[at + SAMPLE_WORD.IPC_CYCLES] = 0;
    return at;
  }

  /** Adds a sample of a changed clock ratio before the next sample, at its address. */
  frequency(track: SampleTrack, low: number, high: number): void {
    if (track.cbr === track.cbrSeen) return;
    track.cbrSeen = track.cbr;
    if (this.options.itrace.power) {
      this.single(track, SAMPLE.CBR, low, high, track.cbr);
    }
  }

  /**
   * Adds a sample of a changed clock ratio at the time of an instruction instead of that of the
   * last packet.
   */
  frequencyAt(
    track: SampleTrack,
    low: number,
    high: number,
    place: number,
    time: number,
    ratio: number,
  ): void {
    if (ratio === track.cbrSeen) return;
    track.cbrSeen = ratio;
    if (!this.options.itrace.power || this.skipped()) return;
    const at = this.row(track, SAMPLE.CBR, time, ratio, 0);
    if (at < 0) return;
    this.lists(track, at, high);
    track.rows.from(at, low, high, place);
  }

  /** Whether a changed clock ratio is due at the next branch, requested or not. */
  isFrequencyDue({ cbr, cbrSeen }: SampleTrack): boolean {
    return cbr !== cbrSeen && this.options.itrace.power;
  }

  /**
   * Adds a sample of an event at an address; if the address is 0, at the last address of execution.
   * Returns its words, or -1.
   */
  single(
    track: SampleTrack,
    kind: number,
    low: number,
    high: number,
    value: number | undefined = 0,
    data: readonly number[] = [],
  ): number {
    this.takeTime(track);
    if (this.skipped()) return -1;
    const isAt = low !== 0 || high !== 0;
    const at = this.row(track, kind, track.now, value, isAt ? 1 : 0);
    if (at < 0) return at;
    if (kind !== SAMPLE.ERROR) this.lists(track, at, high, data);
    const { words } = track.rows;
    if (!isAt) {
      // perf's decoder still has the address at which tracing ended.
      if (!track.isOn && OFF_SAMPLES.has(kind)) {
        track.from(at);
        words[at + SAMPLE_WORD.INSN] = 0;
      }
      return at;
    }
    track.rows.from(at, low, high, this.code.place(track.buffer.code, low, high));
    return at;
  }

  /** Adds call chain and branch stack to a sample at an address. */
  lists(
    track: SampleTrack,
    at: number,
    high: number,
    data: readonly number[] = [],
  ): void {
    if (!this.stacks.isOn && data.length === 0) return;
    track.rows.words[at + SAMPLE_WORD.LISTS] = this.stacks.lists(
      track.rows,
      track.thread,
      high < 0,
      data,
    );
  }

  /** Stores a branch until its target is known. */
  pend(
    track: SampleTrack,
    blocks: BlockCache,
    block: number,
    period: number,
  ): void {
    const end = this.insns.end(track.buffer.code, blocks, block);
    track.pending = true;
    track.pendingLow = this.insns.endLow(end);
    track.pendingHigh = this.insns.endHigh(end);
    track.pendingPlace = this.insns.endPlace(end);
    track.pendingInsn = this.insns.endText(end);
    track.pendingKind = blocks.kind[block] as number;
    track.pendingSize = blocks.lastSize[block] as number;
    track.pendingTime = track.now;
    track.pendingTicks = track.nowTicks;
    track.pendingCbr = track.cbr;
    track.pendingPeriod = period;
    track.countHere();
    track.targetLow = blocks.targetLow[block] as number;
    track.targetHigh = blocks.targetHigh[block] as number;
    track.endLow = (blocks.low[block] as number) + (blocks.size[block] as number) | 0;
    track.endHigh = blocks.endHigh(block);
  }

  /**
   * Completes the data of the pending branch, which an event needs. It is missing for jumps that
   * are not sampled.
   */
  knowJump(track: SampleTrack, blocks: BlockCache): void {
    const { pendingJump } = track;
    if (pendingJump < 0) return;
    track.pendingJump = -1;
    this.pend(track, blocks, pendingJump, 0);
  }

  /** Sets the target block of the pending branch. */
  reach(track: SampleTrack, blocks: BlockCache, block: number): void {
    this.#target = block;
    this.arrive(track, blocks.low[block] as number, blocks.high[block] as number);
    this.#target = -1;
  }

  /** Sets the target address of the pending branch. */
  arrive(track: SampleTrack, low: number, high: number): void {
    const { pendingKind } = track;
    const taken = pendingKind !== InsnKind.JCC || low !== track.endLow || high !== track.endHigh;
    this.settle(track, taken, low, high, 0);
  }

  /** Samples the pending branch, and its instruction. */
  settle(
    track: SampleTrack,
    taken: boolean,
    low: number,
    high: number,
    more: number,
  ): void {
    track.pending = false;
    const flags = (KIND_FLAGS[track.pendingKind] as number) | more | track.inTx;
    const { instructions, cycles } = this.options.itrace;
    const toLow = taken ? low : 0;
    const toHigh = taken ? high : 0;
    const { pendingPeriod } = track;
    if (pendingPeriod > 0) this.#frequencyOfBranch(track, track.pendingTime);
    if (pendingPeriod > 0 && instructions !== undefined) {
      if (this.skipped()) track.period.back(pendingPeriod);
      else {
        const at = this.row(track, SAMPLE.INSTRUCTIONS, track.pendingTime, pendingPeriod, flags);
        if (at >= 0 && track.pendingIsFirst) this.firstRow = track.rows.count - 1;
        this.#ofBranch(track, at, toLow, toHigh, track.ofInsns);
      }
    }
    const clocks = track.pendingIpc ? track.pendingCycles - track.ofCycles.cycles : 0;
    if (pendingPeriod > 0 && cycles !== undefined && clocks > 0 && !this.skipped()) {
      const at = this.row(track, SAMPLE.CYCLES, track.pendingTime, clocks, flags);
      this.#ofBranch(track, at, toLow, toHigh, track.ofCycles);
      track.ofCycles.take(track);
    }
    if (!taken) return;
    this.branch(track, flags, low, high, true, track.pendingSize, track.pendingTime);
  }

  /** Samples a branch, from the pending instruction or from untraced code. */
  // Called for each branch, so the data of the branch are parameters instead of an allocated
  // object.
  branch(
    track: SampleTrack,
    flags: number,
    low: number,
    high: number,
    known: boolean,
    size: number,
    time: number,
  ): void {
    const isFrom = size >= 0;
    if (isFrom) this.#frequencyOfBranch(track, time);
    const ends = this.#ends;
    ends.fromLow = isFrom ? track.pendingLow : 0;
    ends.fromHigh = isFrom ? track.pendingHigh : 0;
    ends.fromPlace = isFrom ? track.pendingPlace : -1;
    ends.size = isFrom ? size : 0;
    ends.toLow = known ? low : 0;
    ends.toHigh = known ? high : 0;
    const { branches } = this.options.itrace;
    const wanted = branches &&
      (this.branchesFilter === 0 || (this.branchesFilter & flags) !== 0);
    ends.toPlace = !known || !(wanted || this.stacks.hasBranches)
      ? -1
      : this.#target < 0
      ? this.code.place(track.buffer.toCode, low, high)
      : this.insns.place(track.buffer.code, this.blocks as BlockCache, this.#target);
    track.isNew = false;
    if (track.tid >= 0 && this.added !== undefined) {
      const ticks = time === track.now ? track.nowTicks : track.pendingTicks;
      this.added.before(track.thread, ticks);
    }
    const depth = !this.depths || track.tid < 0
      ? 0
      : this.stacks.branch(track.thread, track.piece, flags, track.buffer.code, ends);
    if (!wanted || this.skipped()) return;
    const at = this.row(track, SAMPLE.BRANCHES, time, 1, flags);
    if (at < 0) return;
    const { words } = track.rows;
    words[at + SAMPLE_WORD.DEPTH] = depth;
    if (isFrom) track.from(at);
    this.#ipc(track, at, track.ofBranches);
    track.rows.to(at, ends.toLow, ends.toHigh, ends.toPlace);
  }

  /** Completes a row of the pending branch's instruction; does nothing for -1. */
  #ofBranch(
    track: SampleTrack,
    at: number,
    toLow: number,
    toHigh: number,
    last: IpcCount,
  ): void {
    if (at < 0) return;
    track.from(at);
    const { words } = track.rows;
    words[at + SAMPLE_WORD.TO_LO] = toLow;
    words[at + SAMPLE_WORD.TO_HI] = toHigh;
    this.lists(track, at, track.pendingHigh);
    this.#ipc(track, at, last);
  }

  /**
   * Sets the instructions and core clocks of a row of the pending branch: those since the last row
   * of its kind.
   */
  #ipc(track: SampleTrack, at: number, last: IpcCount): void {
    if (!track.pendingIpc || this.options.ipc !== true) return;
    const { pendingInsns, pendingCycles } = track;
    const cycles = pendingCycles - last.cycles;
    if (cycles === 0) return;
    const { words } = track.rows;
    words[at + SAMPLE_WORD.IPC_INSNS] = pendingInsns - last.insns;
    words[at + SAMPLE_WORD.IPC_CYCLES] = cycles;
    last.take(track);
  }

  #frequencyOfBranch(track: SampleTrack, time: number): void {
    const { pendingLow, pendingHigh, pendingPlace, pendingCbr } = track;
    this.frequencyAt(track, pendingLow, pendingHigh, pendingPlace, time, pendingCbr);
  }
}
