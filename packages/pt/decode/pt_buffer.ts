import type { RandomAccessSource } from "@perfdata/format";
import { type ClockRatios, type FlowCache, FlowDecoder, FlowStatus } from "@perfdata/intel-pt/flow";
import type { AuxStream } from "@perfdata/session/auxtrace";
import type { PtCode, ThreadCode } from "../code/pt_code.ts";
import { pieceEnd } from "./pt_pieces.ts";
import type { DecodePtOptions, PtBuffer, PtClock, PtSink } from "./pt_run.ts";
import { PtSeeker } from "./pt_seek.ts";
import type { PtSideband, Switches } from "../code/pt_sideband.ts";

/** Number of bytes for each read. */
const READ = 1 << 18;
/**
 * Number of bytes that are fed to a decoder before `idle` is called; their output takes a thousand
 * times as much.
 */
const FEED = 1 << 13;

/** Common inputs of the buffers of a recording. */
export interface BufferSurroundings {
  /** The file. */
  readonly source: RandomAccessSource;
  /** The sideband from the records. */
  readonly sideband: PtSideband;
  /** Where the code is. */
  readonly code: PtCode;
  /** Takes the result. */
  readonly sink: PtSink;
  /** How times convert. */
  readonly clock: PtClock;
  /** Blocks and paths. */
  readonly cache: FlowCache;
  /** The ratios of the clocks. */
  readonly ratios: ClockRatios;
}

/** A place in a stream. */
export interface StreamPlace {
  /** The number of the piece that it is in. */
  readonly piece: number;
  /** Bytes of the piece before it, without what it has in common with the one before. */
  readonly at: number;
}

/** How a buffer is decoded. */
export interface BufferOptions extends Pick<DecodePtOptions, "slice" | "quick" | "to"> {
  /** Where to begin, and its offset in the stream; at the beginning without it. */
  readonly at?: StreamPlace & { readonly offset: number };
}

const NO_SWITCHES = { count: 0, time: new Float64Array(0), tid: new Int32Array(0) } as const;

/** The trace of one buffer on its way through the decoder. */
export class DecodedBuffer implements PtBuffer {
  readonly stream: AuxStream;
  readonly index: number;
  readonly flow: FlowDecoder;
  tid: number;
  code: ThreadCode;
  toCode: ThreadCode;
  /** ns up to which it is decoded. */
  position = -Infinity;
  ended = false;
  /** Whether the PSB+ has ended that it was to go on to. */
  atSeam = false;

  readonly #source: RandomAccessSource;
  readonly #places: PtCode;
  readonly #sink: PtSink;
  readonly #clock: PtClock;
  readonly #switches: Pick<Switches, "count" | "time" | "tid">;
  readonly #changes: readonly number[];
  readonly #pokes: PtSideband["pokes"];
  readonly #bytes = new Uint8Array(READ);
  /** Bytes that were read but not fed yet. */
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

  /**
   * Begins with a stream: at its beginning, or at a place of it.
   *
   * @param index Its number.
   */
  constructor(
    stream: AuxStream,
    index: number,
    { source, sideband, code, sink, clock, cache, ratios }: BufferSurroundings,
    { slice = Infinity, quick = 0, to = Infinity, at }: BufferOptions = {},
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
    this.code = this.toCode = code.space(this.tid, clock.known ? 0 : Infinity);
    this.flow = new FlowDecoder({
      space: this.code,
      cache,
      clocks: ratios,
      timeBase: clock.base,
      quick,
      offset: at?.offset ?? 0,
    }, {
      flow: (run) => sink.flow(this, run),
      forget: () => sink.forget?.(),
    });
    if (at !== undefined) this.#begin(at);
    sink.thread?.(this);
    this.#advance();
  }

  /** Core clocks that CYC packets have counted. */
  get cycles(): number {
    return this.flow.clock.cycles;
  }

  /** Begins before a time instead of at the beginning. */
  async seek(ns: number): Promise<void> {
    this.#begin(await new PtSeeker(this.stream, this.#source, this.#clock).before(ns));
  }

  #begin({ piece, at }: StreamPlace): void {
    this.#piece = piece;
    if (at > 0) this.#at = at + (this.stream.pieces[piece]?.overlap ?? 0);
  }

  /** Goes on up to the end of the PSB+ of a PSB: an offset of the stream. */
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

  /** All that decides what follows after a PSB+; see `FlowDecoder.stateAfterPsb`. */
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

  /** Decodes the fed bytes, up to the next change; false if more is to be fed. */
  step(): boolean {
    for (;;) {
      const status = this.flow.run(this.#limit);
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

  /** Another thread runs, or the machine has another state. */
  #enter(): void {
    const { flow, position } = this;
    const ns = position < 0 ? 0 : position;
    const { nonRoot, nextNonRoot } = flow;
    this.code = this.#places.space(this.tid, ns, nonRoot);
    this.toCode = nonRoot === nextNonRoot
      ? this.code
      : this.#places.space(this.tid, ns, nextNonRoot);
    flow.setSpace(this.code);
    this.#sink.thread?.(this);
  }

  /** A guest was entered or left, or the next address is on the other side. */
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

  /** Up to the next change of what runs where. */
  #advance(): void {
    const { flow } = this;
    // The decoded output comes before the later output of other buffers.
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
      this.#enter();
    }
    this.#sink.step?.(this);
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
        // Wherever decoding began, what is handed out at once ends at the same places.
        const at = this.#at - (this.#to - this.#from);
        const part = this.#bytes.subarray(
          this.#from,
          Math.min(this.#from + FEED - at % FEED, this.#to),
        );
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
        this.#bytes.subarray(0, Math.min(READ - this.#at % READ, end - this.#at)),
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
