import type { PerfDataReader } from "@perfdata/format/records";
import type {
  CollectOptions,
  NameLookUp,
  Profile,
  ProfileOptions,
  SampleCollector,
} from "@perfdata/profile";
import type { PtLoss } from "@perfdata/pt/decode";
import type {
  Consumer,
  Engine,
  EngineOptions,
  RecordingIndex,
  Shareable,
  SymbolTrust,
  Workers,
} from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import type { RecordedMachine } from "@perfdata/symbols/resolver";

/** Reading of samples: options of {@linkcode Recording.collect}. */
export interface SampleReading {
  /** Filter; all samples pass by default. */
  readonly filter?: EngineOptions["filter"];
  /**
   * Whether call stacks from branch records (`perf record --call-graph lbr`) are joined with those
   * of previous samples.
   */
  readonly stitchLbr?: boolean | undefined;
  /** Whether source lines and inlined functions are looked up. */
  readonly lines?: boolean | undefined;
  /** Whether samples of a stream are read before its end: see `EngineOptions.live`. */
  readonly live?: boolean | undefined;
  /** An index of this recording from an earlier scan: see `EngineOptions.index`. */
  readonly index?: RecordingIndex | undefined;
  /** Another consumer that reads the recording in the same pass: see {@linkcode OpenOptions.threads}. */
  readonly beside?: (Consumer & Shareable) | undefined;
}

/** Samples of a recording in a collector, without names. */
export interface Collected {
  /** The engine that read the recording. */
  readonly engine: Engine;
  /** Returns the resolver that stacks were unwound with, or opens it. */
  readonly symbols: () => Promise<SymbolResolver>;
}

/** Contents of a profile: options of {@linkcode Recording.ask}. */
export interface ProfileQuestion extends ProfileOptions, SampleReading, Pick<NameLookUp, "ranges"> {
  /** Filter; all samples pass by default. */
  readonly filter?: EngineOptions["filter"];
  /** Whether callers have source lines and inlined functions; true by default. */
  readonly lines?: boolean | undefined;
  /**
   * If no sample passes the filter and the recording has Intel PT, the profile is of that: the
   * durations of executed stacks. Here: whether it has a sample for each change of a stack, with its
   * time, instead of sums.
   */
  readonly timeline?: boolean | undefined;
}

/** A profile, with the facts about its samples. */
export interface ProfileAnswer {
  /** The profile. It has no samples if no sample passes the filter. */
  readonly profile: Profile;
  /**
   * Set if the profile is of Intel PT, because no sample passes the filter: the parts of the trace
   * that could not be decoded or named. The other facts are those of the samples.
   */
  readonly traced?: PtLoss;
  /** Trust in the names, by object. */
  readonly trust: SymbolTrust;
  /** The engine that read the recording: places, events, unwound stacks. */
  readonly engine: Engine;
  /** The symbols. Objects have the same numbers as in the engine. */
  readonly resolver: SymbolResolver;
  /** The collector: totals, context switches. Its samples were moved to the profile. */
  readonly collector: SampleCollector;
}

/** The symbols that a question needs: the argument of a function as {@linkcode OpenOptions.symbols}. */
export interface SymbolsWanted {
  /** The recorded machine. Its facts may arrive while the recording is read. */
  readonly machine: RecordedMachine;
  /** Whether source lines and inlined functions are looked up. */
  readonly lines: boolean;
}

/** Opens the symbols of a recorded machine. */
export type OpenSymbols = (wanted: SymbolsWanted) => SymbolResolver | Promise<SymbolResolver>;

/** The work that other threads can share: the argument of {@linkcode OpenOptions.threads}. */
export interface SharedWork {
  /** The options of the collector; `undefined` for the counts of {@linkcode Recording.info} and `read`. */
  readonly collect: CollectOptions | undefined;
  /** A reader of the recording, which has read its header. */
  readonly reader: PerfDataReader;
  /** Whether the recording was scanned already, so that threads help from the beginning. */
  readonly isScanned: boolean;
  /** Whether another consumer reads the recording in the same pass. */
  readonly isShared: boolean;
}

/** Starts other threads for samples; `undefined` to read in one thread. */
export type ShareWork = (work: SharedWork) => Workers | undefined | Promise<Workers | undefined>;
