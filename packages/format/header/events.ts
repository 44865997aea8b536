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
  /** What is counted and sampled. */
  readonly attr: PerfEventAttr;
  /** The ids that the kernel gave the event, one a CPU or thread. */
  readonly ids: readonly bigint[];
  /** Where the fields of samples lie. */
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
   * Makes an event of a file.
   *
   * @param attr What is counted and sampled.
   * @param ids The ids that the kernel gave the event.
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

  /** The machine that recorded, as `uname -m` prints it, where it is known. */
  get arch(): string | undefined {
    return this.#arch();
  }

  /**
   * Takes what the recording calls the event, which may decide what its samples mean.
   *
   * @param name Nothing, where that is not known.
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

  /** Whether its samples mean what their raw data says, or may: see {@link OffCpuFields}. */
  get isOffCpu(): boolean {
    return this.#offCpu !== undefined;
  }

  /** Whether they do: by the name, or, where that is not known, as a sample that was read has shown. */
  get meansOffCpu(): boolean {
    return this.isOffCpu && (this.isNamed || this.#metOffCpu);
  }

  /** Whether it is known that they do, or do not. */
  get isNamed(): boolean {
    return this.#name !== undefined;
  }

  /** Whether its samples have call chains. */
  get hasChain(): boolean {
    return (this.layout.sampleType & PERF_SAMPLE_CALLCHAIN) !== 0 || this.isOffCpu;
  }

  /** What finds the fields of its samples that have no fixed place: those that are meant. */
  sampleFields(): SampleFields {
    return this.isOffCpu ? this.#offCpuFields() : new SampleFields(this.attr);
  }

  /**
   * The off-CPU sample that the record in `[start, end)` of `view` means; `undefined` for damaged ones
   * and for samples of other events. The next call overwrites it.
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

  /** Where the u64 period of a sample in `[start, end)` is; -1 if it has none. */
  periodAt(view: DataView, start: number, end: number, littleEndian: boolean): number {
    const { layout } = this;
    if (this.isOffCpu) return this.offCpu(view, start, end, littleEndian)?.period ?? -1;
    return layout.period < 0 ? -1 : start + layout.period;
  }

  /** Where the u64 address of a sample in `[start, end)` is; -1 if it has none. */
  ipAt(view: DataView, start: number, end: number, littleEndian: boolean): number {
    const { layout } = this;
    if (this.isOffCpu) return this.offCpu(view, start, end, littleEndian)?.ip ?? -1;
    return layout.ip < 0 ? -1 : start + layout.ip;
  }

  /** A declaration as it is for this event: without what the event's records do not hold. */
  specialize<T>(codec: Codec<T>): Codec<T> {
    let special = this.#specialized.get(codec as Codec<unknown>) as Codec<T> | undefined;
    if (special === undefined) {
      special = specialized(codec, this) ?? codec;
      this.#specialized.set(codec as Codec<unknown>, special as Codec<unknown>);
    }
    return special;
  }

  /** The declaration of the event's samples. */
  get sample(): Codec<Sample> {
    return this.specialize(sampleDeclaration);
  }

  /** The declaration of the `sample_id` trailer of the event's other records. */
  get trailer(): FixedSampleId {
    return this.#trailer ??= sampleIdTrailer(this.attr.sample_type);
  }
}

/**
 * The events of a file, and which of them a record belongs to.
 *
 * As the kernel intends: by the event id in the record, which is first in a sample and last in
 * other records where `PERF_SAMPLE_IDENTIFIER` is set, and otherwise at the place where all events
 * agree to have `PERF_SAMPLE_ID`. Without either all records are those of the first event.
 */
export class EventTable implements Iterable<PerfEvent> {
  readonly #events: PerfEvent[] = [];
  readonly #byId = new IdMap<number>();
  #lastHi = 0;
  #lastLo = 0;
  #lastIndex = -1;
  // Where the id is: in samples from the start of the record, in others from its end.
  #samplePos = -1;
  #trailerPos = 0;

  /** The events, in the order of the attr table. */
  get all(): readonly PerfEvent[] {
    return this.#events;
  }

  /** How many events there are. */
  get length(): number {
    return this.#events.length;
  }

  /** The event of a number, where there is one. */
  at(index: number): PerfEvent | undefined {
    return this.#events[index];
  }

  /** The events, in the order of the attr table. */
  [Symbol.iterator](): Iterator<PerfEvent> {
    return this.#events[Symbol.iterator]();
  }

  /** Adds an event; its number is its position in {@link EventTable.all}. */
  add(event: PerfEvent): void {
    const index = this.#events.push(event) - 1;
    // No id is 0.
    this.#lastHi = this.#lastLo = 0;
    for (const id of event.ids) this.#byId.set(id, index);
    const { identifier, id, trailer } = event.layout;
    const samplePos = identifier >= 0 ? identifier : id;
    const trailerPos = trailer.identifier !== 0 ? trailer.identifier : trailer.id;
    if (index === 0) {
      this.#samplePos = samplePos;
      this.#trailerPos = trailerPos;
    }
    // Where events do not agree, there is no such place.
    if (samplePos !== this.#samplePos) this.#samplePos = -1;
    if (trailerPos !== this.#trailerPos) this.#trailerPos = 0;
  }

  /** Takes the events of another table in place of its own. */
  replace(events: Iterable<PerfEvent>): void {
    this.#events.length = 0;
    this.#byId.clear();
    for (const event of events) this.add(event);
  }

  /**
   * The number of the event that the record in `[start, end)` of `view` belongs to, or -1 where
   * its id is not known.
   */
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
    // An id of 0 marks what perf itself synthesised, in the layout of the first event.
    if (low === 0 && high === 0) return 0;
    // Records of a buffer mostly follow others of the same event.
    if (low === this.#lastLo && high === this.#lastHi) return this.#lastIndex;
    this.#lastHi = high;
    this.#lastLo = low;
    return this.#lastIndex = this.#byId.get(high, low) ?? -1;
  }

  /** The event that a record belongs to; see {@link EventTable.indexOf}. */
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
