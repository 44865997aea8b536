import { type Codec, record, type RecordDeclaration } from "@perfdata/format/records";
import { type FeatureOf, FEATURES } from "@perfdata/format/features";
import {
  GOOGLE_RECORD_HEADER_HOSTNAME,
  GOOGLE_RECORD_HEADER_NUMA_TOPOLOGY,
  GOOGLE_RECORD_HEADER_PMU_MAPPINGS,
  HEADER_HOSTNAME,
  HEADER_PMU_MAPPINGS,
} from "@perfdata/format/constants";
import { FINISHED_ROUND } from "../stream/finished.ts";
import { HEADER_ATTR } from "../header/header_attr.ts";
import { HEADER_BUILD_ID } from "../header/header_build_id.ts";
import { HEADER_EVENT_TYPE } from "../header/header_event_type.ts";
import { HEADER_TRACING_DATA } from "../header/header_tracing_data.ts";

/** Names of the features for which the dialect has records. */
export type GoogleFeatureName =
  | "HOSTNAME"
  | "OSRELEASE"
  | "VERSION"
  | "ARCH"
  | "NRCPUS"
  | "CPUDESC"
  | "CPUID"
  | "TOTAL_MEM"
  | "CMDLINE"
  | "EVENT_DESC"
  | "CPU_TOPOLOGY"
  | "NUMA_TOPOLOGY"
  | "PMU_MAPPINGS";

type FeatureRecord<N extends GoogleFeatureName> = RecordDeclaration<
  `HEADER_${N}`,
  FeatureOf<N>["value"]
>;

/**
 * Returns the id of the feature in a record of the dialect; `undefined` for other record types.
 *
 * @example
 * ```ts
 * import { HEADER_OSRELEASE } from "@perfdata/format/constants";
 * import { googleFeatureId } from "@perfdata/user-records";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([googleFeatureId(70), googleFeatureId(9)], [HEADER_OSRELEASE, undefined]);
 * ```
 */
export function googleFeatureId(type: number): number | undefined {
  if (type === GOOGLE_RECORD_HEADER_PMU_MAPPINGS) return HEADER_PMU_MAPPINGS;
  const isOne = type >= GOOGLE_RECORD_HEADER_HOSTNAME && type <= GOOGLE_RECORD_HEADER_NUMA_TOPOLOGY;
  return isOne ? type - GOOGLE_RECORD_HEADER_HOSTNAME + HEADER_HOSTNAME : undefined;
}

function featureRecord<const N extends GoogleFeatureName>(
  type: number,
  name: N,
): FeatureRecord<N> {
  const id = googleFeatureId(type);
  const found = FEATURES.find((declared) => declared.id === id);
  if (found?.name !== name) throw new TypeError(`feature ${id}: expected ${name}`);
  return record(type, `HEADER_${name}`, found.codec as Codec<FeatureOf<N>["value"]>);
}

/**
 * perf's own records in pipe streams of an old perf of Google's, which wrote them before Linux had
 * HEADER_FEATURE: each of the types 69 to 81 is a feature. The layouts are those of the feature
 * sections (`src/quipper/kernel/perf_internals.h` of google/perf_data_converter).
 *
 * The stream does not state its dialect. `PerfDataReader.isGoogleDialect` decides by the first record of type
 * 69, if it is not an ID_INDEX; only then do these replace `USER_RECORDS`.
 */
export const GOOGLE_RECORDS = [
  HEADER_ATTR,
  HEADER_EVENT_TYPE,
  HEADER_TRACING_DATA,
  HEADER_BUILD_ID,
  FINISHED_ROUND,
  featureRecord(69, "HOSTNAME") as FeatureRecord<"HOSTNAME">,
  featureRecord(70, "OSRELEASE") as FeatureRecord<"OSRELEASE">,
  featureRecord(71, "VERSION") as FeatureRecord<"VERSION">,
  featureRecord(72, "ARCH") as FeatureRecord<"ARCH">,
  featureRecord(73, "NRCPUS") as FeatureRecord<"NRCPUS">,
  featureRecord(74, "CPUDESC") as FeatureRecord<"CPUDESC">,
  featureRecord(75, "CPUID") as FeatureRecord<"CPUID">,
  featureRecord(76, "TOTAL_MEM") as FeatureRecord<"TOTAL_MEM">,
  featureRecord(77, "CMDLINE") as FeatureRecord<"CMDLINE">,
  featureRecord(78, "EVENT_DESC") as FeatureRecord<"EVENT_DESC">,
  featureRecord(79, "CPU_TOPOLOGY") as FeatureRecord<"CPU_TOPOLOGY">,
  featureRecord(80, "NUMA_TOPOLOGY") as FeatureRecord<"NUMA_TOPOLOGY">,
  featureRecord(81, "PMU_MAPPINGS") as FeatureRecord<"PMU_MAPPINGS">,
] as const;
