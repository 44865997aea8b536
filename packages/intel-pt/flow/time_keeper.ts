/** Parameters of the clocks of a trace; see AUXTRACE_INFO of perf, and CPUID leaf 15H. */
export interface ClockRatios {
  /** A MTC packet comes each 2^n ticks of the crystal clock (IA32_RTIT_CTL.MTCFreq). */
  readonly mtcShift?: number;
  /** TSC ticks for `tscCtcD` ticks of the crystal clock: CPUID leaf 15h, EBX. */
  readonly tscCtcN?: number;
  /** Crystal clock ticks for `tscCtcN` ticks of the TSC: CPUID leaf 15h, EAX. */
  readonly tscCtcD?: number;
  /** Ratio of the TSC to the bus clock, in the unit of CBR packets. */
  readonly maxNonTurboRatio?: number;
}

/** 2^56, at which TSC packets wrap. */
const WRAP = 2 ** 56;

/**
 * The time of a trace in TSC ticks, from TSC, TMA, MTC, CYC and CBR packets.
 *
 * SDM, Volume 3, section "Time-stamp ...": MTC packets count the crystal clock from where TMA aligns
 * it with the TSC; CYC packets count core clocks, which the last two exact times, or else CBR, convert.
 * Times never go back.
 */
export class TimeKeeper {
  /**
   * TSC ticks since {@linkcode TimeKeeper.base}, estimated where CYC packets say more than exact times
   * do; -1 if none is known.
   */
  time: number = -1;
  /** Ticks that may have passed since `time` without a packet, or by which it may be wrong. */
  uncertainty = 0;
  /** Core clocks that CYC packets have counted. */
  cycles = 0;
  /** The first TSC value of the trace, from which `time` counts. */
  base: bigint;

  readonly #mtcShift: number;
  readonly #tscPerCtc: number;
  readonly #ctcPerMtc: number;
  readonly #ticksPerMtc: number;
  readonly #maxNonTurboRatio: number;
  #based: boolean;
  /** Exact time by a TSC or MTC packet. */
  #exact = -1;
  /**
   * Base of CYC packets: the last exact time directly after a CYC packet, since each packet counts from
   * the previous one; and the cycles since then.
   */
  #reference = -1;
  #cycles = 0;
  #isMidway: boolean;
  #isCyc = false;
  #wasCyc = false;
  #cyclesAtMtc = -1;
  #timeAtMtc = 0;
  #ticksPerCycle = 0;
  #measured = false;
  /** The ratio of the last CBR packet. */
  #ratio = 0;
  #haveTma = false;
  #lastMtc = 0;
  #ctcTime = 0;
  #ctcDelta = 0;

  /**
   * Makes a keeper.
   *
   * @param base What times count from; the first TSC value by default.
   * @param isMidway Whether there are packets before the first one: the first CYC packet counts from those.
   */
  constructor(ratios: ClockRatios = {}, base?: bigint, isMidway = false) {
    const { mtcShift = 0, tscCtcN = 0, tscCtcD = 0, maxNonTurboRatio = 0 } = ratios;
    this.#mtcShift = mtcShift;
    // The field has four bits. Of a recording that says more, MTC packets give no time.
    const isKnown = tscCtcD !== 0 && mtcShift >= 0 && mtcShift < 16;
    this.#tscPerCtc = isKnown ? tscCtcN / tscCtcD : 0;
    // Kept, since there may be a MTC packet for each few branches.
    this.#ctcPerMtc = 2 ** mtcShift;
    this.#ticksPerMtc = Math.ceil(this.#tscPerCtc * this.#ctcPerMtc);
    this.#maxNonTurboRatio = maxNonTurboRatio;
    this.base = base ?? 0n;
    this.#isMidway = isMidway;
    this.#based = base !== undefined;
  }

  /** Has to be called before each packet, with whether it is a CYC packet. */
  follows(isCyc: boolean): void {
    this.#wasCyc = this.#isCyc;
    this.#isCyc = isCyc;
  }

  /** A TSC packet: its low 32 bits, and the 24 above. */
  tsc(low: number, high: number): void {
    if (!this.#based) {
      this.base = BigInt(high & 0xffffff) << 32n | BigInt(low >>> 0);
      this.#based = true;
    }
    const baseLow = Number(this.base & 0xffffffffn);
    const baseHigh = Number(this.base >> 32n & 0xffffffn);
    let time = ((high & 0xffffff) - baseHigh) * 2 ** 32 + (low >>> 0) - baseLow;
    // Of the values that 56 bits may stand for, the one next to the last time.
    const lag = this.#exact - WRAP / 2 - time;
    if (lag > 0) time += WRAP * Math.ceil(lag / WRAP);
    this.#haveTma = false;
    this.#cyclesAtMtc = -1;
    this.#set(time);
  }

  /** A TMA packet: where the crystal clock was at the TSC packet before it. */
  tma(ctc: number, fastCounter: number): void {
    if (this.#tscPerCtc === 0 || this.#exact < 0) return;
    const rest = ctc & (1 << this.#mtcShift) - 1;
    this.#lastMtc = ctc >> this.#mtcShift & 0xff;
    this.#ctcTime = this.#exact - fastCounter - rest * this.#tscPerCtc;
    this.#ctcDelta = 0;
    this.#haveTma = true;
  }

  /** A MTC packet: eight bits of the crystal clock. */
  mtc(ctc: number): void {
    if (!this.#haveTma) return;
    const passed = ctc - this.#lastMtc & 0xff;
    this.#lastMtc = ctc;
    this.#ctcDelta += passed * this.#ctcPerMtc;
    const time = Math.floor(this.#ctcTime + this.#ctcDelta * this.#tscPerCtc);
    if (this.#cyclesAtMtc >= 0 && this.cycles > this.#cyclesAtMtc) {
      const cycles = this.cycles - this.#cyclesAtMtc;
      this.#ticksPerCycle = (time - this.#timeAtMtc) / cycles;
      this.#measured = true;
    }
    this.#cyclesAtMtc = this.cycles;
    this.#timeAtMtc = time;
    this.#set(time);
    this.uncertainty = Math.max(this.uncertainty, this.#ticksPerMtc);
  }

  /** A CYC packet: core clocks since the one before. */
  cyc(cycles: number): void {
    this.#cycles += cycles;
    this.cycles += cycles;
    if (this.#ticksPerCycle === 0 || this.#reference < 0) return;
    const estimate = this.#reference + Math.floor(this.#cycles * this.#ticksPerCycle);
    if (estimate > this.time) this.time = estimate;
  }

  /** Something beside the trace says that it is at least this late. */
  passes(ticks: number): void {
    if (ticks > this.time) this.time = ticks;
  }

  /** A CBR packet: core to bus ratio. */
  cbr(ratio: number): void {
    this.#measured = false;
    if (ratio !== 0 && this.#maxNonTurboRatio !== 0) {
      const ticks = this.#maxNonTurboRatio / ratio;
      // Another frequency from here on.
      if (ratio !== this.#ratio && !this.#isMidway) {
        this.#reference = this.time;
        this.#cycles = 0;
      }
      this.#ratio = ratio;
      this.#ticksPerCycle = ticks;
    }
    this.#cyclesAtMtc = -1;
  }

  /** Packets were lost: counts from earlier packets are no longer known. */
  lost(): void {
    this.#haveTma = false;
    this.#cyclesAtMtc = -1;
    this.#cycles = 0;
    this.#reference = -1;
    this.#ticksPerCycle = this.#measured ? 0 : this.#ticksPerCycle;
  }

  /**
   * The state that determines later times, except the number of cycles: two keepers with the same state
   * continue identically.
   */
  state(): number[] {
    const isClocked = this.cycles > 0;
    const isAtMtc = this.#cyclesAtMtc >= 0;
    return [
      this.time,
      this.uncertainty,
      this.#exact,
      Number(this.#isCyc),
      Number(this.#wasCyc),
      isAtMtc ? this.cycles - this.#cyclesAtMtc : -1,
      isAtMtc ? this.#timeAtMtc : 0,
      Number(this.#haveTma),
      ...this.#haveTma ? [this.#lastMtc, this.#ctcTime, this.#ctcDelta] : [0, 0, 0],
      // Without CYC packets, nothing counts from a reference.
      ...isClocked
        ? [
          this.#reference,
          this.#reference < 0 ? 0 : this.#cycles,
          this.#ticksPerCycle,
          Number(this.#measured),
          this.#ratio,
        ]
        : [0, 0, 0, 0, 0],
    ];
  }

  #set(exact: number): void {
    // The error of the estimate shows how far to trust the next.
    this.uncertainty = this.time >= 0 ? Math.abs(exact - this.time) : 0;
    this.#exact = exact;
    if (exact > this.time) this.time = exact;
    if (this.#wasCyc || (this.#reference < 0 && !this.#isMidway)) {
      this.#isMidway = false;
      this.#reference = this.time;
      this.#cycles = 0;
    }
  }
}
