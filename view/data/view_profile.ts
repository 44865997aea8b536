import { depthFirst, frameStacks, ranks } from "@perfdata/profile/frame-stacks";
import {
  functionLabels,
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
  /** The events. */
  readonly events: readonly ProfileEvent[];
  /** The threads. */
  readonly threads: readonly ProfileThread[];
  /** The objects. */
  readonly objects: readonly ProfileObject[];
  /** Functions: the name as it is shown, the object (-1: none), `FUNCTION_KIND` bits. */
  readonly functions: {
    readonly name: readonly string[];
    readonly object: Int32Array;
    readonly kind: Uint8Array;
  };
  /** The stacks. */
  readonly stacks: StackRows;
  /** Samples in order of time, or sums of those that are alike, without `time` and `cpu`. */
  readonly samples: {
    readonly length: number;
    /** Innermost row of the stacks; -1 for none. */
    readonly stack: Int32Array;
    readonly event: Int32Array;
    readonly thread: Int32Array;
    readonly count: Float64Array;
    readonly period: Float64Array;
    /** Nanoseconds since {@linkcode ViewProfile.start}. */
    readonly time?: Float64Array;
    readonly cpu?: Int32Array;
  };
  /** Time of the first sample in nanoseconds, as decimal text, where samples have times. */
  readonly start: string;
  /** From there to the last one. */
  readonly duration: number;
}

/** Reduces a profile to what the page shows. */
export function viewProfile(profile: Profile): ViewProfile {
  const { samples, span } = profile;
  const names = functionLabels(profile);
  const stacks = frameStacks(profile, { by: "function" });
  const { rows, number } = inDepthFirstOrder(stacks, ranks(names));
  const { length } = samples;
  const stack = new Int32Array(length);
  for (let i = 0; i < length; i++) {
    const of = samples.stack[i] as number;
    stack[i] = of < 0 ? -1 : number[stacks.of[of] as number] as number;
  }
  const start = span?.[0] ?? 0;
  return {
    title: profile.title,
    trust: profile.trust,
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
    const at = number[row] as number;
    const up = stacks.parent[row] as number;
    parent[at] = up < 0 ? -1 : number[up] as number;
    item[at] = stacks.item[row] as number;
  }
  return { rows: { parent, item, end: ends(parent) }, number };
}

/** Where the callees of each row end. */
function ends(parent: Int32Array): Int32Array {
  const end = Int32Array.from(parent, (_, row) => row + 1);
  for (let row = parent.length - 1; row >= 0; row--) {
    const up = parent[row] as number;
    if (up >= 0 && (end[up] as number) < (end[row] as number)) end[up] = end[row] as number;
  }
  return end;
}
