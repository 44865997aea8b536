import { type FlowDecoder, FlowError, FlowEvent } from "@perfdata/intel-pt";
import { ERROR_CODES, KIND_FLAGS } from "./pt_flow_codes.ts";
import { IP_FLAG, SAMPLE, SAMPLE_WORD } from "./pt_sample_rows.ts";
import type { SampleMaker, SamplesOptions } from "./pt_sample_maker.ts";
import type { SampleTrack } from "./pt_sample_track.ts";

/**
 * Flags of the abort of a transaction, of an interrupt, and of an interrupt that leaves the traced
 * code.
 */
const ABORT_FLAGS = IP_FLAG.BRANCH | IP_FLAG.TX_ABORT;
const ASYNC_FLAGS = IP_FLAG.BRANCH | IP_FLAG.CALL | IP_FLAG.ASYNC | IP_FLAG.INTERRUPT;
const OUT_FLAGS = IP_FLAG.BRANCH | IP_FLAG.ASYNC | IP_FLAG.TRACE_END;

/**
 * Packets without an address at which perf's decoder stops: the branch before them has reached its
 * target.
 */
const HERE: ReadonlySet<number> = new Set([
  FlowEvent.CBR,
  FlowEvent.PTWRITE,
  FlowEvent.MWAIT,
  FlowEvent.PWRE,
  FlowEvent.EXSTOP,
  FlowEvent.PWRX,
  FlowEvent.BLOCK_END,
]);

/** An event of a trace, in an object that is reused. */
class TraceEvent {
  kind = 0;
  detail = 0;
  /** Bits 31:0 of its address. */
  low = 0;
  /** Bits 63:32 of its address. */
  high = 0;
  /** Bits 31:0 of its payload. */
  payloadLow = 0;
  /** Bits 63:32 of its payload. */
  payloadHigh = 0;
  /** Bits 31:0 of the address of execution at its packet; 0 if unknown. */
  hereLow = 0;
  /** Bits 63:32 of that address. */
  hereHigh = 0;
  /** Whether its packet is part of a PSB+. */
  isInPsb = false;
  /** Offset of its packet in the stream. */
  offset = 0;
  /** Whether the address of execution is known. */
  isTracing = false;

  read(run: FlowDecoder, number: number): void {
    this.kind = run.kind[number] as number;
    this.detail = run.detail[number] as number;
    this.low = run.ipLow[number] as number;
    this.high = run.ipHigh[number] as number;
    this.payloadLow = run.low[number] as number;
    this.payloadHigh = run.high[number] as number;
    this.hereLow = run.hereLow[number] as number;
    this.hereHigh = run.hereHigh[number] as number;
    this.isInPsb = run.psb[number] === 1;
    this.offset = run.offset[number] as number;
    this.isTracing = run.tracing;
  }

  get isAt(): boolean {
    return this.low !== 0 || this.high !== 0;
  }
}

/** Indices of events without a sample. */
export interface LeftOut {
  /** Number of times that interrupts were enabled or disabled, for which there are no samples. */
  readonly interruptChanges: number;
  /** PEBS records whose samples were not requested, or whose event is unknown. */
  readonly pebsRecords: number;
}

/**
 * Makes samples of the events of a trace: of packets, starts and ends of tracing, interrupts and
 * errors.
 */
export class EventSamples implements LeftOut {
  /** See {@linkcode LeftOut.interruptChanges}. */
  interruptChanges = 0;
  /** See {@linkcode LeftOut.pebsRecords}. */
  pebsRecords = 0;

  readonly #maker: SampleMaker;
  readonly #options: SamplesOptions;
  /** Whether packets are decoded without code. */
  readonly #quick: boolean;
  readonly #event = new TraceEvent();

  /** Starts without events. */
  constructor(maker: SampleMaker) {
    this.#maker = maker;
    this.#options = maker.options;
    this.#quick = (maker.options.itrace.quick ?? 0) > 0;
  }

  /** Returns the numbers of events without a sample, and resets them. */
  take(): LeftOut {
    const { interruptChanges, pebsRecords } = this;
    this.interruptChanges = this.pebsRecords = 0;
    return { interruptChanges, pebsRecords };
  }

  event(track: SampleTrack, run: FlowDecoder, number: number): void {
    takeClocks(track, run, number);
    if (run.kind[number] === FlowEvent.TIME) return;
    const event = this.#event;
    event.read(run, number);
    const { kind, detail, low, high } = event;
    const { atPsb } = track;
    track.atPsb = kind === FlowEvent.PSB;
    this.#maker.knowJump(track, run.blocks);
    this.#arrive(track, event);
    const { itrace } = this.#options;
    switch (kind) {
      case FlowEvent.HOP:
        this.#hop(track, low, high, detail === 0 ? 0 : ABORT_FLAGS);
        break;
      case FlowEvent.INTERRUPTS:
        if (itrace.interrupts) this.interruptChanges++;
        break;
      case FlowEvent.BLOCK_BEGIN:
        track.pebs.begin(detail);
        break;
      case FlowEvent.BLOCK_ITEM:
        track.pebs.item(detail, event.payloadLow, event.payloadHigh);
        break;
      case FlowEvent.BLOCK_END:
        if (!itrace.pebs) this.pebsRecords++;
        else if (event.isAt) this.#pebs(track, low, high);
        else this.#pebs(track, event.hereLow, event.hereHigh);
        track.pebs.isOpen = false;
        break;
      case FlowEvent.EVD:
        track.eventData.push(detail, event.payloadHigh, event.payloadLow);
        break;
      case FlowEvent.CFE:
        track.heldEvent = 256 * detail + (event.payloadLow >>> 0) % 256;
        if (!track.isOn || event.isAt) this.#controlFlow(track, low, high);
        break;
      case FlowEvent.ENABLED:
      case FlowEvent.SYNC:
        track.isOn = true;
        // The address of execution in a PSB+ is not the target of a branch.
        if (atPsb && kind === FlowEvent.SYNC) this.#maker.takeTime(track);
        else {
          this.#begin(track, low, high);
          if (this.#quick) this.#hop(track, low, high);
        }
        break;
      case FlowEvent.DISABLED:
        track.isOn = false;
        this.#end(track, event);
        break;
      case FlowEvent.ASYNC:
        this.#asynchronous(track, event, true, 0);
        if (this.#quick) {
          this.#hop(track, event.payloadLow, event.payloadHigh);
        }
        break;
      case FlowEvent.ERROR:
        this.#error(track, event);
        break;
      case FlowEvent.CBR:
        this.#coreRatio(track, event);
        break;
      case FlowEvent.PSB:
        track.cbr = track.psbCbr;
        this.#maker.takeTime(track);
        if (itrace.power) {
          this.#maker.single(track, SAMPLE.PSB, low, high, event.offset);
        }
        this.#maker.frequency(track, low, high);
        if (this.#quick && event.isAt) this.#hop(track, low, high);
        break;
      case FlowEvent.TSX:
        this.#transaction(track, detail, low, high);
        break;
      case FlowEvent.PTWRITE:
        if (itrace.ptwrites) this.#written(track, event);
        break;
      default:
        if (itrace.power) this.#power(track, event);
    }
  }

  /** An event has the address of execution: it is the target of the pending branch. */
  #arrive(track: SampleTrack, event: TraceEvent): void {
    track.period.branch();
    if (!track.pending) return;
    const { kind, hereLow, hereHigh } = event;
    if (event.isAt) this.#maker.arrive(track, event.low, event.high);
    else if (HERE.has(kind) && (hereLow !== 0 || hereHigh !== 0)) {
      this.#maker.arrive(track, hereLow, hereHigh);
    }
  }

  /** Without code: samples the instruction at an address. */
  #hop(track: SampleTrack, low: number, high: number, flags = 0): void {
    this.#maker.takeTime(track);
    this.#maker.frequency(track, low, high);
    const place = this.#maker.code.place(track.buffer.toCode, low, high);
    track.pendingLow = low;
    track.pendingHigh = high;
    track.pendingPlace = place;
    if (this.#options.itrace.instructions === undefined || this.#maker.skipped()) return;
    const at = this.#maker.row(track, SAMPLE.INSTRUCTIONS, track.now, 1, flags);
    if (at < 0) return;
    track.rows.from(at, low, high, place);
    this.#maker.lists(track, at, high);
  }

  #reports(error: number | undefined): boolean {
    const { errors, noOverflows, noLosses } = this.#options.itrace;
    if (!errors) return false;
    if (error === FlowError.OVERFLOW) return noOverflows !== true;
    // Gaps between snapshots are no error.
    return error !== FlowError.GAP || (!this.#options.snapshots && noLosses !== true);
  }

  /** Handles a gap or an error. */
  #error(track: SampleTrack, event: TraceEvent): void {
    const { detail: error, low, high } = event;
    this.#maker.takeTime(track);
    track.pending = false;
    track.isOn = event.isTracing;
    if (error === FlowError.GAP) {
      track.piece = this.#maker.newPiece();
      track.isNew = this.#maker.depths;
    }
    if (!this.#reports(error)) return;
    this.#maker.single(track, SAMPLE.ERROR, low, high, ERROR_CODES[error]);
  }

  /** Handles a change of the core-to-bus ratio. */
  #coreRatio(track: SampleTrack, event: TraceEvent): void {
    track.psbCbr = event.detail;
    // The ratio of a PSB+ counts after the code before it.
    if (event.isInPsb) return;
    track.cbr = track.psbCbr;
    if (track.isOn) {
      this.#maker.frequency(track, event.hereLow, event.hereHigh);
    } // perf's decoder still has the address at which tracing ended.
    else this.#maker.frequency(track, track.pendingLow, track.pendingHigh);
  }

  /** Handles the begin, end or abort of a transaction. */
  #transaction(track: SampleTrack, detail: number, low: number, high: number): void {
    const was = track.inTx;
    track.inTx = (detail & 1) !== 0 ? IP_FLAG.IN_TX : 0;
    // While tracing is off, perf only stores the state.
    if (!track.isOn) return;
    track.isAborted = (detail & 2) !== 0;
    this.#maker.frequency(track, low, high);
    // An abort is sampled with its target, which comes next.
    if (this.#options.itrace.transactions && was !== track.inTx && !track.isAborted) {
      this.#maker.single(track, SAMPLE.TRANSACTIONS, low, high, 1);
    }
  }

  /** Samples a PTWRITE: at its own address, if the packet has it. */
  #written(track: SampleTrack, event: TraceEvent): void {
    const { isAt, low, high } = event;
    const at = this.#maker.single(
      track,
      SAMPLE.PTWRITE,
      isAt ? low : event.hereLow,
      isAt ? high : event.hereHigh,
      event.payloadLow >>> 0,
    );
    if (at < 0) return;
    const { words } = track.rows;
    words[at + SAMPLE_WORD.FLAGS] = isAt ? 1 : 0;
    words[at + SAMPLE_WORD.PAYLOAD_HI] = event.payloadHigh;
  }

  #power(track: SampleTrack, event: TraceEvent): void {
    const { kind, low, high } = event;
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
    const payload = event.payloadLow >>> 0;
    const at = this.#maker.single(track, sample, low, high, payload);
    if (at >= 0) track.rows.words[at + SAMPLE_WORD.PAYLOAD_HI] = event.payloadHigh;
  }

  /**
   * Samples a PEBS record, once for each of its events: at its own time and address, if it has
   * them.
   */
  #pebs(track: SampleTrack, low: number, high: number): void {
    const { pebs } = track;
    this.#maker.takeTime(track);
    this.#maker.frequency(track, low, high);
    const [ipLow, ipHigh] = pebs.hasIp ? [pebs.ipLow, pebs.ipHigh] : [low, high];
    for (const event of pebs.events(this.#maker.clock.known ? track.now : Infinity)) {
      if (event < 0) {
        this.pebsRecords++;
        continue;
      }
      if (this.#maker.skipped()) continue;
      const time = pebs.hasTsc ? this.#maker.clock.tsc(pebs.tscLow, pebs.tscHigh) : track.now;
      const at = this.#maker.row(track, SAMPLE.PEBS, time, event, 0);
      if (at < 0) continue;
      const { words } = track.rows;
      track.rows.from(at, ipLow, ipHigh, this.#maker.code.place(track.buffer.code, ipLow, ipHigh));
      words[at + SAMPLE_WORD.TO_LO] = pebs.addressLow;
      words[at + SAMPLE_WORD.TO_HI] = pebs.addressHigh;
    }
  }

  #controlFlow(track: SampleTrack, low: number, high: number): void {
    const { heldEvent, eventData } = track;
    track.heldEvent = -1;
    if (this.#options.itrace.interrupts) {
      this.#maker.single(track, SAMPLE.EVENT, low, high, heldEvent, eventData);
    }
    eventData.length = 0;
  }

  #begin(track: SampleTrack, low: number, high: number): void {
    this.#maker.takeTime(track);
    this.#maker.frequency(track, 0, 0);
    // perf estimates the time at which user space was entered: two ticks per instruction since the
    // last time.
    if (high >= 0 && track.sampleTicks >= 0) {
      const { maxNonTurboRatio } = this.#options;
      let passed = 2 * track.insnsSinceTime;
      if (track.cbr !== 0 && maxNonTurboRatio !== 0) {
        passed = Math.floor(passed * maxNonTurboRatio / track.cbr);
      }
      track.nowTicks = track.sampleTicks + passed;
      track.now = this.#maker.clock.ns(track.nowTicks);
    }
    const flags = IP_FLAG.BRANCH | IP_FLAG.TRACE_BEGIN;
    track.countHere();
    this.#maker.branch(track, flags, low, high, true, -1, track.now);
  }

  /** Handles the end of tracing: by an event, or by the pending branch. */
  #end(track: SampleTrack, event: TraceEvent): void {
    const { detail, payloadLow: low, payloadHigh: high } = event;
    const known = (detail & 1) !== 0;
    this.#maker.takeTime(track);
    track.period.stop();
    if ((detail & 2) !== 0) {
      this.#asynchronous(track, event, known, IP_FLAG.TRACE_END);
      if (this.#quick && known) this.#hop(track, low, high);
      return;
    }
    if (this.#quick && known) {
      const flags = IP_FLAG.BRANCH | IP_FLAG.TRACE_BEGIN | IP_FLAG.TRACE_END | track.inTx;
      this.#maker.branch(track, flags, low, high, true, -1, track.now);
      track.pendingLow = low;
      track.pendingHigh = high;
      track.pendingPlace = this.#maker.code.place(track.buffer.code, low, high);
    }
    if (!track.pending) return;
    track.pendingTime = track.now;
    track.pendingTicks = track.nowTicks;
    if (track.hasIpc) track.countHere();
    const flags = (KIND_FLAGS[track.pendingKind] as number) | IP_FLAG.TRACE_END | track.inTx;
    if (known) return this.#maker.settle(track, true, low, high, IP_FLAG.TRACE_END);
    this.#maker.settle(track, false, track.pendingLow, track.pendingHigh, IP_FLAG.TRACE_END);
    this.#maker.branch(track, flags, 0, 0, false, track.pendingSize, track.pendingTime);
  }

  /** Handles an interrupt or exception: the instruction at its address is not executed. */
  #asynchronous(
    track: SampleTrack,
    event: TraceEvent,
    known: boolean,
    more: number,
  ): void {
    const { low, high, payloadLow: toLow, payloadHigh: toHigh } = event;
    this.#maker.takeTime(track);
    track.pendingLow = low;
    track.pendingHigh = high;
    track.pendingPlace = this.#maker.code.place(track.buffer.code, low, high);
    track.pendingInsn = 0;
    track.pendingCbr = track.cbr;
    if (track.heldEvent >= 0) this.#controlFlow(track, low, high);
    const flags = track.isAborted ? ABORT_FLAGS : known ? ASYNC_FLAGS : OUT_FLAGS;
    // Without code, the FUP of an abort has come before.
    if (track.isAborted && this.#options.itrace.transactions) {
      const at = this.#maker.single(track, SAMPLE.TRANSACTIONS, low, high, 1);
      if (at >= 0) {
        const { words } = track.rows;
        words[at + SAMPLE_WORD.FLAGS] = flags;
        if (known) {
          words[at + SAMPLE_WORD.TO_LO] = toLow;
          words[at + SAMPLE_WORD.TO_HI] = toHigh;
        }
      }
    }
    if (this.#quick && !track.isAborted) this.#hop(track, low, high, flags | more);
    track.isAborted = false;
    track.countHere();
    this.#maker.branch(track, flags | more, toLow, toHigh, known, 0, track.now);
  }
}

/** Reads the time and cycles of an event. */
function takeClocks(track: SampleTrack, run: FlowDecoder, event: number): void {
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
}
