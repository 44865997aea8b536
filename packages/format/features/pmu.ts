import {
  array,
  type Codec,
  countedBy,
  counter,
  doc,
  headerString,
  struct,
  type StructValue,
  u32,
} from "../struct.ts";

const PMU_MAP_FIELDS = {
  type: doc("`type` of an attr that is of this PMU.", u32),
  name: doc("Name of the PMU in `/sys/bus/event_source/devices`.", headerString),
};
/** The fields of PMU_MAPPINGS. */
export const PMU_MAPPINGS_FIELDS = {
  pmu_num: doc("Number of PMUs.", counter(u32, "pmus")),
  pmus: doc(
    "The PMUs of the recorded machine.",
    array(struct("pmu_map", PMU_MAP_FIELDS), countedBy("pmu_num")),
  ),
} as const;

/** PMU_MAPPINGS: numbers and names of the PMUs. */
export type PmuMappings = StructValue<typeof PMU_MAPPINGS_FIELDS>;

/** PMU_MAPPINGS. */
export const pmuMappings: Codec<PmuMappings> = struct("pmu_mappings", PMU_MAPPINGS_FIELDS);

const GROUP_FIELDS = {
  name: doc("Name that the user gave the group; `{anon_group}` stands for none.", headerString),
  leader_idx: doc("Index of the event that leads the group.", u32),
  nr_members: doc("Events in the group, the leader among them; they follow it.", u32),
};
/** The fields of GROUP_DESC. */
export const GROUP_DESC_FIELDS = {
  nr_groups: doc("Number of groups.", counter(u32, "groups")),
  groups: doc(
    "The groups of more than one event.",
    array(struct("group_desc", GROUP_FIELDS), countedBy("nr_groups")),
  ),
} as const;

/** GROUP_DESC: which events were counted together. */
export type GroupDescs = StructValue<typeof GROUP_DESC_FIELDS>;

/** GROUP_DESC. */
export const groupDescs: Codec<GroupDescs> = struct("group_descs", GROUP_DESC_FIELDS);

const CAP_FIELDS = {
  name: doc("File name in the PMU's folder `caps`: `branches`, `pmu_name`.", headerString),
  value: doc("What that file holds, without its newline.", headerString),
};
/** The fields of CPU_PMU_CAPS. */
export const CPU_PMU_CAPS_FIELDS = {
  nr_caps: doc("Number of capabilities.", counter(u32, "caps")),
  caps: doc("The capabilities.", array(struct("perf_pmu_caps", CAP_FIELDS), countedBy("nr_caps"))),
} as const;

/** CPU_PMU_CAPS: capabilities of the PMU `cpu`. */
export type CpuPmuCaps = StructValue<typeof CPU_PMU_CAPS_FIELDS>;

/** CPU_PMU_CAPS. */
export const cpuPmuCaps: Codec<CpuPmuCaps> = struct("cpu_pmu_caps", CPU_PMU_CAPS_FIELDS);

/** The fields of PMU_CAPS. */
export const PMU_CAPS_FIELDS = {
  nr_pmu: doc("Number of PMUs.", counter(u32, "pmus")),
  pmus: doc(
    "The PMUs that have capabilities, those of a hybrid CPU first.",
    array(
      struct("pmu_caps", {
        ...CPU_PMU_CAPS_FIELDS,
        pmu_name: doc("PMU that has these capabilities; it comes after them.", headerString),
      }),
      countedBy("nr_pmu"),
    ),
  ),
} as const;

/** PMU_CAPS: capabilities of the PMUs other than `cpu`. */
export type PmuCaps = StructValue<typeof PMU_CAPS_FIELDS>;

/** PMU_CAPS. */
export const pmuCaps: Codec<PmuCaps> = struct("pmu_caps", PMU_CAPS_FIELDS);
