import {
  type Codec,
  optional,
  type OptionalCodec,
  struct,
  type StructCodec,
  type StructValue,
  u64,
  x64,
} from "@perfdata/format/records";
import { cpuBlocks, type PrivCodec, restWords } from "./words.ts";

/** First word of a CPU's block. */
export const ARM_SPE_CPU_MAGIC = 0x1010_1010_1010_1010n;

const V1_FIELDS = {
  pmu_type: [u64, "`type` of the attrs of the `arm_spe_0` PMU."],
  per_cpu_mmaps: [u64, "1 where each CPU has a buffer, 0 where each thread has."],
} as const;

const CPU_FIELDS = {
  magic: [x64, "`ARM_SPE_CPU_MAGIC`."],
  cpu: [u64, "CPU number."],
  nr_params: [u64, "Number of words that follow in the block."],
  midr: [
    optional(x64) as OptionalCodec<bigint>,
    "`MIDR_EL1` of the CPU: who made it, and which model it is.",
  ],
  pmu_type: [
    optional(u64) as OptionalCodec<bigint>,
    "`type` of the attrs of the PMU that traces the CPU; all bits set where none does.",
  ],
  cap_min_ival: [
    optional(u64) as OptionalCodec<bigint>,
    "Least interval between samples that the PMU recommends.",
  ],
  cap_event_filter: [
    optional(x64) as OptionalCodec<bigint>,
    "Events that samples can be filtered by.",
  ],
  rest: restWords,
} as const;

/** Words of a CPU in an Arm SPE trace. */
export type ArmSpeCpu = StructValue<typeof CPU_FIELDS>;

const cpuBlock: StructCodec<typeof CPU_FIELDS> = struct("arm_spe_cpu", CPU_FIELDS);

const V2_FIELDS = {
  header_version: [u64, "2: version 1 has no such word."],
  header_size: [u64, "Words before the first CPU's."],
  pmu_type_v2: [u64, "`type` of the attrs of the PMU that the CPUs share."],
  cpus_num: [u64, "Number of CPUs."],
  cpus: [
    cpuBlocks<ArmSpeCpu>(
      { field: "cpus_num", where: { field: "header_size", is: 4n } },
      [{ test: { field: "header_version", least: 0 }, blocks: [], otherwise: cpuBlock }],
    ) as Codec<ArmSpeCpu[]>,
    "The CPUs, each with as many words as it says.",
  ],
  rest: restWords,
} as const;

/** Settings of an Arm SPE trace, version 1: nothing about single CPUs. */
export type ArmSpeInfoV1 = StructValue<typeof V1_FIELDS>;
/** Settings of an Arm SPE trace, version 2 (Linux 6.13). */
export type ArmSpeInfoV2 = StructValue<typeof V2_FIELDS>;

/** The two words of Arm SPE, version 1 (`tools/perf/util/arm-spe.h`). */
export const armSpePrivV1: PrivCodec<ArmSpeInfoV1> = {
  ...struct("arm_spe_priv_v1", V1_FIELDS),
  least: 2 * 8,
};

/** The words of Arm SPE, version 2 (`tools/perf/util/arm-spe.h`). */
export const armSpePrivV2: PrivCodec<ArmSpeInfoV2> = {
  ...struct("arm_spe_priv_v2", V2_FIELDS),
  least: 4 * 8,
};
