import {
  bytes,
  choice,
  type Codec,
  doc,
  type FixedCodec,
  type OptionalCodec,
  padding,
  record,
  type RecordDeclaration,
  reserved,
  struct,
  type StructValue,
  u16,
  u32,
  u64,
} from "@perfdata/format/records";
import {
  PERF_RECORD_SCHEDSTAT_CPU,
  PERF_RECORD_SCHEDSTAT_DOMAIN,
} from "@perfdata/format/constants";

const SCHEDSTAT_CPU_DATA_FIELDS = {
  yld_count: [u32, "Calls of `sched_yield()`."],
  array_exp: [u32, "0: what it counted is gone from the scheduler."],
  sched_count: [u32, "Calls of `schedule()`."],
  sched_goidle: [u32, "Of these, how many left the CPU idle."],
  ttwu_count: [u32, "Wake-ups of a task by `try_to_wake_up()` on this CPU."],
  ttwu_local: [u32, "Of these, how many woke a task of this CPU."],
  rq_cpu_time: [u64, "Time that tasks ran on the CPU, in ns."],
  run_delay: [u64, "Time that tasks waited for the CPU, in ns."],
  pcount: [u64, "Time slices that were run on the CPU."],
} as const;

/** The scheduler's counters of a CPU; the same in versions 15 to 17. */
export type SchedstatCpuData = StructValue<typeof SCHEDSTAT_CPU_DATA_FIELDS>;

const cpuData: Codec<SchedstatCpuData> = struct(
  "perf_record_schedstat_cpu_v17",
  SCHEDSTAT_CPU_DATA_FIELDS,
);

/** Descriptions of load balancing counters, by suffix of the name. */
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

/** The counters of load balancing in one situation. */
type Balance<S extends keyof typeof WHEN, N extends readonly Suffix[]> = {
  readonly [K in N[number] as `${S}_lb_${K}`]: FixedCodec<number>;
};

/** The counters of load balancing in all situations, and of other wake-ups. */
type DomainFields<N extends readonly Suffix[]> =
  & Balance<"idle", N>
  & Balance<"busy", N>
  & Balance<"newidle", N>
  & typeof ACTIVE_AND_WAKEUP_FIELDS;

/** Declares the counters of load balancing in one situation, in disk order. */
function balanceCounters<const S extends keyof typeof WHEN, const N extends readonly Suffix[]>(
  situation: S,
  suffixes: N,
): Balance<S, N> {
  return Object.fromEntries(suffixes.map((suffix) => [
    `${situation}_lb_${suffix}`,
    doc(`${BALANCE_DOCS[suffix]} ${WHEN[situation]}.`, u32),
  ])) as Balance<S, N>;
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
  alb_count: [u32, "Calls of `active_load_balance()`."],
  alb_failed: [u32, "Of these, how many could not move a task."],
  alb_pushed: [u32, "Of these, how many moved a task."],
  sbe_count: [u32, "0: not counted."],
  sbe_balanced: [u32, "0: not counted."],
  sbe_pushed: [u32, "0: not counted."],
  sbf_count: [u32, "0: not counted."],
  sbf_balanced: [u32, "0: not counted."],
  sbf_pushed: [u32, "0: not counted."],
  ttwu_wake_remote: [u32, "Wake-ups of a task that had run on another CPU of the domain."],
  ttwu_move_affine: [
    u32,
    "Of these, how many moved the task to the waker's CPU, as its cache was cold.",
  ],
  ttwu_move_balance: [u32, "Of these, how many began passive balancing."],
} as const;

const DOMAIN_V15_FIELDS: DomainFields<typeof BEFORE_V17> = {
  ...balanceCounters("idle", BEFORE_V17),
  ...balanceCounters("busy", BEFORE_V17),
  ...balanceCounters("newidle", BEFORE_V17),
  ...ACTIVE_AND_WAKEUP_FIELDS,
};
const DOMAIN_V16_FIELDS: DomainFields<typeof BEFORE_V17> = {
  ...balanceCounters("busy", BEFORE_V17),
  ...balanceCounters("idle", BEFORE_V17),
  ...balanceCounters("newidle", BEFORE_V17),
  ...ACTIVE_AND_WAKEUP_FIELDS,
};
const DOMAIN_V17_FIELDS: DomainFields<typeof SINCE_V17> = {
  ...balanceCounters("busy", SINCE_V17),
  ...balanceCounters("idle", SINCE_V17),
  ...balanceCounters("newidle", SINCE_V17),
  ...ACTIVE_AND_WAKEUP_FIELDS,
};

/** The scheduler's counters of a domain in version 15 (Linux 2.6.37) or 16 (Linux 6.11). */
export type SchedstatDomainV15 = StructValue<typeof DOMAIN_V15_FIELDS>;
/** The scheduler's counters of a domain in version 17 (Linux 6.14). */
export type SchedstatDomainV17 = StructValue<typeof DOMAIN_V17_FIELDS>;
/** The scheduler's counters of a domain, or bytes if the version is unknown. */
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
  timestamp: [u64, "Jiffies when the counters were read."],
  cpu: [u32, "CPU number."],
  version: [u16, "Version of `/proc/schedstat`: 15, 16 or 17."],
  __pad: [reserved(2) as OptionalCodec<Uint8Array>, "Zero."],
  data: [
    choice(
      "perf_record_schedstat_cpu_v*",
      "version",
      { 15: cpuData, 16: cpuData, 17: cpuData },
      unknown,
    ) as Codec<SchedstatCpuData | Uint8Array>,
    "The counters since boot.",
  ],
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
  timestamp: [u64, "Jiffies when the counters were read."],
  cpu: [u32, "CPU number."],
  version: [u16, "Version of `/proc/schedstat`: 15, 16 or 17."],
  domain: [u16, "Number of the scheduling domain, from the smallest of the CPU upwards."],
  data: [
    choice(
      "perf_record_schedstat_domain_v*",
      "version",
      { 15: domainV15, 16: domainV16, 17: domainV17 },
      unknown,
    ) as Codec<SchedstatDomainData>,
    "The counters since boot.",
  ],
  padding: [padding, "Zeros up to a multiple of 8."],
} as const;

/** The body of SCHEDSTAT_DOMAIN. */
export type SchedstatDomain = StructValue<typeof SCHEDSTAT_DOMAIN_FIELDS>;

/**
 * SCHEDSTAT_DOMAIN: the scheduler's counters of a scheduling domain, by `perf sched stats record`.
 *
 * Records of versions 15 and 16 have the length of version 17.
 */
export const SCHEDSTAT_DOMAIN: RecordDeclaration<"SCHEDSTAT_DOMAIN", SchedstatDomain> = record(
  PERF_RECORD_SCHEDSTAT_DOMAIN,
  "SCHEDSTAT_DOMAIN",
  struct("perf_record_schedstat_domain", SCHEDSTAT_DOMAIN_FIELDS),
);
