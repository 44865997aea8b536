import { enlarge } from "@perfdata/format/bytes";
import {
  MetPlaces,
  type PartEnd,
  type PtBuffer,
  type PtNames,
  type PtPartSink,
  type PtSamples,
} from "@perfdata/pt/decode";
import type { PtScriptWriter } from "./script_pt.ts";

/**
 * Position in a part's text of the first period of an instruction sample. The count of the previous
 * part is added to this period.
 */
export interface FirstPeriod {
  /** Index of the line. */
  readonly line: number;
  /** Bytes before it in the part. */
  readonly at: number;
  /** Instructions of the part in this period. */
  readonly period: number;
}

/** Text of a part of a buffer's trace. */
export interface PtScriptPart extends PartEnd {
  /** The text in pieces of whole lines. */
  readonly text: Uint8Array<ArrayBuffer>[];
  /** Time of each line's sample in ns. */
  readonly times: Float64Array<ArrayBuffer>;
  /** Bytes of each line. */
  readonly lengths: Int32Array<ArrayBuffer>;
  /** Time in ns that no sample after the part precedes. */
  readonly bound: number;
  /** The first printed instruction sample, if there is one. */
  readonly first: FirstPeriod | undefined;
  /** Places in the text. */
  readonly met: Int32Array<ArrayBuffer>;
}

/** Makes the text of parts of buffers: one line per sample, with its time. */
export class PtScriptMaker implements PtPartSink<PtScriptPart> {
  readonly #samples: PtSamples;
  readonly #writer: PtScriptWriter;
  readonly #names: PtNames;
  readonly #met = new MetPlaces();
  /** Whether samples precede the part, so that they are not printed. */
  #isQuiet = false;
  #text: Uint8Array<ArrayBuffer>[] = [];
  #times = new Float64Array(1024);
  #lengths = new Int32Array(1024);
  #lines = 0;
  /** Bytes that were taken from the writer. */
  #bytes = 0;
  #first: FirstPeriod | undefined;

  /**
   * Creates the maker.
   *
   * @param samples Creates the maker of samples, which are unsorted. It calls `print` when rows are
   * ready.
   */
  constructor(
    samples: (idle: () => Promise<void>) => PtSamples,
    writer: PtScriptWriter,
    names: PtNames,
  ) {
    this.#samples = samples(() => this.#print());
    this.#writer = writer;
    this.#names = names;
  }

  flow: PtPartSink<PtScriptPart>["flow"] = (buffer, run) => this.#samples.flow(buffer, run);

  thread(buffer: PtBuffer): void {
    this.#samples.thread(buffer);
  }

  forget(): void {
    this.#samples.forget();
  }

  async idle(): Promise<void> {
    await this.#samples.idle();
  }

  beginBuffer(index: number, isBefore: boolean): void {
    this.#samples.beginBuffer(index);
    this.#isQuiet = isBefore;
  }

  stateOf(buffer: PtBuffer): readonly number[] | undefined {
    return this.#samples.stateOf(buffer);
  }

  timeOfBuffer(index: number): number {
    return this.#samples.boundOf(index);
  }

  async takePart({ index }: PtBuffer): Promise<PtScriptPart> {
    await this.#print();
    this.#takeText();
    const samples = this.#samples;
    const part = {
      text: this.#text,
      times: this.#times.slice(0, this.#lines),
      lengths: this.#lengths.slice(0, this.#lines),
      bound: samples.boundOf(index),
      first: this.#first,
      ...samples.takePart(index),
      met: this.#met.takeList(),
    };
    this.#text = [];
    this.#lines = this.#bytes = 0;
    this.#first = undefined;
    this.#isQuiet = false;
    return part;
  }

  async #print(): Promise<void> {
    const samples = this.#samples;
    const { rows, insnTexts, firstRow } = samples;
    const { count } = rows;
    if (count === 0) return;
    if (!this.#isQuiet) {
      await this.#names.resolve();
      this.#met.take(rows);
      const writer = this.#writer;
      const { text } = writer;
      for (let row = 0; row < count; row++) {
        const from = text.length;
        writer.row(rows, row, insnTexts);
        if (row === firstRow && writer.periodAt >= 0) {
          this.#first = {
            line: this.#lines,
            at: this.#bytes + writer.periodAt,
            period: rows.value[row] ?? 0,
          };
        }
        this.#add(rows.time[row] ?? -1, text.length - from);
        if (text.isFull) this.#takeText();
      }
    }
    samples.clear();
  }

  #add(time: number, length: number): void {
    const line = this.#lines++;
    if (line === this.#times.length) {
      this.#times = enlarge(this.#times, line + 1);
      this.#lengths = enlarge(this.#lengths, line + 1);
    }
    this.#times[line] = time;
    this.#lengths[line] = length;
  }

  #takeText(): void {
    const { text } = this.#writer;
    if (text.length === 0) return;
    const piece = text.take();
    this.#text.push(piece);
    this.#bytes += piece.length;
  }
}
