import type { CallFilter, PtLoss, PtWorkers } from "@perfdata/pt/decode";
import type { TraceCode } from "@perfdata/pt/decode";
import type { Profile } from "@perfdata/profile";
import type { EngineOptions } from "@perfdata/session";
import type { RecordedMachine } from "@perfdata/symbols/resolver";

/** Opens the code of a recorded machine. */
export type OpenCode = (recorded: RecordedMachine) => TraceCode | Promise<TraceCode>;

/**
 * Called while Intel PT is decoded: with the bytes that were decoded since the previous call, and
 * the bytes in total. Decoding continues when the promise resolves.
 */
export type DecodedBytes = (bytes: number, all: number) => Promise<void> | void;

/** The decoding that other threads can share: the argument of a {@linkcode ShareTrace}. */
export interface TraceWork {
  /** Bytes of the trace. */
  readonly bytes: number;
  /** The threads and times that are decoded. */
  readonly filter: CallFilter;
  /** The CPUs whose buffers are decoded; `undefined` for all. */
  readonly cpus: ReadonlySet<number> | undefined;
  /** Whether executed code is summed by stack, or calls are listed one by one. */
  readonly by: "stacks" | "events";
  /** Receives the bytes that were decoded since the previous call. */
  readonly progress: PtWorkers["progress"];
}

/** Starts other threads that decode; `undefined` to decode in one thread. */
export type ShareTrace = (
  work: TraceWork,
) => PtWorkers | undefined | Promise<PtWorkers | undefined>;

/** The part of a trace that is decoded. */
export interface TraceChoice {
  /** Filter by process, thread, CPU and time. Everything is decoded by default. */
  readonly filter?: EngineOptions["filter"];
}

/** Contents of a profile of a trace. */
export interface TraceQuestion extends TraceChoice {
  /**
   * Whether there is a sample for each change of a stack, with its time. Otherwise there are sums:
   * time and instructions of each stack.
   */
  readonly timeline?: boolean | undefined;
}

/** A profile of a trace: executed stacks, not samples. */
export interface TraceProfile {
  /** The profile. Periods are durations in ns, or instructions. */
  readonly profile: Profile;
  /** The parts that could not be decoded or named. */
  readonly loss: PtLoss;
}

/** Samples that were synthesized from Intel PT. */
export interface SynthesizedSamples {
  /** Number of samples. */
  readonly samples: number;
  /** Names of their events. */
  readonly events: readonly string[];
  /** The parts of the trace that could not be decoded. */
  readonly loss: PtLoss;
}
