import { encode } from "../struct.ts";
import { bpfBtfs, bpfProgInfos } from "./bpf.ts";
import { buildIds } from "./build_id.ts";
import { cmdline } from "./cmdline.ts";
import {
  declarations,
  decodeDeclared,
  type DecodedFeature,
  feature,
  type FeatureOptions,
  type RawFeature,
} from "./declaration.ts";
import { eventDescs } from "./event_desc.ts";
import { hiperfCommand, hiperfFiles, hiperfTime } from "./hiperf.ts";
import { cache, clnSize, memTopology, totalMem } from "./memory.ts";
import * as names from "./names.ts";
import { cpuPmuCaps, groupDescs, pmuCaps, pmuMappings } from "./pmu.ts";
import { auxtraceIndex, branchStack, compressed, dirFormat, eMachine, stat } from "./recording.ts";
import { simpleperfFiles, simpleperfFiles2, simpleperfMeta } from "./simpleperf.ts";
import { arch, cpudesc, cpuid, hostname, osrelease, version } from "./strings.ts";
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
  feature(names.HEADER_TRACING_DATA, "TRACING_DATA", tracingData),
  feature(names.HEADER_BUILD_ID, "BUILD_ID", buildIds),
  feature(names.HEADER_HOSTNAME, "HOSTNAME", hostname),
  feature(names.HEADER_OSRELEASE, "OSRELEASE", osrelease),
  feature(names.HEADER_VERSION, "VERSION", version),
  feature(names.HEADER_ARCH, "ARCH", arch),
  feature(names.HEADER_NRCPUS, "NRCPUS", nrCpus),
  feature(names.HEADER_CPUDESC, "CPUDESC", cpudesc),
  feature(names.HEADER_CPUID, "CPUID", cpuid),
  feature(names.HEADER_TOTAL_MEM, "TOTAL_MEM", totalMem),
  feature(names.HEADER_CMDLINE, "CMDLINE", cmdline),
  feature(names.HEADER_EVENT_DESC, "EVENT_DESC", eventDescs),
  feature(names.HEADER_CPU_TOPOLOGY, "CPU_TOPOLOGY", cpuTopology),
  feature(names.HEADER_NUMA_TOPOLOGY, "NUMA_TOPOLOGY", numaTopology),
  feature(names.HEADER_BRANCH_STACK, "BRANCH_STACK", branchStack),
  feature(names.HEADER_PMU_MAPPINGS, "PMU_MAPPINGS", pmuMappings),
  feature(names.HEADER_GROUP_DESC, "GROUP_DESC", groupDescs),
  feature(names.HEADER_AUXTRACE, "AUXTRACE", auxtraceIndex),
  feature(names.HEADER_STAT, "STAT", stat),
  feature(names.HEADER_CACHE, "CACHE", cache),
  feature(names.HEADER_SAMPLE_TIME, "SAMPLE_TIME", sampleTime),
  feature(names.HEADER_MEM_TOPOLOGY, "MEM_TOPOLOGY", memTopology),
  feature(names.HEADER_CLOCKID, "CLOCKID", clockidResolution),
  feature(names.HEADER_DIR_FORMAT, "DIR_FORMAT", dirFormat),
  feature(names.HEADER_BPF_PROG_INFO, "BPF_PROG_INFO", bpfProgInfos),
  feature(names.HEADER_BPF_BTF, "BPF_BTF", bpfBtfs),
  feature(names.HEADER_COMPRESSED, "COMPRESSED", compressed),
  feature(names.HEADER_CPU_PMU_CAPS, "CPU_PMU_CAPS", cpuPmuCaps),
  feature(names.HEADER_CLOCK_DATA, "CLOCK_DATA", clockData),
  feature(names.HEADER_HYBRID_TOPOLOGY, "HYBRID_TOPOLOGY", hybridTopology),
  feature(names.HEADER_PMU_CAPS, "PMU_CAPS", pmuCaps),
  feature(names.HEADER_CPU_DOMAIN_INFO, "CPU_DOMAIN_INFO", cpuDomainInfo),
  feature(names.HEADER_E_MACHINE, "E_MACHINE", eMachine),
  feature(names.HEADER_CLN_SIZE, "CLN_SIZE", clnSize),
  feature(names.HEADER_SP_FILE, "SP_FILE", simpleperfFiles),
  feature(names.HEADER_SP_META_INFO, "SP_META_INFO", simpleperfMeta),
  feature(names.HEADER_SP_FILE2, "SP_FILE2", simpleperfFiles2),
  feature(names.HEADER_HI_FILES_SYMBOL, "HI_FILES_SYMBOL", hiperfFiles),
  feature(names.HEADER_HI_WORKLOAD_CMD, "HI_WORKLOAD_CMD", hiperfCommand),
  feature(names.HEADER_HI_RECORD_TIME, "HI_RECORD_TIME", hiperfTime),
] as const;

const DECLARATIONS = declarations(FEATURES);

/** A feature section, told apart by its `name`. */
export type Feature = DecodedFeature<typeof FEATURES[number]> | RawFeature;

/** The feature of a certain name: `FeatureOf<"EVENT_DESC">`. */
export type FeatureOf<N extends Feature["name"]> = Extract<Feature, { readonly name: N }>;

/**
 * Decodes a feature section, or the payload of a HEADER_FEATURE record of a pipe.
 *
 * Nothing is thrown: a section that is not what its id says comes back as bytes, with the error.
 * {@link encodeFeature} gives the same bytes again, for all input. The layouts are those that
 * `tools/perf/util/header.c` writes.
 *
 * @param id Bit of the feature bitmap, or `feat_id` of the record.
 * @param bytes The section, or what follows `feat_id` in the record.
 * @param options Byte order, file offset, and who watches.
 *
 * @example
 * ```ts
 * import { decodeFeature, encodeFeature, HEADER_NRCPUS } from "@perfdata/format";
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
 * @param feature What was decoded, or a value of one's own.
 * @param options Byte order of the file; little-endian where nothing is said.
 * @returns The bytes of the section.
 *
 * @example
 * ```ts
 * import { encodeFeature, HEADER_ARCH } from "@perfdata/format";
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
