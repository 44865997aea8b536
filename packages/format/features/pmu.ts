import {
  array,
  type Codec,
  countedBy,
  counter,
  headerString,
  type HiddenCodec,
  struct,
  type StructValue,
  u32,
} from "../struct/mod.ts";

const PMU_MAP_FIELDS = {
  type: [u32, "`type` of attrs of this PMU."],
  name: [headerString, "Name of the PMU in `/sys/bus/event_source/devices`."],
} as const;
/** The fields of PMU_MAPPINGS. */
export const PMU_MAPPINGS_FIELDS = {
  pmu_num: [counter(u32, "pmus") as HiddenCodec, "Number of PMUs."],
  pmus: [
    array(struct("pmu_map", PMU_MAP_FIELDS), countedBy("pmu_num")) as Codec<
      StructValue<typeof PMU_MAP_FIELDS>[]
    >,
    "The PMUs of the recorded machine.",
  ],
} as const;

/** PMU_MAPPINGS: numbers and names of the PMUs. */
export type PmuMappings = StructValue<typeof PMU_MAPPINGS_FIELDS>;

export const pmuMappings: Codec<PmuMappings> = struct("pmu_mappings", PMU_MAPPINGS_FIELDS);

const GROUP_FIELDS = {
  name: [headerString, "Name of the group as given by the user, otherwise `{anon_group}`."],
  leader_idx: [u32, "Index of the leader of the group."],
  nr_members: [
    u32,
    "Number of events in the group, including the leader, which the others follow.",
  ],
} as const;
/** The fields of GROUP_DESC. */
export const GROUP_DESC_FIELDS = {
  nr_groups: [counter(u32, "groups") as HiddenCodec, "Number of groups."],
  groups: [
    array(struct("group_desc", GROUP_FIELDS), countedBy("nr_groups")) as Codec<
      StructValue<typeof GROUP_FIELDS>[]
    >,
    "The groups of more than one event.",
  ],
} as const;

/** GROUP_DESC: events that were counted together. */
export type GroupDescs = StructValue<typeof GROUP_DESC_FIELDS>;

export const groupDescs: Codec<GroupDescs> = struct("group_descs", GROUP_DESC_FIELDS);

const CAP_FIELDS = {
  name: [headerString, "File name in the PMU's folder `caps`: `branches`, `pmu_name`."],
  value: [headerString, "Contents of that file, without its newline."],
} as const;
/** The fields of CPU_PMU_CAPS. */
export const CPU_PMU_CAPS_FIELDS = {
  nr_caps: [counter(u32, "caps") as HiddenCodec, "Number of capabilities."],
  caps: [
    array(struct("perf_pmu_caps", CAP_FIELDS), countedBy("nr_caps")) as Codec<
      StructValue<typeof CAP_FIELDS>[]
    >,
    "The capabilities.",
  ],
} as const;

/** CPU_PMU_CAPS: capabilities of the PMU `cpu`. */
export type CpuPmuCaps = StructValue<typeof CPU_PMU_CAPS_FIELDS>;

export const cpuPmuCaps: Codec<CpuPmuCaps> = struct("cpu_pmu_caps", CPU_PMU_CAPS_FIELDS);

const PMU_CAPS_ENTRY_FIELDS = {
  ...CPU_PMU_CAPS_FIELDS,
  pmu_name: [headerString, "PMU with these capabilities; on disk, its name comes after them."],
} as const;

/** The fields of PMU_CAPS. */
export const PMU_CAPS_FIELDS = {
  nr_pmu: [counter(u32, "pmus") as HiddenCodec, "Number of PMUs."],
  pmus: [
    array(
      struct("pmu_caps", PMU_CAPS_ENTRY_FIELDS),
      countedBy("nr_pmu"),
    ) as Codec<StructValue<typeof PMU_CAPS_ENTRY_FIELDS>[]>,
    "The PMUs that have capabilities, those of a hybrid CPU first.",
  ],
} as const;

/** PMU_CAPS: capabilities of the PMUs other than `cpu`. */
export type PmuCaps = StructValue<typeof PMU_CAPS_FIELDS>;

export const pmuCaps: Codec<PmuCaps> = struct("pmu_caps", PMU_CAPS_FIELDS);
