import {
  bytes,
  choice,
  type Codec,
  doc,
  type FixedCodec,
  padding,
  record,
  type RecordDeclaration,
  reserved,
  struct,
  type StructValue,
  u16,
  u32,
  u64,
} from "@perfdata/format";
import { PERF_RECORD_SCHEDSTAT_CPU, PERF_RECORD_SCHEDSTAT_DOMAIN } from "./names.ts";

const SCHEDSTAT_CPU_DATA_FIELDS = {
  yld_count: doc("Calls of `sched_yield()`.", u32),
  array_exp: doc("0: what it counted is gone from the scheduler.", u32),
  sched_count: doc("Calls of `schedule()`.", u32),
  sched_goidle: doc("Of these, how many left the CPU idle.", u32),
  ttwu_count: doc("Wake-ups of a task by `try_to_wake_up()` on this CPU.", u32),
  ttwu_local: doc("Of these, how many woke a task of this CPU.", u32),
  rq_cpu_time: doc("Time that tasks ran on the CPU, in ns.", u64),
  run_delay: doc("Time that tasks waited for the CPU, in ns.", u64),
  pcount: doc("Time slices that were run on the CPU.", u64),
} as const;

/** The scheduler's counters of a CPU; versions 15 to 17 have the same. */
export type SchedstatCpuData = StructValue<typeof SCHEDSTAT_CPU_DATA_FIELDS>;

const cpuData: Codec<SchedstatCpuData> = struct(
  "perf_record_schedstat_cpu_v17",
  SCHEDSTAT_CPU_DATA_FIELDS,
);

/** What load balancing counts, by the end of its name. */
const BALANCE_DOCS = {
  count: "Calls of `load_balance()`",
  balanced: "Of these, how many found the load balanced",
  failed: "Of these, how many could not move a task",
  imbalance: "Sum of the imbalances that were found",
  imbalance_load: "Sum of the imbalances of load that were found",
  imbalance_util: "Sum of the imbalances of utilization that were found",
  imbalance_task: "Sum of the imbalances in the number of tasks that were found",
  imbalance_misfit: "Sum of the imbalances because of tasks too big for their CPU",
  gained: "Tasks that were pulled from another CPU",
  hot_gained: "Of these, how many were still in the cache of the other CPU",
  nobusyq: "Calls that found no busier run queue",
  nobusyg: "Calls that found no busier group of CPUs",
} as const;

type Suffix = keyof typeof BALANCE_DOCS;

const WHEN = {
  busy: "while the CPU was busy",
  idle: "while the CPU was idle",
  newidle: "when the CPU was about to become idle",
} as const;

/** The counters of load balancing in one situation, in disk order. */
function balance<const S extends keyof typeof WHEN, const N extends Suffix>(
  situation: S,
  suffixes: readonly N[],
): { readonly [K in N as `${S}_lb_${K}`]: FixedCodec<number> } {
  return Object.fromEntries(suffixes.map((suffix) => [
    `${situation}_lb_${suffix}`,
    doc(`${BALANCE_DOCS[suffix]} ${WHEN[situation]}.`, u32),
  ])) as { readonly [K in N as `${S}_lb_${K}`]: FixedCodec<number> };
}

const BEFORE_V17 = [
  "count",
  "balanced",
  "failed",
  "imbalance",
  "gained",
  "hot_gained",
  "nobusyq",
  "nobusyg",
] as const;
const SINCE_V17 = [
  "count",
  "balanced",
  "failed",
  "imbalance_load",
  "imbalance_util",
  "imbalance_task",
  "imbalance_misfit",
  "gained",
  "hot_gained",
  "nobusyq",
  "nobusyg",
] as const;

const ACTIVE_AND_WAKEUP_FIELDS = {
  alb_count: doc("Calls of `active_load_balance()`.", u32),
  alb_failed: doc("Of these, how many could not move a task.", u32),
  alb_pushed: doc("Of these, how many moved a task.", u32),
  sbe_count: doc("0: not counted.", u32),
  sbe_balanced: doc("0: not counted.", u32),
  sbe_pushed: doc("0: not counted.", u32),
  sbf_count: doc("0: not counted.", u32),
  sbf_balanced: doc("0: not counted.", u32),
  sbf_pushed: doc("0: not counted.", u32),
  ttwu_wake_remote: doc("Wake-ups of a task that had run on another CPU of the domain.", u32),
  ttwu_move_affine: doc(
    "Of these, how many moved the task to the waker's CPU, as its cache was cold.",
    u32,
  ),
  ttwu_move_balance: doc("Of these, how many began passive balancing.", u32),
} as const;

const DOMAIN_V15_FIELDS = {
  ...balance("idle", BEFORE_V17),
  ...balance("busy", BEFORE_V17),
  ...balance("newidle", BEFORE_V17),
  ...ACTIVE_AND_WAKEUP_FIELDS,
} as const;
const DOMAIN_V16_FIELDS = {
  ...balance("busy", BEFORE_V17),
  ...balance("idle", BEFORE_V17),
  ...balance("newidle", BEFORE_V17),
  ...ACTIVE_AND_WAKEUP_FIELDS,
} as const;
const DOMAIN_V17_FIELDS = {
  ...balance("busy", SINCE_V17),
  ...balance("idle", SINCE_V17),
  ...balance("newidle", SINCE_V17),
  ...ACTIVE_AND_WAKEUP_FIELDS,
} as const;

/** The scheduler's counters of a domain as of version 15 (Linux 2.6.37) or 16 (Linux 6.11). */
export type SchedstatDomainV15 = StructValue<typeof DOMAIN_V15_FIELDS>;
/** The scheduler's counters of a domain as of version 17 (Linux 6.14). */
export type SchedstatDomainV17 = StructValue<typeof DOMAIN_V17_FIELDS>;
/** The scheduler's counters of a domain, or bytes where the version is not known. */
export type SchedstatDomainData = SchedstatDomainV15 | SchedstatDomainV17 | Uint8Array;

const domainV15: Codec<SchedstatDomainV15> = struct(
  "perf_record_schedstat_domain_v15",
  DOMAIN_V15_FIELDS,
);
const domainV16: Codec<SchedstatDomainV15> = struct(
  "perf_record_schedstat_domain_v16",
  DOMAIN_V16_FIELDS,
);
const domainV17: Codec<SchedstatDomainV17> = struct(
  "perf_record_schedstat_domain_v17",
  DOMAIN_V17_FIELDS,
);
const unknown: Codec<Uint8Array> = bytes("rest");

const SCHEDSTAT_CPU_FIELDS = {
  timestamp: doc("Jiffies when the counters were read.", u64),
  cpu: doc("CPU number.", u32),
  version: doc("Version of `/proc/schedstat`: 15, 16 or 17.", u16),
  __pad: doc("Zero.", reserved(2)),
  data: doc(
    "The counters since boot.",
    choice(
      "perf_record_schedstat_cpu_v*",
      "version",
      { 15: cpuData, 16: cpuData, 17: cpuData },
      unknown,
    ),
  ),
} as const;

/** The body of SCHEDSTAT_CPU. */
export type SchedstatCpu = StructValue<typeof SCHEDSTAT_CPU_FIELDS>;

/** SCHEDSTAT_CPU: the scheduler's counters of a CPU, by `perf sched stats record`. */
export const SCHEDSTAT_CPU: RecordDeclaration<"SCHEDSTAT_CPU", SchedstatCpu> = record(
  PERF_RECORD_SCHEDSTAT_CPU,
  "SCHEDSTAT_CPU",
  struct("perf_record_schedstat_cpu", SCHEDSTAT_CPU_FIELDS),
);

const SCHEDSTAT_DOMAIN_FIELDS = {
  timestamp: doc("Jiffies when the counters were read.", u64),
  cpu: doc("CPU number.", u32),
  version: doc("Version of `/proc/schedstat`: 15, 16 or 17.", u16),
  domain: doc("Number of the scheduling domain, from the smallest of the CPU upwards.", u16),
  data: doc(
    "The counters since boot.",
    choice(
      "perf_record_schedstat_domain_v*",
      "version",
      { 15: domainV15, 16: domainV16, 17: domainV17 },
      unknown,
    ),
  ),
  padding: doc("Zeros up to a multiple of 8.", padding),
} as const;

/** The body of SCHEDSTAT_DOMAIN. */
export type SchedstatDomain = StructValue<typeof SCHEDSTAT_DOMAIN_FIELDS>;

/**
 * SCHEDSTAT_DOMAIN: the scheduler's counters of a scheduling domain, by `perf sched stats record`.
 *
 * The records of versions 15 and 16 are as long as those of version 17.
 */
export const SCHEDSTAT_DOMAIN: RecordDeclaration<"SCHEDSTAT_DOMAIN", SchedstatDomain> = record(
  PERF_RECORD_SCHEDSTAT_DOMAIN,
  "SCHEDSTAT_DOMAIN",
  struct("perf_record_schedstat_domain", SCHEDSTAT_DOMAIN_FIELDS),
);
