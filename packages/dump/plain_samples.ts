import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  type SampleLayout,
  SampleWalk,
} from "@perfdata/format";
import { SampleFronts } from "./sample_front.ts";
import type { SampleBytes, SampleHead } from "./sample_head.ts";
import type { SampleText } from "./sample_text.ts";
import type { TextBytes } from "./text.ts";
import type { ThreadText } from "./thread_text.ts";

/** Where a walk over a sample notes the call chain. */
const CALLCHAIN = SampleWalk.slot("callchain");

/** What a sample may have whose text is of fields in the order of the record, and nothing else. */
const PLAIN_FIELDS = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
  PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
  PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;

/** Whether the samples of an event are plain ones, where those of all events have some of `combined`. */
export function arePlain(layout: SampleLayout, combined: number): boolean {
  return (layout.sampleType & ~PLAIN_FIELDS) === 0 &&
    layout.ip >= 0 && layout.pid >= 0 && layout.time >= 0 &&
    (layout.cpu >= 0 || !(combined & PERF_SAMPLE_CPU));
}

/**
 * Writes the samples of one event that are as most are: whose text is of fields in the order of the
 * record, all of it, and nothing else. The machine and the file are little-endian.
 */
export class PlainSamples {
  /** The fields of constant place. */
  readonly layout: SampleLayout;
  readonly #text: SampleText;
  readonly #head: SampleHead;
  readonly #threads: ThreadText;
  readonly #fronts: SampleFronts;
  readonly #hasCpu: boolean;
  readonly #hasChain: boolean;
  readonly #hasRaw: boolean;

  /**
   * @param head Its `combinedType` is that of all events.
   * @param threads Holds the text of threads and binaries.
   */
  constructor(text: SampleText, head: SampleHead, threads: ThreadText) {
    const { layout } = text;
    this.layout = layout;
    this.#text = text;
    this.#head = head;
    this.#threads = threads;
    this.#fronts = new SampleFronts(layout);
    this.#hasCpu = (head.combinedType & PERF_SAMPLE_CPU) !== 0;
    this.#hasChain = (layout.sampleType & PERF_SAMPLE_CALLCHAIN) !== 0;
    this.#hasRaw = (layout.sampleType & PERF_SAMPLE_RAW) !== 0;
  }

  /** Finds the fields of a sample; whether they fit into it. */
  locate({ words, view }: SampleBytes, start: number, end: number): boolean {
    const { fields, layout } = this.#text;
    if (this.#hasRaw) return fields.locate(view, start, end, true);
    // The same where there is nothing but a call chain.
    let at = start + layout.fixedSize;
    if (!this.#hasChain) return at <= end;
    const n = at + 8 > end || words[(at >> 2) + 1] !== 0 ? -1 : words[at >> 2] as number;
    at += 8;
    if (n < 0 || n > (end - at) >> 3) return false;
    fields.counts[CALLCHAIN] = n;
    fields.positions[CALLCHAIN] = at;
    return true;
  }

  /**
   * Writes the sample that was located last.
   *
   * @param place File offset that is printed.
   * @param slot That of its thread's text.
   * @param binary That of its address.
   */
  put(
    out: TextBytes,
    p: number,
    record: SampleBytes,
    start: number,
    end: number,
    place: number,
    slot: number,
    binary: number,
  ): number {
    const { words } = record;
    const { layout } = this;
    const first = start >> 2;
    const cpu = this.#hasCpu ? words[first + (layout.cpu >> 2)] as number : 0;
    const q = this.#fronts.put(out, p, words, first, cpu, place);
    if (q >= 0) {
      p = q;
    } else {
      const head = this.#head;
      p = head.put(out, p, record, start, end, place, layout);
      this.#fronts.keep(out, words, first, cpu, place, head.places, p);
    }
    const threads = this.#threads;
    p = this.#text.put(out, threads.putIds(out, p, slot), record.view, start);
    return threads.putBinary(out, threads.putLine(out, p, slot), binary);
  }
}
