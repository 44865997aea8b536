import type { PtBuffer } from "../decode/pt_sink.ts";
import type { PebsRecord } from "./pt_pebs.ts";
import type { SamplePeriod } from "./pt_sample_period.ts";
import { type PtSampleRows, SAMPLE_WORD } from "./pt_sample_rows.ts";

/** Instructions and core clocks up to the last sample of a kind that has them. */
export class IpcCount {
  insns = 0;
  cycles = 0;

  /** Starts again at the pending branch. */
  take({ pendingInsns, pendingCycles }: SampleTrack): void {
    this.insns = pendingInsns;
    this.cycles = pendingCycles;
  }
}

/** State of one buffer, like that of perf's decoder. */
export class SampleTrack {
  /** The buffer, with the code of its running thread. */
  buffer: PtBuffer;
  readonly rows: PtSampleRows;
  readonly period: SamplePeriod;
  /** Index of the piece of AUX data. Open calls do not continue in the next piece. */
  piece = 0;
  /** Time of samples in ns, which never decreases. */
  now = -1;
  /** Time of samples in ticks of the decoder's clock. */
  nowTicks = -1;
  /** Ticks of the last packet with a time, and ticks of samples. */
  ticks = -1;
  sampleTicks = -1;
  /** Instructions since the last change of the time. */
  insnsSinceTime = 0;
  /**
   * Number of instructions; core clocks while tracing was on; and core clocks of all CYC packets.
   */
  insns = 0;
  cycles = 0;
  counted = 0;
  /** Whether core clocks were counted since the last packet of a branch. */
  isCounted = false;
  /** Whether the current event has core clocks. */
  hasIpc = false;
  readonly ofBranches = new IpcCount();
  readonly ofInsns = new IpcCount();
  readonly ofCycles = new IpcCount();
  /** The same data of the pending branch. */
  pendingIpc = false;
  pendingInsns = 0;
  pendingCycles = 0;
  cbr = 0;
  cbrSeen = 0;
  /** The clock ratio after the end of the next PSB+. */
  psbCbr = 0;
  /** Whether a branch waits for its target. */
  pending = false;
  pendingLow = 0;
  pendingHigh = 0;
  pendingPlace = -1;
  pendingKind = 0;
  pendingSize = 0;
  pendingInsn = 0;
  pendingTime = -1;
  pendingTicks = -1;
  /** The clock ratio before the branch. */
  pendingCbr = 0;
  /**
   * The block that ends with the pending branch, if that is a jump whose other data is missing;
   * else -1.
   */
  pendingJump = -1;
  /** Whether the calls of the thread have not been told of this piece yet. */
  isNew = true;
  /** The period of the sample of the pending branch's instruction; 0 without a sample. */
  pendingPeriod = 0;
  /** Whether that sample is the first of a part. */
  pendingIsFirst = false;
  /** Addresses of the target and of the next instruction. */
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
  /**
   * Type and vector of an event with the address of the next asynchronous branch; -1 without one.
   */
  heldEvent = -1;
  /** Data of the next event: see `PtSampleRows.lists`. */
  readonly eventData: number[] = [];
  readonly pebs: PebsRecord;
  tid = -1;
  pid = -1;
  comm = -1;
  /** Whether the buffer has ended. */
  isOver = false;

  /** Starts with a buffer, without any earlier state. */
  constructor(buffer: PtBuffer, rows: PtSampleRows, period: SamplePeriod, pebs: PebsRecord) {
    this.buffer = buffer;
    this.rows = rows;
    this.period = period;
    this.pebs = pebs;
  }

  /** The thread of calls; each CPU has a separate idle thread. */
  get thread(): number {
    return this.tid === 0 ? -1 - (this.buffer.stream.cpu ?? 0) : this.tid;
  }

  /** Stores the present instructions and core clocks for the pending branch. */
  countHere(): void {
    this.pendingIpc = this.hasIpc;
    this.pendingInsns = this.insns;
    this.pendingCycles = this.cycles;
  }

  /** Writes the pending branch's instruction to a row. */
  from(at: number): void {
    this.rows.from(at, this.pendingLow, this.pendingHigh, this.pendingPlace);
    this.rows.words[at + SAMPLE_WORD.INSN] = this.pendingInsn;
  }

  /** Lower bound in ns of the times of all later samples. */
  get bound(): number {
    if (this.isOver) return Infinity;
    return this.pending ? Math.min(this.pendingTime, this.now) : this.now;
  }

  /**
   * The state that determines later samples, if they depend on nothing long before ({@linkcode
   * areLocal}). It has no numbers of places and texts, which follow from the addresses.
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
      // Not used without times.
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
