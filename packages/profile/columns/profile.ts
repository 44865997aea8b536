import { floatAt } from "@perfdata/format/bytes";
import type { SymbolInfo } from "@perfdata/symbols";
import { UNVERIFIED_MARK } from "@perfdata/symbols/resolver";
import type { SampleDetails } from "../collecting/sample_details.ts";
import type { ThreadTable } from "./thread_table.ts";

export { UNVERIFIED_MARK };

/** Kind of a function, as bits: its level, and whether it was inlined at the sampled place. */
export const FUNCTION_KIND = {
  /** Code of a process. */
  USER: 0,
  /** The kernel, its modules and BPF programs. */
  KERNEL: 1,
  /** Code of a JIT compiler. */
  JIT: 2,
  /** A guest or the hypervisor. */
  OTHER: 3,
  /** Mask of the level. */
  LEVEL: 3,
  /** Bit of a function that was inlined into its caller. */
  INLINED: 4,
  /** Bit of a function whose name comes from an unverified file: no build id was recorded. */
  UNVERIFIED: 8,
} as const;

/** An event of a profile. */
export interface ProfileEvent {
  /** Its name, such as `cycles:u`. */
  readonly name: string;
  /** Unit of the periods: nanoseconds for clocks, `count` for others. */
  readonly unit: "nanoseconds" | "count";
  /** The PMUs that counted it, if it was recorded for several. */
  readonly pmus?: readonly string[];
}

/** A thread that was sampled, under one of its names. */
export interface ProfileThread {
  /** Process; -1 if unknown. */
  readonly pid: number;
  /** Thread; -1 if unknown. */
  readonly tid: number;
  /** Its name while it was sampled. */
  readonly comm: string;
}

/** A program, library or other piece of code. */
export interface ProfileObject {
  /** Short name: the last part of the path, or the name in brackets. */
  readonly name: string;
  /** Path, or the name in brackets. */
  readonly path: string;
  /** Build id in lower-case hex, if known. */
  readonly buildId?: string;
  /** Added to addresses in the object when they are displayed: the kernel's address. */
  readonly base?: number;
}

/** Functions of a {@linkcode Profile}: a row each. */
export interface FunctionColumns {
  /** Names; `""` if the code has no name. */
  readonly name: readonly string[];
  /**
   * Symbol of each function, with its range in the object. Without this column, functions of one
   * name in an object are one function.
   */
  readonly symbol?: readonly (SymbolInfo | undefined)[];
  /** Object; -1 if unmapped. */
  readonly object: Int32Array;
  /** {@linkcode FUNCTION_KIND} bits. */
  readonly kind: Uint8Array;
}

/** Frames of a {@linkcode Profile}: a function at a line. */
export interface FrameColumns {
  /** The function. */
  readonly function: Int32Array;
  /** Source file; -1 if unknown. */
  readonly file: Int32Array;
  /** Line; 0 if unknown. */
  readonly line: Int32Array;
}

/** Places of a {@linkcode Profile}: an address in an object, with its frames. */
export interface PlaceColumns {
  /** Object; -1 if unmapped. */
  readonly object: Int32Array;
  /** Address in the object, as in its symbol table. */
  readonly address: Float64Array;
  /**
   * Index of the first frame of each place in {@linkcode PlaceColumns.frames}, and the end of the
   * last one.
   */
  readonly start: Int32Array;
  /** Frames, innermost first: inlined functions, then the function that they were inlined into. */
  readonly frames: Int32Array;
  /** CPU mode of the code; without this column, it is that of the function's kind. */
  readonly mode?: Uint8Array;
  /** All digits of addresses that a double cannot represent, in hex, by place. */
  readonly exact?: ReadonlyMap<number, string>;
}

/** Stacks of a {@linkcode Profile}: a row is a place and the stack of its caller. */
export interface StackColumns {
  /** The stack of the caller, in an earlier row; -1 for an outermost one. */
  readonly parent: Int32Array;
  /** The place. */
  readonly place: Int32Array;
}

/**
 * Samples of a {@linkcode Profile}. Either a row per sample, sorted by time, with `time` and `cpu`;
 * or a row for equal samples, without `time`.
 */
export interface SampleColumns {
  /** Number of rows; the columns may be longer. */
  readonly length: number;
  /** Innermost stack; -1 without a stack. */
  readonly stack: Int32Array;
  /** Event. */
  readonly event: Int32Array;
  /** Thread. */
  readonly thread: Int32Array;
  /** Number of samples in the row. */
  readonly count: Float64Array | Uint8Array;
  /** Sum of the periods. */
  readonly period: Float64Array;
  /** Time in nanoseconds, relative to {@link Profile.epoch}. */
  readonly time?: Float64Array;
  /** CPU; -1 if unknown. */
  readonly cpu?: Int32Array;
  /**
   * Index of the PMU in {@linkcode ProfileEvent.pmus} of the event, if an event was recorded for
   * several PMUs.
   */
  readonly pmu?: Uint8Array;
  /** Index of other values in {@linkcode SampledCode.details}; flags of a branch. */
  readonly detail?: Int32Array;
  /** If rows are branches: place of the source. The stack is that of the target. */
  readonly from?: Int32Array;
  /** If rows are memory accesses: place of the data. The stack is that of the code. */
  readonly data?: Int32Array;
}

/** A context switch of a thread, which some formats show as a marker. */
export interface ProfileSwitch {
  /** Thread. */
  readonly thread: number;
  /** Time in nanoseconds, relative to {@link Profile.epoch}. */
  readonly time: number;
  /** CPU; -1 if unknown. */
  readonly cpu: number;
  /** Whether the thread left the CPU. */
  readonly out: boolean;
  /** Whether it was preempted. */
  readonly preempted: boolean;
}

/** A value that the code of a thread wrote with PTWRITE. */
export interface ProfileWrite {
  /** Thread. */
  readonly thread: number;
  /** Time in nanoseconds, relative to {@link Profile.epoch}. */
  readonly time: number;
  /** CPU; -1 if unknown. */
  readonly cpu: number;
  /** The value. */
  readonly value: bigint;
  /** Name of the function that wrote it. */
  readonly function: string;
}

/**
 * Samples with their code, from which rows of functions are made: a {@linkcode Profile}, or samples
 * of a recording whose functions have ranges.
 */
export interface SampledCode {
  /** The events. */
  readonly events: readonly ProfileEvent[];
  /** The threads. */
  readonly threads: ThreadTable;
  /** The objects. */
  readonly objects: readonly ProfileObject[];
  /** Paths of source files. */
  readonly files: readonly string[];
  /** The functions. */
  readonly functions: FunctionColumns;
  /** The frames. */
  readonly frames: FrameColumns;
  /** The places. */
  readonly places: PlaceColumns;
  /** The stacks. */
  readonly stacks: StackColumns;
  /** The samples. */
  readonly samples: SampleColumns;
  /** Displays names of functions that have symbols. Without it, names are displayed as they are. */
  readonly show?: ((name: string) => string) | undefined;
  /** Totals by event, if samples count in them that are not among `samples`. */
  readonly totals?: readonly ProfileTotal[] | undefined;
  /** Other values of samples. */
  readonly details?: SampleDetails | undefined;
  /** Recorded paths of cgroups, by id. */
  readonly cgroups?: ReadonlyMap<bigint, string> | undefined;
  /** Socket by CPU, if the recording has sockets. */
  readonly sockets?: readonly number[] | undefined;
}

/**
 * A profile with names, from which call trees, pictures and the formats of other tools are made.
 *
 * @example
 * ```ts
 * import { ProfileBuilder, totals } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * const thread = builder.thread(7, 7, "demo");
 * const main = builder.place(-1, 0x10, [{ name: "main" }]);
 * builder.sample({ stack: builder.stack(-1, main), event: 0, thread, count: 2, period: 500 });
 * assertEquals(totals(builder.profile()), [{ samples: 2, period: 500 }]);
 * ```
 */
export interface Profile extends SampledCode {
  /**
   * Time of the recording's clock in ns that the profile's times are relative to. It is 0 if times
   * are exact as doubles, as for a clock that starts with the machine. Otherwise it is the time of
   * the first sample, as for CLOCK_REALTIME.
   */
  readonly epoch: bigint;
  /** Times of the first and last sample in ns, relative to the epoch, if samples have times. */
  readonly span?: readonly [number, number];
  /**
   * Set if samples before `until` are summed up by slices of `step` ns, whose start is their time.
   */
  readonly slices?: { readonly step: number; readonly until: number } | undefined;
  /** Context switches, in order of time; empty if they were not recorded. */
  readonly switches: readonly ProfileSwitch[];
  /** Values that the code wrote with PTWRITE, in order of each thread's execution. */
  readonly writes?: readonly ProfileWrite[] | undefined;
  /** Description of the recording: a command or a file. */
  readonly title: string;
  /** Trust in names and stacks, in one line. */
  readonly trust: string;
  /** Missing data about times without a CPU, with commands to record it: a line each. */
  readonly notes?: readonly string[] | undefined;
}

/** Samples and periods. */
export interface ProfileTotal {
  /** Number of samples. */
  samples: number;
  /** Sum of their periods. */
  period: number;
  /**
   * Sum of the periods, each divided by the number of threads that had a CPU, if that is counted.
   */
  latency?: number;
}

/** Sums of a profile by event. */
export function totals({ events, samples }: Pick<Profile, "events" | "samples">): ProfileTotal[] {
  const sums = events.map(() => ({ samples: 0, period: 0 }));
  for (let i = 0; i < samples.length; i++) {
    const sum = sums[samples.event[i] as number];
    if (sum === undefined) continue;
    sum.samples += samples.count[i] as number;
    sum.period += floatAt(samples.period, i);
  }
  return sums;
}

/**
 * The displayed name of a function: `[libc.so.6]` for code of that object without a name,
 * `[unknown]` for unmapped code.
 */
export function functionName({ functions, objects }: Profile, number: number): string {
  const name = functions.name[number] ?? "";
  if (name !== "") return name;
  return unnamedCode(objects[functions.object[number] ?? -1]);
}

/** The displayed name of an object's code that has no name. */
export function unnamedCode(object: ProfileObject | undefined): string {
  const name = object?.name ?? "unknown";
  return name.startsWith("[") ? name : `[${name}]`;
}

/** All {@linkcode functionName}s, by index of the function. */
export function functionNames(profile: Profile): string[] {
  return profile.functions.name.map((_, number) => functionName(profile, number));
}

/**
 * A name in tables for people: with a mark if `verified` is `false`. No other output has the mark.
 */
export function markedName(
  { name, verified }: { readonly name: string; readonly verified?: false },
): string {
  return verified === false ? name + UNVERIFIED_MARK : name;
}

/** Weights that profiles can count. */
export const PROFILE_WEIGHTS: readonly ["period", "latency", "off-cpu", "wall"] = [
  "period",
  "latency",
  "off-cpu",
  "wall",
];

/** The weight that a profile counts. */
export type ProfileWeight = typeof PROFILE_WEIGHTS[number];

/** The weight with a name; `undefined` if the name is not one. */
export function profileWeight(text: string | null | undefined): ProfileWeight | undefined {
  return PROFILE_WEIGHTS.find((weight) => weight === text);
}

/** Whether times of threads are counted, not samples. */
export function isTimeWeight(weight: ProfileWeight): weight is "off-cpu" | "wall" {
  return weight === "off-cpu" || weight === "wall";
}
