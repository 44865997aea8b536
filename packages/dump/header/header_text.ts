import { decodeFeature, type Feature } from "@perfdata/format/features";
import { PerfDataError } from "@perfdata/format/bytes";
import { featureIds, type PerfDataReader, sectionRange } from "@perfdata/format/records";
import {
  FEATURE_NAMES,
  featureName,
  HEADER_PMU_CAPS,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import { streamFeature } from "@perfdata/session";
import { featureLines, type HeaderSession } from "./feature_lines.ts";
import { moreFeatureLines } from "./header_more.ts";

/** Largest section that is read into memory. perf writes far smaller ones. */
const MAX_SECTION = 1 << 30;

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Options of {@linkcode headerLines}. */
export interface HeaderOptions {
  /** Time of the last change, for the line `captured on` (local time). */
  readonly mtime?: Date;
  /** Whether to print features that perf 6.1 omits, too. */
  readonly more?: boolean;
}

/** Formats a time as `ctime` does. */
function ctime(date: Date): string {
  const two = (n: number) => String(n).padStart(2, "0");
  return `${DAYS[date.getDay()]} ${MONTHS[date.getMonth()]} ${String(date.getDate()).padStart(2)} ${
    two(date.getHours())
  }:${two(date.getMinutes())}:${two(date.getSeconds())} ${date.getFullYear()}`;
}

async function* pipeFeatures(reader: PerfDataReader): AsyncGenerator<Feature, void, void> {
  for await (const batch of reader.batches({ inflate: false })) {
    const { bytes, view, littleEndian } = batch;
    for (let i = 0; i < batch.count; i++) {
      // Features are user records.
      if (batch.type(i) < PERF_RECORD_USER_TYPE_START) continue;
      const start = batch.start(i);
      const size = batch.size(i);
      const found = streamFeature(reader, bytes, view, start, start + size);
      if (found === undefined) continue;
      yield decodeFeature(found.id, found.payload, {
        littleEndian,
        base: batch.offsetOf(i) + size - found.payload.length,
      });
    }
  }
}

/** The features of a file. A truncated feature is returned with its error. */
async function* fileFeatures(reader: PerfDataReader): AsyncGenerator<Feature, void, void> {
  for (const { id, section } of reader.listedFeatures) {
    const { offset, size } = sectionRange(section);
    try {
      if (size > MAX_SECTION) {
        throw new PerfDataError(
          `feature ${featureName(id)}: ${size} bytes, more than is read into memory`,
          { offset },
        );
      }
      const bytes = await reader.readSection(offset, size, `feature ${featureName(id)}`);
      yield decodeFeature(id, bytes, { littleEndian: reader.littleEndian, base: offset });
    } catch (error) {
      if (!(error instanceof PerfDataError)) throw error;
      yield { id, name: "RAW", raw: new Uint8Array(0), error };
    }
  }
}

/**
 * The text of `perf report --header-only -I` of perf 6.1 about a file and its machine
 * (`perf_header__fprintf_info` of `tools/perf/util/header.c`). With `more`, features follow that
 * perf omits.
 *
 * A pipe is read to its end, since its features are records; each line is returned as soon as it is
 * known. Text that is not UTF-8 is decoded by `decodeText`; encode it with `encodeText`.
 *
 * @param reader The file; a stream's records are read.
 * @param options Time of the last change, and selection.
 * @returns Lines without their ends.
 *
 * @example
 * ```ts
 * import { headerLines } from "@perfdata/dump";
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(16);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe[8] = 16;
 * const lines = await Array.fromAsync(headerLines(await PerfDataReader.open(bytesSource(pipe))));
 * assertEquals(lines, [
 *   "# ========",
 *   "# header version : 1",
 *   "# data offset    : 0",
 *   "# data size      : 0",
 *   "# feat offset    : 0",
 *   "# ========",
 *   "#",
 * ]);
 * ```
 */
export async function* headerLines(
  reader: PerfDataReader,
  options: HeaderOptions = {},
): AsyncGenerator<string, void, void> {
  const { header } = reader;
  const data = header?.data ?? { offset: 0n, size: 0n };
  yield "# ========";
  if (options.mtime !== undefined) yield `# captured on    : ${ctime(options.mtime)}`;
  // perf counts versions from 0.
  yield `# header version : ${reader.version - 1}`;
  yield `# data offset    : ${data.offset}`;
  yield `# data size      : ${data.size}`;
  yield `# feat offset    : ${header === undefined ? 0 : data.offset + data.size}`;
  const session: HeaderSession = {
    littleEndian: reader.littleEndian,
    events: reader.events.all,
    names: undefined,
    cpus: undefined,
    btfs: undefined,
  };
  const more: string[] = [];
  const take = (feature: Feature): string[] => {
    more.push(...moreFeatureLines(feature));
    return featureLines(feature, session);
  };
  if (header === undefined) {
    yield "# ========";
    yield "#";
    for await (const feature of pipeFeatures(reader)) yield* take(feature);
  } else {
    // In a file that is read as a stream, features follow the records.
    if (reader.fileSize === undefined) {
      for await (const _ of reader.batches({ inflate: false }));
    }
    const features: Feature[] = [];
    for await (const feature of fileFeatures(reader)) features.push(feature);
    // The names of BPF functions are in a later section than the programs.
    const btfs = features.find((feature) => feature.name === "BPF_BTF");
    if (btfs?.name === "BPF_BTF") session.btfs = btfs.value;
    for (const feature of features) yield* take(feature);
    const ids = featureIds(header, reader.littleEndian);
    const missing = Object.entries(FEATURE_NAMES)
      .filter(([id]) => Number(id) <= HEADER_PMU_CAPS && !ids.includes(Number(id)));
    yield `# missing features: ${missing.map(([, name]) => `${name} `).join("")}`;
    yield "# ========";
    yield "#";
  }
  if (options.more) yield* more;
}
