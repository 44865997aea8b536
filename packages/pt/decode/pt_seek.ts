import type { RandomAccessSource } from "@perfdata/format/bytes";
import { findPsb, PacketDecoder, PacketKind, PSB_SIZE } from "@perfdata/intel-pt";
import type { AuxStream } from "@perfdata/session/auxtrace";
import type { PtClock } from "./pt_clock.ts";
import type { StreamPlace } from "./pt_pieces.ts";
import { pieceEnd } from "./pt_pieces.ts";

/** Number of bytes for each step of a search. */
const CHUNK = 1 << 16;
/** Bytes after a PSB in which its PSBEND has to come: PSB+ has at most one packet of each kind. */
const PSB_PLUS = 256;

/** A PSB that has a time. */
interface TimedPsb {
  /** Position: bytes from the beginning of the stream, without overlaps of pieces. */
  readonly at: number;
  /** ns since the clock's origin. */
  readonly time: number;
}

/** Where in a stream its trace was written when: between two points it grew evenly, as far as is known. */
export interface PtGrowth {
  /** Bytes of the stream before each point; they only grow. */
  readonly at: Float64Array;
  /** When it was there, ns since the clock's origin; times only grow. */
  readonly time: Float64Array;
  /** Bytes of the stream. */
  readonly size: number;
}

/** Where the trace of a stream can be cut. */
export interface PtCut {
  /** Offset in the stream of the PSB. */
  readonly seam: number;
  /** About the time of the PSB; times only grow, ns since the clock's origin. */
  readonly time: number;
  /** Where to begin so that the clocks are known at the seam: at a PSB before it. */
  readonly begin: StreamPlace & { readonly offset: number };
}

/** Where a piece is in a stream. */
interface Placed {
  /** Its number. */
  readonly piece: number;
  /** Bytes of the stream before it. */
  readonly start: number;
  /** Bytes of the stream up to its end. */
  readonly end: number;
  /** File offset of the first byte that counts. */
  readonly fileOffset: number;
}

/**
 * Finds moments in an Intel PT stream without reading all of it: times of PSBs only increase, so that a
 * binary search finds a moment with some twenty of them.
 */
export class PtSeeker {
  readonly #source: RandomAccessSource;
  readonly #clock: PtClock;
  readonly #places: readonly Placed[];
  readonly #size: number;
  readonly #buffer = new Uint8Array(CHUNK + PSB_PLUS);
  readonly #packets = new PacketDecoder();
  /** Where in the file the buffer's bytes are, and how many there are. */
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

  /** Bytes of the stream. */
  get size(): number {
    return this.#size;
  }

  /** When the stream begins, ns; `undefined` if no PSB has a time. */
  async first(): Promise<number | undefined> {
    return (await this.#next(0, this.#size))?.time;
  }

  /** Growth of the stream: the times of at most this many PSBs, evenly spaced. Only these are read. */
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
   * Where to begin so that all from a time on is decoded: the second PSB before it, since CYC packets count
   * from those before them. The piece, and the bytes of it before the PSB.
   */
  async before(ns: number): Promise<{ readonly piece: number; readonly at: number }> {
    let low = 0;
    let high = this.#size;
    while (high - low > CHUNK) {
      const middle = Math.floor((low + high) / 2);
      const found = await this.#next(middle, high);
      if (found !== undefined && found.time < ns) low = found.at;
      else high = middle;
    }
    // What is at `low` may be the only one before the time.
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
      ? { piece: 0, at: 0 }
      : { piece: place.piece, at: older - place.start };
  }

  /** PSBs that are about this many bytes apart; each has others before it that belong to no other part. */
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
          // Of damaged ones, times may go back.
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

  /** The first PSB with a time that begins at an offset of the stream or after it, and before another. */
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
        // A PSB+ that the end of the buffer cuts is read once more.
        at += n < end - at ? Math.max(1, n - PSB_PLUS) : n;
      }
      if (end >= to) return undefined;
    }
    return undefined;
  }

  /** Sees to it that the buffer has bytes of the file; returns where they begin there. */
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

  /** The time of the TSC packet between a PSB, after which the buffer's bytes are taken, and its PSBEND. */
  #timeAfter(from: number, to: number): number | undefined {
    const packets = this.#packets;
    packets.window(this.#buffer, from, Math.min(to, from + PSB_PLUS), true);
    let time: number | undefined;
    for (;;) {
      const kind = packets.next();
      if (kind === PacketKind.TSC) time = this.#clock.tsc(packets.low, packets.high);
      if (kind <= PacketKind.END || kind === PacketKind.PSB) return undefined;
      // Where no packet has a time, what matters is that it is whole.
      if (kind === PacketKind.PSBEND) return time ?? (this.#clock.known ? undefined : -1);
    }
  }
}
