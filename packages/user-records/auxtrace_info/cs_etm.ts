import {
  type Codec,
  doc,
  enumeration,
  optional,
  parts64,
  struct,
  type StructValue,
  u64,
  x64,
} from "@perfdata/format";
import { type BlockKind, cpuBlocks, type PrivCodec, restWords } from "./words.ts";

/** First word of the block of a CPU with an ETMv3 or PTM. */
export const CS_ETMV3_MAGIC = 0x3030_3030_3030_3030n;
/** First word of the block of a CPU with an ETMv4. */
export const CS_ETMV4_MAGIC = 0x4040_4040_4040_4040n;
/** First word of the block of a CPU with an ETE. */
export const CS_ETE_MAGIC = 0x5050_5050_5050_5050n;

const COMMON_FIELDS = {
  magic: doc("Which trace macrocell the CPU has.", x64),
  cpu: doc("CPU number.", u64),
} as const;

const COUNT_FIELDS = {
  nr_trc_params: doc("Number of words that follow in the block.", u64),
} as const;

const ETMV3_FIELDS = {
  etmcr: doc("`ETMCR`: main control.", optional(x64)),
  etmtraceidr: doc("`ETMTRACEIDR`: the trace id that marks the CPU's data.", optional(x64)),
  etmccer: doc("`ETMCCER`: configuration code extension.", optional(x64)),
  etmidr: doc("`ETMIDR`: which version of the architecture.", optional(x64)),
} as const;

const ETMV4_FIELDS = {
  trcconfigr: doc(
    "`TRCCONFIGR`: what is traced, such as cycle counts and timestamps.",
    optional(x64),
  ),
  trctraceidr: doc("`TRCTRACEIDR`: the trace id that marks the CPU's data.", optional(x64)),
  trcidr0: doc("`TRCIDR0`: what the macrocell can trace.", optional(x64)),
  trcidr1: doc("`TRCIDR1`: which version of the architecture.", optional(x64)),
  trcidr2: doc("`TRCIDR2`: sizes of addresses, context ids and counters.", optional(x64)),
  trcidr8: doc("`TRCIDR8`: how deep it speculates.", optional(x64)),
  trcauthstatus: doc("`TRCAUTHSTATUS`: which exception levels may be traced.", optional(x64)),
} as const;

const TS_SOURCE_FIELDS = {
  ts_source: doc(
    "Clock of the timestamps; all bits set where it is not known.",
    optional(
      enumeration(u64, {
        1: "virtual",
        2: "guest physical",
        3: "physical",
      }),
    ),
  ),
} as const;

const ETE_FIELDS = {
  trcdevarch: doc("`TRCDEVARCH`: which version of the ETE.", optional(x64)),
} as const;

const REST_FIELDS = { rest: restWords } as const;

/** What CoreSight says of a CPU; which registers there are depends on `magic`. */
export type CsEtmCpu =
  & StructValue<typeof COMMON_FIELDS>
  & Partial<StructValue<typeof COUNT_FIELDS>>
  & StructValue<typeof ETMV3_FIELDS>
  & StructValue<typeof ETMV4_FIELDS>
  & StructValue<typeof ETE_FIELDS>
  & StructValue<typeof TS_SOURCE_FIELDS>
  & StructValue<typeof REST_FIELDS>;

const ETMV3 = ETMV3_FIELDS;
const ETMV4 = { ...ETMV4_FIELDS, ...TS_SOURCE_FIELDS } as const;
const ETE = { ...ETMV4_FIELDS, ...ETE_FIELDS, ...TS_SOURCE_FIELDS } as const;

const etmv3V0: Codec<CsEtmCpu> = struct("cs_etmv3_v0", { ...COMMON_FIELDS, ...ETMV3 });
const etmv4V0: Codec<CsEtmCpu> = struct("cs_etmv4_v0", { ...COMMON_FIELDS, ...ETMV4_FIELDS });
const etmv3: Codec<CsEtmCpu> = struct("cs_etmv3", {
  ...COMMON_FIELDS,
  ...COUNT_FIELDS,
  ...ETMV3,
  ...REST_FIELDS,
});
const etmv4: Codec<CsEtmCpu> = struct("cs_etmv4", {
  ...COMMON_FIELDS,
  ...COUNT_FIELDS,
  ...ETMV4,
  ...REST_FIELDS,
});
const ete: Codec<CsEtmCpu> = struct("cs_ete", {
  ...COMMON_FIELDS,
  ...COUNT_FIELDS,
  ...ETE,
  ...REST_FIELDS,
});
const unknown: Codec<CsEtmCpu> = struct("cs_etm", {
  ...COMMON_FIELDS,
  ...COUNT_FIELDS,
  ...REST_FIELDS,
});

/** Version 0 knows two kinds of fixed size, later ones blocks that say how long they are. */
const CPU_BLOCKS: readonly BlockKind<CsEtmCpu>[] = [
  {
    test: { field: "header_version", is: 0n },
    blocks: [
      { magic: CS_ETMV3_MAGIC, codec: etmv3V0, size: 6 * 8 },
      { magic: CS_ETMV4_MAGIC, codec: etmv4V0, size: 9 * 8 },
    ],
  },
  {
    test: { field: "header_version", not: 0n },
    blocks: [
      { magic: CS_ETMV3_MAGIC, codec: etmv3 },
      { magic: CS_ETMV4_MAGIC, codec: etmv4 },
      { magic: CS_ETE_MAGIC, codec: ete },
    ],
    otherwise: unknown,
  },
];

const CS_ETM_FIELDS = {
  header_version: doc(
    "0: blocks of fixed size. 1: each block says its size. 2: as 1, and trace ids may come in " +
      "AUX_OUTPUT_HW_ID records.",
    u64,
  ),
  pmu_type_cpus: doc(
    "Number of CPUs (low half) and `type` of the attrs of the `cs_etm` PMU (high half).",
    parts64("u64", { num_cpu: 32, pmu_type: 32 }),
  ),
  snapshot: doc("1 where the buffer was overwritten until a snapshot was asked for.", u64),
  cpus: doc(
    "The trace macrocells of the CPUs.",
    cpuBlocks<CsEtmCpu>({ field: "pmu_type_cpus.num_cpu" }, CPU_BLOCKS),
  ),
  rest: restWords,
} as const;

/** How a CoreSight trace was made. */
export type CsEtmInfo = StructValue<typeof CS_ETM_FIELDS>;

/** The words of CoreSight, versions 0 to 2 (`tools/perf/util/cs-etm.h`). */
export const csEtmPriv: PrivCodec<CsEtmInfo> = {
  ...struct("cs_etm_priv", CS_ETM_FIELDS),
  least: 3 * 8,
};
