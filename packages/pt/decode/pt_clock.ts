import type { ClockRatios } from "@perfdata/intel-pt";
import type { AuxTrace } from "@perfdata/session/auxtrace";
import { TimeOrigin } from "./pt_time.ts";

/** Ticks from the earliest expected TSC to the first of the trace: three hours. */
const BEFORE = 1n << 45n;

/** Maximum error of a product of ticks and ns: a few bits of a number below 2^45. */
const ROUNDING = 1 / 64;

/** Conversion between TSC values and perf's times. */
export class PtClock {
  /** Whether the recording has the conversion. */
  readonly known: boolean;
  /** Reason why there are no times. */
  readonly why: string;
  /** TSC value that ticks of decoders are relative to. */
  readonly base: bigint;
  /** Origin of times in ns. */
  readonly origin: TimeOrigin;
  readonly #shift: bigint;
  readonly #mult: bigint;
  readonly #zero: bigint;
  readonly #nsPerTick: number;
  readonly #baseNs: number;

  /** Reads the words of AUXTRACE_INFO. */
  constructor(trace: AuxTrace) {
    const { intelPt } = trace;
    // The kernel's shift is below 64 (`struct perf_event_mmap_page`). Other values are damage.
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
    // If the clock was set back, `time_zero` is negative, written as an unsigned number.
    const baseNs = BigInt.asIntN(64, this.#zero + (this.base * this.#mult >> this.#shift));
    this.origin = TimeOrigin.before(this.known ? baseNs : 0n);
    this.#baseNs = Number(baseNs - this.origin.ns);
  }

  /** Time in ns since the origin of a number of ticks; -1 without times. */
  ns(ticks: number): number {
    if (ticks < 0 || !this.known) return -1;
    const passed = ticks * this.#nsPerTick;
    const whole = Math.floor(passed);
    const rest = passed - whole;
    if (rest > ROUNDING && rest < 1 - ROUNDING) return this.#baseNs + whole;
    // So close to a whole number that rounding may change it: compute it exactly.
    return this.#baseNs + Number(BigInt(Math.floor(ticks)) * this.#mult >> this.#shift);
  }

  /** Time in ns since the origin of a TSC packet: its low 32 bits, and the 24 bits above. */
  tsc(low: number, high: number): number {
    const ticks = BigInt(high & 0xffffff) << 32n | BigInt(low >>> 0);
    return this.ns(Number(BigInt.asUintN(56, ticks - this.base)));
  }

  /** Duration of a number of ticks in ns. */
  duration(ticks: number): number {
    return this.known ? ticks * this.#nsPerTick : 0;
  }

  /** Ticks of a period in ns, rounded down as in perf; 0 without a conversion. */
  period(ns: number): number {
    return this.#mult === 0n ? 0 : Number((BigInt(Math.round(ns)) << this.#shift) / this.#mult);
  }

  /** Ticks of a time in ns since the origin. */
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
