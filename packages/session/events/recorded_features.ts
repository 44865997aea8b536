import type { PerfDataReader } from "@perfdata/format/records";
import { featureName } from "@perfdata/format/constants";
import { decodeFeature } from "@perfdata/format/features";

/**
 * Decodes the requested features, from sections of a file or records of a pipe. Skips damaged ones.
 *
 * @param wanted Ids of the features.
 * @param recorded Features that came as records, by number.
 * @returns Values by number.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { HEADER_HOSTNAME } from "@perfdata/format/constants";
 * import { recordedFeatures } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const file = bytesSource(await Deno.readFile("fixtures/recorded/two-events.perf.data"));
 * const features = await recordedFeatures(await PerfDataReader.open(file), new Set([HEADER_HOSTNAME]));
 * assertEquals(features.get(HEADER_HOSTNAME), "fixture-host");
 * ```
 */
export async function recordedFeatures(
  reader: PerfDataReader,
  wanted: ReadonlySet<number>,
  recorded: ReadonlyMap<number, Uint8Array> = new Map(),
): Promise<Map<number, unknown>> {
  const sections = new Map(recorded);
  for (const { id, section } of reader.features) {
    if (!wanted.has(id)) continue;
    const [offset, size] = [Number(section.offset), Number(section.size)];
    sections.set(id, await reader.readSection(offset, size, featureName(id)));
  }
  const values = new Map<number, unknown>();
  for (const [id, bytes] of sections) {
    const feature = decodeFeature(id, bytes, { littleEndian: reader.littleEndian });
    if (feature.name !== "RAW") values.set(id, feature.value);
  }
  return values;
}
