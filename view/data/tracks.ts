import { FUNCTION_KIND } from "@perfdata/profile/profile";
import { rowAt, selectedThreads, type Selection } from "./selection.ts";
import type { ViewProfile } from "./view_profile.ts";

/** What the samples of a track have in common. */
export type TrackKind = "all" | "cpu" | "process" | "thread";

/** Samples over time. */
export interface Track {
  readonly kind: TrackKind;
  /** CPU, process or thread. */
  readonly id: number;
  readonly label: string;
  /** Weight in all of the recording. */
  readonly sum: number;
  /** By bin, for each level of `FUNCTION_KIND`: weight. */
  readonly bins: Float64Array;
}

/** Levels of a track: user, kernel, JIT, other. */
export const LEVELS: number = FUNCTION_KIND.LEVEL + 1;

/** What of a recording is shown over time. */
export interface TrackQuery {
  readonly kind: TrackKind;
  readonly event: number;
  readonly weight: "period" | "samples";
  /** Nanoseconds since the first sample. */
  readonly from: number;
  readonly to: number;
  readonly bins: number;
  /** The most tracks. */
  readonly most: number;
}

/** The tracks of a kind, those with most weight first; and how many there are in all. */
export function tracks(
  profile: ViewProfile,
  query: TrackQuery,
  selection: Pick<Selection, "pids" | "tids" | "cpus"> = {},
): { readonly tracks: readonly Track[]; readonly count: number } {
  const { samples, threads, stacks, functions } = profile;
  const { stack, event, thread, cpu, time, count, period } = samples;
  const { kind } = query;
  if (time === undefined || (kind === "cpu" && cpu === undefined)) return { tracks: [], count: 0 };
  const weight = query.weight === "period" ? period : count;
  const idOf = (row: number): number => {
    if (kind === "all") return 0;
    if (kind === "cpu") return cpu?.[row] ?? -1;
    const of = threads[thread[row] as number];
    return (kind === "process" ? of?.pid : of?.tid) ?? -1;
  };
  // Threads of one number may have had several names.
  const ids = threads.map(({ pid, tid }) => kind === "process" ? pid : tid);
  const chosen = selectedThreads(profile, selection);
  const cpus = kind === "all" && selection.cpus !== undefined ? new Set(selection.cpus) : undefined;
  const sums = new Map<number, number>();
  for (let row = 0; row < samples.length; row++) {
    if (event[row] !== query.event) continue;
    const id = kind === "process" || kind === "thread"
      ? ids[thread[row] as number] as number
      : idOf(row);
    if (kind === "cpu" && id < 0) continue;
    sums.set(id, (sums.get(id) ?? 0) + (weight[row] as number));
  }
  const order = [...sums].sort(([a, sumA], [b, sumB]) =>
    kind === "cpu" ? a - b : sumB - sumA || a - b
  )
    .slice(0, query.most);
  const found = new Map<number, Track>(order.map(([id, sum]) => [id, {
    kind,
    id,
    label: labelOf(profile, kind, id),
    sum,
    bins: new Float64Array(query.bins * LEVELS),
  }]));
  const span = Math.max(1, query.to - query.from);
  const last = rowAt(time, query.to + 1);
  for (let row = rowAt(time, query.from); row < last; row++) {
    if (event[row] !== query.event) continue;
    if (kind === "all") {
      if (chosen[thread[row] as number] === 0) continue;
      if (cpus !== undefined && !cpus.has(cpu?.[row] ?? -1)) continue;
    }
    const track = found.get(idOf(row));
    if (track === undefined) continue;
    const bin = Math.min(
      query.bins - 1,
      Math.floor(((time[row] as number) - query.from) / span * query.bins),
    );
    const of = stack[row] as number;
    const level = of < 0
      ? FUNCTION_KIND.OTHER
      : (functions.kind[stacks.item[of] as number] as number) & FUNCTION_KIND.LEVEL;
    const at = bin * LEVELS + level;
    track.bins[at] = (track.bins[at] as number) + (weight[row] as number);
  }
  return { tracks: [...found.values()], count: sums.size };
}

function labelOf({ threads }: ViewProfile, kind: TrackKind, id: number): string {
  if (kind === "all") return "all samples";
  if (kind === "cpu") return `CPU ${id}`;
  // A process is called what its first thread is called last.
  const of =
    threads.findLast(({ pid, tid }) =>
      kind === "process" ? pid === id && tid === id : tid === id
    ) ?? threads.findLast(({ pid, tid }) => (kind === "process" ? pid : tid) === id);
  return `${of?.comm ?? "?"} ${id}`;
}
