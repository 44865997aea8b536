import { enlarge } from "@perfdata/format/enlarge";
import type { PtNames } from "@perfdata/pt/code";
import type { PtBuffer, PtPartSink } from "@perfdata/pt/decode";
import { MetPlaces, type PartEnd, type PtSamples } from "@perfdata/pt/samples";
import type { PtScriptWriter } from "./script_pt.ts";

/**
 * Position in a part's text of the first period of an instruction sample, to which the count of the
 * previous part is added.
 */
export interface FirstPeriod {
  /** Number of its line. */
  readonly line: number;
  /** Bytes before it in the part. */
  readonly at: number;
  /** The instructions of the part that it stands for. */
  readonly period: number;
}

/** Text of a part of a buffer's trace. */
export interface PtScriptPart extends PartEnd {
  /** The text, in pieces of whole lines. */
  readonly text: Uint8Array<ArrayBuffer>[];
  /** When the sample of each line is, ns. */
  readonly times: Float64Array<ArrayBuffer>;
  /** Bytes of each. */
  readonly lengths: Int32Array<ArrayBuffer>;
  /** No sample after the part has a time before this one, ns. */
  readonly bound: number;
  /** Where the first sample of an instruction is printed, if it is. */
  readonly first: FirstPeriod | undefined;
  /** Places in it. */
  readonly met: Int32Array<ArrayBuffer>;
}

/** Makes the text of parts of buffers: the samples, each a line, and when they are. */
export class PtScriptMaker implements PtPartSink<PtScriptPart> {
  readonly #samples: PtSamples;
  readonly #writer: PtScriptWriter;
  readonly #names: PtNames;
  readonly #met = new MetPlaces();
  /** Whether what comes is before the part: it is not printed. */
  #isQuiet = false;
  #text: Uint8Array<ArrayBuffer>[] = [];
  #times = new Float64Array(1024);
  #lengths = new Int32Array(1024);
  #lines = 0;
  /** Bytes of the text that was taken from the writer. */
  #bytes = 0;
  #first: FirstPeriod | undefined;

  /**
   * Prints samples.
   *
   * @param samples Makes the samples, not in order of time, and calls `print` of this where its rows may be used.
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
