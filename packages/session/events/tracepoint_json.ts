import type { PerfEvent, SampleFields } from "@perfdata/format/records";
import { intAt } from "@perfdata/format/bytes";
import { PERF_TYPE_TRACEPOINT } from "@perfdata/format/constants";
import type { TracepointFields } from "@perfdata/format/tracepoint";
import type { Engine } from "../engine/engine.ts";
import type { Run } from "../order/run.ts";

interface Source {
  readonly id: number;
  readonly sample: SampleFields;
}

/** The fields of a recording's tracepoints as JSON objects: see `TracepointFields`. */
export class TracepointJson {
  /** The count of samples whose raw data is shorter than their fields. */
  damaged: number = 0;
  readonly #engine: Engine;
  #fields: TracepointFields | undefined;
  readonly #sources: (Source | null | undefined)[] = [];

  private constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Parses the formats that were read so far. */
  static async open(engine: Engine): Promise<TracepointJson> {
    const opened = new TracepointJson(engine);
    await opened.learn();
    return opened;
  }

  /** Reads the formats again: those of a stream arrive after its start. */
  async learn(): Promise<void> {
    const formats = await this.#engine.described.formats();
    if (formats === undefined) return;
    const { TracepointFields } = await import("@perfdata/format/tracepoint");
    this.#fields = new TracepointFields(formats);
    this.#sources.length = 0;
  }

  /** Whether an event is a tracepoint with a known format. */
  has(event: number): boolean {
    return this.#source(event) !== null;
  }

  /**
   * The JSON object of a sample's fields; `undefined` if its event has no known format or its data
   * are too short, which is counted.
   */
  of(run: Run, row: number): string | undefined {
    const source = this.#source(intAt(run.event, row));
    if (source === null) return undefined;
    const { id, sample } = source;
    const { bytes, view } = run.at(row);
    const { littleEndian } = this.#engine.reader;
    if (!sample.locate(view, intAt(run.start, row), intAt(run.end, row), littleEndian)) {
      return undefined;
    }
    if (sample.raw < 0) return undefined;
    const json = this.#fields?.json(id, bytes, view, sample.raw, sample.raw + sample.rawSize);
    if (json === undefined) this.damaged++;
    return json;
  }

  #source(event: number): Source | null {
    const known = this.#sources[event];
    if (known !== undefined) return known;
    const found: PerfEvent | undefined = this.#engine.reader.events.all[event];
    if (this.#fields === undefined || found === undefined) return null;
    const id = Number(found.attr.config);
    const isKnown = found.attr.type === PERF_TYPE_TRACEPOINT && this.#fields.has(id);
    return this.#sources[event] = isKnown ? { id, sample: found.sampleFields() } : null;
  }
}
