import type { PerfEventAttr } from "./attr.ts";
import type { EventContext } from "../struct/cursor.ts";
import {
  type FixedSampleId,
  type Sample,
  sampleDeclaration,
  sampleIdTrailer,
} from "../sample/sample.ts";
import { hasOffCpuSamples, mayHaveOffCpuSamples, OffCpuFields } from "../sample/off_cpu.ts";
import { SampleFields, type SampleLayout, sampleLayout } from "../sample/sample_layout.ts";
import { IdMap } from "./id_map.ts";
import { trailerEnd } from "../records/record.ts";
import type { Codec } from "../struct/codec.ts";
import { specialized } from "../struct/of_event.ts";
import {
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_CALLCHAIN,
} from "./perf_event.ts";

/** One event of a file: its attr, its ids, and values derived from them. */
export class PerfEvent implements EventContext {
  /** Definition of the event and its samples. */
  readonly attr: PerfEventAttr;
  /** Ids that the kernel assigned to the event, one for each CPU or thread. */
  readonly ids: readonly bigint[];
  /** Offsets of the fields of samples. */
  readonly layout: SampleLayout;
  /** `read_format` of the attr. */
  readonly readFormat: number;
  readonly #specialized = new Map<Codec<unknown>, Codec<unknown>>();
  #trailer: FixedSampleId | undefined;
  #name: string | undefined;
  #offCpu: OffCpuFields | undefined;
  #metOffCpu = false;
  readonly #arch: () => string | undefined;

  /**
   * Creates an event.
   *
   * @param attr Definition of the event and its samples.
   * @param ids Ids that the kernel assigned to the event.
   * @param arch Returns the machine, as `uname -m` prints it, for the names of registers.
   */
  constructor(
    attr: PerfEventAttr,
    ids: readonly bigint[],
    arch: () => string | undefined = () => undefined,
  ) {
    this.attr = attr;
    this.ids = ids;
    this.layout = sampleLayout(attr);
    this.readFormat = Number(attr.read_format & 0xffff_ffffn);
    this.#arch = arch;
  }

  /** The recorded machine, as `uname -m` prints it, if it is known. */
  get arch(): string | undefined {
    return this.#arch();
  }

  /**
   * Sets the event's name in the recording, which may change the meaning of its samples.
   *
   * @param name The name; `undefined` if it is not known.
   */
  named(name: string | undefined): void {
    if (name === this.#name && this.#offCpu !== undefined) return;
    this.#name = name;
    const may = name === undefined
      ? mayHaveOffCpuSamples(this.attr)
      : hasOffCpuSamples(this.attr, name);
    this.#offCpu = may ? this.#offCpuFields() : undefined;
  }

  #offCpuFields(): OffCpuFields {
    return new OffCpuFields(this.attr, this.#name !== undefined);
  }

  /** Whether the raw data of the event's samples is, or may be, an off-CPU sample: see {@link OffCpuFields}. */
  get isOffCpu(): boolean {
    return this.#offCpu !== undefined;
  }

  /** Whether the samples are off-CPU samples: decided by the name, or without a name, by the samples read so far. */
  get meansOffCpu(): boolean {
    return this.isOffCpu && (this.isNamed || this.#metOffCpu);
  }

  /** Whether the event's name is known, so that {@link isOffCpu} is certain. */
  get isNamed(): boolean {
    return this.#name !== undefined;
  }

  /** Whether the event's samples have call chains. */
  get hasChain(): boolean {
    return (this.layout.sampleType & PERF_SAMPLE_CALLCHAIN) !== 0 || this.isOffCpu;
  }

  /** Creates the locator of the fields of variable position in the event's samples. */
  sampleFields(): SampleFields {
    return this.isOffCpu ? this.#offCpuFields() : new SampleFields(this.attr);
  }

  /**
   * Returns the off-CPU sample in the raw data of the record `[start, end)` of `view`; `undefined` if the
   * record is damaged or the event has other samples. The next call overwrites the result.
   */
  offCpu(
    view: DataView,
    start: number,
    end: number,
    littleEndian: boolean,
  ): OffCpuFields | undefined {
    const fields = this.#offCpu;
    if (fields?.locate(view, start, end, littleEndian) !== true) {
      return undefined;
    }
    if (fields.isMeant) this.#metOffCpu = true;
    return fields;
  }

  /** Returns the position of the u64 period of the sample in `[start, end)`; -1 if it has none. */
  periodAt(view: DataView, start: number, end: number, littleEndian: boolean): number {
    const { layout } = this;
    if (this.isOffCpu) return this.offCpu(view, start, end, littleEndian)?.period ?? -1;
    return layout.period < 0 ? -1 : start + layout.period;
  }

  /** Returns the position of the u64 address of the sample in `[start, end)`; -1 if it has none. */
  ipAt(view: DataView, start: number, end: number, littleEndian: boolean): number {
    const { layout } = this;
    if (this.isOffCpu) return this.offCpu(view, start, end, littleEndian)?.ip ?? -1;
    return layout.ip < 0 ? -1 : start + layout.ip;
  }

  /** Returns the declaration reduced to the fields that this event's records have. */
  specialize<T>(codec: Codec<T>): Codec<T> {
    let special = this.#specialized.get(codec as Codec<unknown>) as Codec<T> | undefined;
    if (special === undefined) {
      special = specialized(codec, this) ?? codec;
      this.#specialized.set(codec as Codec<unknown>, special as Codec<unknown>);
    }
    return special;
  }

  /** Declaration of the event's samples. */
  get sample(): Codec<Sample> {
    return this.specialize(sampleDeclaration);
  }

  /** Declaration of the `sample_id` trailer of the event's other records. */
  get trailer(): FixedSampleId {
    return this.#trailer ??= sampleIdTrailer(this.attr.sample_type);
  }
}

/**
 * The events of a file, with lookup of a record's event.
 *
 * A record's event is found by the event id in the record. With `PERF_SAMPLE_IDENTIFIER`, the id is first in a
 * sample
 * and last in other records. Otherwise, it is at the offset of `PERF_SAMPLE_ID`, if that is the same for all events.
 * In files without such an id, all records belong to the first event.
 */
export class EventTable implements Iterable<PerfEvent> {
  readonly #events: PerfEvent[] = [];
  readonly #byId = new IdMap<number>();
  #lastHi = 0;
  #lastLo = 0;
  #lastIndex = -1;
  // Position of the id: in samples from the start of the record, in other records from its end.
  #samplePos = -1;
  #trailerPos = 0;

  /** The events, in the order of the attr table. */
  get all(): readonly PerfEvent[] {
    return this.#events;
  }

  /** Number of events. */
  get length(): number {
    return this.#events.length;
  }

  /** Returns the event with the given number, if it exists. */
  at(index: number): PerfEvent | undefined {
    return this.#events[index];
  }

  /** The events, in the order of the attr table. */
  [Symbol.iterator](): Iterator<PerfEvent> {
    return this.#events[Symbol.iterator]();
  }

  /** Appends an event to {@link EventTable.all}. */
  add(event: PerfEvent): void {
    const index = this.#events.push(event) - 1;
    // Event ids are never 0, so this resets the cache.
    this.#lastHi = this.#lastLo = 0;
    for (const id of event.ids) this.#byId.set(id, index);
    const { identifier, id, trailer } = event.layout;
    const samplePos = identifier >= 0 ? identifier : id;
    const trailerPos = trailer.identifier !== 0 ? trailer.identifier : trailer.id;
    if (index === 0) {
      this.#samplePos = samplePos;
      this.#trailerPos = trailerPos;
    }
    // If events disagree, the id has no common position.
    if (samplePos !== this.#samplePos) this.#samplePos = -1;
    if (trailerPos !== this.#trailerPos) this.#trailerPos = 0;
  }

  /** Replaces all events. */
  replace(events: Iterable<PerfEvent>): void {
    this.#events.length = 0;
    this.#byId.clear();
    for (const event of events) this.add(event);
  }

  /** Returns the index of the event of the record in `[start, end)` of `view`; -1 if its id is unknown. */
  indexOf(view: DataView, start: number, end: number, type: number, le: boolean): number {
    const n = this.#events.length;
    if (n <= 1) return n - 1;
    let pos: number;
    if (type === PERF_RECORD_SAMPLE) {
      if (this.#samplePos < 0) return 0;
      pos = start + this.#samplePos;
    } else {
      if (this.#trailerPos === 0 || type >= PERF_RECORD_USER_TYPE_START) return 0;
      pos = trailerEnd(start, end) + this.#trailerPos;
    }
    if (pos < start + 8 || pos + 8 > end) return -1;
    const low = view.getUint32(le ? pos : pos + 4, le);
    const high = view.getUint32(le ? pos + 4 : pos, le);
    // Records that perf synthesized have id 0 and the layout of the first event.
    if (low === 0 && high === 0) return 0;
    // Consecutive records of a buffer mostly belong to the same event.
    if (low === this.#lastLo && high === this.#lastHi) return this.#lastIndex;
    this.#lastHi = high;
    this.#lastLo = low;
    return this.#lastIndex = this.#byId.get(high, low) ?? -1;
  }

  /** Returns the event that a record belongs to; see {@link EventTable.indexOf}. */
  eventOf(
    view: DataView,
    start: number,
    end: number,
    type: number,
    littleEndian: boolean,
  ): PerfEvent | undefined {
    return this.#events[this.indexOf(view, start, end, type, littleEndian)];
  }
}
