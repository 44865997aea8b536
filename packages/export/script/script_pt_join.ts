import type { PtNames } from "@perfdata/pt/code";
import { decodePt, type PtCounts } from "@perfdata/pt/decode";
import {
  areLocal,
  type ItraceOptions,
  type LeftOut,
  MetPlaces,
  PtSamples,
  type RecordedSamples,
  type SamplesOptions,
} from "@perfdata/pt/samples";
import {
  joinRanges,
  type PtJoiner,
  type PtRangePart,
  type PtWhole,
  type PtWorkers,
} from "@perfdata/pt/parallel";
import { PERIOD_WIDTH, type PtScriptWriter } from "./script_pt.ts";
import { PtScriptMaker, type PtScriptPart } from "./script_pt_maker.ts";

/** Maximum number of parts per thread whose text waits for its turn. */
const WAITING = 2;
/** Bytes of a range where each branch or instruction is a line: there is up to a thousand times as much text. */
const TEXT_RANGE = 1 << 15;
/** From which period on, in ticks or ns, samples of instructions are few lines. */
const SELDOM = 10_000;
/** How far one CPU may be ahead of another while one thread merges their samples, ns. */
const SLICE = 100_000;

/** A recording whose samples are written, with what takes its ranges. */
export interface PtScriptWhole extends PtWhole<PtScriptPart> {
  /** The names of its places. */
  readonly names: PtNames;
  /** Writes a line. */
  readonly writer: PtScriptWriter;
  /** What samples are made, and of which part. */
  readonly options: ScriptSamplesOptions;
}

/** How samples are made, except how they are handed on. */
export type ScriptSamplesOptions = Omit<SamplesOptions, "merge" | "idle" | "recorded">;

/** A recording whose samples are written, with what takes its ranges. */
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

/** How samples are written. */
export interface PtScriptOrder {
  /** Takes text. */
  readonly write: (text: Uint8Array) => void;
  /**
   * Called before the first line at or after the time that it returned last, ns: writes other samples up to the
   * line's time.
   */
  readonly others: (ns: number) => number;
  /** Called with the bytes that were decoded since the call before. */
  readonly progress?: PtWorkers["progress"];
  /** Samples that were recorded, if they get lists. */
  readonly recorded?: RecordedSamples;
  /** Called with what makes the samples, where one thread makes them, before the first. */
  readonly begins?: (samples: PtSamples) => void;
}

/** Counts of the output. */
export interface WrittenPtScript extends LeftOut {
  /** Figures. */
  readonly counts: PtCounts;
  /** How many samples. */
  readonly printed: number;
  /** 1 for each place that is in a line; `undefined` if that is not known. */
  readonly met: Uint8Array | undefined;
  /** By several threads: how many ranges there were, and how many were decoded again. */
  readonly joined?: { readonly ranges: number; readonly again: number };
}

/** Whether about each branch or instruction is a line. */
export function hasManyLines({ branches, instructions }: ItraceOptions): boolean {
  return branches || (instructions !== undefined && instructions.period < SELDOM);
}

/**
 * Writes the samples of a trace: by several threads, or by this one alone if that is not possible (see `areLocal`,
 * `joinRanges`). The lines are the same: in order of time, and of buffers where times are the same.
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
  const met = join.met(trace.code.table.count);
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
  return { counts, printed, met: met?.of(trace.code.table.count), interruptChanges, pebsRecords };
}

/** A buffer whose parts are written. */
interface Lane {
  /** Parts of which lines are left: none is without lines. */
  readonly parts: PtScriptPart[];
  /** The line of the first of them that comes next; the piece of the text that it is in, and where. */
  line: number;
  piece: number;
  at: number;
  /** No line that is still to come has a time before this one, ns. */
  bound: number;
  /** Instructions that passed since the last sample. */
  passed: number;
}

/** A part, and whether it is the last of its buffer. */
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

  /** @param merge Whether the lines of all buffers are put in order of time; the buffers follow each other without it. */
  constructor(lanes: number, merge: boolean, order: PtScriptOrder) {
    this.#merge = merge;
    this.#order = order;
    this.#lanes = Array.from(
      { length: lanes },
      () => ({ parts: [], line: 0, piece: 0, at: 0, bound: -1, passed: 0 }),
    );
  }

  /** 1 for each place that is in a line. */
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

  /** Writes what waits for other buffers. */
  finish(): void {
    for (const lane of this.#lanes) lane.bound = Infinity;
    this.#writeMerged();
  }

  /** Writes the lines that come before all that is still to come. */
  #writeMerged(): void {
    let bound = Infinity;
    for (const lane of this.#lanes) bound = Math.min(bound, lane.bound);
    for (;;) {
      let first: Lane | undefined;
      let time = bound;
      // Of lines at the same time, those of the first buffer come first.
      let [before, through] = [bound, Infinity];
      for (const lane of this.#lanes) {
        const next = lane.parts[0]?.times[lane.line];
        if (next === undefined) continue;
        if (next < time) {
          if (first !== undefined) before = Math.min(before, time);
          // Those before it in the list have later lines.
          [first, time, through] = [lane, next, Infinity];
        } else through = Math.min(through, next);
      }
      if (first === undefined) return;
      this.#writeLines(first, before, through);
    }
  }

  /** Writes the next lines of a buffer: those before a time, and up to another. */
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

/** Lets the first sample of an instruction in a part stand for instructions before the part as well. */
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
