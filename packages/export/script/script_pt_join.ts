import {
  areLocal,
  decodePt,
  joinRanges,
  type LeftOut,
  MetPlaces,
  type PtCounts,
  type PtJoiner,
  type PtNames,
  type PtRangePart,
  PtSamples,
  type PtWhole,
  type PtWorkers,
  type RecordedSamples,
  type SamplesOptions,
} from "@perfdata/pt/decode";
import type { ItraceOptions } from "@perfdata/pt";
import { PERIOD_WIDTH, type PtScriptWriter } from "./script_pt.ts";
import { PtScriptMaker, type PtScriptPart } from "./script_pt_maker.ts";

/** Limit of a thread's finished parts that wait to be written. */
const WAITING = 2;
/**
 * Bytes of a range if each branch or instruction is a line, which has up to a thousand times as
 * many bytes.
 */
const TEXT_RANGE = 1 << 15;
/** Period, in ticks or ns, from which samples of instructions are few lines. */
const SELDOM = 10_000;
/**
 * Distance in ns by which one CPU may be ahead of another while one thread merges their samples.
 */
const SLICE = 100_000;

/** A recording whose samples are written, with the sink of its ranges. */
export interface PtScriptWhole extends PtWhole<PtScriptPart> {
  /** Names of the places. */
  readonly names: PtNames;
  /** Writes lines. */
  readonly writer: PtScriptWriter;
  /** Selection of the samples. */
  readonly options: ScriptSamplesOptions;
}

/** Selection of the samples, without the options for delivering them. */
export type ScriptSamplesOptions = Omit<SamplesOptions, "merge" | "idle" | "recorded">;

/** Adds the sink of ranges to a recording. */
export function scriptWhole(whole: Omit<PtScriptWhole, "sink">): PtScriptWhole {
  const { trace, options, writer, names } = whole;
  return {
    ...whole,
    sink: () =>
      new PtScriptMaker(
        (idle) => new PtSamples(trace, { ...options, merge: false, idle }),
        writer,
        names,
      ),
  };
}

/** Output options. */
export interface PtScriptOrder {
  /** Receives the text. */
  readonly write: (text: Uint8Array) => void;
  /**
   * Writes the recorded samples before `ns`, and returns the time (ns) of the next one. It is called
   * again before the first line at or after that time.
   */
  readonly others: (ns: number) => number;
  /** Called with the number of bytes decoded since the last call. */
  readonly progress?: PtWorkers["progress"];
  /** Recorded samples, if they get call chains or branch stacks. */
  readonly recorded?: RecordedSamples;
  /** Called before the first sample with the maker of samples, if a single thread makes them. */
  readonly begins?: (samples: PtSamples) => void;
}

/** Counts of the output. */
export interface WrittenPtScript extends LeftOut {
  /** Counts of the trace. */
  readonly counts: PtCounts;
  /** Number of samples. */
  readonly printed: number;
  /** 1 for each place in a line; `undefined` if unknown. */
  readonly met: Uint8Array | undefined;
  /** With several threads: number of ranges, and of ranges that were decoded again. */
  readonly joined?: { readonly ranges: number; readonly again: number };
}

/** Whether there is about one line per branch or instruction. */
export function hasManyLines({ branches, instructions }: ItraceOptions): boolean {
  return branches || (instructions !== undefined && instructions.period < SELDOM);
}

/**
 * Writes the samples of a trace: with several threads, or with this one if that is not possible
 * (see `areLocal`, `joinRanges`). The lines are equal: in time order, at equal times in buffer
 * order.
 *
 * @param workers The threads, if any.
 */
export async function writePtScript(
  whole: PtScriptWhole,
  workers: PtWorkers | undefined,
  order: PtScriptOrder,
): Promise<WrittenPtScript> {
  const { trace, wants, options } = whole;
  const streams = trace.aux.streams.filter(wants);
  const merge = streams.length > 1 && trace.clock.known;
  if (workers === undefined || !areLocal(options)) return await byOneThread(whole, merge, order);
  const join = new ScriptJoin(streams.length, merge, order);
  const { progress } = order;
  const found = await joinRanges(
    whole,
    {
      ...(hasManyLines(options.itrace) ? { rangeBytes: TEXT_RANGE } : {}),
      progress,
      ...workers,
    },
    join,
  );
  if (found === undefined) return await byOneThread(whole, merge, order);
  join.finish();
  const { counts, ...joined } = found;
  const { printed, interruptChanges, pebsRecords } = join;
  const met = join.met(trace.code.places.count);
  return { counts, printed, met, interruptChanges, pebsRecords, joined };
}

async function byOneThread(
  whole: PtScriptWhole,
  merge: boolean,
  { write, others, progress, recorded, begins }: PtScriptOrder,
): Promise<WrittenPtScript> {
  const { trace, names, writer, options, wants } = whole;
  const met = areLocal(options) ? new MetPlaces() : undefined;
  let printed = 0;
  const print = async () => {
    const { rows, insnTexts } = samples;
    if (rows.count === 0) return;
    await names.resolve();
    printed += rows.count;
    met?.take(rows);
    writer.rows(rows, insnTexts, write, others);
    samples.clear();
  };
  const samples: PtSamples = new PtSamples(trace, {
    ...options,
    recorded,
    merge,
    idle: print,
  });
  begins?.(samples);
  const counts = await decodePt(trace, samples, {
    wants,
    progress,
    ...(merge ? { slice: SLICE } : {}),
    quick: options.itrace.quick ?? 0,
  });
  samples.finish();
  await print();
  write(writer.text.take());
  const { interruptChanges, pebsRecords } = samples;
  return { counts, printed, met: met?.of(trace.code.places.count), interruptChanges, pebsRecords };
}

/** A buffer whose parts are written. */
interface Lane {
  /** Parts with remaining lines. */
  readonly parts: PtScriptPart[];
  /**
   * Number of the next line in the first part; index of its piece of text, and position in the
   * piece.
   */
  line: number;
  piece: number;
  at: number;
  /** Time in ns that no further line precedes. */
  bound: number;
  /** Instructions since the last sample. */
  passed: number;
}

/** A part, with whether it is the last of its buffer. */
interface Placed {
  readonly part: PtScriptPart;
  readonly isLast: boolean;
}

/** Writes the lines of all parts in order. */
class ScriptJoin implements PtJoiner<PtScriptPart, Placed> {
  readonly waiting = WAITING;
  printed = 0;
  interruptChanges = 0;
  pebsRecords = 0;
  readonly #merge: boolean;
  readonly #order: PtScriptOrder;
  readonly #lanes: readonly Lane[];
  readonly #met = new MetPlaces();
  #nextOther = -Infinity;

  /**
   * @param merge Whether lines of all buffers are merged by time. Otherwise buffers follow each
   * other.
   */
  constructor(lanes: number, merge: boolean, order: PtScriptOrder) {
    this.#merge = merge;
    this.#order = order;
    this.#lanes = Array.from(
      { length: lanes },
      () => ({ parts: [], line: 0, piece: 0, at: 0, bound: -1, passed: 0 }),
    );
  }

  /** 1 for each place in a line. */
  met(count: number): Uint8Array {
    return this.#met.of(count);
  }

  join(
    index: number,
    { found: part, range }: PtRangePart<PtScriptPart>,
    placeOf: Int32Array,
  ): Placed {
    const lane = this.#lanes[index] as Lane;
    this.printed += part.times.length;
    this.interruptChanges += part.interruptChanges;
    this.pebsRecords += part.pebsRecords;
    for (const place of part.met) this.#met.add(placeOf[place] ?? -1);
    if (lane.passed > 0) addPeriod(part, lane.passed);
    lane.passed = part.takes > 0 ? part.passed : lane.passed + part.passed;
    return { part, isLast: range.to === undefined };
  }

  apply(index: number, { part, isLast }: Placed): undefined {
    const lane = this.#lanes[index] as Lane;
    if (part.times.length > 0) lane.parts.push(part);
    if (this.#merge) {
      lane.bound = isLast ? Infinity : part.bound;
      this.#writeMerged();
    } else this.#writeLines(lane, Infinity, Infinity);
    return undefined;
  }

  positionOf(index: number): number {
    return (this.#lanes[index] as Lane).bound;
  }

  /** Writes the lines that wait for other buffers. */
  finish(): void {
    for (const lane of this.#lanes) lane.bound = Infinity;
    this.#writeMerged();
  }

  /** Writes the lines that precede all lines still to come. */
  #writeMerged(): void {
    let bound = Infinity;
    for (const lane of this.#lanes) bound = Math.min(bound, lane.bound);
    for (;;) {
      let first: Lane | undefined;
      let time = bound;
      // At equal times, lines of the first buffer come first.
      let [before, through] = [bound, Infinity];
      for (const lane of this.#lanes) {
        const next = lane.parts[0]?.times[lane.line];
        if (next === undefined) continue;
        if (next < time) {
          if (first !== undefined) before = Math.min(before, time);
          // Earlier lanes have later lines.
          [first, time, through] = [lane, next, Infinity];
        } else through = Math.min(through, next);
      }
      if (first === undefined) return;
      this.#writeLines(first, before, through);
    }
  }

  /** Writes a buffer's next lines: those before a time, and up to another time. */
  #writeLines(lane: Lane, before: number, through: number): void {
    const { write, others } = this.#order;
    for (let part = lane.parts[0]; part !== undefined; part = lane.parts[0]) {
      const { text, times, lengths } = part;
      let { line, at } = lane;
      let from = at;
      let piece = text[lane.piece];
      for (; line < times.length && piece !== undefined; line++) {
        const time = times[line] ?? 0;
        if (time >= before || time > through) break;
        if (time >= this.#nextOther) {
          if (at > from) write(piece.subarray(from, at));
          from = at;
          this.#nextOther = others(time);
        }
        at += lengths[line] ?? 0;
        if (at === piece.length) {
          write(piece.subarray(from));
          piece = text[++lane.piece];
          at = from = 0;
        }
      }
      if (piece !== undefined && at > from) write(piece.subarray(from, at));
      lane.line = line;
      lane.at = at;
      if (line < times.length) return;
      lane.parts.shift();
      lane.line = lane.piece = lane.at = 0;
    }
  }
}

/** Adds instructions before the part to the period of its first instruction sample. */
function addPeriod({ text, lengths, first }: PtScriptPart, more: number): void {
  if (first === undefined) return;
  let { at } = first;
  let number = 0;
  for (; at >= (text[number] as Uint8Array).length; number++) {
    at -= (text[number] as Uint8Array).length;
  }
  const piece = text[number] as Uint8Array<ArrayBuffer>;
  const was = Math.max(PERIOD_WIDTH, String(first.period).length);
  const now = new TextEncoder().encode(String(first.period + more).padStart(PERIOD_WIDTH));
  if (now.length === was) return piece.set(now, at);
  const longer = new Uint8Array(piece.length + now.length - was);
  longer.set(piece.subarray(0, at));
  longer.set(now, at);
  longer.set(piece.subarray(at + was), at + now.length);
  text[number] = longer;
  lengths[first.line] = (lengths[first.line] ?? 0) + now.length - was;
}
