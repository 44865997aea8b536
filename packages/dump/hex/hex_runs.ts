import { type ByteSource, PerfDataError, type RandomAccessSource } from "@perfdata/format/bytes";
import { PerfDataReader, type Region } from "@perfdata/format/records";
import { HexData } from "./hex_data.ts";
import { HexParts } from "./hex_parts.ts";
import { layoutProblems, regionRuns } from "./hex_regions.ts";
import { type HEX_SECTIONS, type HexOptions, type HexRun, PART } from "./hex_run.ts";
import { Origin, seekable } from "./hex_source.ts";

const SECTION_OF: Readonly<Record<Region["kind"], typeof HEX_SECTIONS[number] | undefined>> = {
  header: "header",
  attrs: "attrs",
  ids: "ids",
  event_types: "attrs",
  data: "data",
  feature_table: "features",
  feature: "features",
  gap: undefined,
};

/**
 * Explains every byte of a file. The runs follow each other without gap or overlap from the first
 * byte to the last, unless the options exclude some.
 *
 * Damage does not end the dump: bytes that cannot be decoded are a run with the reason. A file that
 * is read from a pipe is loaded into memory; a pipe stream is not.
 *
 * @param source The file or stream.
 * @param options Selects the runs.
 * @throws {PerfDataError} If a file of more than 1 GB is read from a pipe.
 *
 * @example
 * ```ts
 * import { hexRuns } from "@perfdata/dump";
 * import { bytesSource } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24); // a header and a FINISHED_ROUND
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * const runs: string[] = [];
 * for await (const { offset, owner, field, value } of hexRuns(bytesSource(pipe))) {
 *   runs.push(`${offset} ${owner} ${field} ${value}`);
 * }
 * assertEquals(runs, [
 *   "0 header .magic undefined",
 *   "8 header .size 16",
 *   "16 data[0] FINISHED_ROUND .header.type 68",
 *   "20 data[0] FINISHED_ROUND .header.misc 0x0",
 *   "22 data[0] FINISHED_ROUND .header.size 8",
 * ]);
 * ```
 */
export async function* hexRuns(
  source: ByteSource,
  options: HexOptions = {},
): AsyncGenerator<HexRun, void, void> {
  for await (const runs of hexStructures(source, options)) yield* runs;
}

/**
 * The runs of {@link hexRuns}, grouped by structure: awaiting each run would take longer than
 * making it. All are valid until the next group.
 */
export async function* hexStructures(
  source: ByteSource,
  options: HexOptions = {},
): AsyncGenerator<Iterable<HexRun>, void, void> {
  const input = await seekable(source);
  const problems: { offset: number; message: string }[] = [];
  const note = (error: PerfDataError) =>
    void problems.push({ offset: Number(error.offset ?? 0n), message: error.message });
  const origin = new Origin(input);
  let reader: PerfDataReader;
  try {
    reader = await PerfDataReader.open(input, { diagnostics: note });
  } catch (error) {
    if (!(error instanceof PerfDataError) || origin.source === undefined) throw error;
    for await (const run of unreadable(origin.source, error, options)) yield [run];
    return;
  }
  // A section outside of the file is reported at the header field that states its position.
  const outside = new Set(reader.layout.conflicts.map(({ wanted }) => wanted.offset));
  const elsewhere = problems.filter(({ offset }) => !outside.has(offset));
  problems.splice(0, Infinity, ...layoutProblems(reader), ...elsewhere);
  const parts = new HexParts(reader, origin, options, problems);
  const { section, record, types } = options;
  const dataOnly = record !== undefined || types !== undefined || section === "aux";
  const regions: readonly Region[] = reader.fileSize === undefined
    ? [{ kind: "header", offset: 0, size: reader.headerSize }, {
      kind: "data",
      offset: reader.headerSize,
      size: Infinity,
    }]
    : reader.layout.regions;
  for (const region of regions) {
    if (region.kind === "data") {
      if (section !== undefined && section !== "data" && section !== "aux") continue;
      if (region.offset >= (options.to ?? Infinity)) continue;
      if (region.offset + region.size <= (options.from ?? 0)) continue;
      yield* new HexData(parts).runs(region.offset, region.offset + region.size);
    } else if (!dataOnly && (section === undefined || section === SECTION_OF[region.kind])) {
      yield* regionRuns(parts, region);
    }
  }
  yield parts.left();
}

/** The runs of a file with an unreadable header. */
async function* unreadable(
  source: RandomAccessSource,
  error: PerfDataError,
  options: HexOptions,
): AsyncGenerator<HexRun, void, void> {
  const end = Math.min(source.size, options.to ?? Infinity);
  for (let offset = options.from ?? 0; offset < end; offset += PART) {
    const bytes = new Uint8Array(Math.min(PART, end - offset));
    await source.readAt(bytes, offset);
    yield {
      offset,
      size: bytes.length,
      bytes,
      owner: "unknown",
      field: "",
      depth: 0,
      type: `u8[${source.size}]`,
      value: undefined,
      problems: offset === (options.from ?? 0) ? [error.message] : [],
      inflated: false,
    };
  }
}
