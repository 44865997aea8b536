import type { EngineOptions, HistogramColumns, HistogramPart, TimePart } from "@perfdata/session";
import type { ProfileTotal, ProfileWeight } from "../columns/profile.ts";
import type { DetailKeys, DetailsPart } from "./sample_details.ts";
import type { TimedPart } from "./timed_rows.ts";

export type { TimedPart } from "./timed_rows.ts";

/** Bit added to the state of a thread, if its stack is that of its last sample before. */
export const STAND_IN = 4;

/** Columns by which samples are grouped, besides event, comm and node. */
export interface SampleKeys {
  /** Processes. */
  readonly pid?: boolean | undefined;
  /** Threads. */
  readonly tid?: boolean | undefined;
  /** CPUs. */
  readonly cpu?: boolean | undefined;
  /**
   * States of threads, if times are counted: {@linkcode THREAD_STATE} of the session, with
   * {@linkcode STAND_IN} if the stack is that of the last sample before.
   */
  readonly state?: boolean | undefined;
  /** Bits of the flags of branches (`BRANCH` of the session), if branches are counted. */
  readonly branch?: number | undefined;
  /** Sockets of CPUs. */
  readonly sockets?: boolean | undefined;
  /** Other values of samples. */
  readonly details?: DetailKeys | undefined;
}

/** Options of {@linkcode SampleCollector}, as plain data for threads. */
export interface CollectOptions {
  /** Columns by which samples are grouped. */
  readonly keys?: SampleKeys | undefined;
  /** Whether nodes are stacks; places otherwise. */
  readonly stacks?: boolean | undefined;
  /** Whether nodes are branches: each entry of branch stacks counts as a sample with a period of 1. */
  readonly branches?: boolean | undefined;
  /**
   * Whether nodes are memory accesses: the place of the data and that of the code. The period of a
   * sample is then its weight, at least 1.
   */
  readonly memory?: boolean | undefined;
  /**
   * Whether lines or inlined functions are needed: callers in stacks then have the address of their
   * call.
   */
  readonly lines?: boolean | undefined;
  /** Whether each unmapped address is a place of its own; true by default. */
  readonly unmapped?: boolean | undefined;
  /**
   * The summed quantity: periods of samples (the default); periods divided by the number of threads
   * that had a CPU; times without a CPU; or times with and without a CPU. Times all belong to event
   * 0.
   */
  readonly weight?: ProfileWeight | undefined;
  /**
   * Counts of running threads at which samples count; all by default. Other samples are in the
   * totals, as in perf.
   */
  readonly parallelism?: ReadonlySet<number> | undefined;
  /** Filter of intervals, if times are counted. */
  readonly filter?: EngineOptions["filter"];
  /** Indices of the chosen events; all by default. */
  readonly events?: ReadonlySet<number> | undefined;
  /**
   * Whether samples of threads outside of the filter are in the totals, as in perf; true by
   * default.
   */
  readonly others?: boolean | undefined;
  /** Whether each sample is a row with its time and CPU, instead of a sum over equal samples. */
  readonly timed?: boolean | undefined;
  /** Whether context switches are kept. */
  readonly switches?: boolean | undefined;
  /** Whether the times of the first and the last sample are kept. */
  readonly span?: boolean | undefined;
}

/** A context switch, with the thread's name at that time. */
export interface CollectedSwitch {
  /** The thread, as a context of the histogram. */
  readonly context: number;
  /** Time of the switch in ns. */
  readonly time: bigint;
  /** CPU, -1 if unknown. */
  readonly cpu: number;
  /** Whether the thread left the CPU. */
  readonly out: boolean;
  /** Whether it was preempted. */
  readonly preempted: boolean;
}

/** The collected samples: a row for each sample, or for equal samples. */
export interface TakenRows extends Omit<HistogramColumns, "count"> {
  /** Numbers of samples. */
  readonly count: Float64Array | Uint8Array;
  /** Time in ns from an origin, if samples have times. */
  readonly time?: Float64Array;
  /** CPU, -1 if unknown, if samples have times. */
  readonly cpu?: Int32Array;
}

/** Results of one thread. */
export interface CollectedPart {
  /** Samples by context and node. For timed samples, only the contexts. */
  readonly histogram: HistogramPart;
  /** Timed samples, in the order of the file. */
  readonly timed: TimedPart;
  /** Times of the first and last sample. */
  readonly span: TimePart;
  /** Unnamed threads: `SampleComms.part`. */
  readonly comms: Int32Array<ArrayBuffer>;
  /** Source places of branches, or places of accessed data, if these are counted. */
  readonly from: Int32Array<ArrayBuffer>;
  /** Target places of branches, or places of the accessing code. */
  readonly to: Int32Array<ArrayBuffer>;
  /** Other values of samples: `SampleDetails.part`. */
  readonly details: DetailsPart | undefined;
  /** Totals by index of the event. */
  readonly totals: readonly ProfileTotal[];
  /** Largest period by index of the event. */
  readonly largest: readonly number[];
  /** Samples whose READ values are damaged or of an unknown event. */
  readonly leftOut: number;
  /** Samples whose event has data sources. */
  readonly accesses: number;
}
