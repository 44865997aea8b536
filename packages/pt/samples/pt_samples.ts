// One module, since each kind of sample takes the time, the thread and the calls that the ones before
// it left.
import {
  type BlockCache,
  type FlowDecoder,
  FlowError,
  FlowEvent,
  type PathTable,
} from "@perfdata/intel-pt";
import { InsnKind } from "@perfdata/intel-pt/x86";
import type { ItraceOptions } from "./itrace.ts";
import type { PtCode } from "../code/pt_code.ts";
import type { PtHistory } from "../code/pt_history.ts";
import type { PtBuffer, PtClock, PtSink } from "../decode/pt_run.ts";
import {
  ERROR_CODES,
  IP_FLAG,
  KIND_FLAGS,
  PtSampleRows,
  SAMPLE,
  SAMPLE_WORD,
} from "./pt_sample_rows.ts";
import { SamplePeriod } from "./pt_sample_period.ts";
import { type BranchEnds, SampleStacks } from "./pt_sample_stacks.ts";
import { AddedLists, type RecordedSamples } from "./pt_added_lists.ts";
import { END_WORD, InsnTable } from "../decode/pt_block_insns.ts";
import { isBranch, isTurn, PathTurns, TURN_WORDS, usesPacket } from "../decode/pt_path_turns.ts";

/** What {@linkcode PtSamples} needs beside the options. */
export interface SamplesOptions {
  /** What is made. */
  readonly itrace: ItraceOptions;
  /** Ratio of the TSC to the bus clock; 0 where it is not known. */
  readonly maxNonTurboRatio: number;
  /** Whether the bytes of instructions are wanted: see {@linkcode PtSamples.insnTexts}. */
  readonly bytes?: boolean;
  /** Whether it is wanted how deep the calls are: see {@linkcode SAMPLE_WORD}. */
  readonly depths?: boolean;
  /** Whether instructions and core clocks are wanted, where CYC packets count the latter. */
  readonly ipc?: boolean;
  /** Whether several buffers have to be brought into one order of time. */
  readonly merge: boolean;
  /** Whether the trace is of snapshots, or of pieces in samples, with gaps between them. */
  readonly snapshots: boolean;
  /** Which part of the trace. */
  readonly filter?: {
    readonly tids?: ReadonlySet<number> | undefined;
    readonly from?: number;
    readonly to?: number;
  };
  /** Samples that were recorded, if they get lists. */
  readonly recorded?: RecordedSamples;
  /** Whether the kernel is traced. */
  readonly hasKernel: boolean;
  /** Called between packets, when `rows` may be used and cleared. */
  readonly idle: () => Promise<void> | void;
}

/** Events that come while tracing is off, too. */
const OFF_SAMPLES: ReadonlySet<number> = new Set([
  SAMPLE.PTWRITE,
  SAMPLE.MWAIT,
  SAMPLE.PWRE,
  SAMPLE.EXSTOP,
  SAMPLE.PWRX,
  SAMPLE.EVENT,
]);

/** Flags of the abort of a transaction, of an interrupt, and of one that leads out of what is traced. */
const ABORT_FLAGS = IP_FLAG.BRANCH | IP_FLAG.TX_ABORT;
const ASYNC_FLAGS = IP_FLAG.BRANCH | IP_FLAG.CALL | IP_FLAG.ASYNC | IP_FLAG.INTERRUPT;
const OUT_FLAGS = IP_FLAG.BRANCH | IP_FLAG.ASYNC | IP_FLAG.TRACE_END;

/** Packets without an address at which perf's decoder stops: branches before them have arrived. */
const HERE: ReadonlySet<number> = new Set([
  FlowEvent.CBR,
  FlowEvent.PTWRITE,
  FlowEvent.MWAIT,
  FlowEvent.PWRE,
  FlowEvent.EXSTOP,
  FlowEvent.PWRX,
  FlowEvent.BLOCK_END,
]);

/** Instructions and core clocks of samples of one kind: up to the last one that had them. */
class IpcCount {
  insns = 0;
  cycles = 0;

  /** The next sample counts from the pending branch on. */
  take({ pendingInsns, pendingCycles }: Track): void {
    this.insns = pendingInsns;
    this.cycles = pendingCycles;
  }
}

/** Types of blocks of a PEBS record (SDM, "PEBS record fields in BIP packets"), and items of them. */
const PEBS_BASIC = 4;
const PEBS_MEMORY = 5;
const BASIC_IP = 0;
const BASIC_TSC = 2;
const MEMORY_ADDRESS = 0;

/** What blocks of items say of a record of PEBS, which the packet at the end of the last block completes. */
class PebsRecord {
  #block = 0;
  isOpen = false;
  hasIp = false;
  hasTsc = false;
  ipLow = 0;
  ipHigh = 0;
  tscLow = 0;
  tscHigh = 0;
  addressLow = 0;
  addressHigh = 0;

  begin(block: number): void {
    if (!this.isOpen) {
      this.hasIp = this.hasTsc = false;
      this.addressLow = this.addressHigh = 0;
    }
    this.isOpen = true;
    this.#block = block;
  }

  item(id: number, low: number, high: number): void {
    if (this.#block === PEBS_BASIC && id === BASIC_IP) {
      this.hasIp = true;
      this.ipLow = low;
      this.ipHigh = high;
    } else if (this.#block === PEBS_BASIC && id === BASIC_TSC) {
      this.hasTsc = true;
      this.tscLow = low;
      this.tscHigh = high;
    } else if (this.#block === PEBS_MEMORY && id === MEMORY_ADDRESS) {
      this.addressLow = low;
      this.addressHigh = high;
    }
  }
}

/** One buffer on its way, as perf's decoder keeps it. */
class Track {
  readonly rows: PtSampleRows;
  readonly period: SamplePeriod;
  /** Which piece of the trace this is: calls do not go on from one to the next. */
  piece = 0;
  /** Time of samples, ns; it never goes back. */
  now = -1;
  /** The same in ticks of the decoder's clock. */
  nowTicks = -1;
  /** Ticks of the last packet with a time, and those that samples have. */
  ticks = -1;
  sampleTicks = -1;
  /** Instructions since the time changed last. */
  insnsSinceTime = 0;
  /** Instructions in all, and core clocks while tracing was on; and what all CYC packets have counted. */
  insns = 0;
  cycles = 0;
  counted = 0;
  /** Whether core clocks were counted that no packet of a branch came after. */
  isCounted = false;
  /** Whether the event at hand comes with core clocks. */
  hasIpc = false;
  readonly ofBranches = new IpcCount();
  readonly ofInsns = new IpcCount();
  readonly ofCycles = new IpcCount();
  /** The same of the pending branch. */
  pendingIpc = false;
  pendingInsns = 0;
  pendingCycles = 0;
  cbr = 0;
  cbrSeen = 0;
  /** The clock ratio from the end of the PSB+ on that comes next. */
  psbCbr = 0;
  /** A branch whose target is still to come. */
  pending = false;
  pendingLow = 0;
  pendingHigh = 0;
  pendingPlace = -1;
  pendingKind = 0;
  pendingSize = 0;
  pendingInsn = 0;
  pendingTime = -1;
  pendingTicks = -1;
  /** The clock ratio before it. */
  pendingCbr = 0;
  /** The block that it ends, where it is a jump of which no more is known yet; else -1. */
  pendingJump = -1;
  /** Whether it is not known to the calls yet which piece this is. */
  isNew = true;
  /** The instructions that the sample of its own instruction stands for; 0 where there is none. */
  pendingPeriod = 0;
  /** Where it goes if it is taken, and where if not. */
  targetLow = 0;
  targetHigh = 0;
  endLow = 0;
  endHigh = 0;
  inTx = 0;
  /** Whether the last event was a PSB. */
  atPsb = false;
  /** Whether tracing is on. */
  isOn = false;
  /** Whether the next asynchronous branch is the abort of a transaction. */
  isAborted = false;
  /** An event whose address is that of the next asynchronous branch: type and vector; -1 for none. */
  heldEvent = -1;
  /** What belongs to the next event: see `PtSampleRows.lists`. */
  readonly eventData: number[] = [];
  /** The record of PEBS at hand. */
  readonly pebs = new PebsRecord();
  tid = -1;
  pid = -1;
  comm = -1;

  constructor(rows: PtSampleRows, period: SamplePeriod) {
    this.rows = rows;
    this.period = period;
  }
}

/**
 * Makes the samples of a trace that perf makes of it with `--itrace`: instructions, branches, events,
 * errors, each at the time that perf gives it.
 *
 * Mirrors `intel_pt_sample` and `intel_pt_sample_flags` of tools/perf/util/intel-pt.c, and when
 * `intel_pt_decode` takes over a time: instructions before the branch that uses a packet have the time
 * from before it, the branch itself that of the packet.
 */
export class PtSamples implements PtSink {
  /** What came since it was cleared last. */
  readonly rows: PtSampleRows = new PtSampleRows();
  /** Bytes of instructions in hexadecimal: ` 31 ed`; number 0 is none. */
  readonly insnTexts: readonly string[];
  /** Lists of samples that were recorded. */
  readonly added: AddedLists | undefined;
  /** How often interrupts were enabled or disabled, of which there are no samples. */
  interruptChanges: number = 0;
  /** Records of PEBS of which no samples were asked for. */
  pebsRecords: number = 0;

  readonly #code: PtCode;
  readonly #clock: PtClock;
  readonly #history: PtHistory;
  readonly #options: SamplesOptions;
  readonly #tracks: Track[] = [];
  readonly #branchesFilter: number;
  readonly #stacks: SampleStacks;
  /** Where the calls and returns are, where jumps mean nothing for what is wanted. */
  readonly #turns: PathTurns | undefined;
  readonly #depths: boolean;
  /** The branch at hand. */
  readonly #ends: BranchEnds = {
    fromLow: 0,
    fromHigh: 0,
    fromPlace: -1,
    size: 0,
    toLow: 0,
    toHigh: 0,
    toPlace: -1,
  };
  /** Number of the next piece. */
  #pieces = 0;
  readonly #insns: InsnTable;
  #blocks: BlockCache | undefined;
  /** The block that a branch goes to, or -1 where it is not known. */
  #target = -1;
  #skip: number;
  /** Whether no code is followed. */
  readonly #quick: boolean;

  /** Makes a sink for `decodePt`. */
  constructor(code: PtCode, clock: PtClock, history: PtHistory, options: SamplesOptions) {
    this.#code = code;
    this.#clock = clock;
    this.#history = history;
    this.#options = options;
    this.#insns = new InsnTable(code, options.bytes === true);
    this.insnTexts = this.#insns.texts;
    const { calls, returns, skip } = options.itrace;
    this.#branchesFilter = (calls ? IP_FLAG.CALL | IP_FLAG.ASYNC | IP_FLAG.TRACE_END : 0) |
      (returns ? IP_FLAG.RETURN | IP_FLAG.TRACE_BEGIN : 0);
    this.#skip = skip;
    this.#quick = (options.itrace.quick ?? 0) > 0;
    this.#stacks = new SampleStacks(code, options.itrace, options.hasKernel);
    const { isOn, isAdding } = this.#stacks;
    if (isAdding && options.recorded !== undefined) {
      this.added = new AddedLists(options.recorded, clock, this.#stacks);
    }
    this.#depths = isOn || isAdding || options.depths === true;
    const { branches, instructions, cycles } = options.itrace;
    const wantsJumps = branches && this.#branchesFilter === 0;
    const samplesInsns = instructions !== undefined || cycles !== undefined;
    this.#turns = wantsJumps || samplesInsns || isOn || isAdding || options.ipc === true
      ? undefined
      : new PathTurns();
  }

  /** Lets the caller use the rows. */
  async idle(): Promise<void> {
    await this.#options.idle();
  }

  /** Gives up what is kept by block. */
  forget(): void {
    this.#insns.clear();
    this.#turns?.clear();
  }

  /** Rows of buffers that are up to this time are in order of time. */
  reached(ns: number): void {
    if (this.#options.merge) this.#merge(ns);
  }

  /** Hands over what waits for other buffers. */
  finish(): void {
    if (this.#options.merge) this.#merge(Infinity);
  }

  #merge(before: number): void {
    const next = this.#tracks.map(() => 0);
    for (;;) {
      let best = -1;
      let time = before;
      for (const [i, track] of this.#tracks.entries()) {
        const row = next[i] as number;
        if (track === undefined || row >= track.rows.count) continue;
        const at = track.rows.time[row] as number;
        if (at < time) {
          best = i;
          time = at;
        }
      }
      if (best < 0) break;
      this.rows.copy((this.#tracks[best] as Track).rows, next[best] as number);
      (next[best] as number)++;
    }
    for (const [i, rows] of next.entries()) {
      if (rows > 0) this.#tracks[i]?.rows.drop(rows);
    }
  }

  /** Takes paths and events. */
  flow(buffer: PtBuffer, run: FlowDecoder): void {
    const track = this.#track(buffer);
    const { entries, count, paths, blocks } = run;
    const turns = this.#turns;
    this.#blocks = blocks;
    // Other pieces may have had branches of the thread.
    track.isNew = this.#depths;
    for (let i = 0; i < count; i++) {
      const entry = entries[i] as number;
      if (entry < 0) this.#event(buffer, track, run, ~entry);
      else if (turns === undefined || track.isNew || this.#isFrequencyDue(track)) {
        this.#path(buffer, track, paths, blocks, entry);
      } else this.#turnsOf(turns, buffer, track, paths, blocks, entry);
    }
    this.#knowJump(buffer, track, blocks);
    if (!track.pending || !run.tracing) return;
    const { pendingKind } = track;
    // The decoder may hand over what it has in the middle of a way without packets.
    if (pendingKind === InsnKind.JMP || pendingKind === InsnKind.CALL) {
      this.#arrive(buffer, track, track.targetLow, track.targetHigh);
    } else this.#arrive(buffer, track, run.atLow, run.atHigh);
  }

  /** Whether the next branch, wanted or not, comes with a changed clock ratio. */
  #isFrequencyDue({ cbr, cbrSeen }: Track): boolean {
    return cbr !== cbrSeen && this.#options.itrace.power;
  }

  #track(buffer: PtBuffer): Track {
    let track = this.#tracks[buffer.index];
    if (track === undefined) {
      const { instructions, cycles } = this.#options.itrace;
      track = new Track(
        this.#options.merge ? new PtSampleRows() : this.rows,
        new SamplePeriod(instructions ?? cycles, this.#clock),
      );
      track.piece = this.#pieces++;
      this.#tracks[buffer.index] = track;
    }
    if (track.tid !== buffer.tid || track.now !== buffer.position) {
      const { tid } = buffer;
      const time = Math.max(track.now, buffer.position, 0);
      track.tid = tid;
      track.pid = this.#history.pid(tid, time);
      track.comm = this.#history.threadComm(tid, time);
    }
    return track;
  }

  /** Samples have the time of the last packet from here on, and the core clocks. */
  #takeTime(track: Track): void {
    track.hasIpc ||= track.isCounted;
    track.isCounted = false;
    if (track.sampleTicks === track.ticks) return;
    track.sampleTicks = track.ticks;
    const ns = this.#clock.ns(track.ticks);
    if (ns <= track.now) return;
    track.now = ns;
    track.nowTicks = track.ticks;
  }

  #path(
    buffer: PtBuffer,
    track: Track,
    paths: PathTable,
    blocks: BlockCache,
    path: number,
  ): void {
    const { period } = track;
    const end = paths.start[path + 1] as number;
    for (let k = paths.start[path] as number; k < end; k++) {
      const block = paths.blocks[k] as number;
      if (track.pending) this.#reach(buffer, track, blocks, block);
      const kind = blocks.kind[block] as number;
      const insns = blocks.insns[block] as number;
      track.insnsSinceTime += insns;
      track.insns += insns;
      let last = 0;
      track.hasIpc = false;
      if (period.isOn) last = this.#instructions(buffer, track, blocks, block, isBranch(kind));
      if (!isBranch(kind)) continue;
      if (usesPacket(kind)) this.#takeTime(track);
      this.#pend(buffer, track, blocks, block, last);
    }
  }

  /** A path of which only calls and returns are wanted. */
  #turnsOf(
    turns: PathTurns,
    buffer: PtBuffer,
    track: Track,
    paths: PathTable,
    blocks: BlockCache,
    path: number,
  ): void {
    const first = paths.start[path] as number;
    const end = paths.start[path + 1] as number;
    // Jumps to here are nothing that is wanted.
    if (track.pendingJump >= 0) track.pending = false;
    track.pendingJump = -1;
    if (track.pending) this.#reach(buffer, track, blocks, paths.blocks[first] as number);
    track.insnsSinceTime += paths.insns[path] as number;
    const from = turns.from(paths, blocks, path);
    const to = turns.to(path);
    const { words } = turns;
    for (let at = from; at < to; at += TURN_WORDS) {
      const k = words[at] as number;
      if (words[at + 1] !== 0) this.#takeTime(track);
      const block = paths.blocks[k] as number;
      const next = k + 1 < end ? paths.blocks[k + 1] as number : -1;
      if (next >= 0 && !this.#depths) this.#turn(buffer, track, blocks, block, next);
      else {
        this.#pend(buffer, track, blocks, block, 0);
        if (next >= 0) this.#reach(buffer, track, blocks, next);
      }
    }
    if (turns.usesPacket(path)) this.#takeTime(track);
    if (end === first) return;
    const last = paths.blocks[end - 1] as number;
    const kind = blocks.kind[last] as number;
    if (!isBranch(kind) || isTurn(kind)) return;
    track.pending = true;
    track.pendingJump = last;
  }

  /** A call or return to a block, where it is not wanted how deep the calls are. */
  #turn(buffer: PtBuffer, track: Track, blocks: BlockCache, block: number, next: number): void {
    const flags = (KIND_FLAGS[blocks.kind[block] as number] as number) | track.inTx;
    if ((this.#branchesFilter & flags) === 0 || this.#skipped()) return;
    const at = this.#row(track, buffer, SAMPLE.BRANCHES, track.now, 1, flags);
    if (at < 0) return;
    const { words } = track.rows;
    const insns = this.#insns;
    const end = insns.end(buffer.code, blocks, block);
    words[at + SAMPLE_WORD.FROM_LO] = insns.ends[end + END_WORD.LOW] as number;
    words[at + SAMPLE_WORD.FROM_HI] = insns.ends[end + END_WORD.HIGH] as number;
    words[at + SAMPLE_WORD.FROM] = insns.ends[end + END_WORD.PLACE] as number;
    words[at + SAMPLE_WORD.INSN] = insns.ends[end + END_WORD.TEXT] as number;
    words[at + SAMPLE_WORD.TO_LO] = blocks.low[next] as number;
    words[at + SAMPLE_WORD.TO_HI] = blocks.high[next] as number;
    words[at + SAMPLE_WORD.TO] = insns.place(buffer.code, blocks, next);
  }

  /** A jump that was left open is the pending branch, of which an event needs all. */
  #knowJump(buffer: PtBuffer, track: Track, blocks: BlockCache): void {
    const { pendingJump } = track;
    if (pendingJump < 0) return;
    track.pendingJump = -1;
    this.#pend(buffer, track, blocks, pendingJump, 0);
  }

  /** The pending branch goes to a block. */
  #reach(buffer: PtBuffer, track: Track, blocks: BlockCache, block: number): void {
    this.#target = block;
    this.#arrive(buffer, track, blocks.low[block] as number, blocks.high[block] as number);
    this.#target = -1;
  }

  /** Samples of a block's instructions; returns the period of that of its branch, or 0. */
  #instructions(
    buffer: PtBuffer,
    track: Track,
    blocks: BlockCache,
    block: number,
    isBranch: boolean,
  ): number {
    const { period } = track;
    const insns = blocks.insns[block] as number;
    const plain = isBranch ? insns - 1 : insns;
    const wanted = this.#options.itrace.instructions !== undefined;
    for (let i = period.next(plain); i < plain; i = period.next(plain, i + 1)) {
      // Core clocks are known at branches alone.
      if (!wanted || this.#skipped()) continue;
      const count = period.take();
      const { low, high, place, text } = this.#insns.of(buffer.code, blocks, block);
      if (this.#isFrequencyDue(track)) {
        this.#frequencyAt(
          buffer,
          track,
          low[i] as number,
          high[i] as number,
          place[i] as number,
          track.now,
          track.cbr,
        );
      }
      const at = this.#row(track, buffer, SAMPLE.INSTRUCTIONS, track.now, count, track.inTx);
      if (at < 0) continue;
      const { words } = track.rows;
      words[at + SAMPLE_WORD.FROM_LO] = low[i] as number;
      words[at + SAMPLE_WORD.FROM_HI] = high[i] as number;
      words[at + SAMPLE_WORD.FROM] = place[i] as number;
      words[at + SAMPLE_WORD.INSN] = text[i] as number;
      this.#lists(track, buffer, at, high[i] as number);
    }
    if (!isBranch) return 0;
    const last = period.next(1) === 0 ? period.take() : 0;
    period.branch();
    return last;
  }

  #skipped(): boolean {
    if (this.#skip === 0) return false;
    this.#skip--;
    return true;
  }

  /** A row with what all rows of a track have; -1 where the filter leaves it out. */
  #row(
    track: Track,
    buffer: PtBuffer,
    kind: number,
    time: number,
    value: number,
    flags: number,
  ): number {
    const { tids, from = -Infinity, to = Infinity } = this.#options.filter ?? {};
    if (tids !== undefined && !tids.has(track.tid)) return -1;
    if (time >= 0 && (time < from || time > to)) return -1;
    const { rows } = track;
    const at = rows.add(time, value);
    const { words } = rows;
    words[at + SAMPLE_WORD.KIND] = kind;
    words[at + SAMPLE_WORD.TID] = track.tid;
    words[at + SAMPLE_WORD.PID] = track.pid;
    words[at + SAMPLE_WORD.COMM] = track.comm;
    words[at + SAMPLE_WORD.CPU] = buffer.stream.cpu ?? -1;
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

  /** Gives the row of the pending branch, or of its instruction, what passed since the last of its kind. */
  #ipc(track: Track, at: number, last: IpcCount): void {
    if (!track.pendingIpc || this.#options.ipc !== true) return;
    const { pendingInsns, pendingCycles } = track;
    const cycles = pendingCycles - last.cycles;
    if (cycles === 0) return;
    const { words } = track.rows;
    words[at + SAMPLE_WORD.IPC_INSNS] = pendingInsns - last.insns;
    words[at + SAMPLE_WORD.IPC_CYCLES] = cycles;
    last.take(track);
  }

  /** Completes a row of the pending branch's instruction; -1 is none. */
  #ofBranch(
    track: Track,
    buffer: PtBuffer,
    at: number,
    toLow: number,
    toHigh: number,
    last: IpcCount,
  ): void {
    if (at < 0) return;
    this.#from(track, at);
    const { words } = track.rows;
    words[at + SAMPLE_WORD.TO_LO] = toLow;
    words[at + SAMPLE_WORD.TO_HI] = toHigh;
    this.#lists(track, buffer, at, track.pendingHigh);
    this.#ipc(track, at, last);
  }

  /** What the next row of a branch has of core clocks is what there is now. */
  #countHere(track: Track): void {
    track.pendingIpc = track.hasIpc;
    track.pendingInsns = track.insns;
    track.pendingCycles = track.cycles;
  }

  /** Remembers a branch until it is known where it goes. */
  #pend(
    buffer: PtBuffer,
    track: Track,
    blocks: BlockCache,
    block: number,
    period: number,
  ): void {
    const end = this.#insns.end(buffer.code, blocks, block);
    const { ends } = this.#insns;
    track.pending = true;
    track.pendingLow = ends[end + END_WORD.LOW] as number;
    track.pendingHigh = ends[end + END_WORD.HIGH] as number;
    track.pendingPlace = ends[end + END_WORD.PLACE] as number;
    track.pendingInsn = ends[end + END_WORD.TEXT] as number;
    track.pendingKind = blocks.kind[block] as number;
    track.pendingSize = blocks.lastSize[block] as number;
    track.pendingTime = track.now;
    track.pendingTicks = track.nowTicks;
    track.pendingCbr = track.cbr;
    track.pendingPeriod = period;
    this.#countHere(track);
    track.targetLow = blocks.targetLow[block] as number;
    track.targetHigh = blocks.targetHigh[block] as number;
    track.endLow = (blocks.low[block] as number) + (blocks.size[block] as number) | 0;
    track.endHigh = blocks.endHigh(block);
  }

  /** The pending branch goes to an address. */
  #arrive(buffer: PtBuffer, track: Track, low: number, high: number): void {
    const { pendingKind } = track;
    const taken = pendingKind !== InsnKind.JCC || low !== track.endLow || high !== track.endHigh;
    this.#settle(buffer, track, taken, low, high, 0);
  }

  /** Samples of the pending branch, and of its instruction. */
  #settle(
    buffer: PtBuffer,
    track: Track,
    taken: boolean,
    low: number,
    high: number,
    more: number,
  ): void {
    track.pending = false;
    const flags = (KIND_FLAGS[track.pendingKind] as number) | more | track.inTx;
    const { instructions, cycles } = this.#options.itrace;
    const toLow = taken ? low : 0;
    const toHigh = taken ? high : 0;
    const { pendingPeriod } = track;
    if (pendingPeriod > 0) this.#frequencyOfBranch(buffer, track, track.pendingTime);
    if (pendingPeriod > 0 && instructions !== undefined) {
      if (this.#skipped()) track.period.back(pendingPeriod);
      else {
        const at = this.#row(
          track,
          buffer,
          SAMPLE.INSTRUCTIONS,
          track.pendingTime,
          pendingPeriod,
          flags,
        );
        this.#ofBranch(track, buffer, at, toLow, toHigh, track.ofInsns);
      }
    }
    const clocks = track.pendingIpc ? track.pendingCycles - track.ofCycles.cycles : 0;
    if (pendingPeriod > 0 && cycles !== undefined && clocks > 0 && !this.#skipped()) {
      const at = this.#row(track, buffer, SAMPLE.CYCLES, track.pendingTime, clocks, flags);
      this.#ofBranch(track, buffer, at, toLow, toHigh, track.ofCycles);
      track.ofCycles.take(track);
    }
    if (!taken) return;
    this.#branch(buffer, track, flags, low, high, true, track.pendingSize, track.pendingTime);
  }

  #frequencyOfBranch(buffer: PtBuffer, track: Track, time: number): void {
    const { pendingLow, pendingHigh, pendingPlace, pendingCbr } = track;
    this.#frequencyAt(buffer, track, pendingLow, pendingHigh, pendingPlace, time, pendingCbr);
  }

  #from(track: Track, at: number): void {
    const { words } = track.rows;
    words[at + SAMPLE_WORD.FROM_LO] = track.pendingLow;
    words[at + SAMPLE_WORD.FROM_HI] = track.pendingHigh;
    words[at + SAMPLE_WORD.FROM] = track.pendingPlace;
    words[at + SAMPLE_WORD.INSN] = track.pendingInsn;
  }

  /** A sample of a branch: from the pending instruction, or from nowhere that is traced. */
  #branch(
    buffer: PtBuffer,
    track: Track,
    flags: number,
    low: number,
    high: number,
    known: boolean,
    size: number,
    time: number,
  ): void {
    const isFrom = size >= 0;
    if (isFrom) this.#frequencyOfBranch(buffer, track, time);
    const ends = this.#ends;
    ends.fromLow = isFrom ? track.pendingLow : 0;
    ends.fromHigh = isFrom ? track.pendingHigh : 0;
    ends.fromPlace = isFrom ? track.pendingPlace : -1;
    ends.size = isFrom ? size : 0;
    ends.toLow = known ? low : 0;
    ends.toHigh = known ? high : 0;
    const { branches } = this.#options.itrace;
    const wanted = branches &&
      (this.#branchesFilter === 0 || (this.#branchesFilter & flags) !== 0);
    ends.toPlace = !known || !(wanted || this.#stacks.hasBranches)
      ? -1
      : this.#target < 0
      ? this.#code.place(buffer.toCode, low, high)
      : this.#insns.place(buffer.code, this.#blocks as BlockCache, this.#target);
    track.isNew = false;
    if (track.tid >= 0 && this.added !== undefined) {
      const ticks = time === track.now ? track.nowTicks : track.pendingTicks;
      this.added.before(threadOf(track, buffer), ticks);
    }
    const depth = !this.#depths || track.tid < 0
      ? 0
      : this.#stacks.branch(threadOf(track, buffer), track.piece, flags, buffer.code, ends);
    if (!wanted || this.#skipped()) return;
    const at = this.#row(track, buffer, SAMPLE.BRANCHES, time, 1, flags);
    if (at < 0) return;
    const { words } = track.rows;
    words[at + SAMPLE_WORD.DEPTH] = depth;
    if (isFrom) this.#from(track, at);
    this.#ipc(track, at, track.ofBranches);
    words[at + SAMPLE_WORD.TO_LO] = ends.toLow;
    words[at + SAMPLE_WORD.TO_HI] = ends.toHigh;
    words[at + SAMPLE_WORD.TO] = ends.toPlace;
  }

  /** Adds the callers and the last branches to a sample at an address. */
  #lists(
    track: Track,
    buffer: PtBuffer,
    at: number,
    high: number,
    data: readonly number[] = [],
  ): void {
    if (!this.#stacks.isOn && data.length === 0) return;
    track.rows.words[at + SAMPLE_WORD.LISTS] = this.#stacks.lists(
      track.rows,
      threadOf(track, buffer),
      high < 0,
      data,
    );
  }

  #event(buffer: PtBuffer, track: Track, run: FlowDecoder, event: number): void {
    const kind = run.kind[event] as number;
    const ticks = run.time[event] as number;
    if (ticks !== track.ticks) {
      track.ticks = ticks;
      track.insnsSinceTime = 0;
      track.period.time(ticks);
    }
    track.hasIpc = false;
    const counted = run.cycles[event] as number;
    if (counted !== track.counted) {
      if (track.isOn) track.cycles += counted - track.counted;
      track.counted = counted;
      track.isCounted = true;
    }
    const low = run.ipLow[event] as number;
    const high = run.ipHigh[event] as number;
    const payload = (run.low[event] as number) >>> 0;
    const payloadHigh = run.high[event] as number;
    const hereLow = run.hereLow[event] as number;
    const hereHigh = run.hereHigh[event] as number;
    const { itrace } = this.#options;
    if (kind === FlowEvent.TIME) return;
    const { atPsb } = track;
    track.atPsb = kind === FlowEvent.PSB;
    this.#knowJump(buffer, track, run.blocks);
    track.period.branch();
    if (track.pending && (low !== 0 || high !== 0)) this.#arrive(buffer, track, low, high);
    else if (track.pending && HERE.has(kind) && (hereLow !== 0 || hereHigh !== 0)) {
      this.#arrive(buffer, track, hereLow, hereHigh);
    }
    switch (kind) {
      case FlowEvent.HOP:
        this.#hop(buffer, track, low, high, run.detail[event] === 0 ? 0 : ABORT_FLAGS);
        break;
      case FlowEvent.INTERRUPTS:
        if (itrace.interrupts) this.interruptChanges++;
        break;
      case FlowEvent.BLOCK_BEGIN:
        track.pebs.begin(run.detail[event] as number);
        break;
      case FlowEvent.BLOCK_ITEM:
        track.pebs.item(run.detail[event] as number, run.low[event] as number, payloadHigh);
        break;
      case FlowEvent.BLOCK_END:
        if (!itrace.pebs) this.pebsRecords++;
        else {
          const isAt = low !== 0 || high !== 0;
          this.#pebs(buffer, track, isAt ? low : hereLow, isAt ? high : hereHigh);
        }
        track.pebs.isOpen = false;
        break;
      case FlowEvent.EVD:
        track.eventData.push(
          run.detail[event] as number,
          run.high[event] as number,
          run.low[event] as number,
        );
        break;
      case FlowEvent.CFE:
        track.heldEvent = 256 * (run.detail[event] as number) + payload % 256;
        if (!track.isOn || low !== 0 || high !== 0) this.#controlFlow(buffer, track, low, high);
        break;
      case FlowEvent.ENABLED:
      case FlowEvent.SYNC:
        track.isOn = true;
        // A PSB+ that says where execution is is no branch to there.
        if (atPsb && kind === FlowEvent.SYNC) this.#takeTime(track);
        else {
          this.#begin(buffer, track, low, high);
          if (this.#quick) this.#hop(buffer, track, low, high);
        }
        break;
      case FlowEvent.DISABLED:
        track.isOn = false;
        this.#end(buffer, track, run, event);
        break;
      case FlowEvent.ASYNC:
        this.#asynchronous(
          buffer,
          track,
          low,
          high,
          run.low[event] as number,
          run.high[event] as number,
          true,
          0,
        );
        if (this.#quick) {
          this.#hop(buffer, track, run.low[event] as number, run.high[event] as number);
        }
        break;
      case FlowEvent.ERROR:
        this.#takeTime(track);
        track.pending = false;
        track.isOn = run.tracing;
        if (run.detail[event] === FlowError.GAP) {
          track.piece = this.#pieces++;
          track.isNew = this.#depths;
        }
        if (this.#reports(run.detail[event])) {
          this.#single(buffer, track, SAMPLE.ERROR, low, high, ERROR_CODES[run.detail[event] ?? 0]);
        }
        break;
      case FlowEvent.CBR:
        // That of a PSB+ comes with it, after what was executed before.
        if (run.psb[event] === 1) track.psbCbr = run.detail[event] as number;
        else {
          track.cbr = track.psbCbr = run.detail[event] as number;
          // perf's decoder is still where tracing ended.
          if (track.isOn) this.#frequency(buffer, track, hereLow, hereHigh);
          else this.#frequency(buffer, track, track.pendingLow, track.pendingHigh);
        }
        break;
      case FlowEvent.PSB:
        track.cbr = track.psbCbr;
        this.#takeTime(track);
        if (itrace.power) {
          this.#single(buffer, track, SAMPLE.PSB, low, high, run.offset[event]);
        }
        this.#frequency(buffer, track, low, high);
        if (this.#quick && (low !== 0 || high !== 0)) this.#hop(buffer, track, low, high);
        break;
      case FlowEvent.TSX: {
        const detail = run.detail[event] as number;
        const was = track.inTx;
        track.inTx = (detail & 1) !== 0 ? IP_FLAG.IN_TX : 0;
        // While tracing is off, perf takes notice of the state only.
        if (!track.isOn) break;
        track.isAborted = (detail & 2) !== 0;
        this.#frequency(buffer, track, low, high);
        // An abort is sampled with where it leads to, which is known next.
        if (itrace.transactions && was !== track.inTx && !track.isAborted) {
          this.#single(buffer, track, SAMPLE.TRANSACTIONS, low, high, 1);
        }
        break;
      }
      case FlowEvent.PTWRITE:
        if (itrace.ptwrites) {
          const isAt = low !== 0 || high !== 0;
          const at = this.#single(
            buffer,
            track,
            SAMPLE.PTWRITE,
            isAt ? low : hereLow,
            isAt ? high : hereHigh,
            payload,
          );
          if (at >= 0) {
            const { words } = track.rows;
            words[at + SAMPLE_WORD.FLAGS] = isAt ? 1 : 0;
            words[at + SAMPLE_WORD.PAYLOAD_HI] = payloadHigh;
          }
        }
        break;
      default:
        this.#power(buffer, track, kind, low, high, payload, payloadHigh);
    }
  }

  /** Of packets alone: a sample of the instruction at an address. */
  #hop(buffer: PtBuffer, track: Track, low: number, high: number, flags = 0): void {
    this.#takeTime(track);
    this.#frequency(buffer, track, low, high);
    const place = this.#code.place(buffer.toCode, low, high);
    track.pendingLow = low;
    track.pendingHigh = high;
    track.pendingPlace = place;
    if (this.#options.itrace.instructions === undefined || this.#skipped()) return;
    const at = this.#row(track, buffer, SAMPLE.INSTRUCTIONS, track.now, 1, flags);
    if (at < 0) return;
    const { words } = track.rows;
    words[at + SAMPLE_WORD.FROM_LO] = low;
    words[at + SAMPLE_WORD.FROM_HI] = high;
    words[at + SAMPLE_WORD.FROM] = place;
    this.#lists(track, buffer, at, high);
  }

  /** Whether an error is a sample. */
  #reports(error: number | undefined): boolean {
    const { errors, noOverflows, noLosses } = this.#options.itrace;
    if (!errors) return false;
    if (error === FlowError.OVERFLOW) return noOverflows !== true;
    // Snapshots are not expected to follow each other.
    return error !== FlowError.GAP || (!this.#options.snapshots && noLosses !== true);
  }

  #power(
    buffer: PtBuffer,
    track: Track,
    kind: number,
    low: number,
    high: number,
    payload: number,
    payloadHigh: number,
  ): void {
    if (!this.#options.itrace.power) return;
    const sample = kind === FlowEvent.MWAIT
      ? SAMPLE.MWAIT
      : kind === FlowEvent.PWRE
      ? SAMPLE.PWRE
      : kind === FlowEvent.EXSTOP
      ? SAMPLE.EXSTOP
      : kind === FlowEvent.PWRX
      ? SAMPLE.PWRX
      : -1;
    if (sample < 0) return;
    const at = this.#single(buffer, track, sample, low, high, payload);
    if (at >= 0) track.rows.words[at + SAMPLE_WORD.PAYLOAD_HI] = payloadHigh;
  }

  /** A sample of a record of PEBS: at its own time and address, where it has them. */
  #pebs(buffer: PtBuffer, track: Track, low: number, high: number): void {
    const { pebs } = track;
    this.#takeTime(track);
    this.#frequency(buffer, track, low, high);
    if (this.#skipped()) return;
    const time = pebs.hasTsc ? this.#clock.tsc(pebs.tscLow, pebs.tscHigh) : track.now;
    const at = this.#row(track, buffer, SAMPLE.PEBS, time, 1, 0);
    if (at < 0) return;
    const [ipLow, ipHigh] = pebs.hasIp ? [pebs.ipLow, pebs.ipHigh] : [low, high];
    const { words } = track.rows;
    words[at + SAMPLE_WORD.FROM_LO] = ipLow;
    words[at + SAMPLE_WORD.FROM_HI] = ipHigh;
    words[at + SAMPLE_WORD.FROM] = this.#code.place(buffer.code, ipLow, ipHigh);
    words[at + SAMPLE_WORD.TO_LO] = pebs.addressLow;
    words[at + SAMPLE_WORD.TO_HI] = pebs.addressHigh;
  }

  /** A sample of an event of an event trace, and what belongs to it. */
  #controlFlow(buffer: PtBuffer, track: Track, low: number, high: number): void {
    const { heldEvent, eventData } = track;
    track.heldEvent = -1;
    if (this.#options.itrace.interrupts) {
      this.#single(buffer, track, SAMPLE.EVENT, low, high, heldEvent, eventData);
    }
    eventData.length = 0;
  }

  /** A sample of an event at an address; where it is 0, at where execution was last. Returns its words, or -1. */
  #single(
    buffer: PtBuffer,
    track: Track,
    kind: number,
    low: number,
    high: number,
    value: number | undefined = 0,
    data: readonly number[] = [],
    flags?: number,
  ): number {
    this.#takeTime(track);
    if (this.#skipped()) return -1;
    const isAt = low !== 0 || high !== 0;
    const at = this.#row(track, buffer, kind, track.now, value, flags ?? (isAt ? 1 : 0));
    if (at < 0) return at;
    if (kind !== SAMPLE.ERROR) this.#lists(track, buffer, at, high, data);
    const { words } = track.rows;
    if (!isAt) {
      // perf's decoder is still where tracing ended.
      if (!track.isOn && OFF_SAMPLES.has(kind)) {
        this.#from(track, at);
        words[at + SAMPLE_WORD.INSN] = 0;
      }
      return at;
    }
    words[at + SAMPLE_WORD.FROM_LO] = low;
    words[at + SAMPLE_WORD.FROM_HI] = high;
    words[at + SAMPLE_WORD.FROM] = this.#code.place(buffer.code, low, high);
    return at;
  }

  /** A changed clock ratio comes before what is sampled next, at its address. */
  #frequency(buffer: PtBuffer, track: Track, low: number, high: number): void {
    if (track.cbr === track.cbrSeen) return;
    track.cbrSeen = track.cbr;
    if (this.#options.itrace.power) {
      this.#single(buffer, track, SAMPLE.CBR, low, high, track.cbr);
    }
  }

  /** The same before what is not at the time of the last packet, but at that of the instruction. */
  #frequencyAt(
    buffer: PtBuffer,
    track: Track,
    low: number,
    high: number,
    place: number,
    time: number,
    ratio: number,
  ): void {
    if (ratio === track.cbrSeen) return;
    track.cbrSeen = ratio;
    if (!this.#options.itrace.power || this.#skipped()) return;
    const at = this.#row(track, buffer, SAMPLE.CBR, time, ratio, 0);
    if (at < 0) return;
    this.#lists(track, buffer, at, high);
    const { words } = track.rows;
    words[at + SAMPLE_WORD.FROM_LO] = low;
    words[at + SAMPLE_WORD.FROM_HI] = high;
    words[at + SAMPLE_WORD.FROM] = place;
  }

  /** Tracing begins. */
  #begin(buffer: PtBuffer, track: Track, low: number, high: number): void {
    this.#takeTime(track);
    this.#frequency(buffer, track, 0, 0);
    // perf estimates when user space was entered: two ticks an instruction since the last time.
    if (high >= 0 && track.sampleTicks >= 0) {
      const { maxNonTurboRatio } = this.#options;
      let passed = 2 * track.insnsSinceTime;
      if (track.cbr !== 0 && maxNonTurboRatio !== 0) {
        passed = Math.floor(passed * maxNonTurboRatio / track.cbr);
      }
      track.nowTicks = track.sampleTicks + passed;
      track.now = this.#clock.ns(track.nowTicks);
    }
    const flags = IP_FLAG.BRANCH | IP_FLAG.TRACE_BEGIN;
    this.#countHere(track);
    this.#branch(buffer, track, flags, low, high, true, -1, track.now);
  }

  /** Tracing ends: by an event, or by the pending branch. */
  #end(buffer: PtBuffer, track: Track, run: FlowDecoder, event: number): void {
    const detail = run.detail[event] as number;
    const low = run.low[event] as number;
    const high = run.high[event] as number;
    const known = (detail & 1) !== 0;
    this.#takeTime(track);
    track.period.stop();
    if ((detail & 2) !== 0) {
      const at = run.ipLow[event] as number;
      const top = run.ipHigh[event] as number;
      this.#asynchronous(buffer, track, at, top, low, high, known, IP_FLAG.TRACE_END);
      if (this.#quick && known) this.#hop(buffer, track, low, high);
      return;
    }
    if (this.#quick && known) {
      const flags = IP_FLAG.BRANCH | IP_FLAG.TRACE_BEGIN | IP_FLAG.TRACE_END | track.inTx;
      this.#branch(buffer, track, flags, low, high, true, -1, track.now);
      track.pendingLow = low;
      track.pendingHigh = high;
      track.pendingPlace = this.#code.place(buffer.code, low, high);
    }
    if (!track.pending) return;
    track.pendingTime = track.now;
    track.pendingTicks = track.nowTicks;
    if (track.hasIpc) this.#countHere(track);
    const flags = (KIND_FLAGS[track.pendingKind] as number) | IP_FLAG.TRACE_END | track.inTx;
    if (known) return this.#settle(buffer, track, true, low, high, IP_FLAG.TRACE_END);
    this.#settle(buffer, track, false, track.pendingLow, track.pendingHigh, IP_FLAG.TRACE_END);
    this.#branch(
      buffer,
      track,
      flags,
      0,
      0,
      false,
      track.pendingSize,
      track.pendingTime,
    );
  }

  /** An interrupt or exception: the instruction at its address is not executed. */
  #asynchronous(
    buffer: PtBuffer,
    track: Track,
    low: number,
    high: number,
    toLow: number,
    toHigh: number,
    known: boolean,
    more: number,
  ): void {
    this.#takeTime(track);
    track.pendingLow = low;
    track.pendingHigh = high;
    track.pendingPlace = this.#code.place(buffer.code, low, high);
    track.pendingInsn = 0;
    track.pendingCbr = track.cbr;
    if (track.heldEvent >= 0) this.#controlFlow(buffer, track, low, high);
    const flags = track.isAborted ? ABORT_FLAGS : known ? ASYNC_FLAGS : OUT_FLAGS;
    // Of packets alone, the FUP of an abort has come with it.
    if (track.isAborted && this.#options.itrace.transactions) {
      const at = this.#single(buffer, track, SAMPLE.TRANSACTIONS, low, high, 1, [], flags);
      if (at >= 0 && known) {
        const { words } = track.rows;
        words[at + SAMPLE_WORD.TO_LO] = toLow;
        words[at + SAMPLE_WORD.TO_HI] = toHigh;
      }
    }
    if (this.#quick && !track.isAborted) this.#hop(buffer, track, low, high, flags | more);
    track.isAborted = false;
    this.#countHere(track);
    this.#branch(buffer, track, flags | more, toLow, toHigh, known, 0, track.now);
  }
}

/** The thread that a track is of at present; each CPU has its own idle thread. */
function threadOf({ tid }: Track, { stream }: PtBuffer): number {
  return tid === 0 ? -1 - (stream.cpu ?? 0) : tid;
}
