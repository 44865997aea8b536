/** Ratios of the clocks of a trace; see perf's AUXTRACE_INFO and CPUID leaf 15H. */
export interface ClockRatios {
  /** An MTC packet is sent every 2^n ticks of the crystal clock (IA32_RTIT_CTL.MTCFreq). */
  readonly mtcShift?: number;
  /** TSC ticks in `tscCtcD` ticks of the crystal clock: CPUID leaf 15h, EBX. */
  readonly tscCtcN?: number;
  /** Crystal clock ticks in `tscCtcN` ticks of the TSC: CPUID leaf 15h, EAX. */
  readonly tscCtcD?: number;
  /** Ratio of the TSC to the bus clock, in the unit of CBR packets. */
  readonly maxNonTurboRatio?: number;
}

/** 2^56: TSC packets wrap at this value. */
const WRAP = 2 ** 56;

/**
 * The time of a trace in TSC ticks, from TSC, TMA, MTC, CYC and CBR packets.
 *
 * SDM, Volume 3, section "Time-stamp ...": MTC packets count the crystal clock from its alignment with the
 * TSC by a TMA packet. CYC packets count core clocks; the ratio of the last two exact times, or else CBR, converts
 * them. Time never decreases.
 */
export class TimeKeeper {
  /**
   * TSC ticks since {@linkcode TimeKeeper.base}, estimated from CYC packets after the last exact time;
   * -1 if unknown.
   */
  time: number = -1;
  /** Uncertainty of `time` in ticks: the error of the last estimate; after an MTC packet, at least the MTC interval. */
  uncertainty = 0;
  /** Core clocks counted by CYC packets. */
  cycles = 0;
  /** The TSC value at time 0: the first one of the trace by default. */
  base: bigint;

  readonly #mtcShift: number;
  readonly #tscPerCtc: number;
  readonly #ctcPerMtc: number;
  readonly #ticksPerMtc: number;
  readonly #maxNonTurboRatio: number;
  #based: boolean;
  /** Exact time of the last TSC or MTC packet. */
  #exact = -1;
  /**
   * Base of CYC packets: the last exact time directly after a CYC packet, since each packet counts from
   * the previous one. `#cycles` counts from there.
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
   * Creates a keeper.
   *
   * @param base TSC value at time 0; the first TSC value by default.
   * @param isMidway Whether packets precede the first one: the first CYC packet then counts from those.
   */
  constructor(ratios: ClockRatios = {}, base?: bigint, isMidway = false) {
    const { mtcShift = 0, tscCtcN = 0, tscCtcD = 0, maxNonTurboRatio = 0 } = ratios;
    this.#mtcShift = mtcShift;
    // The hardware's field has four bits. With a larger value, MTC packets are ignored.
    const isKnown = tscCtcD !== 0 && mtcShift >= 0 && mtcShift < 16;
    this.#tscPerCtc = isKnown ? tscCtcN / tscCtcD : 0;
    // Computed once, since MTC packets are frequent.
    this.#ctcPerMtc = 2 ** mtcShift;
    this.#ticksPerMtc = Math.ceil(this.#tscPerCtc * this.#ctcPerMtc);
    this.#maxNonTurboRatio = maxNonTurboRatio;
    this.base = base ?? 0n;
    this.#isMidway = isMidway;
    this.#based = base !== undefined;
  }

  /** Has to be called before each packet. `isCyc`: whether it is a CYC packet. */
  follows(isCyc: boolean): void {
    this.#wasCyc = this.#isCyc;
    this.#isCyc = isCyc;
  }

  /** Processes a TSC packet: its low 32 bits and the 24 above. */
  tsc(low: number, high: number): void {
    if (!this.#based) {
      this.base = BigInt(high & 0xffffff) << 32n | BigInt(low >>> 0);
      this.#based = true;
    }
    const baseLow = Number(this.base & 0xffffffffn);
    const baseHigh = Number(this.base >> 32n & 0xffffffn);
    let time = ((high & 0xffffff) - baseHigh) * 2 ** 32 + (low >>> 0) - baseLow;
    // Choose the value modulo 2^56 that is nearest to the last time.
    const lag = this.#exact - WRAP / 2 - time;
    if (lag > 0) time += WRAP * Math.ceil(lag / WRAP);
    this.#haveTma = false;
    this.#cyclesAtMtc = -1;
    this.#set(time);
  }

  /** Processes a TMA packet: the crystal clock at the TSC packet before it. */
  tma(ctc: number, fastCounter: number): void {
    if (this.#tscPerCtc === 0 || this.#exact < 0) return;
    const rest = ctc & (1 << this.#mtcShift) - 1;
    this.#lastMtc = ctc >> this.#mtcShift & 0xff;
    this.#ctcTime = this.#exact - fastCounter - rest * this.#tscPerCtc;
    this.#ctcDelta = 0;
    this.#haveTma = true;
  }

  /** Processes an MTC packet: eight bits of the crystal clock. */
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

  /** Processes a CYC packet: core clocks since the one before. */
  cyc(cycles: number): void {
    this.#cycles += cycles;
    this.cycles += cycles;
    if (this.#ticksPerCycle === 0 || this.#reference < 0) return;
    const estimate = this.#reference + Math.floor(this.#cycles * this.#ticksPerCycle);
    if (estimate > this.time) this.time = estimate;
  }

  /** Advances the time to at least `ticks`, known from a source other than the trace. */
  passes(ticks: number): void {
    if (ticks > this.time) this.time = ticks;
  }

  /** Processes a CBR packet: the core to bus ratio. */
  cbr(ratio: number): void {
    this.#measured = false;
    if (ratio !== 0 && this.#maxNonTurboRatio !== 0) {
      const ticks = this.#maxNonTurboRatio / ratio;
      // The frequency changes here.
      if (ratio !== this.#ratio && !this.#isMidway) {
        this.#reference = this.time;
        this.#cycles = 0;
      }
      this.#ratio = ratio;
      this.#ticksPerCycle = ticks;
    }
    this.#cyclesAtMtc = -1;
  }

  /** Processes a loss of packets: counts of earlier packets become invalid. */
  lost(): void {
    this.#haveTma = false;
    this.#cyclesAtMtc = -1;
    this.#cycles = 0;
    this.#reference = -1;
    this.#ticksPerCycle = this.#measured ? 0 : this.#ticksPerCycle;
  }

  /** Returns the state, without the number of cycles. Keepers with the same state continue identically. */
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
      // Without CYC packets, the reference is not used.
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
    // The error of the last estimate indicates that of the next one.
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
