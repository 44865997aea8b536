import {
  decodeFileHeader,
  featureIds,
  headerSize,
  perfFileHeader,
  perfFileSection,
} from "../header/header.ts";
import { PerfDataError } from "../error.ts";
import { bytesSource, type SyncSource } from "./source.ts";
import { layoutOf, prefixSize } from "../struct/layout.ts";

/** Offset of the data section's size in the file header. */
const DATA_SIZE_AT = layoutOf(perfFileHeader)["data.size"] as number;
const SECTION = layoutOf(perfFileSection);
const SECTION_SIZE = prefixSize(perfFileSection);

/** A range of a source, as a part of the joined source. */
interface Piece {
  readonly source: SyncSource;
  readonly from: number;
  readonly size: number;
}

/**
 * Joins the files of a recording that is a directory (`perf record --threads`, `--kcore`) to one file: the file `data`,
 * which has the header, and the records of `data.0`, `data.1`, … after its own records. The header
 * and the feature table are adapted to the joined file. (`util/data.c` and
 * `perf_session__process_dir_events` of perf.)
 *
 * @param data The file `data`.
 * @param parts The other files, which contain only records.
 * @throws {PerfDataError} If `data` does not begin with the header of a perf.data file.
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
 * import { directorySource } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const writer = await PerfDataWriter.file(sink, { events: [{ attr: emptyAttr() }] });
 * await writer.close();
 * const round = Uint8Array.of(68, 0, 0, 0, 0, 0, 8, 0);
 * const source = directorySource(bytesSource(sink.bytes()), [bytesSource(round)]);
 * const reader = await PerfDataReader.open(source);
 * for await (const batch of reader.batches()) assertEquals(batch.type(0), 68);
 * assertEquals(reader.stats.records, 1);
 * ```
 */
export function directorySource(
  data: SyncSource,
  parts: readonly SyncSource[],
): SyncSource {
  const start = new Uint8Array(Math.min(data.size, 104));
  data.readAt(start, 0);
  const { magic, size } = headerSize(start);
  const le = magic.littleEndian;
  const header = decodeFileHeader(start.subarray(0, size), le);
  const added = parts.reduce((sum, part) => sum + part.size, 0);
  const offset = Number(header.data.offset);
  // perf writes the size and the features at its end, so a killed perf leaves zeros.
  const wasClosed = header.data.size > 0n;
  const end = wasClosed ? Math.min(offset + Number(header.data.size), data.size) : data.size;
  const features = wasClosed ? featureIds(header, le).length : 0;

  const front = new Uint8Array(size);
  data.readAt(front, 0);
  new DataView(front.buffer).setBigUint64(DATA_SIZE_AT, BigInt(end - offset + added), le);
  // A perf_file_section for each feature, after the records.
  const table = new Uint8Array(SECTION_SIZE * features);
  const view = new DataView(table.buffer);
  const got = data.readAt(table, end);
  for (let at = SECTION.offset; at + SECTION_SIZE <= got; at += SECTION_SIZE) {
    view.setBigUint64(at, view.getBigUint64(at, le) + BigInt(added), le);
  }

  const pieces: Piece[] = [];
  const add = (source: SyncSource, from = 0, size = source.size): void => {
    if (size > 0) pieces.push({ source, from, size });
  };
  add(bytesSource(front));
  add(data, front.length, end - front.length);
  const seams: number[] = [];
  let at = end;
  for (const part of parts) {
    if (part.size > 0) seams.push(at);
    add(part);
    at += part.size;
  }
  add(bytesSource(table.subarray(0, got)));
  add(data, end + got, data.size - end - got);
  return { ...joined(pieces), seams };
}

function joined(pieces: readonly Piece[]): SyncSource {
  return {
    size: pieces.reduce((sum, { size }) => sum + size, 0),
    readAt(into, position) {
      let done = 0;
      let start = 0;
      for (const { source, from, size } of pieces) {
        const skip = position + done - start;
        if (skip < size && done < into.length) {
          const part = into.subarray(done, done + size - skip);
          const got = source.readAt(part, from + skip);
          done += got;
          if (got < part.length) break;
        }
        start += size;
      }
      return done;
    },
  };
}

/** A source of files that have to be closed. */
export interface ClosableSyncSource extends SyncSource {
  /** Closes the files. */
  close(): void;
}

/**
 * Returns the names of the files with records in a recording's directory, in order: `data`, which has the
 * header, then `data.0`, `data.1`, …
 *
 * @param names All names in the directory.
 * @throws {PerfDataError} If there is no `data`.
 *
 * @example
 * ```ts
 * import { recordingParts } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(recordingParts(["data.10", "kcore_dir", "data.9", "data"]), ["data", "data.9", "data.10"]);
 * ```
 */
export function recordingParts(names: readonly string[]): [string, ...string[]] {
  if (!names.includes("data")) {
    throw new PerfDataError("directory has no 'data' file; not a perf recording", {
      code: "not-perf-data",
    });
  }
  const parts = names.filter((name) => /^data\.\d+$/.test(name))
    .sort((a, b) => Number(a.slice(5)) - Number(b.slice(5)));
  return ["data", ...parts];
}

/**
 * Opens a recording's directory as a {@linkcode directorySource}. If a file cannot be opened,
 * the files before it are closed.
 *
 * @param names All names in the directory.
 * @param open Opens a file of the directory.
 * @throws {PerfDataError} If the directory is not a recording.
 *
 * @example
 * ```ts
 * import { openDirectorySource } from "@perfdata/format/records";
 * import { assertThrows } from "@std/assert";
 *
 * assertThrows(() => openDirectorySource(["a"], () => { throw new Error(); }), Error, "no 'data' file");
 * ```
 */
export function openDirectorySource(
  names: readonly string[],
  open: (name: string) => ClosableSyncSource,
): ClosableSyncSource {
  const files: ClosableSyncSource[] = [];
  const close = (): void => files.forEach((file) => file.close());
  try {
    for (const name of recordingParts(names)) files.push(open(name));
    const [data, ...others] = files as [ClosableSyncSource, ...ClosableSyncSource[]];
    return { ...directorySource(data, others), close };
  } catch (error) {
    close();
    throw error;
  }
}
