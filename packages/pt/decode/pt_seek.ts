import type { RandomAccessSource } from "@perfdata/format/bytes";
import { findPsb, PacketDecoder, PacketKind, PSB_SIZE } from "@perfdata/intel-pt";
import type { AuxStream } from "@perfdata/session/auxtrace";
import type { PtClock } from "./pt_clock.ts";
import type { StreamPlace } from "./pt_pieces.ts";
import { pieceEnd } from "./pt_pieces.ts";

/** Number of bytes for each step of a search. */
const CHUNK = 1 << 16;
/** Maximum distance from a PSB to its PSBEND: PSB+ has at most one packet of each kind. */
const PSB_PLUS = 256;

interface TimedPsb {
  /** Offset of the PSB in bytes in its CPU's trace; bytes that two buffers share count once. */
  readonly at: number;
  /** Time in ns since the clock's origin. */
  readonly time: number;
}

/**
 * Times at which parts of a stream were written. Between two points, growth is assumed to be even.
 */
export interface PtGrowth {
  /** Offset in the stream of each point, in ascending order. */
  readonly at: Float64Array;
  /** Time of each point in ns since the clock's origin, in ascending order. */
  readonly time: Float64Array;
  /** Size of the stream in bytes. */
  readonly size: number;
}

/** A PSB at which the trace of a stream can be cut. */
export interface PtCut {
  /** Offset of the PSB in the stream. */
  readonly seam: number;
  /**
   * Approximate time of the PSB in ns since the clock's origin. Times of later cuts are not
   * earlier.
   */
  readonly time: number;
  /** A PSB before the seam, at which decoding begins so that the clocks are known at the seam. */
  readonly begin: StreamPlace & { readonly offset: number };
}

interface Placed {
  readonly piece: number;
  /** Offset of its start in the stream. */
  readonly start: number;
  /** Offset of its end in the stream. */
  readonly end: number;
  /** File offset of its first byte after the overlap. */
  readonly fileOffset: number;
}

/**
 * Finds times in an Intel PT stream without reading all of it. Times of PSBs only increase, so that
 * a binary search reads about twenty of them.
 */
export class PtSeeker {
  readonly #source: RandomAccessSource;
  readonly #clock: PtClock;
  readonly #places: readonly Placed[];
  readonly #size: number;
  readonly #buffer = new Uint8Array(CHUNK + PSB_PLUS);
  readonly #packets = new PacketDecoder();
  /** File offset of the buffer's bytes, and their number. */
  #from = 0;
  #filled = 0;

  /** Prepares for a stream. */
  constructor(stream: AuxStream, source: RandomAccessSource, clock: PtClock) {
    this.#source = source;
    this.#clock = clock;
    let start = 0;
    this.#places = stream.pieces.map((piece, i) => {
      const from = start;
      start += Math.max(0, pieceEnd(piece, stream.pieces[i + 1]) - piece.overlap);
      return { piece: i, start: from, end: start, fileOffset: piece.fileOffset + piece.overlap };
    });
    this.#size = start;
  }

  /** Size of the stream in bytes. */
  get size(): number {
    return this.#size;
  }

  /** Time of the stream's first PSB in ns; `undefined` if no PSB has a time. */
  async first(): Promise<number | undefined> {
    return (await this.#next(0, this.#size))?.time;
  }

  /**
   * Growth of the stream: the times of at most this many PSBs, evenly spaced. Only these are read.
   */
  async growth(most: number): Promise<PtGrowth> {
    const at: number[] = [];
    const time: number[] = [];
    const step = this.#size / Math.max(1, most);
    for (let from = 0; from < this.#size;) {
      const found = await this.#next(from, this.#size);
      if (found === undefined) break;
      if (found.time >= (time.at(-1) ?? -Infinity)) {
        at.push(found.at);
        time.push(found.time);
      }
      from = Math.max(found.at + PSB_SIZE, Math.ceil(from + step));
    }
    return { at: Float64Array.from(at), time: Float64Array.from(time), size: this.#size };
  }

  /**
   * The second PSB before a time, from which everything after the time can be decoded: CYC packets
   * need the PSB before.
   */
  async before(ns: number): Promise<StreamPlace & { readonly offset: number }> {
    let low = 0;
    let high = this.#size;
    while (high - low > CHUNK) {
      const middle = Math.floor((low + high) / 2);
      const found = await this.#next(middle, high);
      if (found !== undefined && found.time < ns) low = found.at;
      else high = middle;
    }
    // The PSB at `low` may be the only one before the time.
    let [last, older] = [low, Math.max(0, low - CHUNK)];
    for (let at = older, isFirst = true;;) {
      const found = await this.#next(at, this.#size);
      if (found === undefined || found.time >= ns) break;
      older = isFirst ? found.at : last;
      last = found.at;
      isFirst = false;
      at = found.at + PSB_SIZE;
    }
    const place = this.#placeOf(older);
    return place === undefined
      ? { piece: 0, at: 0, offset: 0 }
      : { piece: place.piece, at: older - place.start, offset: older };
  }

  /** PSBs at a distance of about this many bytes, each with a PSB before it in the same part. */
  async cuts(bytes: number): Promise<PtCut[]> {
    const cuts: PtCut[] = [];
    for (let last = 0; last + bytes < this.#size;) {
      const found = await this.#next(last + bytes, this.#size);
      if (found === undefined) break;
      const begin = await this.#before(found.at, last);
      const place = begin === undefined ? undefined : this.#placeOf(begin);
      if (begin !== undefined && place !== undefined) {
        const { piece, start } = place;
        cuts.push({
          seam: found.at,
          // Times of damaged PSBs may go back.
          time: Math.max(found.time, cuts.at(-1)?.time ?? -Infinity),
          begin: { piece, at: begin - start, offset: begin },
        });
      }
      last = found.at;
    }
    return cuts;
  }

  /** The second PSB before another one, or else the first, from an offset on. */
  async #before(psb: number, from: number): Promise<number | undefined> {
    for (let distance = CHUNK;; distance *= 4) {
      const low = Math.max(from, psb - distance);
      let [last, older]: (number | undefined)[] = [];
      for (let at = low;;) {
        const found = await this.#next(at, psb);
        if (found === undefined) break;
        older = last;
        last = found.at;
        at = found.at + PSB_SIZE;
      }
      if (older !== undefined || low === from) return older ?? last;
    }
  }

  #placeOf(at: number): Placed | undefined {
    return this.#places.find(({ start, end }) => at >= start && at < end);
  }

  /** The first PSB with a time from an offset of the stream on, and before another offset. */
  async #next(from: number, to: number): Promise<TimedPsb | undefined> {
    for (const { start, end, fileOffset } of this.#places) {
      if (end <= from) continue;
      for (let at = Math.max(from, start); at < Math.min(end, to);) {
        const first = await this.#fill(fileOffset + at - start, end - at);
        const n = this.#filled - first;
        if (n <= 0) return undefined;
        for (let done = first;;) {
          const psb = findPsb(this.#buffer, done, this.#filled);
          if (psb < 0 || at + psb - first >= to) break;
          done = psb + PSB_SIZE;
          const time = this.#timeAfter(done, this.#filled);
          if (time !== undefined) return { at: at + psb - first, time };
        }
        // Read a PSB+ that is cut by the end of the buffer again.
        at += n < end - at ? Math.max(1, n - PSB_PLUS) : n;
      }
      if (end >= to) return undefined;
    }
    return undefined;
  }

  /** Fills the buffer with bytes of the file; returns their offset in the buffer. */
  async #fill(at: number, most: number): Promise<number> {
    const has = this.#from + this.#filled - at;
    if (at >= this.#from && (has >= 2 * PSB_PLUS || has >= most)) return at - this.#from;
    this.#from = at;
    this.#filled = await this.#source.readAt(
      this.#buffer.subarray(0, Math.min(this.#buffer.length, most)),
      at,
    );
    return 0;
  }

  /** The time in the TSC packet between a PSB, which ends at `from`, and its PSBEND. */
  #timeAfter(from: number, to: number): number | undefined {
    const packets = this.#packets;
    packets.window(this.#buffer, from, Math.min(to, from + PSB_PLUS), true);
    let time: number | undefined;
    for (;;) {
      const kind = packets.next();
      if (kind === PacketKind.TSC) time = this.#clock.tsc(packets.low, packets.high);
      if (kind <= PacketKind.END || kind === PacketKind.PSB) return undefined;
      // Without times, the PSB+ only has to be complete.
      if (kind === PacketKind.PSBEND) return time ?? (this.#clock.known ? undefined : -1);
    }
  }
}
