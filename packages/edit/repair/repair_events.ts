import { decodeFeature } from "@perfdata/format/features";
import {
  EventTable,
  layoutOf,
  PERF_ATTR_SIZE_VER0,
  type PerfDataReader,
  PerfEvent,
  recordSize,
} from "@perfdata/format/records";
import { PerfDataError, type RandomAccessSource } from "@perfdata/format/bytes";
import {
  HEADER_EVENT_DESC,
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import { streamFeature } from "@perfdata/session";
import { AUXTRACE } from "@perfdata/user-records";
import { HEADER_TRACING_DATA } from "@perfdata/user-records/metadata";
import { ENOUGH, KNOWN, Soundness } from "./repair_sound.ts";

/** Number of bytes of records, from the first one on, that are checked to choose the events. */
export const JUDGED: number = 1 << 22;

const AUXTRACE_SIZE = layoutOf(AUXTRACE).size;
const TRACING_SIZE = layoutOf(HEADER_TRACING_DATA).size;

/**
 * Replaces damaged events by those of EVENT_DESC, which has a second copy of all attrs and ids.
 *
 * The records decide which copy is damaged: EVENT_DESC is used if more records are
 * valid with it, and all records that are valid with the other copy are valid with it, too.
 *
 * @param reader The recording; the HEADER_ATTR records of a pipe have been read.
 * @param findings Receives a line about the change.
 * @returns Whether the events were replaced.
 */
export async function mendEvents(
  reader: PerfDataReader,
  source: RandomAccessSource,
  findings: string[],
): Promise<boolean> {
  const { events, littleEndian: le, data } = reader;
  const bytes = new Uint8Array(Math.max(0, Math.min(JUDGED, source.size - data.offset, data.size)));
  const got = await source.readAt(bytes, data.offset);
  const view = new DataView(bytes.buffer);
  const records = [...framed(view, got, le)];
  const described = reader.isPipe ? inStream(reader, bytes, view, records) : await inFile(reader);
  if (described === undefined || isSame(described, events)) return false;
  const [own, other] = [new Soundness(events, le), new Soundness(described, le)];
  let [judged, more] = [0, 0];
  for (const [start, end] of records) {
    if (view.getUint32(start, le) >= PERF_RECORD_USER_TYPE_START) continue;
    judged++;
    const isByOther = other.isSound(view, bytes, start, end);
    if (isByOther === own.isSound(view, bytes, start, end)) continue;
    if (!isByOther) return false;
    more++;
  }
  if (more < ENOUGH) return false;
  events.replace(described);
  findings.push(
    `attrs: taken from EVENT_DESC, by which ${more} more of the first ${judged} records are sound`,
  );
  return true;
}

/** Yields the boundaries of records, as far as sizes and types are plausible. */
function* framed(view: DataView, got: number, le: boolean): Generator<[number, number]> {
  for (let at = 0; at + PERF_EVENT_HEADER_SIZE <= got;) {
    const type = view.getUint32(at, le);
    const end = at + recordSize(view, at, le);
    if (end < at + PERF_EVENT_HEADER_SIZE || end > got || KNOWN.declaration(type) === undefined) {
      at += 8;
      continue;
    }
    yield [at, end];
    // The payloads of these records follow.
    if (type === PERF_RECORD_AUXTRACE && end - at >= AUXTRACE_SIZE + 8) {
      at = end + Number(view.getBigUint64(at + AUXTRACE_SIZE, le));
    } else if (type === PERF_RECORD_HEADER_TRACING_DATA && end - at >= TRACING_SIZE + 4) {
      at = end + view.getUint32(at + TRACING_SIZE, le);
    } else at = end;
  }
}

function inStream(
  reader: PerfDataReader,
  bytes: Uint8Array,
  view: DataView,
  records: readonly (readonly [number, number])[],
): EventTable | undefined {
  for (const [start, end] of records) {
    if (view.getUint32(start, reader.littleEndian) !== PERF_RECORD_HEADER_FEATURE) continue;
    const feature = streamFeature(reader, bytes, view, start, end);
    if (feature?.id === HEADER_EVENT_DESC) return tableOf(reader, feature.payload);
  }
  return undefined;
}

async function inFile(reader: PerfDataReader): Promise<EventTable | undefined> {
  const section = reader.features.find(({ id }) => id === HEADER_EVENT_DESC)?.section;
  if (section === undefined) return undefined;
  try {
    const { offset, size } = section;
    return tableOf(reader, await reader.readSection(Number(offset), Number(size), "EVENT_DESC"));
  } catch (error) {
    // The copy reports a section outside of the file.
    if (!(error instanceof PerfDataError)) throw error;
    return undefined;
  }
}

function tableOf(reader: PerfDataReader, bytes: Uint8Array): EventTable | undefined {
  const feature = decodeFeature(HEADER_EVENT_DESC, bytes, { littleEndian: reader.littleEndian });
  if (feature.name !== "EVENT_DESC") return undefined;
  const { events } = feature.value;
  const isWhole = events.every(({ attr }) => attr.size >= PERF_ATTR_SIZE_VER0);
  if (events.length === 0 || !isWhole) return undefined;
  const table = new EventTable();
  for (const { attr, ids } of events) table.add(new PerfEvent(attr, ids, () => reader.arch));
  return table;
}

function isSame(a: EventTable, b: EventTable): boolean {
  const text = (table: EventTable) =>
    JSON.stringify(
      table.all.map(({ attr, ids }) => [attr, ids]),
      (_, value) => typeof value === "bigint" ? `${value}` : value,
    );
  return text(a) === text(b);
}
