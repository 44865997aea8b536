import { type PerfDataReader, type PerfEvent, SampleFields } from "@perfdata/format/records";
import { PERF_TYPE_TRACEPOINT } from "@perfdata/format/constants";
import type { Engine } from "../engine/engine.ts";
import type { Run } from "../order/run.ts";

/** Position of a field in the raw data. */
export interface FieldPlace {
  /** Bytes from the start of the raw data. */
  readonly offset: number;
  /** Bytes. */
  readonly size: number;
}

/** A tracepoint of a recording whose fields are read. */
export interface Tracepoint {
  /** `system:name`. */
  readonly name: string;
  /**
   * Positions of the requested fields, in their order; empty if the recording has the name without
   * the format.
   */
  readonly places: readonly FieldPlace[];
  /** Position of `common_flags`; -1 if the format does not have it. */
  readonly flags: number;
  /** Locates the raw data of a sample. */
  readonly fields: SampleFields;
}

type Format = Omit<Tracepoint, "fields">;

/**
 * Requested tracepoints of a recording. Fields are read by the recorded formats, which differ
 * between kernels.
 */
export class Tracepoints {
  readonly #formats = new Map<number, Format>();
  readonly #found = new Map<number, Tracepoint>();
  readonly #events: readonly PerfEvent[];
  readonly #littleEndian: boolean;
  readonly #engine: Pick<Engine, "eventNames">;
  readonly #wanted: readonly string[];
  readonly #unformatted: readonly string[];
  #seen = 0;
  /** Names of the recorded tracepoints that can be read. */
  readonly names: Set<string> = new Set();
  /** Samples of these tracepoints whose raw data are too short. */
  damaged = 0;
  /** Whether the recording has formats of tracepoints (TRACING_DATA). */
  isDescribed = false;

  private constructor(
    reader: PerfDataReader,
    engine: Pick<Engine, "eventNames">,
    wanted: readonly string[],
    unformatted: readonly string[],
  ) {
    this.#unformatted = unformatted;
    this.#engine = engine;
    this.#wanted = wanted;
    this.#littleEndian = reader.littleEndian;
    this.#events = reader.events.all;
  }

  /**
   * Finds tracepoints of a recording.
   *
   * @param wanted Names of fields by `system:name`. A tracepoint that lacks one of its fields is
   * left out.
   * @param unformatted Names of tracepoints that are accepted without a format, since the header of
   * their samples is enough.
   */
  static async open(
    engine: Engine,
    wanted: Readonly<Record<string, readonly string[]>>,
    unformatted: readonly string[] = [],
  ): Promise<Tracepoints> {
    const { reader, described } = engine;
    const found = new Tracepoints(reader, engine, Object.keys(wanted), unformatted);
    const formats = await described.formats();
    found.isDescribed = formats !== undefined;
    for (const [id, name] of formats?.names ?? []) {
      const format = Object.hasOwn(wanted, name) ? formats?.get(id) : undefined;
      if (format === undefined) continue;
      const fields = wanted[name] ?? [];
      const places = fields.flatMap((field) => format.fields.find((f) => f.name === field) ?? []);
      if (places.length === fields.length) {
        const flags = format.common.find((f) => f.name === "common_flags")?.offset ?? -1;
        found.#formats.set(id, { name, places, flags });
      }
    }
    found.#learn();
    return found;
  }

  /**
   * Names of recorded tracepoints that cannot be read, because their format is missing (as in a
   * file that was cut) or lacks fields. If no tracepoint has a format or a name, any may be a
   * requested one.
   */
  get undescribed(): string[] {
    this.#learn();
    const names = this.#events.flatMap(({ attr }, number) => {
      if (attr.type !== PERF_TYPE_TRACEPOINT || this.#found.has(number)) return [];
      const name = this.#engine.eventNames[number] ?? "";
      const known = /^[\w-]+:[\w-]+/.exec(name)?.[0];
      if (known === undefined) return this.isDescribed ? [] : [`tracepoint ${attr.config}`];
      return this.#wanted.includes(known) ? [known] : [];
    });
    return [...new Set(names)];
  }

  /**
   * Matches the events that were read since the last call: in a stream, events may follow the
   * formats.
   */
  #learn(): void {
    for (; this.#seen < this.#events.length; this.#seen++) {
      const { attr } = this.#events[this.#seen] as PerfEvent;
      if (attr.type !== PERF_TYPE_TRACEPOINT) continue;
      const format = this.#formats.get(Number(attr.config)) ?? this.#withoutFormat(this.#seen);
      if (format === undefined) continue;
      this.#found.set(this.#seen, { ...format, fields: new SampleFields(attr) });
      this.names.add(format.name);
    }
  }

  /** Whether a tracepoint was found by its name alone. */
  isUnformatted(name: string): boolean {
    this.#learn();
    for (const found of this.#found.values()) {
      if (found.name === name) return found.places.length === 0;
    }
    return false;
  }

  #withoutFormat(event: number): Format | undefined {
    const name = this.#engine.eventNames[event] ?? "";
    return this.#unformatted.includes(name) ? { name, places: [], flags: -1 } : undefined;
  }

  /**
   * The tracepoint of a sample, after its raw data were located; `undefined` if the event is not a
   * requested one, or the data are cut, which is counted.
   */
  of(run: Run, i: number): Tracepoint | undefined {
    const found = this.ofEvent(run.event[i] as number);
    if (found === undefined || this.isSound(found, run, i)) return found;
    this.damaged++;
    return undefined;
  }

  /**
   * The tracepoint of an event, without locating the data of a sample; `undefined` if it is not a
   * requested one.
   */
  ofEvent(event: number): Tracepoint | undefined {
    if (this.#seen < this.#events.length) this.#learn();
    return this.#found.get(event);
  }

  /** Locates the raw data of a sample. Returns whether all fields are in it. */
  isSound({ fields, places }: Tracepoint, run: Run, i: number): boolean {
    const { view } = run.at(i);
    const [start, end] = [run.start[i] as number, run.end[i] as number];
    if (!fields.locate(view, start, end, this.#littleEndian)) return false;
    for (let k = 0; k < places.length; k++) {
      const { offset, size } = places[k] as FieldPlace;
      if (offset + size > fields.rawSize) return false;
    }
    return true;
  }
}
