/**
 * A profile in the form for pages: stacks of functions, samples in order of time.
 *
 * @module
 */
import { intAt } from "@perfdata/format/elements";
import { depthFirst, frameStacks, ranks } from "@perfdata/profile/frame-stacks";
import {
  functionNames,
  type Profile,
  type ProfileEvent,
  type ProfileObject,
  type ProfileThread,
} from "@perfdata/profile/profile";

/**
 * Stacks of functions, depth first: the callees of a row follow it, up to {@linkcode StackRows.end}.
 */
export interface StackRows {
  /** The caller, a row before; -1 for the outermost one. */
  readonly parent: Int32Array;
  /** The function. */
  readonly item: Int32Array;
  /** The row after the last one that was called from here. */
  readonly end: Int32Array;
}

/** A profile as the page has it: with stacks of functions, and names alone of the rest. */
export interface ViewProfile {
  /** What was recorded. */
  readonly title: string;
  /** How far names and stacks can be trusted, in one line. */
  readonly trust: string;
  /** What is missing of times without a CPU, and how to record it: a line each. */
  readonly notes?: readonly string[] | undefined;
  /** The events. */
  readonly events: readonly ProfileEvent[];
  /** The threads. */
  readonly threads: readonly ProfileThread[];
  /** The objects. */
  readonly objects: readonly ProfileObject[];
  /** Functions. */
  readonly functions: {
    /** The name as it is shown. */
    readonly name: readonly string[];
    /** The object, -1 for none. */
    readonly object: Int32Array;
    /** `FUNCTION_KIND` bits. */
    readonly kind: Uint8Array;
    /** The source file of its line that has the largest share, of {@linkcode ViewProfile.files}; -1 for none. */
    readonly file?: Int32Array;
    /** That line. */
    readonly line?: Int32Array;
  };
  /** Paths of source files. */
  readonly files?: readonly string[];
  /** The stacks. */
  readonly stacks: StackRows;
  /** Samples in order of time, or sums of those that are alike, without `time` and `cpu`. */
  readonly samples: {
    /** How many rows there are. */
    readonly length: number;
    /** Innermost row of the stacks; -1 for none. */
    readonly stack: Int32Array;
    /** Number of the event. */
    readonly event: Int32Array;
    /** Number of the thread. */
    readonly thread: Int32Array;
    /** How many samples it stands for. */
    readonly count: Float64Array;
    /** The sum of their periods. */
    readonly period: Float64Array;
    /** Nanoseconds since {@linkcode ViewProfile.start}. */
    readonly time?: Float64Array;
    /** The CPU, -1 if it is not known. */
    readonly cpu?: Int32Array;
    /** The PMU among those of the event, if an event was asked of several. */
    readonly pmu?: Uint8Array;
  };
  /** Time of the first sample in nanoseconds, as decimal text, if samples have times. */
  readonly start: string;
  /** From there to the last one. */
  readonly duration: number;
  /** Nanoseconds of a slice, where samples are summed up by slices of time: their times are its start. */
  readonly step?: number;
  /** Of how many recordings it is the sum; of one where that is missing. */
  readonly recordings?: number;
}

/**
 * Reduces a profile to what the page shows.
 *
 * @example
 * ```ts
 * import { viewProfile } from "@perfdata/export/view-profile";
 * import { ProfileBuilder } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * const main = builder.stack(-1, builder.place(-1, 1, [{ name: "main" }]));
 * builder.sample({ stack: main, event: 0, thread: builder.thread(7, 7, "demo"), period: 500 });
 * const { functions, samples } = viewProfile(builder.profile());
 * assertEquals([functions.name, [...samples.period]], [["main"], [500]]);
 * ```
 */
export function viewProfile(profile: Profile): ViewProfile {
  const { samples, span } = profile;
  const names = functionNames(profile);
  const stacks = frameStacks(profile, { by: "function" });
  const { rows, number } = inDepthFirstOrder(stacks, ranks(names));
  const { length } = samples;
  const stack = new Int32Array(length);
  for (let i = 0; i < length; i++) {
    const of = intAt(samples.stack, i);
    stack[i] = of < 0 ? -1 : intAt(number, intAt(stacks.of, of));
  }
  const start = span?.[0] ?? 0;
  return {
    title: profile.title,
    trust: profile.trust,
    notes: profile.notes,
    events: profile.events,
    threads: [...profile.threads],
    objects: profile.objects,
    functions: {
      name: names,
      object: profile.functions.object,
      kind: profile.functions.kind,
    },
    stacks: rows,
    samples: {
      length,
      stack,
      event: Int32Array.from(samples.event.subarray(0, length)),
      thread: samples.thread.slice(0, length),
      count: Float64Array.from(samples.count.subarray(0, length)),
      period: samples.period.slice(0, length),
      ...(samples.time === undefined || span === undefined
        ? {}
        : { time: samples.time.slice(0, length).map((time) => Math.max(0, time - start)) }),
      ...(samples.cpu === undefined || span === undefined
        ? {}
        : { cpu: samples.cpu.slice(0, length) }),
      ...(samples.pmu === undefined ? {} : { pmu: samples.pmu.slice(0, length) }),
    },
    start: `${profile.epoch + BigInt(Math.round(start))}`,
    duration: span === undefined ? 0 : span[1] - span[0],
  };
}

/** Rows depth first, siblings by rank; and by row as given the number that it has then. */
export function inDepthFirstOrder(
  stacks: Pick<StackRows, "parent" | "item">,
  rank: ArrayLike<number>,
): { readonly rows: StackRows; readonly number: Int32Array } {
  const number = depthFirst(stacks, rank);
  const count = stacks.parent.length;
  const parent = new Int32Array(count);
  const item = new Int32Array(count);
  for (let row = 0; row < count; row++) {
    const at = intAt(number, row);
    const up = intAt(stacks.parent, row);
    parent[at] = up < 0 ? -1 : intAt(number, up);
    item[at] = intAt(stacks.item, row);
  }
  return { rows: { parent, item, end: ends(parent) }, number };
}

/** Where the callees of each row end. */
function ends(parent: Int32Array): Int32Array {
  const end = Int32Array.from(parent, (_, row) => row + 1);
  for (let row = parent.length - 1; row >= 0; row--) {
    const up = intAt(parent, row);
    if (up >= 0 && intAt(end, up) < intAt(end, row)) end[up] = intAt(end, row);
  }
  return end;
}
