import { FUNCTION_KIND, type ThreadNames } from "@perfdata/profile";
import { rowAt, selectedThreads, type Selection } from "./selection.ts";
import type { ViewProfile } from "@perfdata/export/tree";
import { byteAt, floatAt, intAt } from "@perfdata/format/bytes";

/** Grouping of samples into tracks. */
export type TrackKind = "all" | "cpu" | "process" | "thread";

/** Samples of a group over time. */
export interface Track {
  readonly kind: TrackKind;
  /** Number of the CPU, process or thread. */
  readonly id: number;
  readonly label: string;
  /** Other names of the process or thread. */
  readonly others: readonly string[];
  /** Weight in the whole recording. */
  readonly sum: number;
  /** Weight by bin and, within it, by level of `FUNCTION_KIND`. */
  readonly bins: Float64Array;
}

/** Number of levels of a track: user, kernel, JIT, other. */
export const LEVELS: number = FUNCTION_KIND.LEVEL + 1;

/** Options of the tracks. */
export interface TrackQuery {
  readonly kind: TrackKind;
  readonly event: number;
  readonly weight: "period" | "samples";
  /** Nanoseconds since the first sample. */
  readonly from: number;
  readonly to: number;
  readonly bins: number;
  /** Maximum number of tracks. */
  readonly most: number;
}

/** Returns the tracks with the greatest weights, and the number of all tracks. */
export function tracks(
  profile: ViewProfile,
  names: ThreadNames,
  query: TrackQuery,
  selection: Pick<Selection, "pids" | "tids" | "cpus"> = {},
): { readonly tracks: readonly Track[]; readonly count: number } {
  const { samples, threads, stacks, functions } = profile;
  const { stack, event, thread, cpu, time, count, period, length } = samples;
  const { kind } = query;
  if (time === undefined || (kind === "cpu" && cpu === undefined)) return { tracks: [], count: 0 };
  const weight = query.weight === "period" ? period : count;
  // Key of a sample's track: thread or CPU, of which there are few; -1 without one.
  const keys = kind === "cpu" ? cpu as Int32Array : thread;
  const sums: number[] = [];
  for (let row = 0; row < length; row++) {
    const key = intAt(keys, row);
    if (event[row] === query.event && key >= 0) {
      sums[key] = (sums[key] ?? 0) + floatAt(weight, row);
    }
  }
  const idOf = (key: number): number => {
    const of = threads[key];
    return kind === "all"
      ? 0
      : kind === "cpu"
      ? key
      : kind === "process"
      ? of?.pid ?? -1
      : of?.tid ?? -1;
  };
  // A thread number may have had several names, and a process has several threads.
  const byId = new Map<number, number>();
  for (const [key, sum] of sums.entries()) {
    if (sum !== undefined) byId.set(idOf(key), (byId.get(idOf(key)) ?? 0) + sum);
  }
  const named = kind === "process"
    ? names.processes
    : kind === "thread"
    ? names.threads
    : undefined;
  const labelOf = (id: number) =>
    kind === "all"
      ? "all samples"
      : kind === "cpu"
      ? `CPU ${id}`
      : `${named?.name.get(id) ?? "?"} ${id}`;
  const found = [...byId]
    .sort(([a, sumA], [b, sumB]) => kind === "cpu" ? a - b : sumB - sumA || a - b)
    .slice(0, query.most)
    .map(([id, sum]): Track => ({
      kind,
      id,
      label: labelOf(id),
      others: named?.others.get(id) ?? [],
      sum,
      bins: new Float64Array(query.bins * LEVELS),
    }));
  const trackOf = new Map(found.map((track) => [track.id, track]));
  const bins = sums.map((_, key) => trackOf.get(idOf(key))?.bins);
  const chosen = kind === "all" ? selectedThreads(profile, selection) : undefined;
  const cpus = kind === "all" && selection.cpus !== undefined ? new Set(selection.cpus) : undefined;
  const span = Math.max(1, query.to - query.from);
  const last = rowAt(time, query.to + 1);
  for (let row = rowAt(time, query.from); row < last; row++) {
    if (event[row] !== query.event || chosen?.[intAt(thread, row)] === 0) continue;
    if (cpus !== undefined && !cpus.has(cpu?.[row] ?? -1)) continue;
    const into = bins[intAt(keys, row)];
    if (into === undefined) continue;
    const bin = Math.min(
      query.bins - 1,
      Math.floor((floatAt(time, row) - query.from) / span * query.bins),
    );
    const of = intAt(stack, row);
    const level = of < 0
      ? FUNCTION_KIND.OTHER
      : byteAt(functions.kind, intAt(stacks.item, of)) & FUNCTION_KIND.LEVEL;
    const at = bin * LEVELS + level;
    into[at] = floatAt(into, at) + floatAt(weight, row);
  }
  return { tracks: found, count: byId.size };
}
