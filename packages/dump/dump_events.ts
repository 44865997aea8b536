import { IdMap } from "@perfdata/format/bytes";
import {
  HEADER_AUXTRACE,
  HEADER_BRANCH_STACK,
  PERF_SAMPLE_STACK_USER,
} from "@perfdata/format/constants";
import type { PerfDataReader, PerfEvent, SampleLayout } from "@perfdata/format/records";
import type { SampleText } from "./text/sample_text.ts";

/** An event, with the number of printed samples. */
export interface EventState {
  /** Index of the event. */
  readonly index: number;
  readonly event: PerfEvent;
  /** Created with the first sample: in a pipe, records that it depends on may follow the event. */
  text: SampleText | undefined;
  samples: number;
}

/** The events and features that are known at the current record. */
export class DumpEvents {
  /** The known events. */
  readonly all: EventState[] = [];
  /** Union of all events' `sample_type`. */
  combinedType = 0;
  /** Whether perf counts branches instead of samples. */
  branchMode = false;
  /** Whether the recording has AUX data. */
  hasAuxtrace = false;
  /** Whether records other than samples have a trailer. */
  sampleIdAll = false;
  readonly #reader: PerfDataReader;
  readonly #byId = new IdMap<number>();
  readonly #renamed = new Map<number, string>();
  #attrs = 0;

  constructor(reader: PerfDataReader) {
    this.#reader = reader;
  }

  /** Adds the events of a file, and checks its features. */
  begin(): void {
    const ids = new Set(this.#reader.listedFeatures.map(({ id }) => id));
    this.update();
    this.hasAuxtrace = ids.has(HEADER_AUXTRACE);
    this.branchMode = ids.has(HEADER_BRANCH_STACK) && !(this.combinedType & PERF_SAMPLE_STACK_USER);
  }

  /** Adds the event of a pipe's ATTR record. */
  takeAttr(): void {
    this.#attrs++;
    this.update();
  }

  /**
   * Adds new events. A pipe's reader is ahead of the text, so an event counts from its ATTR record
   * on.
   */
  update(): void {
    const { all } = this.#reader.events;
    const known = this.#reader.isPipe ? Math.min(this.#attrs, all.length) : all.length;
    for (let i = this.all.length; i < known; i++) {
      const event = all[i] as PerfEvent;
      this.all.push({ index: i, event, text: undefined, samples: 0 });
      this.combinedType |= event.layout.sampleType;
      for (const id of event.ids) this.#byId.set(id, i);
    }
    this.sampleIdAll = this.all[0]?.event.attr.flags.sample_id_all === true;
  }

  byId(hi: number, lo: number): EventState | undefined {
    return this.all[this.#byId.get(hi, lo) ?? -1];
  }

  /** Renames the event of an EVENT_UPDATE record, which perf applies in files too. */
  rename(id: bigint, name: string): void {
    const known = this.#byId.get(Number(id >> 32n), Number(id & 0xffff_ffffn));
    const i = this.all.length === 1 ? 0 : known ?? -1;
    if (i >= 0) this.#renamed.set(i, name);
  }

  /** Current name of an event; `names` are those in the features. */
  nameOf(index: number, names: readonly string[]): string | undefined {
    return this.#renamed.get(index) ?? names[index];
  }

  /** Whether a sample's event is known: without ids only if there is one event. */
  isKnown(layout: SampleLayout): boolean {
    return this.all.length === 1 || layout.id >= 0 || layout.identifier >= 0 || !this.sampleIdAll;
  }
}
