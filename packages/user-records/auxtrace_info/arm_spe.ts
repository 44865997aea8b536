import {
  doc,
  optional,
  struct,
  type StructCodec,
  type StructValue,
  u64,
  x64,
} from "@perfdata/format";
import { cpuBlocks, type PrivCodec, restWords } from "./words.ts";

/** First word of the block of a CPU. */
export const ARM_SPE_CPU_MAGIC = 0x1010_1010_1010_1010n;

const V1_FIELDS = {
  pmu_type: doc("`type` of the attrs of the `arm_spe_0` PMU.", u64),
  per_cpu_mmaps: doc("1 where each CPU has a buffer, 0 where each thread has.", u64),
} as const;

const CPU_FIELDS = {
  magic: doc("`ARM_SPE_CPU_MAGIC`.", x64),
  cpu: doc("CPU number.", u64),
  nr_params: doc("Number of words that follow in the block.", u64),
  midr: doc("`MIDR_EL1` of the CPU: who made it, and which model it is.", optional(x64)),
  pmu_type: doc(
    "`type` of the attrs of the PMU that traces the CPU; all bits set where none does.",
    optional(u64),
  ),
  cap_min_ival: doc("Least interval between samples that the PMU recommends.", optional(u64)),
  cap_event_filter: doc("Events that samples can be filtered by.", optional(x64)),
  rest: restWords,
} as const;

/** What Arm SPE says of a CPU. */
export type ArmSpeCpu = StructValue<typeof CPU_FIELDS>;

const cpuBlock: StructCodec<typeof CPU_FIELDS> = struct("arm_spe_cpu", CPU_FIELDS);

const V2_FIELDS = {
  header_version: doc("2: version 1 has no such word.", u64),
  header_size: doc("Words before the first CPU's.", u64),
  pmu_type_v2: doc("`type` of the attrs of the PMU that the CPUs share.", u64),
  cpus_num: doc("Number of CPUs.", u64),
  cpus: doc(
    "The CPUs, each with as many words as it says.",
    cpuBlocks<ArmSpeCpu>(
      { field: "cpus_num", where: { field: "header_size", is: 4n } },
      [{ test: { field: "header_version", least: 0 }, blocks: [], otherwise: cpuBlock }],
    ),
  ),
  rest: restWords,
} as const;

/** How an Arm SPE trace was made, version 1: no word on single CPUs. */
export type ArmSpeInfoV1 = StructValue<typeof V1_FIELDS>;
/** How an Arm SPE trace was made, version 2 (Linux 6.13). */
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
