import { type BlockCache, type FlowDecoder, InsnKind, type PathTable } from "@perfdata/intel-pt";
import type { PtTrace } from "../code/pt_trace.ts";
import type { PtThreads } from "../code/pt_threads.ts";
import { isBranch, PathTurns, TURN_WORDS, usesPacket } from "../decode/pt_path_turns.ts";
import type { PtBuffer, PtSink } from "../decode/pt_sink.ts";
import type { AddedLists } from "./pt_added_lists.ts";
import { EventSamples, type LeftOut } from "./pt_event_samples.ts";
import { PebsRecord } from "./pt_pebs.ts";
import { SampleMaker, type SamplesOptions } from "./pt_sample_maker.ts";
import { SamplePeriod } from "./pt_sample_period.ts";
import { KIND_FLAGS } from "./pt_flow_codes.ts";
import { PtSampleRows, SAMPLE, SAMPLE_WORD } from "./pt_sample_rows.ts";
import { SampleTrack } from "./pt_sample_track.ts";

/**
 * State that a part of a buffer's trace passes to the next part, with numbers of events without a
 * sample.
 */
export interface PartEnd extends LeftOut {
  /** Number of sampled instructions. */
  readonly takes: number;
  /** Number of instructions after the last of them. */
  readonly passed: number;
}

/**
 * Whether samples depend on nothing long before: neither on open calls, nor on numbers of
 * instructions or core clocks. If so, samples of parts of a trace are those of the whole.
 */
export function areLocal(
  { itrace, depths, ipc }: Pick<SamplesOptions, "itrace" | "depths" | "ipc">,
): boolean {
  const { instructions, cycles, callChain, branchStack, addedChain, addedBranches } = itrace;
  const isEach = instructions?.unit !== "instructions" || instructions.period === 1;
  // PEBS records have times of their own, which are not sorted.
  const hasTimes = itrace.pebs;
  return isEach && cycles === undefined && callChain === undefined && branchStack === undefined &&
    addedChain === undefined && addedBranches === undefined && itrace.skip === 0 &&
    (itrace.quick ?? 0) === 0 && !hasTimes && depths !== true && ipc !== true;
}

/**
 * Makes the samples that perf synthesizes from a trace with `--itrace`: instructions, branches,
 * events, errors, each with perf's time.
 *
 * Follows `intel_pt_sample` and `intel_pt_sample_flags` of tools/perf/util/intel-pt.c, and the time
 * at which `intel_pt_decode` uses a new time: instructions before the branch of a packet have the
 * previous time, the branch itself that of the packet.
 */
export class PtSamples implements PtSink {
  /** Rows since the last clearing. */
  readonly rows: PtSampleRows = new PtSampleRows();

  readonly #maker: SampleMaker;
  readonly #events: EventSamples;
  readonly #options: SamplesOptions;
  readonly #threads: PtThreads;
  readonly #tracks: SampleTrack[] = [];
  /** Positions of calls and returns, if other jumps do not matter for the requested samples. */
  readonly #turns: PathTurns | undefined;

  /** Creates a sink for `decodePt`. */
  constructor(trace: Pick<PtTrace, "code" | "clock" | "sideband">, options: SamplesOptions) {
    this.#options = options;
    this.#threads = trace.sideband.threads;
    const maker = this.#maker = new SampleMaker(trace, options);
    this.#events = new EventSamples(maker);
    const { branches, cycles } = options.itrace;
    const wantsJumps = branches && maker.branchesFilter === 0;
    const wantsCycles = cycles !== undefined || options.ipc === true;
    const { hasBranches, isAdding } = maker.stacks;
    this.#turns = wantsJumps || wantsCycles || hasBranches || isAdding
      ? undefined
      : new PathTurns(branches || maker.depths);
  }

  /** Row of the first sampled instruction of a part, if it is among the rows; else -1. */
  get firstRow(): number {
    return this.#maker.firstRow;
  }

  /** Bytes of instructions in hexadecimal: ` 31 ed`; number 0 is no text. */
  get insnTexts(): readonly string[] {
    return this.#maker.insns.texts;
  }

  /** Lists of recorded samples. */
  get added(): AddedLists | undefined {
    return this.#maker.added;
  }

  /** Number of times that interrupts were enabled or disabled, for which there are no samples. */
  get interruptChanges(): number {
    return this.#events.interruptChanges;
  }

  /** PEBS records whose samples were not requested, or whose event is unknown. */
  get pebsRecords(): number {
    return this.#events.pebsRecords;
  }

  /** Handles the start of a buffer. */
  thread(buffer: PtBuffer): void {
    this.#trackOf(buffer);
  }

  /** Handles the end of a buffer. */
  ended(buffer: PtBuffer): void {
    this.#trackOf(buffer).isOver = true;
  }

  /** Begins a part of a buffer's trace, without any earlier state. */
  beginBuffer(index: number): void {
    delete this.#tracks[index];
  }

  /** The state of a buffer that determines later samples; `undefined` inside of a PEBS record. */
  stateOf({ index }: PtBuffer): readonly number[] | undefined {
    const track = this.#tracks[index];
    return track === undefined || track.pebs.isOpen ? undefined : track.state();
  }

  /** Lower bound in ns of the times of a buffer's later rows. */
  boundOf(index: number): number {
    return this.#tracks[index]?.bound ?? -1;
  }

  /**
   * Ends a part of a buffer's trace. Returns the number of its sampled instructions, and of the
   * instructions after the last one, which count for the first sample of the next part: see
   * {@linkcode PtSamples.firstRow}.
   */
  takePart(index: number): PartEnd {
    const track = this.#tracks[index];
    if (track !== undefined) track.pendingIsFirst = false;
    const { takes = 0, passed = 0 } = track?.period.takePart() ?? {};
    return { takes, passed, ...this.#events.take() };
  }

  /** Forgets all rows. */
  clear(): void {
    this.rows.drop(this.rows.count);
    this.#maker.firstRow = -1;
  }

  /** Calls `idle` of the options, which may use the rows. */
  async idle(): Promise<void> {
    await this.#options.idle();
  }

  /** Clears everything by index of a block. */
  forget(): void {
    this.#maker.insns.clear();
    this.#turns?.clear();
  }

  /** Merges rows that come before all later ones, after all buffers have advanced. */
  reached(): void {
    if (!this.#options.merge) return;
    let bound = Infinity;
    for (const track of this.#tracks) bound = Math.min(bound, track?.bound ?? -1);
    this.#merge(bound);
  }

  /** Merges the rows that wait for other buffers. */
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
      this.rows.copy((this.#tracks[best] as SampleTrack).rows, next[best] as number);
      (next[best] as number)++;
    }
    for (const [i, rows] of next.entries()) {
      if (rows > 0) this.#tracks[i]?.rows.drop(rows);
    }
  }

  /** Processes paths and events. */
  flow(buffer: PtBuffer, run: FlowDecoder): void {
    const track = this.#track(buffer);
    const { entries, count, paths, blocks } = run;
    const turns = this.#turns;
    this.#maker.blocks = blocks;
    // Other pieces may have had branches of the thread.
    track.isNew = this.#maker.depths;
    for (let i = 0; i < count; i++) {
      const entry = entries[i] as number;
      if (entry < 0) this.#events.event(track, run, ~entry);
      else if (turns !== undefined && !track.isNew && this.#passes(track, paths, blocks, entry)) {
        this.#turnsOf(turns, track, paths, blocks, entry);
      } else this.#path(track, paths, blocks, entry);
    }
    this.#maker.knowJump(track, blocks);
    if (!track.pending || !run.tracing) return;
    const { pendingKind } = track;
    // The decoder may pass on its output inside of a path without packets.
    if (pendingKind === InsnKind.JMP || pendingKind === InsnKind.CALL) {
      this.#maker.arrive(track, track.targetLow, track.targetHigh);
    } else this.#maker.arrive(track, run.atLow, run.atHigh);
  }

  /** Whether no instruction or jump of a path is sampled; if so, counts its instructions. */
  #passes(track: SampleTrack, paths: PathTable, blocks: BlockCache, path: number): boolean {
    if (this.#maker.isFrequencyDue(track)) return false;
    const { period } = track;
    if (!period.isOn) return true;
    const last = paths.lastBlock(path);
    return last >= 0 && isBranch(blocks.kind[last] as number) &&
      period.passes(paths.insns[path] as number);
  }

  #trackOf(buffer: PtBuffer): SampleTrack {
    let track = this.#tracks[buffer.index];
    if (track === undefined) {
      const { instructions, cycles } = this.#options.itrace;
      track = new SampleTrack(
        buffer,
        this.#options.merge ? new PtSampleRows() : this.rows,
        new SamplePeriod(instructions ?? cycles, this.#maker.clock),
        new PebsRecord(this.#options.pebs, buffer.stream),
      );
      track.piece = this.#maker.newPiece();
      this.#tracks[buffer.index] = track;
    }
    return track;
  }

  #track(buffer: PtBuffer): SampleTrack {
    const track = this.#trackOf(buffer);
    track.buffer = buffer;
    if (track.tid !== buffer.tid || track.now !== buffer.position) {
      const { tid } = buffer;
      const time = Math.max(track.now, buffer.position, 0);
      track.tid = tid;
      track.pid = this.#threads.pid(tid, time);
      track.comm = this.#threads.comm(tid, time);
    }
    return track;
  }

  #path(
    track: SampleTrack,
    paths: PathTable,
    blocks: BlockCache,
    path: number,
  ): void {
    const { period } = track;
    const end = paths.start[path + 1] as number;
    this.#maker.knowJump(track, blocks);
    for (let k = paths.start[path] as number; k < end; k++) {
      const block = paths.blocks[k] as number;
      if (track.pending) this.#maker.reach(track, blocks, block);
      const kind = blocks.kind[block] as number;
      const insns = blocks.insns[block] as number;
      track.insnsSinceTime += insns;
      track.insns += insns;
      let last = 0;
      track.hasIpc = false;
      if (period.isOn) last = this.#instructions(track, blocks, block, isBranch(kind));
      if (!isBranch(kind)) continue;
      if (usesPacket(kind)) this.#maker.takeTime(track);
      this.#maker.pend(track, blocks, block, last);
    }
  }

  /** Processes a path of which only calls and returns are requested. */
  #turnsOf(
    turns: PathTurns,
    track: SampleTrack,
    paths: PathTable,
    blocks: BlockCache,
    path: number,
  ): void {
    const first = paths.start[path] as number;
    const end = paths.start[path + 1] as number;
    // The jump to the start of the path is not requested.
    if (track.pendingJump >= 0) track.pending = false;
    track.pendingJump = -1;
    if (track.pending) this.#maker.reach(track, blocks, paths.blocks[first] as number);
    track.insnsSinceTime += paths.insns[path] as number;
    const from = turns.from(paths, blocks, path);
    const to = turns.to(path);
    const { words } = turns;
    for (let at = from; at < to; at += TURN_WORDS) {
      const k = words[at] as number;
      if (words[at + 1] !== 0) this.#maker.takeTime(track);
      const block = paths.blocks[k] as number;
      const next = k + 1 < end ? paths.blocks[k + 1] as number : -1;
      if (next >= 0 && !this.#maker.depths) this.#turn(track, blocks, block, next);
      else {
        this.#maker.pend(track, blocks, block, 0);
        if (next >= 0) this.#maker.reach(track, blocks, next);
      }
    }
    if (turns.usesPacket(path)) this.#maker.takeTime(track);
    const last = paths.lastBlock(path);
    if (last < 0) return;
    const kind = blocks.kind[last] as number;
    if (!isBranch(kind) || turns.isTurn(kind)) return;
    track.pending = true;
    track.pendingJump = last;
  }

  /** Samples a call or return to a block, if the depth of calls is not needed. */
  #turn(track: SampleTrack, blocks: BlockCache, block: number, next: number): void {
    const flags = (KIND_FLAGS[blocks.kind[block] as number] as number) | track.inTx;
    if ((this.#maker.branchesFilter & flags) === 0 || this.#maker.skipped()) return;
    const at = this.#maker.row(track, SAMPLE.BRANCHES, track.now, 1, flags);
    if (at < 0) return;
    const { words } = track.rows;
    const insns = this.#maker.insns;
    const end = insns.end(track.buffer.code, blocks, block);
    track.rows.from(
      at,
      insns.endLow(end),
      insns.endHigh(end),
      insns.endPlace(end),
    );
    words[at + SAMPLE_WORD.INSN] = insns.endText(end);
    track.rows.to(
      at,
      blocks.low[next] as number,
      blocks.high[next] as number,
      insns.place(track.buffer.code, blocks, next),
    );
  }

  /** Samples a block's instructions; returns the period of its branch's sample, or 0. */
  #instructions(
    track: SampleTrack,
    blocks: BlockCache,
    block: number,
    isBranch: boolean,
  ): number {
    const { period } = track;
    const insns = blocks.insns[block] as number;
    const plain = isBranch ? insns - 1 : insns;
    const wanted = this.#options.itrace.instructions !== undefined;
    for (let i = period.next(plain); i < plain; i = period.next(plain, i + 1)) {
      // Core clocks are known at branches only.
      if (!wanted || this.#maker.skipped()) continue;
      const count = period.take();
      const { low, high, place, text } = this.#maker.insns.of(track.buffer.code, blocks, block);
      if (this.#maker.isFrequencyDue(track)) {
        this.#maker.frequencyAt(
          track,
          low[i] as number,
          high[i] as number,
          place[i] as number,
          track.now,
          track.cbr,
        );
      }
      const at = this.#maker.row(track, SAMPLE.INSTRUCTIONS, track.now, count, track.inTx);
      if (at < 0) continue;
      const { words } = track.rows;
      track.rows.from(at, low[i] as number, high[i] as number, place[i] as number);
      words[at + SAMPLE_WORD.INSN] = text[i] as number;
      if (period.isFirst) this.#maker.firstRow = track.rows.count - 1;
      this.#maker.lists(track, at, high[i] as number);
    }
    if (!isBranch) return 0;
    const last = period.next(1) === 0 ? period.take() : 0;
    track.pendingIsFirst = last > 0 && period.isFirst;
    period.branch();
    return last;
  }
}
