import {
  decodeFeature,
  eventName,
  HEADER_AUXTRACE,
  HEADER_BRANCH_STACK,
  HEADER_BUILD_ID,
  HEADER_EVENT_DESC,
  HEADER_TRACING_DATA,
  PERF_SAMPLE_STACK_USER,
  PerfDataError,
  type PerfDataReader,
  type PerfEvent,
  type SampleLayout,
} from "@perfdata/format";
import type { Machine } from "@perfdata/session/machine";
import type { SampleText } from "./sample_text.ts";

/** What is known of an event, and how many of its samples were printed. */
export interface EventState {
  /** The event. */
  readonly event: PerfEvent;
  /** Made with the first sample: in a pipe, what it depends on may come after the event. */
  text: SampleText | undefined;
  /** Samples that were printed. */
  samples: number;
}

/** `type` of the attr of a tracepoint (`enum perf_type_id`). */
const PERF_TYPE_TRACEPOINT = 2;

const USED_FEATURES: ReadonlySet<number> = new Set([
  HEADER_BUILD_ID,
  HEADER_EVENT_DESC,
  HEADER_TRACING_DATA,
]);

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
  readonly #machine: Machine;
  readonly #byId = new Map<number, number>();
  readonly #names: (string | undefined)[] = [];
  #attrs = 0;

  /** @param machine Learns the binaries of the BUILD_ID feature. */
  constructor(reader: PerfDataReader, machine: Machine) {
    this.#reader = reader;
    this.#machine = machine;
  }

  /** Takes from the features of a file what the text depends on. */
  async readFeatures(): Promise<void> {
    const reader = this.#reader;
    const ids = new Set<number>();
    for (const { id, section } of reader.features) {
      ids.add(id);
      if (!USED_FEATURES.has(id)) continue;
      try {
        const bytes = await reader.readSection(
          Number(section.offset),
          Number(section.size),
          "feature",
        );
        this.takeFeature(id, bytes);
      } catch (error) {
        // Without names the dump is still a dump; the reader reports the section itself.
        if (!(error instanceof PerfDataError)) throw error;
      }
    }
    this.update();
    this.hasAuxtrace = ids.has(HEADER_AUXTRACE);
    this.branchMode = ids.has(HEADER_BRANCH_STACK) && !(this.combinedType & PERF_SAMPLE_STACK_USER);
  }

  /** Takes a feature, of a file or of a record. */
  takeFeature(id: number, bytes: Uint8Array): void {
    const feature = decodeFeature(id, bytes, { littleEndian: this.#reader.littleEndian });
    if (feature.name === "BUILD_ID") {
      this.#machine.setKnownBinaries(
        feature.value.filter(({ pid }) => pid === undefined || pid === -1),
      );
    } else if (feature.name === "EVENT_DESC") {
      feature.value.events.forEach(({ name }, i) => {
        if (i < this.#reader.events.all.length) this.#names[i] ??= name;
      });
    } else if (feature.name === "TRACING_DATA") {
      const names = tracepointNames(feature.value.systems);
      this.#reader.events.all.forEach(({ attr }, i) => {
        if (attr.type === PERF_TYPE_TRACEPOINT) this.#names[i] ??= names.get(attr.config);
      });
    }
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
      this.all.push({ event, text: undefined, samples: 0 });
      this.combinedType |= event.layout.sampleType;
      for (const id of event.ids) this.#byId.set(Number(id), i);
    }
    this.sampleIdAll = this.all[0]?.event.attr.flags.sample_id_all === true;
  }

  /** The event that an id belongs to. */
  byId(id: number): EventState | undefined {
    return this.all[this.#byId.get(id) ?? -1];
  }

  /** Takes an EVENT_UPDATE record. */
  rename(id: number, name: string): void {
    const i = this.all.length === 1 ? 0 : this.#byId.get(id) ?? -1;
    if (i >= 0) this.#names[i] = name;
  }

  /** The name of an event; `unknown` where there is no such one. */
  nameOf(state: EventState | undefined): string {
    if (state === undefined) return "unknown";
    return this.#names[this.all.indexOf(state)] ?? eventName(state.event.attr);
  }

  /** Whether it is known to which event a sample belongs: without ids not to which of several. */
  isKnown(layout: SampleLayout): boolean {
    return this.all.length === 1 || layout.id >= 0 || layout.identifier >= 0 || !this.sampleIdAll;
  }
}

/** The names of tracepoints, `sched:sched_switch`, by their ids. */
function tracepointNames(
  systems: readonly { readonly name: string; readonly formats: readonly string[] }[],
): Map<bigint, string> {
  const names = new Map<bigint, string>();
  for (const { name: system, formats } of systems) {
    for (const format of formats) {
      const name = /^name: (.*)$/m.exec(format)?.[1];
      const id = /^ID: (\d+)$/m.exec(format)?.[1];
      if (name !== undefined && id !== undefined) names.set(BigInt(id), `${system}:${name}`);
    }
  }
  return names;
}
