import {
  decodeFeature,
  eventName,
  HEADER_EVENT_DESC,
  PerfDataError,
  type PerfDataReader,
} from "@perfdata/format";
import { streamFeature } from "@perfdata/session";
import { PERF_EVENT_UPDATE__NAME, PERF_RECORD_EVENT_UPDATE } from "@perfdata/user-records";

/**
 * The names of a recording's events, as perf finds them: what an EVENT_UPDATE record calls it, else
 * what EVENT_DESC says, which is how it was given to `perf record -e`, else a name made of the attr.
 *
 * @example
 * ```ts
 * import { bytesSource, emptyAttr, memorySink, PerfDataReader, PerfDataWriter } from "@perfdata/format";
 * import { EventNames } from "@perfdata/report";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const attr = { ...emptyAttr(), type: 1, config: 2n };
 * attr.flags.exclude_guest = true;
 * const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
 * await writer.close();
 * const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
 * assertEquals(await new EventNames(reader).all(), ["page-faults"]);
 * ```
 */
export class EventNames {
  readonly #reader: PerfDataReader;
  readonly #updates = new Map<bigint, string>();
  #description: Uint8Array | undefined;

  /** Knows what the attrs say. */
  constructor(reader: PerfDataReader) {
    this.#reader = reader;
  }

  /** Takes a record of a pipe; those that name no events are passed over. */
  record(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const { littleEndian: le, isGoogleDialect } = this.#reader;
    const feature = streamFeature(this.#reader, bytes, view, start, end);
    if (feature?.id === HEADER_EVENT_DESC) this.#description ??= feature.payload.slice();
    if (
      isGoogleDialect || end - start < 24 || view.getUint32(start, le) !== PERF_RECORD_EVENT_UPDATE
    ) return;
    // perf_record_event_update: type, id, name.
    if (view.getBigUint64(start + 8, le) !== BigInt(PERF_EVENT_UPDATE__NAME)) return;
    const text = bytes.subarray(start + 24, end);
    const nul = text.indexOf(0);
    const name = new TextDecoder().decode(nul < 0 ? text : text.subarray(0, nul));
    this.#updates.set(view.getBigUint64(start + 16, le), name);
  }

  /** The names in the order of the attrs: of a stream, those that are known by now. */
  async all(): Promise<string[]> {
    const { littleEndian, events } = this.#reader;
    const bytes = await this.#section() ?? this.#description;
    const feature = bytes === undefined
      ? undefined
      : decodeFeature(HEADER_EVENT_DESC, bytes, { littleEndian });
    const names = new Map<bigint, string>();
    const described = feature?.name === "EVENT_DESC" ? feature.value.events : [];
    for (const { ids, name } of described) for (const id of ids) names.set(id, name);
    return events.all.map((event, i) => {
      const update = event.ids.find((id) => this.#updates.has(id));
      if (update !== undefined) return this.#updates.get(update) ?? "";
      const [id] = event.ids;
      const byId = id === undefined ? undefined : names.get(id);
      return byId ?? described[i]?.name ?? eventName(event.attr);
    });
  }

  async #section(): Promise<Uint8Array | undefined> {
    const section = this.#reader.features.find(({ id }) => id === HEADER_EVENT_DESC)?.section;
    if (section === undefined) return undefined;
    try {
      const { offset, size } = section;
      return await this.#reader.readSection(Number(offset), Number(size), "EVENT_DESC");
    } catch (error) {
      // Names only: that the section is damaged is told where the file is read.
      if (!(error instanceof PerfDataError)) throw error;
      return undefined;
    }
  }
}
