import type { PerfEvent } from "@perfdata/format/records";
import { PERF_RECORD_MISC_KERNEL } from "@perfdata/format/constants";
import { TracepointText, type TraceSymbol } from "@perfdata/format/tracepoint";
import type { Engine } from "@perfdata/session";

/** Names of places for {@linkcode ScriptTraces}. */
export interface TraceNames {
  /** The function at a place, with the distance from its start. */
  function(place: number): TraceSymbol | undefined;
}

/** Text of tracepoint samples, with the functions to which their data points. */
export class ScriptTraces {
  /** Names of the places, set after the last sample. */
  names: TraceNames | undefined;
  readonly #engine: Engine;
  /** Places of addresses in raw data. */
  readonly #places = new Map<bigint, number>();
  #text: TracepointText | undefined;

  /** Creates it without formats. */
  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Reads the formats, if the recording has them by now. */
  async learn(): Promise<void> {
    const formats = await this.#engine.described.formats();
    if (formats === undefined) return;
    this.#text = new TracepointText(formats, (address) => {
      const place = this.#places.get(address);
      return place === undefined ? undefined : this.names?.function(place);
    });
  }

  /** Whether the format of an event is known. */
  has({ attr }: PerfEvent): boolean {
    return this.#text?.has(Number(attr.config)) === true;
  }

  /**
   * Stores the places to which raw data points, while the machine's state is that of the sample.
   */
  collect(
    { attr }: PerfEvent,
    thread: number,
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
  ): void {
    if (this.#text === undefined) return;
    for (const address of this.#text.addresses(Number(attr.config), bytes, view, start, end)) {
      if (this.#places.has(address)) continue;
      const hi = Number(BigInt.asIntN(32, address >> 32n));
      const lo = Number(BigInt.asIntN(32, address));
      const { places } = this.#engine;
      this.#places.set(address, places.find(thread, PERF_RECORD_MISC_KERNEL, hi, lo));
    }
  }

  /** The text of raw data, valid until the next call; `undefined` without a format. */
  text(
    { attr }: PerfEvent,
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
  ): Uint8Array | undefined {
    const id = Number(attr.config);
    return this.#text?.has(id) === true ? this.#text.text(id, bytes, view, start, end) : undefined;
  }
}
