import {
  array,
  type Codec,
  countedBy,
  counter,
  enumeration,
  type FixedCodec,
  type HiddenCodec,
  i32,
  record,
  type RecordDeclaration,
  struct,
  type StructValue,
  u64,
} from "@perfdata/format/records";
import {
  PERF_RECORD_STAT,
  PERF_RECORD_STAT_CONFIG,
  PERF_RECORD_STAT_ROUND,
} from "@perfdata/format/constants";

const CONFIG_ENTRY_FIELDS = {
  tag: [
    enumeration(u64, { 0: "AGGR_MODE", 1: "INTERVAL", 2: "SCALE", 3: "AGGR_LEVEL" }) as FixedCodec<
      bigint
    >,
    "Which setting (`PERF_STAT_CONFIG_TERM__*`).",
  ],
  val: [
    u64,
    "Value: `enum aggr_mode`, an interval in ms, whether values are scaled, a cache level.",
  ],
} as const;

const STAT_CONFIG_FIELDS = {
  nr: [counter(u64, "data") as HiddenCodec, "Number of settings."],
  data: [
    array(struct("perf_record_stat_config_entry", CONFIG_ENTRY_FIELDS), countedBy("nr")) as Codec<
      StructValue<typeof CONFIG_ENTRY_FIELDS>[]
    >,
    "The settings.",
  ],
} as const;

/** The body of STAT_CONFIG. */
export type StatConfig = StructValue<typeof STAT_CONFIG_FIELDS>;

/** STAT_CONFIG: settings of `perf stat record` that affect its report. */
export const STAT_CONFIG: RecordDeclaration<"STAT_CONFIG", StatConfig> = record(
  PERF_RECORD_STAT_CONFIG,
  "STAT_CONFIG",
  struct("perf_record_stat_config", STAT_CONFIG_FIELDS),
);

const STAT_FIELDS = {
  id: [u64, "Id of the counter, as in the attr's ids."],
  cpu: [i32, "CPU, or -1 if a thread is counted; in older perf, an index into the CPU map."],
  thread: [i32, "Index into the thread map."],
  val: [u64, "Count since the event was opened."],
  ena: [u64, "Time in ns that the event was enabled."],
  run: [u64, "Time in ns that the event had a hardware counter."],
} as const;

/** The body of STAT. */
export type Stat = StructValue<typeof STAT_FIELDS>;

/** STAT: the values of a counter of `perf stat record`. */
export const STAT: RecordDeclaration<"STAT", Stat> = record(
  PERF_RECORD_STAT,
  "STAT",
  struct("perf_record_stat", STAT_FIELDS),
);

const STAT_ROUND_FIELDS = {
  type: [
    enumeration(u64, { 0: "INTERVAL", 1: "FINAL" }) as FixedCodec<bigint>,
    "End of an interval, or end of all counting (`PERF_STAT_ROUND_TYPE__*`).",
  ],
  time: [u64, "Time in ns since counting began."],
} as const;

/** The body of STAT_ROUND. */
export type StatRound = StructValue<typeof STAT_ROUND_FIELDS>;

/** STAT_ROUND: ends the STAT records of one moment. */
export const STAT_ROUND: RecordDeclaration<"STAT_ROUND", StatRound> = record(
  PERF_RECORD_STAT_ROUND,
  "STAT_ROUND",
  struct("perf_record_stat_round", STAT_ROUND_FIELDS),
);
