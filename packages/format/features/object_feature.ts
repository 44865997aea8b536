/**
 * Decodes the feature sections that every analysis needs. They are separate from the other sections,
 * because loading all declarations takes longer than counting a short recording.
 *
 * @module
 */
import { buildIds } from "./build_id.ts";
import {
  declarations,
  decodeDeclared,
  type DecodedFeature,
  type FeatureOptions,
  type RawFeature,
} from "./declaration.ts";
import { eventDescs } from "./event_desc.ts";
import {
  HEADER_ARCH,
  HEADER_BUILD_ID,
  HEADER_CPU_PMU_CAPS,
  HEADER_EVENT_DESC,
  HEADER_OSRELEASE,
} from "./names.ts";
import { cpuPmuCaps } from "./pmu.ts";
import { arch, osrelease } from "./host_names.ts";

export { BUILD_ID_SIZE, type BuildIdEvent, buildIdText } from "./build_id.ts";

const FEATURES = [
  { id: HEADER_BUILD_ID, name: "BUILD_ID", codec: buildIds },
  { id: HEADER_OSRELEASE, name: "OSRELEASE", codec: osrelease },
  { id: HEADER_ARCH, name: "ARCH", codec: arch },
  { id: HEADER_EVENT_DESC, name: "EVENT_DESC", codec: eventDescs },
  { id: HEADER_CPU_PMU_CAPS, name: "CPU_PMU_CAPS", codec: cpuPmuCaps },
] as const;
const DECLARATIONS = declarations(FEATURES);

/** A section about binaries or events. All other sections are `RAW`. */
export type ObjectFeature = DecodedFeature<typeof FEATURES[number]> | RawFeature;

/**
 * Decodes ARCH, BUILD_ID, OSRELEASE, EVENT_DESC and CPU_PMU_CAPS like `decodeFeature`. Other sections are
 * kept as bytes.
 *
 * @example
 * ```ts
 * import { decodeObjectFeature } from "@perfdata/format/features";
 * import { HEADER_OSRELEASE } from "@perfdata/format/constants";
 * import { assert, assertEquals } from "@std/assert";
 *
 * const feature = decodeObjectFeature(HEADER_OSRELEASE, Uint8Array.of(4, 0, 0, 0, 0x36, 0x2e, 0x31, 0));
 * assert(feature.name === "OSRELEASE");
 * assertEquals(feature.value, "6.1");
 * ```
 */
export function decodeObjectFeature(
  id: number,
  bytes: Uint8Array,
  options: FeatureOptions = {},
): ObjectFeature {
  return decodeDeclared(DECLARATIONS, id, bytes, options) as ObjectFeature;
}
