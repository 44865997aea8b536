import { intAt, type RandomAccessSource } from "@perfdata/format/bytes";
import { type FlowCache, FlowDecoder, FlowStatus } from "@perfdata/intel-pt";
import type { AuxStream } from "@perfdata/session/auxtrace";
import type { PtCode, ThreadCode } from "../code/pt_code.ts";
import { PieceReader, type StreamPlace } from "./pt_pieces.ts";
import { clockRatios, type PtClock } from "./pt_clock.ts";
import type { PtCounts } from "./pt_counts.ts";
import type { DecodePtOptions, PtBuffer, PtSink } from "./pt_sink.ts";
import { PtSeeker } from "./pt_seek.ts";
import { type LeftAddress, type LeftAt, PtTurns, type TurnSurroundings } from "./pt_turns.ts";
import type { PtSideband, Switches } from "../code/pt_sideband.ts";
import type { PtTrace } from "../code/pt_trace.ts";

/** Common inputs of the buffers of a recording. */
export interface BufferSurroundings {
  readonly trace: PtTrace;
  /** Receives the result. */
  readonly sink: PtSink;
  /** Cache of blocks and paths. */
  readonly cache: FlowCache;
  /**
   * Addresses at which threads left user space, if times are too sparse to tell the running thread:
   * see {@linkcode PtTurns}.
   */
  readonly leftAt?: LeftAt | undefined;
}

export interface BufferOptions extends Pick<DecodePtOptions, "slice" | "quick" | "to"> {
  /** Place to begin at, and its offset in the stream; the beginning of the stream by default. */
  readonly at?: StreamPlace & { readonly offset: number };
}

const NO_SWITCHES = { count: 0, time: new Float64Array(0), tid: new Int32Array(0) } as const;

/** The decoder of one buffer's trace, with its position. */
export class DecodedBuffer implements PtBuffer {
  readonly stream: AuxStream;
  readonly index: number;
  readonly flow: FlowDecoder;
  tid: number;
  code: ThreadCode;
  toCode: ThreadCode;
  begin = 0;
  /** Time in ns up to which it is decoded. */
  position = -Infinity;
  ended = false;
  /** Whether it has decoded the PSB+ at the requested seam. */
  atSeam = false;
  isUnsure = false;
  /** Number of instructions while the running thread was unsure. */
  unsureInsns = 0;

  readonly #source: RandomAccessSource;
  readonly #places: PtCode;
  readonly #sink: PtSink;
  readonly #clock: PtClock;
  readonly #switches: Pick<Switches, "count" | "time" | "tid">;
  readonly #changes: readonly number[];
  readonly #pokes: PtSideband["pokes"];
  #reader: PieceReader;
  readonly #leftAt: LeftAt | undefined;
  readonly #aboutTurns: TurnSurroundings | undefined;
  #turns: PtTurns | undefined;
  /** Place where decoding began, and its offset in the stream. */
  #place: StreamPlace | undefined;
  readonly #offset: number;
  #fed = 0;
  /** Number of starts of tracing before the thread's turn. */
  #enables = 0;
  /** Number of starts of tracing when the running thread was last unsure. */
  #unsureEnables = -1;
  #exec = 0;
  /** Whether it waits for other buffers before a TIP.PGE. */
  #isHeld = false;
  readonly #slice: number;
  readonly #until: number;
  #switch = 0;
  #change = 0;
  #poke = 0;
  /** Time of the next stop, in ns and in ticks. */
  #stop = -Infinity;
  #limit = Infinity;

  /**
   * Starts at the beginning of a stream, or at a place in it.
   *
   * @param index Number of the stream.
   */
  constructor(
    stream: AuxStream,
    index: number,
    { trace, sink, cache, leftAt }: BufferSurroundings,
    { slice = Infinity, quick = 0, to = Infinity, at }: BufferOptions = {},
  ) {
    const { source, sideband, code, clock } = trace;
    const ratios = clockRatios(trace.aux);
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
    this.#changes = sideband.mapTimes;
    this.#pokes = sideband.pokes;
    // The record of the trace has the running thread only if the thread has its own buffer.
    this.tid = stream.cpu === undefined
      ? stream.tid ?? sideband.firstThread(-1)
      : sideband.firstThread(stream.cpu, stream.tid);
    this.code = this.toCode = code.space(this.tid, clock.known ? 0 : Infinity);
    this.flow = new FlowDecoder({
      space: this.code,
      cache,
      clocks: ratios,
      timeBase: clock.base,
      quick,
      offset: at?.offset ?? 0,
    }, {
      flow: (run) => {
        if (this.isUnsure) this.#countUnsure(run);
        sink.flow(this, run);
      },
      forget: () => sink.forget?.(),
    });
    this.#offset = at?.offset ?? 0;
    this.#place = at;
    this.#reader = new PieceReader(stream, source, at);
    this.#leftAt = this.#switches.count > 0 && clock.known ? leftAt : undefined;
    if (this.#leftAt !== undefined) {
      const switches = this.#switches;
      const others = [...sideband.switches.values()].filter((other) => other !== switches);
      this.#aboutTurns = {
        others,
        source,
        clock,
        ratios,
        switches,
        sideband,
        leftAt: this.#leftAt,
      };
    }
    sink.thread?.(this);
    this.#advance();
  }

  /** Core clocks counted by CYC packets. */
  get cycles(): number {
    return this.flow.clock.cycles;
  }

  get counts(): PtCounts {
    const { flow, unsureInsns } = this;
    return { ...flow.counts, branches: flow.branches, unsureThread: unsureInsns };
  }

  /** Starts before a time instead of at the beginning. */
  async seek(ns: number): Promise<void> {
    const place = await new PtSeeker(this.stream, this.#source, this.#clock).before(ns);
    this.#place = place;
    this.begin = place.offset;
    this.#reader = new PieceReader(this.stream, this.#source, this.#place);
  }

  #countUnsure({ entries, count, paths }: FlowDecoder): void {
    for (let i = 0; i < count; i++) {
      const entry = intAt(entries, i);
      if (entry >= 0) this.unsureInsns += intAt(paths.insns, entry);
    }
  }

  /** Decodes up to the end of the PSB+ at a PSB, given as an offset of the stream. */
  async runTo(seam: number): Promise<void> {
    const { flow } = this;
    flow.seam = seam;
    this.atSeam = false;
    while (!this.ended && !this.atSeam) {
      if (this.step() || this.atSeam) continue;
      const n = await this.feed();
      await this.#sink.idle?.();
      if (n === 0 && this.ended) break;
    }
  }

  /** The state that determines the output after a PSB+; see `FlowDecoder.stateAfterPsb`. */
  stateAfterPsb(): number[] {
    return [
      ...this.flow.stateAfterPsb(),
      this.#limit,
      this.#switch,
      this.#change,
      this.#poke,
      this.tid,
    ];
  }

  /** Decodes the fed bytes up to the next change; returns false if it needs more bytes. */
  step(): boolean {
    if (this.#isHeld) this.#resume();
    for (;;) {
      const status = this.flow.run(this.#limit);
      if (status === FlowStatus.HELD) {
        this.#isHeld = true;
        const { nextTurn = Infinity } = this.#turns ?? {};
        this.#noteLeft();
        // The place where its thread left user space may be in another buffer.
        if (nextTurn !== Infinity) this.position = Math.max(this.position, nextTurn);
        return true;
      }
      if (status === FlowStatus.TIME) {
        this.#advance();
        return true;
      }
      if (status === FlowStatus.SPACE) {
        this.#enterGuest();
        return true;
      }
      if (status === FlowStatus.SEAM) this.atSeam = true;
      else if (status === FlowStatus.END) this.ended = true;
      else if (!this.flow.isWaiting) this.flow.flush();
      return false;
    }
  }

  /** Updates the code: another thread runs, or mappings have changed. */
  #enter(): void {
    const { flow, position } = this;
    // If the next time is far, use the mappings at the end of the turn, because they were made
    // during it.
    const ns = Math.max(position, 0, flow.holds ? Math.min(this.#turns?.turnEnd ?? 0, 2 ** 53) : 0);
    const { nonRoot, nextNonRoot } = flow;
    this.code = this.#places.space(this.tid, ns, nonRoot);
    this.toCode = nonRoot === nextNonRoot
      ? this.code
      : this.#places.space(this.tid, ns, nextNonRoot);
    flow.setSpace(this.code);
    this.#sink.thread?.(this);
  }

  /**
   * Updates the code after a guest was entered or left, or if the next address is on the other
   * side.
   */
  #enterGuest(): void {
    const { flow } = this;
    if (flow.nonRoot === this.code.isGuest) {
      const ns = this.position < 0 ? 0 : this.position;
      this.toCode = this.#places.space(this.tid, ns, flow.nextNonRoot);
      return;
    }
    this.position = this.#clock.ns(flow.clock.time);
    this.#enter();
  }

  /** Chooses the thread that continues at a TIP.PGE, and passes the packet on. */
  #resume(): void {
    const { flow, tid } = this;
    this.#isHeld = false;
    const turns = this.#turns;
    if (turns === undefined) return;
    const left = this.#left;
    const { turn, isCertain } = turns.resume(
      flow.position,
      left ?? this.#leftAt?.get(tid),
      left !== undefined,
      (tid, time, low, high) => high < 0 || this.#places.space(tid, time).map(low, high) >= 0,
    );
    if (turn !== undefined) this.#leave();
    this.isUnsure = !isCertain;
    if (turn === undefined) return;
    // The first tick that is not before the turn.
    let ticks = this.#clock.ticks(turn.since);
    while (this.#clock.ns(ticks) < turn.since) ticks++;
    flow.passes(ticks);
    this.#advance(turns);
  }

  /** Address at which the thread left user space in this buffer; `undefined` if it has not. */
  get #left(): LeftAddress | undefined {
    const { flow } = this;
    if (flow.enables === this.#enables || !flow.isOff) return undefined;
    const isUnsure = this.isUnsure || flow.enables === this.#unsureEnables;
    return { low: flow.atLow, high: flow.atHigh, isUnsure };
  }

  /**
   * Whether a thread has started another program up to a time, so that it may continue at any
   * address.
   */
  #hasExecuted(tid: number, ns: number): boolean {
    const execs = this.#aboutTurns?.sideband.execs ?? [];
    let has = false;
    for (
      let next = execs[this.#exec];
      next !== undefined && next.time <= ns;
      next = execs[++this.#exec]
    ) {
      has ||= next.pid === tid;
    }
    return has;
  }

  /** Stores the address at which the thread left user space, for all CPUs. */
  #noteLeft(): void {
    const left = this.#left;
    if (left !== undefined) this.#leftAt?.set(this.tid, left);
  }

  /** Handles the end of a thread's time on the CPU. */
  #leave(): void {
    this.#noteLeft();
    this.#enables = this.flow.enables - (this.flow.isOff ? 0 : 1);
  }

  /** Advances to the next change of thread or code. `turns` are those with the next thread. */
  #advance(turns?: PtTurns): void {
    const { flow } = this;
    // The decoded output comes before later output of other buffers.
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
    const wasPast = this.position > this.#until;
    this.position = Math.max(ns, this.position);
    if (this.#leftAt !== undefined && turns === undefined) {
      if (this.isUnsure) this.#unsureEnables = flow.enables;
      const hasExecuted = this.#hasExecuted(tid, ns);
      if (tid !== this.tid || hasExecuted) this.#leave();
      if (hasExecuted) this.#leftAt.delete(tid);
      flow.holds = this.#turns?.prepare(flow.position, tid, ns, this.#switch) === true;
      this.isUnsure = flow.holds && this.#turns?.isUnsure === true;
    }
    if (tid !== this.tid || this.#change + this.#poke !== before) {
      this.tid = tid;
      this.#enter();
    }
    this.#sink.step?.(this);
    if (!this.#clock.known) return;
    // Packets after the time in a PSB+ still have the previous time.
    if (ns > this.#until && (wasPast || !flow.isInPsb)) this.ended = true;
    this.#stop = Math.min(
      this.#until + 1,
      this.#switch < switches.count ? switches.time[this.#switch] as number : Infinity,
      changes[this.#change] ?? Infinity,
      this.#pokes[this.#poke]?.time ?? Infinity,
      ns < 0 ? Infinity : ns + this.#slice,
    );
    this.#limit = this.#clock.ticks(this.#stop);
    // Turns are known up to each time, so stop at each one.
    if (this.#leftAt !== undefined) this.#limit = 0;
    // A stop that is rounded down to the present tick is in the past.
    if (this.#limit <= flow.clock.time) this.#limit = flow.clock.time + 1;
  }

  /** Feeds the decoder; returns the number of bytes, 0 at the end. */
  async feed(): Promise<number> {
    const { flow } = this;
    if (this.#aboutTurns !== undefined) {
      this.#turns ??= new PtTurns(this.#aboutTurns, this.stream, this.#place, this.#offset);
    }
    const part = await this.#reader.next();
    if (this.#reader.isAfterGap) flow.gap();
    if (part === undefined) {
      flow.end();
      if (this.step() === false) this.ended = true;
      return 0;
    }
    this.#fed += part.length;
    await this.#turns?.lookPast(this.#offset + this.#fed);
    flow.feed(part);
    return part.length;
  }
}
