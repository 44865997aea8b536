import { FlowCache } from "@perfdata/intel-pt";
import type { PlacesPart } from "@perfdata/session";
import type { AuxStream } from "@perfdata/session/auxtrace";
import { type BufferSurroundings, DecodedBuffer } from "../decode/pt_buffer.ts";
import { addPtCounts, noPtCounts, type PtCounts } from "../decode/pt_counts.ts";
import type { PtPartSink } from "../decode/pt_sink.ts";
import { type PtCut, PtSeeker } from "../decode/pt_seek.ts";
import type { PtTrace } from "../code/pt_trace.ts";

/** A part of a buffer's trace: from one PSB to another. */
export interface PtRange {
  /** Number of the buffer among the decoded ones. */
  readonly buffer: number;
  /** Start of the range; undefined at the beginning of the trace. */
  readonly from: PtCut | undefined;
  /** Offset in the stream of the PSB at its end; undefined at the end of the trace. */
  readonly to: number | undefined;
  /** Size in bytes. */
  readonly bytes: number;
}

/** Result for a range. */
export interface PtRangePart<Found> {
  /** The range. */
  readonly range: PtRange;
  /** Result of the sink. */
  readonly found: Found;
  /** Figures. */
  readonly counts: PtCounts;
  /** State at the start of the range; see `PtPartSink.stateOf`. */
  readonly start: readonly number[] | undefined;
  /** State at the end of the range. */
  readonly end: readonly number[] | undefined;
  /** Last time in ns. */
  readonly time: number;
  /** New places of the thread; `undefined` for the joining thread. */
  places: PlacesPart | undefined;
  /** Missing code: path, and reason. */
  readonly missing: readonly (readonly [string, string])[];
  /** The file of the kernel's code. */
  readonly kernelFile: string | undefined;
}

/** A recording, and the receiver of its ranges. */
export interface PtWhole<Found> {
  /** The recording. */
  readonly trace: PtTrace;
  /** Filter of buffers. */
  readonly wants: (stream: AuxStream) => boolean;
  /** Creates the receiver of ranges. */
  readonly sink: () => PtPartSink<Found>;
}

/** The ranges of all buffers, with about this many bytes each, in order of time. */
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
  /** The buffer of the last range, in its state at the end. */
  #buffer: DecodedBuffer | undefined;
  /** Number of places and objects that were returned. */
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

  /** Decodes a range. Begins at a PSB before it, so that the clocks are known. */
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
    // The part before the seam is only needed for the clocks.
    await buffer.runTo(from.seam);
    const start = stateOf(buffer, sink);
    await sink.takePart(buffer);
    return await this.#decodeTo(buffer, range, countsOf(buffer), start);
  }

  /** Decodes the range after the last one, continuing from its end. */
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

  /** Returns the places that were added since the last call. */
  takePlaces(): PlacesPart {
    const { places } = this.#whole.trace.code;
    const part = places.part(this.#places, this.#objects);
    this.#places = places.count;
    this.#objects = places.objects.length;
    return part;
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
