import {
  decodeFeature,
  eventName,
  HEADER_EVENT_DESC,
  PerfDataError,
  type PerfDataReader,
} from "@perfdata/format";

/**
 * The names of a file's events, in the order of the attr table.
 *
 * The file's EVENT_DESC names them as they were given to `perf record -e`. An event that it leaves
 * out, or of a file without EVENT_DESC, is named by its attr.
 *
 * @param description The payload of a HEADER_FEATURE record that is an EVENT_DESC, for a pipe.
 *
 * @example
 * ```ts
 * import { bytesSource, emptyAttr, memorySink, PerfDataReader, PerfDataWriter } from "@perfdata/format";
 * import { eventNames } from "@perfdata/report";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const attr = { ...emptyAttr(), type: 1, config: 2n };
 * attr.flags.exclude_guest = true;
 * const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
 * await writer.close();
 * const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
 * assertEquals(await eventNames(reader), ["page-faults"]);
 * ```
 */
export async function eventNames(
  reader: PerfDataReader,
  description?: Uint8Array,
): Promise<string[]> {
  const { littleEndian } = reader;
  let bytes = description;
  const section = reader.features.find(({ id }) => id === HEADER_EVENT_DESC)?.section;
  if (section !== undefined) {
    try {
      bytes = await reader.readSection(
        Number(section.offset),
        Number(section.size),
        "EVENT_DESC",
      );
    } catch (error) {
      // Names only: that the section is damaged is told where the file is read.
      if (!(error instanceof PerfDataError)) throw error;
    }
  }
  const feature = bytes === undefined
    ? undefined
    : decodeFeature(HEADER_EVENT_DESC, bytes, { littleEndian });
  const names = new Map<bigint, string>();
  const described = feature?.name === "EVENT_DESC" ? feature.value.events : [];
  for (const { ids, name } of described) for (const id of ids) names.set(id, name);
  return reader.events.all.map((event, i) => {
    const [id] = event.ids;
    const byId = id === undefined ? undefined : names.get(id);
    return byId ?? described[i]?.name ?? eventName(event.attr);
  });
}
