import type { RandomAccessSource } from "@perfdata/format";
import { type ClockRatios, FlowCache, type FlowCounts, FlowStatus } from "@perfdata/intel-pt/flow";
import { FlowDecoder } from "@perfdata/intel-pt";
import type { AuxStream, AuxTrace } from "../auxtrace/aux_trace.ts";
import type { PtCode, ThreadCode } from "./pt_code.ts";
import type { PtSideband, Switches } from "./pt_sideband.ts";
import { pieceEnd } from "./pt_pieces.ts";
import { PtSeeker } from "./pt_seek.ts";
import { TimeOrigin } from "./pt_time.ts";

/** Bytes that are read at once. */
const READ = 1 << 18;
/** Bytes that are fed to a decoder before `idle` is called: what they say takes a thousand times as much. */
const FEED = 1 << 13;
/** Ticks between the first TSC that is expected and the first of the trace: three hours. */
const BEFORE = 1n << 45n;

/** By how much a product of ticks and ns may be wrong: a few bits of a number below 2^45. */
const ROUNDING = 1 / 64;

/** One buffer while it is decoded: the trace of a CPU, or of a thread. */
export interface PtBuffer {
  /** The buffer. */
  readonly stream: AuxStream;
  /** Its number, from 0. */
  readonly index: number;
  /** The thread that runs; -1 where it is not known. */
  readonly tid: number;
  /** The code that it sees. */
  readonly code: ThreadCode;
  /** Time up to which it is decoded, ns; -Infinity or -1 where it is not known. */
  readonly position: number;
  /** Core clocks that its CYC packets have counted. */
  readonly cycles: number;
}

/** Takes what a trace was decoded to. */
export interface PtSink {
  /** Takes paths and events of a buffer: see `FlowSink`. */
  flow(buffer: PtBuffer, run: FlowDecoder): void;
  /** Another thread runs on the buffer's CPU, or other code is there. */
  thread?(buffer: PtBuffer): void;
  /** The numbers of blocks and paths are about to be used anew. */
  forget?(): void;
  /** Called now and then, between packets: time for what cannot be done in the calls above. */
  idle?(): Promise<void> | void;
  /** Says whether it has seen enough. */
  done?(): boolean;
  /** All buffers are decoded up to this time, ns. */
  reached?(ns: number): void;
}

/** Figures of a decoded trace. */
export interface PtCounts extends FlowCounts {
  /** Branches of TNT packets that were followed; of packets alone, those that came. */
  branches: number;
}

/** How TSC values and perf's times convert. */
export class PtClock {
  /** Whether the recording says how. */
  readonly known: boolean;
  /** Why there are no times. */
  readonly why: string;
  /** TSC value that decoders count from. */
  readonly base: bigint;
  /** What times in ns count from. */
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

  /** perf's time in ns since the origin of a decoder's time; -1 where there is none. */
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

  /** Ticks of a period in ns, rounded down as perf does; 0 where the recording does not say. */
  period(ns: number): number {
    return this.#mult === 0n ? 0 : Number((BigInt(Math.round(ns)) << this.#shift) / this.#mult);
  }

  /** A decoder's time of perf's time in ns since the origin. */
  ticks(ns: number): number {
    if (ns === Infinity || !this.known) return Infinity;
    const since = BigInt.asIntN(64, BigInt(ns) + this.origin.ns - this.#zero);
    return Number((since << this.#shift) / this.#mult - this.base);
  }
}

/** The ratios of the clocks, as the recording says them. */
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
  /** Called with the bytes that were read since the call before; decoding goes on when it is done. */
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
 * @param trace What `readAuxTrace` found; stitched, where its pieces may have data in common.
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
  const buffers = trace.streams.filter((stream) => options.wants?.(stream) ?? true)
    .map((stream, index) =>
      new Buffer(
        stream,
        index,
        source,
        sideband,
        code,
        sink,
        clock,
        cache,
        ratios,
        options,
      )
    );
  const { from } = options;
  if (from !== undefined && clock.known) {
    for (const buffer of buffers) await buffer.seek(from);
  }
  const waiting = new Set(buffers);
  while (waiting.size > 0 && sink.done?.() !== true) {
    // The buffer that is least far goes on up to its next change.
    let next: Buffer | undefined;
    for (const buffer of waiting) {
      if (next === undefined || buffer.position < next.position) next = buffer;
    }
    if (next === undefined) break;
    sink.reached?.(next.position);
    if (next.ended) waiting.delete(next);
    else if (!next.step()) {
      const n = await next.feed();
      await sink.idle?.();
      if (n === 0 && next.ended) waiting.delete(next);
      if (n > 0) await options.progress?.(n);
    }
  }
  await sink.idle?.();
  const counts: PtCounts = {
    bytes: 0,
    lostBytes: 0,
    lostBranches: 0,
    addresses: 0,
    insns: 0,
    insnBranches: 0,
    unsureInsns: 0,
    branches: 0,
    errors: new Float64Array(10),
  };
  for (const { flow } of buffers) {
    counts.bytes += flow.counts.bytes;
    counts.lostBytes += flow.counts.lostBytes;
    counts.lostBranches += flow.counts.lostBranches;
    counts.addresses += flow.counts.addresses;
    counts.insns += flow.counts.insns;
    counts.insnBranches += flow.counts.insnBranches;
    counts.unsureInsns += flow.counts.unsureInsns;
    counts.branches += flow.branches;
    for (let i = 0; i < counts.errors.length; i++) {
      counts.errors[i] = (counts.errors[i] as number) + (flow.counts.errors[i] as number);
    }
  }
  return counts;
}

const NO_SWITCHES = { count: 0, time: new Float64Array(0), tid: new Int32Array(0) } as const;

/** The trace of one buffer on its way through the decoder. */
class Buffer implements PtBuffer {
  readonly stream: AuxStream;
  readonly index: number;
  readonly flow: FlowDecoder;
  tid: number;
  code: ThreadCode;
  /** ns up to which it is decoded. */
  position = -Infinity;
  ended = false;

  readonly #source: RandomAccessSource;
  readonly #places: PtCode;
  readonly #sink: PtSink;
  readonly #clock: PtClock;
  readonly #switches: Pick<Switches, "count" | "time" | "tid">;
  readonly #changes: readonly number[];
  readonly #pokes: PtSideband["pokes"];
  readonly #bytes = new Uint8Array(READ);
  /** What was read and not fed yet. */
  #from = 0;
  #to = 0;
  readonly #slice: number;
  readonly #until: number;
  #switch = 0;
  #change = 0;
  #poke = 0;
  #piece = 0;
  #at = 0;
  /** The next stop: ns, and the same in ticks. */
  #stop = -Infinity;
  #limit = Infinity;

  constructor(
    stream: AuxStream,
    index: number,
    source: RandomAccessSource,
    sideband: PtSideband,
    code: PtCode,
    sink: PtSink,
    clock: PtClock,
    cache: FlowCache,
    ratios: ClockRatios,
    { slice = Infinity, quick = 0, to = Infinity }: DecodePtOptions,
  ) {
    this.#slice = slice;
    this.#until = to;
    this.stream = stream;
    this.index = index;
    this.#source = source;
    this.#places = code;
    this.#sink = sink;
    this.#clock = clock;
    this.#switches = stream.cpu === undefined
      ? NO_SWITCHES
      : sideband.switches.get(stream.cpu) ?? NO_SWITCHES;
    this.#changes = sideband.history.changes;
    this.#pokes = sideband.pokes;
    // Only where a thread has a buffer of its own does the trace's record say who ran.
    this.tid = stream.cpu === undefined
      ? stream.tid ?? sideband.firstThread(-1)
      : sideband.firstThread(stream.cpu, stream.tid);
    this.code = code.space(this.tid, clock.known ? 0 : Infinity);
    this.flow = new FlowDecoder({
      space: this.code,
      cache,
      clocks: ratios,
      timeBase: clock.base,
      quick,
    }, {
      flow: (run) => sink.flow(this, run),
      forget: () => sink.forget?.(),
    });
    sink.thread?.(this);
    this.#advance();
  }

  /** Core clocks that CYC packets have counted. */
  get cycles(): number {
    return this.flow.clock.cycles;
  }

  /** Begins before a time instead of at the beginning. */
  async seek(ns: number): Promise<void> {
    const { piece, at } = await new PtSeeker(this.stream, this.#source, this.#clock).before(ns);
    this.#piece = piece;
    if (at > 0) this.#at = at + (this.stream.pieces[piece]?.overlap ?? 0);
  }

  /** Decodes what was fed, up to the next change; false where more is to be fed. */
  step(): boolean {
    for (;;) {
      const status = this.flow.run(this.#limit);
      if (status === FlowStatus.TIME) {
        this.#advance();
        return true;
      }
      if (status === FlowStatus.END) this.ended = true;
      else if (!this.flow.isWaiting) this.flow.flush();
      return false;
    }
  }

  /** Another thread, or another state of the machine. */
  #advance(): void {
    const { flow } = this;
    // What was decoded comes before what another buffer has from now on.
    flow.flush();
    const ns = this.#clock.ns(flow.clock.time);
    const switches = this.#switches;
    let { tid } = this;
    while (this.#switch < switches.count && (switches.time[this.#switch] as number) <= ns) {
      tid = switches.tid[this.#switch++] as number;
    }
    const changes = this.#changes;
    const before = this.#change + this.#poke;
    while ((changes[this.#change] ?? Infinity) <= ns) this.#change++;
    while (this.#poke < this.#pokes.length && (this.#pokes[this.#poke]?.time ?? 0) <= ns) {
      this.#poke++;
    }
    this.position = ns;
    if (tid !== this.tid || this.#change + this.#poke !== before) {
      this.tid = tid;
      this.code = this.#places.space(tid, ns < 0 ? 0 : ns);
      flow.setSpace(this.code);
      this.#sink.thread?.(this);
    }
    if (!this.#clock.known) return;
    // What comes after the time of a PSB+ in it has the time before.
    if (ns > this.#until && !flow.isInPsb) this.ended = true;
    this.#stop = Math.min(
      this.#until + 1,
      this.#switch < switches.count ? switches.time[this.#switch] as number : Infinity,
      changes[this.#change] ?? Infinity,
      this.#pokes[this.#poke]?.time ?? Infinity,
      ns < 0 ? Infinity : ns + this.#slice,
    );
    this.#limit = this.#clock.ticks(this.#stop);
    // What rounds down to the same tick has come already.
    if (this.#limit <= flow.clock.time) this.#limit = flow.clock.time + 1;
  }

  /** Gives the decoder more bytes; returns how many, 0 at the end. */
  async feed(): Promise<number> {
    const { pieces } = this.stream;
    for (;;) {
      if (this.#from < this.#to) {
        const part = this.#bytes.subarray(this.#from, Math.min(this.#from + FEED, this.#to));
        this.#from += part.length;
        this.flow.feed(part);
        return part.length;
      }
      const piece = pieces[this.#piece];
      if (piece === undefined) {
        this.flow.end();
        if (this.step() === false) this.ended = true;
        return 0;
      }
      if (this.#at === 0) {
        this.#at = piece.overlap;
        if (this.#piece > 0 && piece.gap !== 0n) this.flow.gap();
      }
      const end = pieceEnd(piece, pieces[this.#piece + 1]);
      const n = this.#at >= end ? 0 : await this.#source.readAt(
        this.#bytes.subarray(0, Math.min(READ, end - this.#at)),
        piece.fileOffset + this.#at,
      );
      if (n === 0) {
        this.#piece++;
        this.#at = 0;
        continue;
      }
      this.#at += n;
      this.#from = 0;
      this.#to = n;
    }
  }
}
