import type { EngineOptions, HistogramPart, TimePart } from "@perfdata/session";
import type { ProfileWeight } from "../columns/profile.ts";
import type { DetailKeys, DetailsPart } from "./sample_details.ts";
import type { TimedPart } from "./timed_rows.ts";

export type { TimedPart } from "./timed_rows.ts";

/** The bit beside the state of a thread whose stack is that of its last sample before. */
export const STAND_IN = 4;

/** What samples are grouped by besides event, comm and node. */
export interface SampleKeys {
  /** Processes. */
  readonly pid?: boolean | undefined;
  /** Threads. */
  readonly tid?: boolean | undefined;
  /** CPUs. */
  readonly cpu?: boolean | undefined;
  /**
   * If times are counted: states of threads ({@linkcode THREAD_STATE} of the session), with {@linkcode STAND_IN} if
   * the stack is that of the last sample before.
   */
  readonly state?: boolean | undefined;
  /** Bits of the flags of branches (`BRANCH` of the session), where branches are counted. */
  readonly branch?: number | undefined;
  /** Sockets of CPUs. */
  readonly sockets?: boolean | undefined;
  /** Other values of samples. */
  readonly details?: DetailKeys | undefined;
}

/** What to collect: plain data, for threads. */
export interface CollectOptions {
  /** What samples are grouped by. */
  readonly keys?: SampleKeys | undefined;
  /** Whether nodes are stacks; places otherwise. */
  readonly stacks?: boolean | undefined;
  /** Whether nodes are branches: each entry of branch stacks counts as a sample with a period of 1. */
  readonly branches?: boolean | undefined;
  /**
   * Whether nodes are accesses to memory: the place of the data and that of the code. A sample stands for its
   * weight then, at least for 1.
   */
  readonly memory?: boolean | undefined;
  /** Whether lines or inlined functions are wanted: callers in stacks are then at their calls. */
  readonly lines?: boolean | undefined;
  /** Whether each address where nothing is mapped is a place of its own; true by default. */
  readonly unmapped?: boolean | undefined;
  /**
   * What counts: samples with their periods (the default), or these divided by the number of threads that had a
   * CPU; times that threads had no CPU, or these and those that they had one; then all is of event 0.
   */
  readonly weight?: ProfileWeight | undefined;
  /**
   * While how many threads had a CPU samples count: at any number by default. Others are in the totals, as with
   * perf.
   */
  readonly parallelism?: ReadonlySet<number> | undefined;
  /** Which intervals count, where the weight is not that of samples. */
  readonly filter?: EngineOptions["filter"];
  /** Numbers of the events that count: all by default. */
  readonly events?: ReadonlySet<number> | undefined;
  /** Whether samples of threads that were not asked for are in the totals, as with perf; true by default. */
  readonly others?: boolean | undefined;
  /** Whether each sample is a row with its time and CPU, instead of sums of those that are alike. */
  readonly timed?: boolean | undefined;
  /** Whether context switches are kept. */
  readonly switches?: boolean | undefined;
  /** Whether the times of the first and the last sample are kept. */
  readonly span?: boolean | undefined;
}

/** Totals of an event. */
export interface EventTotal {
  /** Samples. */
  samples: number;
  /** Sum of their periods. */
  period: number;
  /** The same, each divided by the number of threads that had a CPU, if that is counted. */
  latency?: number;
}

/** A context switch, of a thread as it was called then. */
export interface CollectedSwitch {
  /** The thread: a context of the histogram. */
  readonly context: number;
  /** When. */
  readonly time: bigint;
  /** CPU, -1 if it is not known. */
  readonly cpu: number;
  /** Whether the thread left the CPU. */
  readonly out: boolean;
  /** Whether it was preempted. */
  readonly preempted: boolean;
}

/** What was collected: a row for each sample, or for samples that are alike. */
export interface TakenRows {
  /** Contexts of the histogram. */
  readonly context: Int32Array<ArrayBuffer>;
  /** Place or stack, -1 for none. */
  readonly node: Int32Array<ArrayBuffer>;
  /** Samples. */
  readonly count: Float64Array | Uint8Array;
  /** The sum of their periods. */
  readonly period: Float64Array;
  /** When, in ns from some origin; only of samples with their times. */
  readonly time?: Float64Array;
  /** CPU, -1 if it is not known, likewise. */
  readonly cpu?: Int32Array;
}

/** Result of one thread. */
export interface CollectedPart {
  /** Samples by context and node; of timed ones, the contexts only. */
  readonly histogram: HistogramPart;
  /** Timed samples, in the order of the file. */
  readonly timed: TimedPart;
  /** Times of the first sample and of the last one. */
  readonly span: TimePart;
  /** Threads without a name: `SampleComms.part`. */
  readonly comms: Int32Array<ArrayBuffer>;
  /** Places that branches lead from, or of data, where these are counted. */
  readonly from: Int32Array<ArrayBuffer>;
  /** Places that they lead to, or of the code that accessed the data. */
  readonly to: Int32Array<ArrayBuffer>;
  /** Other values: `SampleDetails.part`. */
  readonly details: DetailsPart | undefined;
  /** Totals by number of event. */
  readonly totals: readonly EventTotal[];
  /** The largest period of each event. */
  readonly largest: readonly number[];
  /** Samples whose READ values are damaged or of no known event. */
  readonly leftOut: number;
  /** Samples whose event has data sources. */
  readonly accesses: number;
}
