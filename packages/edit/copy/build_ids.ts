import {
  type BuildIdEvent,
  decodeFeature,
  encodeFeature,
  type Feature,
} from "@perfdata/format/features";
import {
  KERNEL_RECORDS,
  type PerfDataReader,
  RecordCodec,
  type WriterFeature,
} from "@perfdata/format/records";
import {
  HEADER_BUILD_ID,
  PERF_RECORD_MISC_BUILD_ID_SIZE,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
} from "@perfdata/format/constants";
import type { Edit } from "./copy.ts";

/** File name for the kernel's build id. The name of its mapping is this and `_text` or `_stext`. */
export const KERNEL = "[kernel.kallsyms]";

/** Size of a build id in an event, whatever its own length. */
const ROOM = 20;

/**
 * Returns the mapped files of a recording, with the kernel as {@link KERNEL}, whose build id is neither
 * in the records of mappings nor in the table of build ids.
 *
 * @param reader The recording: a file, since it is read twice.
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 */
export async function filesWithoutBuildId(reader: PerfDataReader): Promise<string[]> {
  const files = new Set<string>();
  const known = new Set((await buildIdTable(reader)).map(({ filename }) => filename));
  const codec = new RecordCodec(KERNEL_RECORDS);
  for await (const batch of reader.batches({ quiet: true })) {
    for (let i = 0; i < batch.count; i++) {
      const type = batch.type(i);
      if (type !== PERF_RECORD_MMAP && type !== PERF_RECORD_MMAP2) continue;
      const record = codec.decode(batch.recordBytes(i), batch.context(i));
      if (record.name !== "MMAP" && record.name !== "MMAP2") continue;
      const { filename } = record.body;
      if ("build_id" in record.body) known.add(filename);
      else if (filename.startsWith("/")) files.add(filename);
      else if (filename.startsWith(KERNEL)) files.add(KERNEL);
    }
  }
  return [...files].filter((file) => !known.has(file));
}

async function buildIdTable(reader: PerfDataReader): Promise<readonly BuildIdEvent[]> {
  const section = reader.features.find(({ id }) => id === HEADER_BUILD_ID)?.section;
  if (section === undefined) return [];
  const bytes = await reader.readSection(Number(section.offset), Number(section.size), "BUILD_ID");
  const feature = decodeFeature(HEADER_BUILD_ID, bytes, { littleEndian: reader.littleEndian });
  return feature.name === "BUILD_ID" ? feature.value : [];
}

/** Adds build ids to the table of a recording, as `perf inject -b` does. */
export class AddBuildIds implements Edit {
  readonly #littleEndian: boolean;
  readonly #events: readonly BuildIdEvent[];
  #table: readonly BuildIdEvent[] = [];

  /**
   * Creates the edit.
   *
   * @param reader The recording.
   * @param ids Build ids in hexadecimal, by path of the mapped file.
   */
  constructor(reader: Pick<PerfDataReader, "littleEndian">, ids: ReadonlyMap<string, string>) {
    this.#littleEndian = reader.littleEndian;
    this.#events = Array.from(ids, ([filename, id]): BuildIdEvent => {
      const bytes = new Uint8Array(ROOM);
      const size = Math.min(ROOM, id.length >> 1);
      for (let i = 0; i < size; i++) bytes[i] = parseInt(id.slice(2 * i, 2 * i + 2), 16);
      return {
        type: 0,
        misc: (filename === KERNEL ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) |
          PERF_RECORD_MISC_BUILD_ID_SIZE,
        // -1 is the host.
        pid: -1,
        build_id: bytes,
        build_id_size: size,
        filename,
      };
    });
  }

  /** Removes the table and keeps it for {@link AddBuildIds.newFeatures}. */
  feature(id: number, bytes: Uint8Array): Uint8Array | undefined {
    if (id !== HEADER_BUILD_ID) return bytes;
    const feature = decodeFeature(id, bytes, { littleEndian: this.#littleEndian });
    if (feature.name !== "BUILD_ID") return bytes;
    this.#table = feature.value;
    return undefined;
  }

  /** Returns the table with the added build ids. */
  newFeatures(): readonly WriterFeature[] {
    const value = [...this.#table, ...this.#events];
    if (value.length === 0) return [];
    const feature = { id: HEADER_BUILD_ID, name: "BUILD_ID", value } as Feature;
    return [{
      id: HEADER_BUILD_ID,
      bytes: encodeFeature(feature, { littleEndian: this.#littleEndian }),
    }];
  }
}
