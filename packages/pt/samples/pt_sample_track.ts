import type { PtBuffer } from "../decode/pt_sink.ts";
import type { PebsRecord } from "./pt_pebs.ts";
import type { SamplePeriod } from "./pt_sample_period.ts";
import { type PtSampleRows, SAMPLE_WORD } from "./pt_sample_rows.ts";

/** Instructions and core clocks up to the last sample of a kind that had them. */
export class IpcCount {
  insns = 0;
  cycles = 0;

  /** The next sample counts from the pending branch on. */
  take({ pendingInsns, pendingCycles }: SampleTrack): void {
    this.insns = pendingInsns;
    this.cycles = pendingCycles;
  }
}

/** One buffer on its way, as perf's decoder keeps it. */
export class SampleTrack {
  /** The buffer, with the code that who runs there sees. */
  buffer: PtBuffer;
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
  /** The instructions that the sample of its own instruction stands for; 0 if there is none. */
  pendingPeriod = 0;
  /** Whether that sample is the first that was taken in a part. */
  pendingIsFirst = false;
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
  readonly pebs: PebsRecord;
  tid = -1;
  pid = -1;
  comm = -1;
  /** Whether nothing more comes. */
  isOver = false;

  /** Nothing is known yet of a buffer. */
  constructor(buffer: PtBuffer, rows: PtSampleRows, period: SamplePeriod, pebs: PebsRecord) {
    this.buffer = buffer;
    this.rows = rows;
    this.period = period;
    this.pebs = pebs;
  }

  /** The thread of calls; each CPU has its own idle thread. */
  get thread(): number {
    return this.tid === 0 ? -1 - (this.buffer.stream.cpu ?? 0) : this.tid;
  }

  /** What the next row of a branch has of core clocks is what there is now. */
  countHere(): void {
    this.pendingIpc = this.hasIpc;
    this.pendingInsns = this.insns;
    this.pendingCycles = this.cycles;
  }

  /** Puts the pending branch's instruction into a row. */
  from(at: number): void {
    this.rows.from(at, this.pendingLow, this.pendingHigh, this.pendingPlace);
    this.rows.words[at + SAMPLE_WORD.INSN] = this.pendingInsn;
  }

  /** No sample that is still to come has a time before this one, ns. */
  get bound(): number {
    if (this.isOver) return Infinity;
    return this.pending ? Math.min(this.pendingTime, this.now) : this.now;
  }

  /**
   * All that decides what follows where samples depend on nothing that was long before ({@linkcode areLocal}), without
   * numbers of places and texts, which follow from the addresses.
   */
  state(): number[] {
    const pending = !this.pending ? [] : [
      this.pendingKind,
      this.pendingSize,
      this.pendingTime,
      this.pendingTicks,
      this.pendingCbr,
      this.pendingPeriod,
      this.targetLow,
      this.targetHigh,
      this.endLow,
      this.endHigh,
    ];
    return [
      this.now,
      this.nowTicks,
      this.ticks,
      this.sampleTicks,
      // Without times it means nothing.
      this.sampleTicks < 0 ? 0 : this.insnsSinceTime,
      this.cbr,
      this.cbrSeen,
      this.psbCbr,
      this.pendingLow,
      this.pendingHigh,
      this.inTx,
      Number(this.atPsb),
      Number(this.isOn),
      Number(this.isAborted),
      this.heldEvent,
      this.tid,
      this.pid,
      this.comm,
      ...pending,
      ...this.eventData,
      ...this.period.state(),
    ];
  }
}
