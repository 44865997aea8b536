import { FlowCache } from "@perfdata/intel-pt";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import type { AuxStream } from "@perfdata/session/auxtrace";
import { type BufferSurroundings, DecodedBuffer } from "../decode/pt_buffer.ts";
import { addPtCounts, noPtCounts, type PtCounts } from "../decode/pt_counts.ts";
import type { PtPartSink } from "../decode/pt_sink.ts";
import { type PtCut, PtSeeker } from "../decode/pt_seek.ts";
import type { PtTrace } from "../code/pt_trace.ts";

/** A part of a buffer's trace: from one PSB to another. */
export interface PtRange {
  /** Number of the buffer among those that are decoded. */
  readonly buffer: number;
  /** Where it begins; at the beginning of the trace without it. */
  readonly from: PtCut | undefined;
  /** Offset in the stream of the PSB where it ends; at the end of the trace without it. */
  readonly to: number | undefined;
  /** Bytes in it. */
  readonly bytes: number;
}

/** Places that a thread met since it handed out some before. */
export interface PlacesFound {
  /** Objects that are new. */
  readonly objects: readonly SymbolObject[];
  /** Of each place the number of its object there; below 0 as in `PtPlaces`. */
  readonly object: Int32Array<ArrayBuffer>;
  /** Of each place its address. */
  readonly address: Float64Array<ArrayBuffer>;
  /** Of each place when it was met first, ns. */
  readonly time: Float64Array<ArrayBuffer>;
}

/** Result for a range. */
export interface PtRangePart<Found> {
  /** The range. */
  readonly range: PtRange;
  /** What the sink makes of it. */
  readonly found: Found;
  /** Figures. */
  readonly counts: PtCounts;
  /** What decided what follows where it began, where it ended; see `PtPartSink.stateOf`. */
  readonly start: readonly number[] | undefined;
  /** The same where it ended. */
  readonly end: readonly number[] | undefined;
  /** Its last time, ns. */
  readonly time: number;
  /** New places of the thread; `undefined` if it is the one that joins. */
  places: PlacesFound | undefined;
  /** Code that could not be had, by path, and why. */
  readonly missing: readonly (readonly [string, string])[];
  /** The file of the kernel's code. */
  readonly kernelFile: string | undefined;
}

/** The whole of which ranges are parts. */
export interface PtWhole<Found> {
  /** The recording. */
  readonly trace: PtTrace;
  /** Only these buffers. */
  readonly wants: (stream: AuxStream) => boolean;
  /** Makes the receiver of ranges. */
  readonly sink: () => PtPartSink<Found>;
}

/** The ranges of all buffers, each about this many bytes, in order of time. */
export async function ptRanges(
  { trace: { aux, source, clock }, wants }: Pick<PtWhole<never>, "trace" | "wants">,
  bytes: number,
): Promise<PtRange[]> {
  const ranges: PtRange[] = [];
  for (const [buffer, stream] of aux.streams.filter(wants).entries()) {
    const seeker = new PtSeeker(stream, source, clock);
    const cuts = await seeker.cuts(bytes);
    let from: PtCut | undefined;
    for (const cut of [...cuts, undefined]) {
      const to = cut?.seam;
      ranges.push({ buffer, from, to, bytes: (to ?? seeker.size) - (from?.seam ?? 0) });
      from = cut;
    }
  }
  return ranges.sort((a, b) =>
    (a.from?.time ?? -1) - (b.from?.time ?? -1) || a.buffer - b.buffer ||
    (a.from?.seam ?? 0) - (b.from?.seam ?? 0)
  );
}

/** Decodes ranges, one after the other, in any order. */
export class PtRangeDecoder<Found> {
  readonly #whole: PtWhole<Found>;
  readonly #streams: readonly AuxStream[];
  readonly #sink: PtPartSink<Found>;
  readonly #surroundings: BufferSurroundings;
  /** The buffer of the last range, where that ended. */
  #buffer: DecodedBuffer | undefined;
  /** Places and objects that were handed out. */
  #places = 0;
  #objects = 0;

  /** Prepares for the ranges of a recording. */
  constructor(whole: PtWhole<Found>) {
    const { trace, wants } = whole;
    this.#whole = whole;
    this.#streams = trace.aux.streams.filter(wants);
    const sink = this.#sink = whole.sink();
    this.#surroundings = { trace, sink, cache: new FlowCache() };
  }

  /** Decodes a range: begins before it, where its clocks can be known. */
  async decode(range: PtRange): Promise<PtRangePart<Found>> {
    const { from, buffer: index } = range;
    const sink = this.#sink;
    sink.beginBuffer(index, from !== undefined);
    const buffer = this.#buffer = new DecodedBuffer(
      this.#streams[index] as AuxStream,
      index,
      this.#surroundings,
      from === undefined ? {} : { at: from.begin },
    );
    if (from === undefined) return await this.#decodeTo(buffer, range, noPtCounts(), undefined);
    // What is before the seam only says how its clocks stand.
    await buffer.runTo(from.seam);
    const start = stateOf(buffer, sink);
    await sink.takePart(buffer);
    return await this.#decodeTo(buffer, range, countsOf(buffer), start);
  }

  /** Decodes the range after the one that was decoded last, from where that one ended. */
  async goOn(range: PtRange): Promise<PtRangePart<Found>> {
    const buffer = this.#buffer as DecodedBuffer;
    return await this.#decodeTo(buffer, range, countsOf(buffer), undefined);
  }

  async #decodeTo(
    buffer: DecodedBuffer,
    range: PtRange,
    before: PtCounts,
    start: number[] | undefined,
  ): Promise<PtRangePart<Found>> {
    const sink = this.#sink;
    await buffer.runTo(range.to ?? Infinity);
    const counts = countsOf(buffer);
    addPtCounts(counts, before, -1);
    const end = buffer.atSeam ? stateOf(buffer, sink) : undefined;
    const time = sink.timeOfBuffer(buffer.index);
    const { missing, kernelFile } = this.#whole.trace.code;
    return {
      range,
      found: await sink.takePart(buffer, !buffer.atSeam),
      counts,
      start,
      end,
      time,
      places: undefined,
      missing: [...missing],
      kernelFile,
    };
  }

  /** Hands out the places that were met since the call before. */
  takePlaces(): PlacesFound {
    const { table, objects } = this.#whole.trace.code;
    const from = this.#places;
    const found = {
      objects: objects.slice(this.#objects),
      object: table.object.slice(from, table.count) as Int32Array<ArrayBuffer>,
      address: table.address.slice(from, table.count) as Float64Array<ArrayBuffer>,
      time: table.time.slice(from, table.count) as Float64Array<ArrayBuffer>,
    };
    this.#places = table.count;
    this.#objects = objects.length;
    return found;
  }
}

function countsOf(buffer: DecodedBuffer): PtCounts {
  const counts = noPtCounts();
  addPtCounts(counts, buffer.counts);
  return counts;
}

function stateOf(
  buffer: DecodedBuffer,
  sink: Pick<PtPartSink<unknown>, "stateOf">,
): number[] | undefined {
  const state = sink.stateOf(buffer);
  return state === undefined ? undefined : [...buffer.stateAfterPsb(), ...state];
}
