import { IdMap } from "@perfdata/format/id-map";
import { HEADER_AUXTRACE, HEADER_BRANCH_STACK } from "@perfdata/format/feature-names";
import { PERF_SAMPLE_STACK_USER } from "@perfdata/format/perf-event";
import { type PerfDataReader, type PerfEvent } from "@perfdata/format";
import { type SampleLayout } from "@perfdata/format/sample-layout";
import type { SampleText } from "./text/sample_text.ts";

/** An event, and how many of its samples were printed. */
export interface EventState {
  /** Its number. */
  readonly index: number;
  /** The event. */
  readonly event: PerfEvent;
  /** Made with the first sample: in a pipe, what it depends on may come after the event. */
  text: SampleText | undefined;
  /** Samples that were printed. */
  samples: number;
}

/** The events of a recording and its features, as far as a dump has come. */
export class DumpEvents {
  /** The events that are known. */
  readonly all: EventState[] = [];
  /** The fields that any of them has. */
  combinedType = 0;
  /** Whether perf counts the branches of samples in their place. */
  branchMode = false;
  /** Whether the recording says that it has AUX data. */
  hasAuxtrace = false;
  /** Whether records other than samples have a trailer. */
  sampleIdAll = false;
  readonly #reader: PerfDataReader;
  readonly #byId = new IdMap<number>();
  readonly #renamed = new Map<number, string>();
  #attrs = 0;

  /** Knows no event yet. */
  constructor(reader: PerfDataReader) {
    this.#reader = reader;
  }

  /** Takes up the events of a file, and which features it has. */
  begin(): void {
    const ids = new Set(this.#reader.listedFeatures.map(({ id }) => id));
    this.update();
    this.hasAuxtrace = ids.has(HEADER_AUXTRACE);
    this.branchMode = ids.has(HEADER_BRANCH_STACK) && !(this.combinedType & PERF_SAMPLE_STACK_USER);
  }

  /** Takes an ATTR record of a pipe. */
  takeAttr(): void {
    this.#attrs++;
    this.update();
  }

  /**
   * Takes up events. The reader of a pipe is ahead of what is printed: an event counts from its
   * ATTR record on.
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

  /** The event that an id belongs to. */
  byId(hi: number, lo: number): EventState | undefined {
    return this.all[this.#byId.get(hi, lo) ?? -1];
  }

  /** Takes an EVENT_UPDATE record, which perf follows in files as well. */
  rename(id: bigint, name: string): void {
    const known = this.#byId.get(Number(id >> 32n), Number(id & 0xffff_ffffn));
    const i = this.all.length === 1 ? 0 : known ?? -1;
    if (i >= 0) this.#renamed.set(i, name);
  }

  /** The name of an event by now, where `names` has those that the features give. */
  nameOf(index: number, names: readonly string[]): string | undefined {
    return this.#renamed.get(index) ?? names[index];
  }

  /** Whether it is known to which event a sample belongs: without ids not to which of several. */
  isKnown(layout: SampleLayout): boolean {
    return this.all.length === 1 || layout.id >= 0 || layout.identifier >= 0 || !this.sampleIdAll;
  }
}
