import {
  type Codec,
  enumeration,
  type FixedCodec,
  optional,
  type OptionalCodec,
  parts64,
  struct,
  type StructValue,
  u64,
  x64,
} from "@perfdata/format/records";
import { type BlockKind, cpuBlocks, type PrivCodec, restWords } from "./words.ts";

/** First word of the block of a CPU with an ETMv3 or PTM. */
export const CS_ETMV3_MAGIC = 0x3030_3030_3030_3030n;
/** First word of the block of a CPU with an ETMv4. */
export const CS_ETMV4_MAGIC = 0x4040_4040_4040_4040n;
/** First word of the block of a CPU with an ETE. */
export const CS_ETE_MAGIC = 0x5050_5050_5050_5050n;

const COMMON_FIELDS = {
  magic: [x64, "Which trace macrocell the CPU has."],
  cpu: [u64, "CPU number."],
} as const;

const COUNT_FIELDS = {
  nr_trc_params: [u64, "Number of words that follow in the block."],
} as const;

const ETMV3_FIELDS = {
  etmcr: [optional(x64) as OptionalCodec<bigint>, "`ETMCR`: main control."],
  etmtraceidr: [
    optional(x64) as OptionalCodec<bigint>,
    "`ETMTRACEIDR`: the trace id that marks the CPU's data.",
  ],
  etmccer: [optional(x64) as OptionalCodec<bigint>, "`ETMCCER`: configuration code extension."],
  etmidr: [optional(x64) as OptionalCodec<bigint>, "`ETMIDR`: which version of the architecture."],
} as const;

const ETMV4_FIELDS = {
  trcconfigr: [
    optional(x64) as OptionalCodec<bigint>,
    "`TRCCONFIGR`: what is traced, such as cycle counts and timestamps.",
  ],
  trctraceidr: [
    optional(x64) as OptionalCodec<bigint>,
    "`TRCTRACEIDR`: the trace id that marks the CPU's data.",
  ],
  trcidr0: [optional(x64) as OptionalCodec<bigint>, "`TRCIDR0`: what the macrocell can trace."],
  trcidr1: [
    optional(x64) as OptionalCodec<bigint>,
    "`TRCIDR1`: which version of the architecture.",
  ],
  trcidr2: [
    optional(x64) as OptionalCodec<bigint>,
    "`TRCIDR2`: sizes of addresses, context ids and counters.",
  ],
  trcidr8: [optional(x64) as OptionalCodec<bigint>, "`TRCIDR8`: how deep it speculates."],
  trcauthstatus: [
    optional(x64) as OptionalCodec<bigint>,
    "`TRCAUTHSTATUS`: which exception levels may be traced.",
  ],
} as const;

const TS_SOURCE_FIELDS = {
  ts_source: [
    optional(
      enumeration(u64, {
        1: "virtual",
        2: "guest physical",
        3: "physical",
      }),
    ) as OptionalCodec<bigint>,
    "Clock of the timestamps; all bits set if not known.",
  ],
} as const;

const ETE_FIELDS = {
  trcdevarch: [optional(x64) as OptionalCodec<bigint>, "`TRCDEVARCH`: which version of the ETE."],
} as const;

const REST_FIELDS = { rest: restWords } as const;

/** Words of a CPU in a CoreSight trace; the registers depend on `magic`. */
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

/** Version 0 has two kinds of blocks of fixed size; later versions have blocks with a length word. */
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
  header_version: [
    u64,
    "0: blocks of fixed size. 1: each block says its size. 2: as 1, and trace ids may come in " +
    "AUX_OUTPUT_HW_ID records.",
  ],
  pmu_type_cpus: [
    parts64("u64", { num_cpu: 32, pmu_type: 32 }) as FixedCodec<
      { num_cpu: number; pmu_type: number }
    >,
    "Number of CPUs (low half) and `type` of the attrs of the `cs_etm` PMU (high half).",
  ],
  snapshot: [u64, "1 where the buffer was overwritten until a snapshot was asked for."],
  cpus: [
    cpuBlocks<CsEtmCpu>({ field: "pmu_type_cpus.num_cpu" }, CPU_BLOCKS) as Codec<CsEtmCpu[]>,
    "The trace macrocells of the CPUs.",
  ],
  rest: restWords,
} as const;

/** Settings of a CoreSight trace. */
export type CsEtmInfo = StructValue<typeof CS_ETM_FIELDS>;

/** The words of CoreSight, versions 0 to 2 (`tools/perf/util/cs-etm.h`). */
export const csEtmPriv: PrivCodec<CsEtmInfo> = {
  ...struct("cs_etm_priv", CS_ETM_FIELDS),
  least: 3 * 8,
};
