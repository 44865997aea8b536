import {
  decodeFeature,
  HEADER_EVENT_DESC,
  PerfDataError,
  type PerfDataReader,
  type PerfEvent,
} from "@perfdata/format";

const HARDWARE = [
  "cycles",
  "instructions",
  "cache-references",
  "cache-misses",
  "branches",
  "branch-misses",
  "bus-cycles",
  "stalled-cycles-frontend",
  "stalled-cycles-backend",
  "ref-cycles",
];

const SOFTWARE = [
  "cpu-clock",
  "task-clock",
  "page-faults",
  "context-switches",
  "cpu-migrations",
  "minor-faults",
  "major-faults",
  "alignment-faults",
  "emulation-faults",
  "dummy",
  "bpf-output",
  "cgroup-switches",
];

/** A name for an event that the file has none for, from its attr. */
export function attrName(event: PerfEvent): string {
  const { type, config } = event.attr;
  const known = type === 0 ? HARDWARE : type === 1 ? SOFTWARE : undefined;
  const name = known?.[Number(config & 0xffn)];
  return name ?? (type === 4 ? `raw 0x${config.toString(16)}` : `${type}:0x${config.toString(16)}`);
}

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
 * const writer = await PerfDataWriter.file(sink, {
 *   events: [{ attr: { ...emptyAttr(), type: 1, config: 2n } }],
 * });
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
    return byId ?? described[i]?.name ?? attrName(event);
  });
}
