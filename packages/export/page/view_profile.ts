/**
 * A profile in the page's format: stacks of functions, samples in time order.
 *
 * @module
 */
import { intAt } from "@perfdata/format/bytes";
import {
  depthFirst,
  frameStacks,
  functionNames,
  type Profile,
  type ProfileEvent,
  type ProfileObject,
  type ProfileThread,
  ranks,
} from "@perfdata/profile";

/**
 * Stacks of functions, depth first: the callees of a row follow it, up to
 * {@linkcode StackRows.end}.
 */
export interface StackRows {
  /** Caller, an earlier row; -1 for the outermost. */
  readonly parent: Int32Array;
  /** Function. */
  readonly item: Int32Array;
  /** The row after the last callee. */
  readonly end: Int32Array;
}

/** A profile in the page's format, with stacks of functions instead of places. */
export interface ViewProfile {
  /** Title of the recording. */
  readonly title: string;
  /** Trust in names and stacks, in one line. */
  readonly trust: string;
  /** Missing facts of off-CPU times, and how to record them, one line each. */
  readonly notes?: readonly string[] | undefined;
  /** The events. */
  readonly events: readonly ProfileEvent[];
  /** The threads. */
  readonly threads: readonly ProfileThread[];
  /** The objects. */
  readonly objects: readonly ProfileObject[];
  /** Functions. */
  readonly functions: {
    /** Display name. */
    readonly name: readonly string[];
    /** Object; -1 if there is none. */
    readonly object: Int32Array;
    /** `FUNCTION_KIND` bits. */
    readonly kind: Uint8Array;
    /**
     * Source file of the heaviest line, as index of {@linkcode ViewProfile.files}; -1 if unknown.
     */
    readonly file?: Int32Array;
    /** Heaviest line. */
    readonly line?: Int32Array;
  };
  /** Paths of source files. */
  readonly files?: readonly string[];
  /** The stacks. */
  readonly stacks: StackRows;
  /** Samples in time order, or sums of equal samples without `time` and `cpu`. */
  readonly samples: {
    /** Number of rows. */
    readonly length: number;
    /** Innermost row of the stacks; -1 without a stack. */
    readonly stack: Int32Array;
    /** Index of the event. */
    readonly event: Int32Array;
    /** Index of the thread. */
    readonly thread: Int32Array;
    /** Number of samples. */
    readonly count: Float64Array;
    /** Period of the samples. */
    readonly period: Float64Array;
    /** Nanoseconds since {@linkcode ViewProfile.start}. */
    readonly time?: Float64Array;
    /** CPU; -1 if unknown. */
    readonly cpu?: Int32Array;
    /** PMU of the event, if an event has several PMUs. */
    readonly pmu?: Uint8Array;
  };
  /** Time of the first sample in nanoseconds as decimal text, if samples have times. */
  readonly start: string;
  /** Nanoseconds from the first to the last sample. */
  readonly duration: number;
  /**
   * Nanoseconds of a time slice, if samples are summed up by slice: their times are the slice's
   * start.
   */
  readonly step?: number;
  /**
   * If only older samples are summed up by slice: the time from which on samples have their own
   * times, in ns since {@linkcode ViewProfile.start}.
   */
  readonly exactFrom?: number;
  /** Number of recordings that were summed up; default 1. */
  readonly recordings?: number;
}

/**
 * Reduces a profile to the page's data.
 *
 * @example
 * ```ts
 * import { viewProfile } from "@perfdata/export/tree";
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
  const { samples, span, slices } = profile;
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
      event: integers(samples.event, length),
      thread: integers(samples.thread, length),
      count: floats(samples.count, length),
      period: floats(samples.period, length),
      ...(samples.time === undefined || span === undefined
        ? {}
        : { time: since(floats(samples.time, length), start) }),
      ...(samples.cpu === undefined || span === undefined
        ? {}
        : { cpu: integers(samples.cpu, length) }),
      ...(samples.pmu === undefined ? {} : { pmu: samples.pmu.slice(0, length) }),
    },
    start: `${profile.epoch + BigInt(Math.round(start))}`,
    duration: span === undefined ? 0 : span[1] - span[0],
    ...(slices === undefined ? {} : { step: slices.step, exactFrom: slices.until - start }),
  };
}

/** Returns the used part of a column; a column that is used as a whole is not copied. */
function integers(column: Int32Array, length: number): Int32Array {
  if (column instanceof Int32Array && isWhole(column, length)) return column;
  const used = new Int32Array(length);
  used.set(column.subarray(0, length));
  return used;
}

/** As {@linkcode integers}, for columns of other numbers. */
function floats(column: Float64Array | Uint8Array, length: number): Float64Array {
  if (column instanceof Float64Array && isWhole(column, length)) return column;
  const used = new Float64Array(length);
  used.set(column.subarray(0, length));
  return used;
}

function isWhole({ byteLength, buffer, length }: Int32Array | Float64Array, used: number): boolean {
  return length === used && byteLength === buffer.byteLength;
}

/** Times since the first one; none is negative. */
function since(time: Float64Array, start: number): Float64Array {
  return start === 0 ? time : time.map((of) => Math.max(0, of - start));
}

/** Sorts rows depth first, siblings by rank. `number` has the new number of each row. */
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

function ends(parent: Int32Array): Int32Array {
  const end = Int32Array.from(parent, (_, row) => row + 1);
  for (let row = parent.length - 1; row >= 0; row--) {
    const up = intAt(parent, row);
    if (up >= 0 && intAt(end, up) < intAt(end, row)) end[up] = intAt(end, row);
  }
  return end;
}
