import { type ListOptions, PtList, ROW } from "../lists/pt_list.ts";
import { type JoinedPt, joinRanges, type PtJoiner, type PtWorkers } from "./pt_join.ts";
import type { PtNames } from "../code/pt_names.ts";
import type { PtRangePart, PtWhole } from "./pt_ranges.ts";
import type { PtTrace } from "../code/pt_trace.ts";
import type { PtBuffer, PtPartSink } from "../decode/pt_sink.ts";
import { rowLines, type RowTextOptions } from "../lists/pt_text.ts";

/** Number of rows that are formatted at once. */
const BLOCK = 1024;
/** Maximum number of parts per thread whose text waits for its turn. */
const WAITING = 2;
/** Size of a range: text of branches and instructions is up to a thousand times as large. */
const TEXT_RANGE = 1 << 15;

/** The text of a list for a range of a buffer. */
export interface ListPart {
  /** The text; lines end with a newline. */
  readonly text: readonly Uint8Array<ArrayBuffer>[];
  /** For each step in the range: number of bytes before it, and its position in ns. */
  readonly steps: Float64Array<ArrayBuffer>;
  /** Number of rows in the text. */
  readonly rows: number;
  /** Places in the text. */
  readonly met: Int32Array<ArrayBuffer>;
}

/** Options of the list and its format. */
export interface ListTextOptions extends Omit<ListOptions, "idle">, RowTextOptions {}

/** A recording that is listed. */
export type PtListWhole = PtWhole<ListPart>;

/** Adds the receiver of ranges to a recording. */
export function listWhole(
  whole: Omit<PtListWhole, "sink">,
  names: PtNames,
  options: ListTextOptions,
): PtListWhole {
  return { ...whole, sink: () => new PtListText(whole.trace, names, options) };
}

/** Result of listing. */
export interface JoinedPtList extends JoinedPt {
  /** Number of rows in the text. */
  readonly rows: number;
  /** 1 for each place in the text. */
  readonly met: Uint8Array;
}

/**
 * Lists executed code by several threads; see {@linkcode joinRanges}. Each thread makes the text of
 * its ranges, and this thread writes the texts in the order of a single thread.
 *
 * @param write Receives text.
 * @returns `undefined`, with nothing written, if one thread has to decode the trace.
 */
export async function joinList(
  whole: PtListWhole,
  workers: PtWorkers,
  options: Pick<ListOptions, "branches" | "insns">,
  write: (text: Uint8Array) => void,
): Promise<JoinedPtList | undefined> {
  const isLong = options.branches === true || options.insns === true;
  const join = new ListJoin(write);
  const found = await joinRanges(
    whole,
    isLong ? { rangeBytes: TEXT_RANGE, ...workers } : workers,
    join,
  );
  return found && { ...found, rows: join.rows, met: join.met(whole.trace.code.places.count) };
}

/** Lists ranges of buffers as text. */
class PtListText implements PtPartSink<ListPart> {
  readonly #list: PtList;
  readonly #names: PtNames;
  readonly #options: ListTextOptions;
  readonly #encoder = new TextEncoder();
  #text: Uint8Array<ArrayBuffer>[] = [];
  #bytes = 0;
  #rows = 0;
  /** Steps of {@linkcode ListPart}. */
  #steps: number[] = [];
  /**
   * Steps that begin after rows without text yet: number of these rows, and position of the step.
   */
  #waiting: { readonly row: number; readonly position: number }[] = [];
  #met = new Set<number>();

  constructor(trace: PtTrace, names: PtNames, options: ListTextOptions) {
    this.#names = names;
    this.#options = options;
    this.#list = new PtList(trace, { ...options, idle: () => this.#print() });
  }

  flow: PtPartSink<ListPart>["flow"] = (buffer, run) => this.#list.flow(buffer, run);

  forget(): void {
    this.#list.forget();
  }

  async idle(): Promise<void> {
    await this.#list.idle();
  }

  step({ position }: PtBuffer): void {
    this.#waiting.push({ row: this.#list.rows.count, position });
  }

  beginBuffer(index: number, isBefore: boolean): void {
    this.#list.beginBuffer(index);
    this.#list.isQuiet = isBefore;
    this.#steps = [];
    this.#waiting = [];
  }

  stateOf(buffer: PtBuffer): readonly number[] {
    return this.#list.stateOf(buffer);
  }

  timeOfBuffer(index: number): number {
    return this.#list.timeOfBuffer(index);
  }

  async takePart(): Promise<ListPart> {
    await this.#print();
    // Events may have no place.
    this.#met.delete(-1);
    const part = {
      text: this.#text,
      steps: Float64Array.from(this.#steps),
      rows: this.#rows,
      met: Int32Array.from(this.#met),
    };
    this.#text = [];
    this.#steps = [];
    this.#bytes = this.#rows = 0;
    this.#met.clear();
    this.#list.isQuiet = false;
    return part;
  }

  async #print(): Promise<void> {
    const { rows } = this.#list;
    await this.#names.resolve();
    let from = 0;
    for (const { row, position } of this.#waiting) {
      this.#printRows(from, row);
      this.#steps.push(this.#bytes, position);
      from = row;
    }
    this.#printRows(from, rows.count);
    this.#waiting = [];
    this.#rows += rows.count;
    for (let i = 0; i < rows.count; i++) {
      this.#met.add(rows.a[i] ?? -1);
      if (rows.row[i] === ROW.BRANCH) this.#met.add(rows.b[i] ?? -1);
    }
    rows.clear();
  }

  #printRows(from: number, to: number): void {
    const { rows, texts } = this.#list;
    for (let at = from; at < to; at += BLOCK) {
      const end = Math.min(to, at + BLOCK);
      const lines = [...rowLines(rows, this.#names, texts, this.#options, at, end)];
      if (lines.length === 0) continue;
      const bytes = this.#encoder.encode(`${lines.join("\n")}\n`);
      this.#text.push(bytes);
      this.#bytes += bytes.length;
    }
  }
}

/** Text that is written step by step. */
interface JoinedList {
  readonly part: ListPart;
  step: number;
  /** Position of the output: index of the piece, bytes of it, and bytes in all. */
  piece: number;
  at: number;
  written: number;
}

/** Writes the text of all threads in order. */
class ListJoin implements PtJoiner<ListPart, JoinedList> {
  readonly waiting = WAITING;
  rows = 0;
  readonly #write: (text: Uint8Array) => void;
  readonly #met = new Set<number>();

  constructor(write: (text: Uint8Array) => void) {
    this.#write = write;
  }

  /** 1 for each place in the text. */
  met(count: number): Uint8Array {
    const met = new Uint8Array(count);
    for (const place of this.#met) met[place] = 1;
    return met;
  }

  join(_: number, { found: part }: PtRangePart<ListPart>, placeOf: Int32Array): JoinedList {
    this.rows += part.rows;
    for (const place of part.met) this.#met.add(placeOf[place] as number);
    return { part, step: 0, piece: 0, at: 0, written: 0 };
  }

  apply(_: number, joined: JoinedList): number | undefined {
    const { steps } = joined.part;
    const at = 2 * joined.step++;
    this.#writeTo(joined, steps[at] ?? Infinity);
    return steps[at + 1];
  }

  #writeTo(joined: JoinedList, end: number): void {
    const { text } = joined.part;
    for (let piece = text[joined.piece]; piece !== undefined && joined.written < end;) {
      const to = Math.min(piece.length, joined.at + end - joined.written);
      this.#write(piece.subarray(joined.at, to));
      joined.written += to - joined.at;
      joined.at = to;
      if (to < piece.length) return;
      joined.at = 0;
      piece = text[++joined.piece];
    }
  }
}
