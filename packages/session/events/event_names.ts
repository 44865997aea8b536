import { type Diagnostics, PerfDataError } from "@perfdata/format/bytes";
import { decodeObjectFeature, type Feature } from "@perfdata/format/features";
import {
  layoutOf,
  type Payload,
  payloadBlocks,
  payloadBytes,
  type PerfDataReader,
  prefixSize,
} from "@perfdata/format/records";
import {
  eventName,
  featureName,
  HEADER_EVENT_DESC,
  HEADER_SP_META_INFO,
  HEADER_TRACING_DATA,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_TYPE_BREAKPOINT,
  PERF_TYPE_TRACEPOINT,
} from "@perfdata/format/constants";
import type { TracepointFormats } from "@perfdata/format/tracepoint";
import { streamFeature } from "./stream_feature.ts";
// Imports single files: loading all of user-records and session takes longer than counting a short
// recording.
import { EVENT_UPDATE, PERF_EVENT_UPDATE__NAME } from "@perfdata/user-records/metadata";

/** Offsets of the fields of an EVENT_UPDATE, and the size of the part before its variable data. */
const UPDATE = layoutOf(EVENT_UPDATE);
const UPDATE_SIZE = prefixSize(EVENT_UPDATE);
/** Limit of the size of TRACING_DATA, which holds text files of the kernel. */
const MAX_TRACING_DATA = 1 << 26;

/**
 * The names of a recording's events, as perf chooses them. The first of these that exists: the name
 * in an EVENT_UPDATE record; the name in EVENT_DESC, as passed to `perf record -e`; for a
 * tracepoint, its name in TRACING_DATA; for a tracepoint or an event of a PMU, its name in
 * META_INFO of simpleperf; a name made from the attr. The events of the reader are told their
 * names, since the meaning of samples may depend on them.
 *
 * @example
 * ```ts
 * import {
 *   bytesSource,
 *   emptyAttr,
 *   memorySink,
 *   PerfDataReader,
 *   PerfDataWriter,
 * } from "@perfdata/format";
 * import { EventNames } from "@perfdata/session";
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
  /** Name in the last EVENT_UPDATE, by index of the event. */
  readonly #updates = new Map<number, string>();
  #base: readonly string[] = [];
  /** Names in EVENT_DESC. */
  #described: readonly (string | undefined)[] = [];
  #description: Uint8Array | undefined;
  #tracingData: Uint8Array | undefined;
  #formats: TracepointFormats | undefined;
  readonly #diagnostics: Diagnostics | undefined;
  /** Features whose damage was reported. */
  readonly #damaged = new Set<number>();

  /**
   * Starts with the names that the attrs give.
   *
   * @param diagnostics Receives errors in features; such a feature is ignored.
   */
  constructor(reader: PerfDataReader, diagnostics?: Diagnostics) {
    this.#reader = reader;
    this.#diagnostics = diagnostics;
  }

  /**
   * Reads a record of a file or a pipe; skips records that name no events.
   *
   * An EVENT_UPDATE names the event of its id. An id that is 0 or unknown means the first event
   * (`evlist__id2evsel` of tools/perf/util/evlist.c).
   */
  record(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const { littleEndian: le, isGoogleDialect } = this.#reader;
    const feature = streamFeature(this.#reader, bytes, view, start, end);
    if (feature?.id === HEADER_EVENT_DESC) this.#description ??= feature.payload.slice();
    if (
      isGoogleDialect || end - start < UPDATE_SIZE ||
      view.getUint32(start, le) !== PERF_RECORD_EVENT_UPDATE ||
      view.getBigUint64(start + UPDATE.type, le) !== BigInt(PERF_EVENT_UPDATE__NAME)
    ) return;
    const text = bytes.subarray(start + UPDATE_SIZE, end);
    const nul = text.indexOf(0);
    const name = new TextDecoder().decode(nul < 0 ? text : text.subarray(0, nul));
    const id = view.getBigUint64(start + UPDATE.id, le);
    const { all } = this.#reader.events;
    const event = all.length === 1 || id === 0n ? 0 : all.findIndex(({ ids }) => ids.includes(id));
    if (event >= 0) this.#updates.set(event, name);
  }

  /**
   * Reads the payload after a record of a pipe, if it is TRACING_DATA.
   *
   * @returns A payload with the same bytes, which can still be read.
   */
  async payload(payload: Payload): Promise<Payload> {
    const { type, size } = payload;
    if (type !== PERF_RECORD_HEADER_TRACING_DATA || size > MAX_TRACING_DATA) return payload;
    const data = this.#tracingData = await payloadBytes(payload, size);
    this.#formats = undefined;
    let at = 0;
    const read = (into: Uint8Array): Promise<number> => {
      const part = data.subarray(at, at + into.length);
      into.set(part);
      at += part.length;
      return Promise.resolve(part.length);
    };
    const { offset } = payload;
    return { type, size, offset, read, [Symbol.asyncIterator]: () => payloadBlocks({ read }) };
  }

  /**
   * The names in the order of the attrs. In a stream, those of the events that were read so far.
   */
  async all(): Promise<string[]> {
    const feature = await this.#feature(HEADER_EVENT_DESC, this.#description);
    const names = new Map<bigint, string>();
    const described = feature?.name === "EVENT_DESC" ? feature.value.events : [];
    for (const { ids, name } of described) for (const id of ids) names.set(id, name);
    const events = this.#reader.events.all;
    const inFeature = events.map(({ ids: [id] }, i) =>
      (id === undefined ? undefined : names.get(id)) ?? described[i]?.name
    );
    this.#described = inFeature;
    const unnamed = events.some(({ attr }, i) =>
      attr.type === PERF_TYPE_TRACEPOINT && inFeature[i] === undefined
    );
    const tracepoints = unnamed ? (await this.formats())?.names : undefined;
    const simpleperf = await this.#simpleperfNames();
    this.#base = events.map(({ attr }, i) => {
      const hasNumber = attr.type === PERF_TYPE_TRACEPOINT || attr.type > PERF_TYPE_BREAKPOINT;
      return inFeature[i] ??
        (attr.type === PERF_TYPE_TRACEPOINT ? tracepoints?.get(Number(attr.config)) : undefined) ??
        (hasNumber ? simpleperf.get(typeKey(attr.type, attr.config)) : undefined) ??
        eventName(attr);
    });
    return this.current();
  }

  /** The names that {@link EventNames.all} returned last, with later updates. */
  current(): string[] {
    return this.#base.map((base, i) => {
      const update = this.#updates.get(i);
      this.#reader.events.at(i)?.named(update ?? this.#described[i]);
      return update ?? base;
    });
  }

  /** Names of the types of events that META_INFO of simpleperf lists, by {@link typeKey}. */
  async #simpleperfNames(): Promise<Map<string, string>> {
    const names = new Map<string, string>();
    const feature = await this.#feature(HEADER_SP_META_INFO, undefined);
    if (feature?.name !== "SP_META_INFO") return names;
    const types = feature.value.find(({ key }) => key === "event_type_info")?.value ?? "";
    for (const line of types.split("\n")) {
      const found = eventTypeOf(line);
      if (found !== undefined) names.set(typeKey(found.type, found.config), found.name);
    }
    return names;
  }

  /** The formats of tracepoints (TRACING_DATA); `undefined` in a stream before they were read. */
  async formats(): Promise<TracepointFormats | undefined> {
    if (this.#formats !== undefined) return this.#formats;
    const feature = await this.#feature(HEADER_TRACING_DATA, this.#tracingData);
    if (feature?.name !== "TRACING_DATA") return undefined;
    const { TracepointFormats } = await import("@perfdata/format/tracepoint");
    return this.#formats = new TracepointFormats(feature.value);
  }

  /** Decodes a feature of the file or the stream. Reports damage once. */
  async #feature(id: number, ofStream: Uint8Array | undefined): Promise<Feature | undefined> {
    const { littleEndian, features } = this.#reader;
    const section = features.find((feature) => feature.id === id)?.section;
    const base = Number(section?.offset ?? 0);
    let error: PerfDataError | undefined;
    let feature: Feature | undefined;
    try {
      const bytes = section === undefined
        ? ofStream
        : await this.#reader.readSection(base, Number(section.size), featureName(id));
      if (bytes === undefined) return undefined;
      const { decodeFeature } = id === HEADER_EVENT_DESC
        ? { decodeFeature: decodeObjectFeature }
        : await import("@perfdata/format/features");
      feature = decodeFeature(id, bytes, { littleEndian, base });
      if (feature.name === "RAW") error = feature.error;
    } catch (thrown) {
      if (!(thrown instanceof PerfDataError)) throw thrown;
      error = thrown;
    }
    if (error !== undefined && !this.#damaged.has(id)) {
      this.#damaged.add(id);
      this.#diagnostics?.(error);
    }
    return feature;
  }
}

/** Key of an event type in `#simpleperfNames`. */
function typeKey(type: number, config: bigint): string {
  return `${type} ${config}`;
}

/**
 * Name, type and config in a line of `event_type_info`. Later versions write more fields after
 * them. A name may contain commas, such as `cpu/event=1,umask=2/`.
 */
function eventTypeOf(line: string): { name: string; type: number; config: bigint } | undefined {
  const fields = line.split(",");
  for (let i = 1; i + 1 < fields.length; i++) {
    const [type = "", config = ""] = fields.slice(i, i + 2);
    if (!isNumber(type) || !isNumber(config)) continue;
    return { name: fields.slice(0, i).join(","), type: Number(type), config: BigInt(config) };
  }
  return undefined;
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}
