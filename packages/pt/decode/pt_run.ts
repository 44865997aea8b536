import type { RandomAccessSource } from "@perfdata/format";
import { type ClockRatios, FlowCache, type FlowCounts } from "@perfdata/intel-pt/flow";
import type { FlowDecoder } from "@perfdata/intel-pt";
import type { AuxStream, AuxTrace } from "@perfdata/session/auxtrace";
import type { PtCode, ThreadCode } from "../code/pt_code.ts";
import { DecodedBuffer } from "./pt_buffer.ts";
import type { PtSideband } from "../code/pt_sideband.ts";
import { TimeOrigin } from "./pt_time.ts";
import { hasSparseTurns } from "./pt_turns.ts";

/** Ticks from the earliest expected TSC to the first of the trace: three hours. */
const BEFORE = 1n << 45n;

/** By how much a product of ticks and ns may be wrong: a few bits of a number below 2^45. */
const ROUNDING = 1 / 64;

/** One buffer while it is decoded: the trace of a CPU, or of a thread. */
export interface PtBuffer {
  /** The buffer. */
  readonly stream: AuxStream;
  /** Its number, from 0. */
  readonly index: number;
  /** The thread that runs; -1 if it is not known. */
  readonly tid: number;
  /** The code that it sees. */
  readonly code: ThreadCode;
  /** The code at the next address of a packet: other code if a guest is entered or left. */
  readonly toCode: ThreadCode;
  /** Time up to which it is decoded, ns; -Infinity or -1 if it is not known. */
  readonly position: number;
  /** Core clocks that its CYC packets have counted. */
  readonly cycles: number;
  /** Whether another thread may run: a context switch is near, and neither times nor code say where. */
  readonly isUnsure: boolean;
}

/** Receives the decoded trace. */
export interface PtSink {
  /** Takes paths and events of a buffer: see `FlowSink`. */
  flow(buffer: PtBuffer, run: FlowDecoder): void;
  /** Another thread runs on the buffer's CPU, or other code is there. */
  thread?(buffer: PtBuffer): void;
  /** The next output of a buffer comes after the output of other buffers before its `position`. */
  step?(buffer: PtBuffer): void;
  /** The numbers of blocks and paths are about to be reused. */
  forget?(): void;
  /** Called occasionally between packets, for work that cannot be done in the calls above. */
  idle?(): Promise<void> | void;
  /** Nothing more comes of a buffer. */
  ended?(buffer: PtBuffer): void;
  /** Says whether it has seen enough. */
  done?(): boolean;
  /** All buffers are decoded up to this time, ns. */
  reached?(ns: number): void;
}

/** Receives ranges of buffers; other threads may have the data before each. */
export interface PtPartSink<Found> extends PtSink {
  /**
   * A range of a buffer begins: nothing is known of it yet.
   *
   * @param isBefore Whether what comes now is before it, up to `takePart`: it only says how things stand there.
   */
  beginBuffer(index: number, isBefore: boolean): void;
  /**
   * The state of a buffer that determines what follows: two with the same state continue identically.
   * `undefined` if unknown.
   */
  stateOf(buffer: PtBuffer): readonly number[] | undefined;
  /** The last time of a buffer, ns. */
  timeOfBuffer(index: number): number;
  /**
   * Hands out what was found since the call before.
   *
   * @param isEnd Whether nothing follows.
   */
  takePart(buffer: PtBuffer, isEnd?: boolean): Promise<Found>;
}

/** Figures of a decoded trace. */
export interface PtCounts extends FlowCounts {
  /** Branches of TNT packets that were followed; of packets alone, those that came. */
  branches: number;
  /** Instructions that may be of another thread than the one that they count for: see {@linkcode PtBuffer.isUnsure}. */
  unsureThread: number;
}

/** The members of {@linkcode PtCounts} that are numbers. */
const SUMS = [
  "bytes",
  "lostBytes",
  "lostBranches",
  "addresses",
  "insns",
  "insnBranches",
  "unsureInsns",
  "branches",
  "unsureThread",
] as const;

/** Figures of nothing. */
export function noPtCounts(): PtCounts {
  return {
    bytes: 0,
    lostBytes: 0,
    lostBranches: 0,
    addresses: 0,
    insns: 0,
    insnBranches: 0,
    unsureInsns: 0,
    branches: 0,
    unsureThread: 0,
    errors: new Float64Array(10),
  };
}

/** Adds figures to others, or takes them away. */
export function addPtCounts(to: PtCounts, counts: PtCounts, sign: 1 | -1 = 1): void {
  for (const member of SUMS) to[member] += sign * counts[member];
  for (const [error, n] of counts.errors.entries()) {
    to.errors[error] = (to.errors[error] as number) + sign * n;
  }
}

/** How TSC values and perf's times convert. */
export class PtClock {
  /** Whether the recording says how. */
  readonly known: boolean;
  /** Why there are no times. */
  readonly why: string;
  /** TSC value that decoders count from. */
  readonly base: bigint;
  /** Origin of times in ns. */
  readonly origin: TimeOrigin;
  readonly #shift: bigint;
  readonly #mult: bigint;
  readonly #zero: bigint;
  readonly #nsPerTick: number;
  readonly #baseNs: number;

  /** Takes the words of AUXTRACE_INFO. */
  constructor(trace: AuxTrace) {
    const { intelPt } = trace;
    // The kernel's shift is below 64 (`struct perf_event_mmap_page`): no other is believed.
    const sound = (intelPt?.time_shift ?? 0n) < 64n;
    this.#shift = sound ? intelPt?.time_shift ?? 0n : 0n;
    this.#mult = sound ? intelPt?.time_mult ?? 0n : 0n;
    this.#zero = intelPt?.time_zero ?? 0n;
    const hasTsc = trace.intelPtConfig?.tsc !== false;
    this.known = this.#mult !== 0n && hasTsc;
    this.why = hasTsc
      ? "the recording does not convert the TSC"
      : "the trace was recorded without TSC packets";
    let first: bigint | undefined;
    for (const { pieces } of trace.streams) {
      const reference = pieces[0]?.reference;
      if (reference !== undefined && (first === undefined || reference < first)) first = reference;
    }
    // A multiple of 2^shift, so that its time is a whole number of ns.
    const base = first === undefined || first < BEFORE ? 0n : first - BEFORE;
    this.base = base >> this.#shift << this.#shift;
    this.#nsPerTick = Number(this.#mult) / 2 ** Number(this.#shift);
    // Where the clock was set back, `time_zero` is negative, written as an unsigned number.
    const baseNs = BigInt.asIntN(64, this.#zero + (this.base * this.#mult >> this.#shift));
    this.origin = TimeOrigin.before(this.known ? baseNs : 0n);
    this.#baseNs = Number(baseNs - this.origin.ns);
  }

  /** perf's time in ns since the origin of a decoder's time; -1 if there is none. */
  ns(ticks: number): number {
    if (ticks < 0 || !this.known) return -1;
    const passed = ticks * this.#nsPerTick;
    const whole = Math.floor(passed);
    const rest = passed - whole;
    if (rest > ROUNDING && rest < 1 - ROUNDING) return this.#baseNs + whole;
    // So near to a whole number that the quotient may be rounded over it.
    return this.#baseNs + Number(BigInt(Math.floor(ticks)) * this.#mult >> this.#shift);
  }

  /** perf's time in ns since the origin of a TSC packet: its low 32 bits, and the 24 above. */
  tsc(low: number, high: number): number {
    const ticks = BigInt(high & 0xffffff) << 32n | BigInt(low >>> 0);
    return this.ns(Number(BigInt.asUintN(56, ticks - this.base)));
  }

  /** Length in ns of a number of ticks. */
  duration(ticks: number): number {
    return this.known ? ticks * this.#nsPerTick : 0;
  }

  /** Ticks of a period in ns, rounded down as perf does; 0 if the recording does not say. */
  period(ns: number): number {
    return this.#mult === 0n ? 0 : Number((BigInt(Math.round(ns)) << this.#shift) / this.#mult);
  }

  /** A decoder's time of perf's time in ns since the origin. */
  ticks(ns: number): number {
    if (ns === Infinity || !this.known) return Infinity;
    const since = BigInt.asIntN(64, BigInt(Math.floor(ns)) + this.origin.ns - this.#zero);
    return Number((since << this.#shift) / this.#mult - this.base);
  }
}

/** The ratios of the clocks, from the recording. */
export function clockRatios({ intelPt, intelPtConfig }: AuxTrace): ClockRatios {
  return {
    mtcShift: intelPtConfig?.mtcPeriod ?? 0,
    tscCtcN: Number(intelPt?.tsc_ctc_n ?? 0n),
    tscCtcD: Number(intelPt?.tsc_ctc_d ?? 0n),
    maxNonTurboRatio: Number(intelPt?.max_nonturbo_ratio ?? 0n),
  };
}

/** Options of {@linkcode decodePt}. */
export interface DecodePtOptions {
  /** Only these buffers. */
  readonly wants?: (stream: AuxStream) => boolean;
  /** Called with the number of bytes read since the previous call; decoding continues when it is done. */
  readonly progress?: (bytes: number) => Promise<void> | void;
  /** By how many ns one buffer may be ahead of the others; they are stopped at changes only without it. */
  readonly slice?: number;
  /**
   * Only what is needed for the part from this time on, ns: decoding begins at a PSB before it. Calls that were
   * open then are not known.
   */
  readonly from?: number;
  /** Only up to this time, ns. */
  readonly to?: number;
  /** Follows no code: see `FlowOptions.quick`. */
  readonly quick?: 0 | 1 | 2;
}

/**
 * Decodes the Intel PT of a recording to what was executed, thread by thread.
 *
 * Buffers of several CPUs take turns in order of time, so that a thread that moves from one to another
 * is seen in order. Memory does not grow with the trace.
 *
 * @param trace What `readAuxTrace` found; stitched, if its pieces may have data in common.
 * @param source The file.
 * @param sideband What the records said, read to the end.
 * @param code Where the code is.
 * @param sink Takes the result.
 */
export async function decodePt(
  trace: AuxTrace,
  source: RandomAccessSource,
  sideband: PtSideband,
  code: PtCode,
  sink: PtSink,
  options: DecodePtOptions = {},
): Promise<PtCounts> {
  const clock = new PtClock(trace);
  const cache = new FlowCache();
  const ratios = clockRatios(trace);
  const leftAt = hasSparseTurns(trace, sideband) ? new Map() : undefined;
  const buffers = trace.streams.filter((stream) => options.wants?.(stream) ?? true)
    .map((stream, index) =>
      new DecodedBuffer(
        stream,
        index,
        { source, sideband, code, sink, clock, cache, ratios, leftAt },
        options,
      )
    );
  const { from } = options;
  if (from !== undefined && clock.known) {
    for (const buffer of buffers) await buffer.seek(from);
  }
  const waiting = new Set(buffers);
  while (waiting.size > 0 && sink.done?.() !== true) {
    // The buffer with the lowest position continues up to its next change.
    let next: DecodedBuffer | undefined;
    for (const buffer of waiting) {
      if (next === undefined || buffer.position < next.position) next = buffer;
    }
    if (next === undefined) break;
    sink.reached?.(next.position);
    if (!next.ended && !next.step()) {
      const n = await next.feed();
      await sink.idle?.();
      if (n > 0) await options.progress?.(n);
    }
    if (next.ended) {
      waiting.delete(next);
      sink.ended?.(next);
    }
  }
  await sink.idle?.();
  const counts = noPtCounts();
  for (const buffer of buffers) addPtCounts(counts, buffer.counts);
  return counts;
}
