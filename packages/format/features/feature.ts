import { encode } from "../struct/mod.ts";
import { bpfBtfs, bpfProgInfos } from "./bpf.ts";
import { buildIds } from "./build_id.ts";
import { cmdline } from "./cmdline.ts";
import {
  declarations,
  decodeDeclared,
  type DecodedFeature,
  type FeatureOptions,
  type RawFeature,
} from "./declaration.ts";
import { eventDescs } from "./event_desc.ts";
import { hiperfCommand, hiperfFiles, hiperfTime } from "./hiperf.ts";
import { cache, clnSize, memTopology, totalMem } from "./memory_features.ts";
import * as names from "./names.ts";
import { cpuPmuCaps, groupDescs, pmuCaps, pmuMappings } from "./pmu.ts";
import {
  auxtraceIndex,
  branchStack,
  compressed,
  dirFormat,
  eMachine,
  stat,
} from "./recorded_how.ts";
import { simpleperfFiles, simpleperfFiles2, simpleperfMeta } from "./simpleperf.ts";
import { arch, cpudesc, cpuid, hostname, osrelease, version } from "./host_names.ts";
import { clockData, clockidResolution, sampleTime } from "./time.ts";
import { cpuDomainInfo, cpuTopology, hybridTopology, nrCpus, numaTopology } from "./topology.ts";
import { tracingData } from "./tracing_data.ts";

export type {
  DecodedFeature,
  FeatureDeclaration,
  FeatureOptions,
  RawFeature,
} from "./declaration.ts";

/** The feature sections that have a declaration. */
export const FEATURES = [
  { id: names.HEADER_TRACING_DATA, name: "TRACING_DATA", codec: tracingData },
  { id: names.HEADER_BUILD_ID, name: "BUILD_ID", codec: buildIds },
  { id: names.HEADER_HOSTNAME, name: "HOSTNAME", codec: hostname },
  { id: names.HEADER_OSRELEASE, name: "OSRELEASE", codec: osrelease },
  { id: names.HEADER_VERSION, name: "VERSION", codec: version },
  { id: names.HEADER_ARCH, name: "ARCH", codec: arch },
  { id: names.HEADER_NRCPUS, name: "NRCPUS", codec: nrCpus },
  { id: names.HEADER_CPUDESC, name: "CPUDESC", codec: cpudesc },
  { id: names.HEADER_CPUID, name: "CPUID", codec: cpuid },
  { id: names.HEADER_TOTAL_MEM, name: "TOTAL_MEM", codec: totalMem },
  { id: names.HEADER_CMDLINE, name: "CMDLINE", codec: cmdline },
  { id: names.HEADER_EVENT_DESC, name: "EVENT_DESC", codec: eventDescs },
  { id: names.HEADER_CPU_TOPOLOGY, name: "CPU_TOPOLOGY", codec: cpuTopology },
  { id: names.HEADER_NUMA_TOPOLOGY, name: "NUMA_TOPOLOGY", codec: numaTopology },
  { id: names.HEADER_BRANCH_STACK, name: "BRANCH_STACK", codec: branchStack },
  { id: names.HEADER_PMU_MAPPINGS, name: "PMU_MAPPINGS", codec: pmuMappings },
  { id: names.HEADER_GROUP_DESC, name: "GROUP_DESC", codec: groupDescs },
  { id: names.HEADER_AUXTRACE, name: "AUXTRACE", codec: auxtraceIndex },
  { id: names.HEADER_STAT, name: "STAT", codec: stat },
  { id: names.HEADER_CACHE, name: "CACHE", codec: cache },
  { id: names.HEADER_SAMPLE_TIME, name: "SAMPLE_TIME", codec: sampleTime },
  { id: names.HEADER_MEM_TOPOLOGY, name: "MEM_TOPOLOGY", codec: memTopology },
  { id: names.HEADER_CLOCKID, name: "CLOCKID", codec: clockidResolution },
  { id: names.HEADER_DIR_FORMAT, name: "DIR_FORMAT", codec: dirFormat },
  { id: names.HEADER_BPF_PROG_INFO, name: "BPF_PROG_INFO", codec: bpfProgInfos },
  { id: names.HEADER_BPF_BTF, name: "BPF_BTF", codec: bpfBtfs },
  { id: names.HEADER_COMPRESSED, name: "COMPRESSED", codec: compressed },
  { id: names.HEADER_CPU_PMU_CAPS, name: "CPU_PMU_CAPS", codec: cpuPmuCaps },
  { id: names.HEADER_CLOCK_DATA, name: "CLOCK_DATA", codec: clockData },
  { id: names.HEADER_HYBRID_TOPOLOGY, name: "HYBRID_TOPOLOGY", codec: hybridTopology },
  { id: names.HEADER_PMU_CAPS, name: "PMU_CAPS", codec: pmuCaps },
  { id: names.HEADER_CPU_DOMAIN_INFO, name: "CPU_DOMAIN_INFO", codec: cpuDomainInfo },
  { id: names.HEADER_E_MACHINE, name: "E_MACHINE", codec: eMachine },
  { id: names.HEADER_CLN_SIZE, name: "CLN_SIZE", codec: clnSize },
  { id: names.HEADER_SP_FILE, name: "SP_FILE", codec: simpleperfFiles },
  { id: names.HEADER_SP_META_INFO, name: "SP_META_INFO", codec: simpleperfMeta },
  { id: names.HEADER_SP_FILE2, name: "SP_FILE2", codec: simpleperfFiles2 },
  { id: names.HEADER_HI_FILES_SYMBOL, name: "HI_FILES_SYMBOL", codec: hiperfFiles },
  { id: names.HEADER_HI_WORKLOAD_CMD, name: "HI_WORKLOAD_CMD", codec: hiperfCommand },
  { id: names.HEADER_HI_RECORD_TIME, name: "HI_RECORD_TIME", codec: hiperfTime },
] as const;

const DECLARATIONS = declarations(FEATURES);

/** A feature section, identified by its `name`. */
export type Feature = DecodedFeature<typeof FEATURES[number]> | RawFeature;

/** The feature with the name `N`: `FeatureOf<"EVENT_DESC">`. */
export type FeatureOf<N extends Feature["name"]> = Extract<Feature, { readonly name: N }>;

/**
 * Decodes a feature section, or the payload of a HEADER_FEATURE record of a pipe.
 *
 * Does not throw: an invalid section is returned as bytes, with the error.
 * {@link encodeFeature} restores the same bytes for any input. The layouts are those that
 * `tools/perf/util/header.c` writes.
 *
 * @param id Bit of the feature bitmap, or `feat_id` of the record.
 * @param bytes The section, or the record's bytes after `feat_id`.
 * @param options Byte order, file offset, and a trace.
 *
 * @example
 * ```ts
 * import { decodeFeature, encodeFeature } from "@perfdata/format";
 * import { HEADER_NRCPUS } from "@perfdata/format/constants";
 * import { assert, assertEquals } from "@std/assert";
 *
 * const bytes = Uint8Array.of(8, 0, 0, 0, 6, 0, 0, 0);
 * const feature = decodeFeature(HEADER_NRCPUS, bytes);
 * assert(feature.name === "NRCPUS");
 * assertEquals(feature.value, { nr_cpus_avail: 8, nr_cpus_online: 6 });
 * assertEquals(encodeFeature(feature), bytes);
 *
 * const cut = decodeFeature(HEADER_NRCPUS, bytes.subarray(0, 6), { base: 0x400 });
 * assert(cut.name === "RAW");
 * assertEquals(cut.error?.located(), "0x404: u32: 2 bytes left, expected 4");
 * ```
 */
export function decodeFeature(
  id: number,
  bytes: Uint8Array,
  options: FeatureOptions = {},
): Feature {
  return decodeDeclared(DECLARATIONS, id, bytes, options) as Feature;
}

/**
 * Encodes a feature section: the inverse of {@link decodeFeature}.
 *
 * @param feature A decoded feature, or a new value.
 * @param options Byte order of the file; little-endian by default.
 * @returns The bytes of the section.
 *
 * @example
 * ```ts
 * import { encodeFeature } from "@perfdata/format";
 * import { HEADER_ARCH } from "@perfdata/format/constants";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = encodeFeature({ id: HEADER_ARCH, name: "ARCH", value: "x86_64" });
 * assertEquals(bytes.length, 4 + 64);
 * assertEquals(bytes.subarray(0, 7), Uint8Array.of(64, 0, 0, 0, 0x78, 0x38, 0x36));
 * ```
 */
export function encodeFeature(
  feature: Feature,
  options: { readonly littleEndian?: boolean } = {},
): Uint8Array {
  if (feature.name === "RAW") return feature.raw.slice();
  const declared = DECLARATIONS.get(feature.id);
  if (declared?.name !== feature.name) {
    throw new TypeError(`feature ${feature.id}: found the name ${feature.name}`);
  }
  return encode(declared.codec, feature.value as unknown, {
    ...options,
    pad: feature.pad,
    tail: feature.tail,
  });
}
