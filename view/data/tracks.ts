import { FUNCTION_KIND, type ThreadNames } from "@perfdata/profile";
import { rowAt, rowTest, type Selection } from "./selection.ts";
import type { ViewProfile } from "@perfdata/export/tree";
import { byteAt, floatAt, intAt } from "@perfdata/format/bytes";

/** Grouping of samples into tracks. */
export type TrackKind = "all" | "cpu" | "process" | "thread";

/** Order of tracks: by weight in the range, by name, or by the time of their first sample. */
export type TrackSort = "weight" | "name" | "start";

/** Samples of a group over time. */
export interface Track {
  readonly kind: TrackKind;
  /** Number of the CPU, process or thread. */
  readonly id: number;
  readonly label: string;
  /** Other names of the process or thread. */
  readonly others: readonly string[];
  /** Weight in the range that sums are of. */
  readonly sum: number;
  /** The number of its threads, if it is a process. */
  readonly threads: number;
  /** Whether it is below the track of its process. */
  readonly isNested: boolean;
  /** Weight by bin and, within it, by level of `FUNCTION_KIND`, or by thread: see {@linkcode Tracks.colored}. */
  readonly bins: Float64Array;
}

/** Number of levels of a track: user, kernel, JIT, other. */
export const LEVELS: number = FUNCTION_KIND.LEVEL + 1;

/** Number of threads that have a color in the tracks of CPUs; all others share one. */
export const COLORED = 7;

/** Options of the tracks. */
export interface TrackQuery {
  readonly kind: TrackKind;
  readonly event: number;
  readonly weight: "period" | "samples";
  /** Nanoseconds since the first sample. */
  readonly from: number;
  readonly to: number;
  readonly bins: number;
  /** Maximum number of tracks, including those of threads. */
  readonly most: number;
  /** The range that sums are of; the whole recording by default. */
  readonly range?: readonly [number, number] | undefined;
  /** By default, by descending weight, and CPUs by number. */
  readonly sort?: TrackSort | undefined;
  /** Processes with several threads that have no tracks for them. Others have them below their own track. */
  readonly closed?: readonly number[] | undefined;
  /** Whether the bins of CPUs are by thread. */
  readonly byThread?: boolean | undefined;
}

/** The tracks with the greatest weights, or the first ones by another order. */
export interface Tracks {
  readonly tracks: readonly Track[];
  /** Number of all tracks, without those of threads below processes. */
  readonly count: number;
  /** Number of threads below the shown processes that have no track for lack of room. */
  readonly left: number;
  /** If bins are by thread: the threads with the greatest weights, in the order of the bins. All others follow. */
  readonly colored: readonly string[] | undefined;
}

/** Samples that are looked at to find out how often an event samples. */
const LOOKED_AT = 20_000;

/** Returns, by event, the time in ns from one sample of a thread that runs to the next; 0 if it is not known. */
export function samplingIntervals({ events, samples, exactFrom }: ViewProfile): number[] {
  const { event, thread, time, period, count, length } = samples;
  const first = time === undefined || exactFrom === undefined ? 0 : rowAt(time, exactFrom);
  const gaps = events.map((): number[] => []);
  const last = new Map<number, number>();
  for (let row = first; row < length && time !== undefined; row++) {
    const of = intAt(event, row);
    const own = gaps[of];
    if (own === undefined || own.length === LOOKED_AT) continue;
    if (events[of]?.unit === "nanoseconds") {
      own.push(floatAt(period, row) / Math.max(1, floatAt(count, row)));
      continue;
    }
    const key = of * 2 ** 31 + intAt(thread, row);
    const before = last.get(key);
    if (before !== undefined) own.push(floatAt(time, row) - before);
    last.set(key, floatAt(time, row));
  }
  return gaps.map((of) => of.sort((a, b) => a - b)[of.length >> 1] ?? 0);
}

/** Events whose samples are times of threads, which begin at the time of the sample. */
const INTERVALS: ReadonlySet<string> = new Set(["off-cpu", "wall"]);

/** Returns whether a row is in the selection, which counts only for the track of all samples. */
function selectionTest(
  profile: ViewProfile,
  { kind, event }: TrackQuery,
  selection: Pick<Selection, "pids" | "tids" | "cpus">,
): ((row: number) => boolean) | undefined {
  return kind === "all" ? rowTest(profile, { ...selection, event }) : undefined;
}

/** Weight in the range and first sample of a CPU, process or thread. */
interface Member {
  readonly id: number;
  readonly name: string;
  sum: number;
  start: number;
  readonly threads: Map<number, Member>;
}

/** Returns the order of tracks; ids decide between equal ones. */
function orderOf(sort: TrackSort): (a: Member, b: Member) => number {
  if (sort === "weight") return (a, b) => b.sum - a.sum || a.id - b.id;
  if (sort === "start") return (a, b) => a.start - b.start || a.id - b.id;
  return (a, b) => a.name === b.name ? a.id - b.id : a.name < b.name ? -1 : 1;
}

/** Returns the tracks that come first in an order, and the number of all tracks. */
export function tracks(
  profile: ViewProfile,
  names: ThreadNames,
  query: TrackQuery,
  selection: Pick<Selection, "pids" | "tids" | "cpus"> = {},
): Tracks {
  const { samples, threads } = profile;
  const { event, thread, cpu, time, count, period, length } = samples;
  const { kind, closed = [], sort = kind === "cpu" ? "name" : "weight" } = query;
  if (time === undefined || (kind === "cpu" && cpu === undefined)) {
    return { tracks: [], count: 0, left: 0, colored: undefined };
  }
  const weight = query.weight === "period" ? period : count;
  // Key of a sample's track: thread or CPU, of which there are few; -1 without one.
  const keys = kind === "cpu" ? cpu as Int32Array : thread;
  const [first, end] = query.range ?? [-Infinity, Infinity];
  const isSelected = selectionTest(profile, query, selection);
  /** By key: weight in the range, and the time of the first sample of all. */
  const sums: number[] = [];
  const starts: number[] = [];
  const ofThreads = new Float64Array(threads.length);
  for (let row = 0; row < length; row++) {
    const key = intAt(keys, row);
    if (event[row] !== query.event || key < 0) continue;
    const at = floatAt(time, row);
    // A CPU that is idle does nothing.
    const isIdle = query.byThread === true && threads[intAt(thread, row)]?.tid === 0;
    const counts = !isIdle && at >= first && at < end &&
      (isSelected === undefined || isSelected(row));
    const own = counts ? floatAt(weight, row) : 0;
    starts[key] ??= at;
    sums[key] = (sums[key] ?? 0) + own;
    ofThreads[intAt(thread, row)] = floatAt(ofThreads, intAt(thread, row)) + floatAt(weight, row);
  }
  const idOf = (key: number, of: TrackKind): number => {
    if (of === "all" || of === "cpu") return of === "all" ? 0 : key;
    return (of === "process" ? threads[key]?.pid : threads[key]?.tid) ?? -1;
  };
  const namesOf = (of: TrackKind) =>
    of === "process" ? names.processes : of === "thread" ? names.threads : undefined;
  const add = (to: Map<number, Member>, of: TrackKind, key: number, sum: number): Member => {
    const id = idOf(key, of);
    const start = starts[key] ?? 0;
    let member = to.get(id);
    if (member === undefined) {
      const name = namesOf(of)?.name.get(id) ?? (of === "process" || of === "thread" ? "?" : "");
      to.set(id, member = { id, name, sum: 0, start, threads: new Map() });
    }
    member.sum += sum;
    member.start = Math.min(member.start, start);
    return member;
  };
  // A thread number may have had several names, and a process has several threads.
  const members = new Map<number, Member>();
  for (const [key, sum] of sums.entries()) {
    if (sum === undefined) continue;
    const member = add(members, kind, key, sum);
    if (kind === "process") add(member.threads, "thread", key, sum);
  }
  const ranked = rankedThreads(ofThreads, profile, names);
  const stride = query.byThread === true && kind === "cpu" ? COLORED + 1 : LEVELS;
  const trackOf = (of: TrackKind, member: Member, isNested: boolean): Track => {
    const { id, name, sum } = member;
    return {
      kind: of,
      id,
      label: of === "all" ? "all samples" : of === "cpu" ? `CPU ${id}` : `${name} ${id}`,
      others: namesOf(of)?.others.get(id) ?? [],
      sum,
      threads: member.threads.size,
      isNested,
      bins: new Float64Array(query.bins * stride),
    };
  };
  const order = orderOf(sort);
  const found: Track[] = [];
  let left = 0;
  for (const member of [...members.values()].sort(order)) {
    if (found.length >= query.most) break;
    found.push(trackOf(kind, member, false));
    const own = member.threads;
    if (own.size < 2 || closed.includes(member.id)) continue;
    const room = query.most - found.length;
    left += Math.max(0, own.size - room);
    for (const thread of [...own.values()].sort(order).slice(0, room)) {
      found.push(trackOf("thread", thread, true));
    }
  }
  const shown = new Map(found.map((track) => [`${track.kind} ${track.id}`, track]));
  const into = sums.map((_, key) =>
    (kind === "process" ? ["process", "thread"] as const : [kind]).flatMap((of) =>
      shown.get(`${of} ${idOf(key, of)}`)?.bins ?? []
    )
  );
  fillBins(profile, query, selection, {
    into,
    keys,
    stride,
    colorOf: stride === LEVELS ? undefined : ranked.color,
  });
  return {
    tracks: found,
    count: members.size,
    left,
    colored: stride === LEVELS ? undefined : ranked.labels,
  };
}

/** Returns the threads with the greatest weights, and by index of a thread the place of its color. */
function rankedThreads(
  weights: Float64Array,
  { threads }: ViewProfile,
  names: ThreadNames,
): { readonly labels: readonly string[]; readonly color: Int32Array } {
  const byTid = new Map<number, number>();
  for (const [number, { tid }] of threads.entries()) {
    // The idle tasks of all CPUs are nobody's work.
    if (tid > 0) byTid.set(tid, (byTid.get(tid) ?? 0) + floatAt(weights, number));
  }
  const tids = [...byTid].sort(([a, sumA], [b, sumB]) => sumB - sumA || a - b).slice(0, COLORED)
    .map(([tid]) => tid);
  return {
    labels: tids.map((tid) => `${names.threads.name.get(tid) ?? "?"} ${tid}`),
    color: Int32Array.from(threads, ({ tid }) => {
      const at = tids.indexOf(tid);
      return tid === 0 ? -1 : at < 0 ? COLORED : at;
    }),
  };
}

/**
 * Adds the samples of a range to the bins of their tracks.
 *
 * The weight of a sample is that of the time since the sample before, so it is spread over that: a thread that
 * always ran has a full bar. Counts of samples are not spread.
 */
function fillBins(
  profile: ViewProfile,
  query: TrackQuery,
  selection: Pick<Selection, "pids" | "tids" | "cpus">,
  { into, keys, stride, colorOf }: {
    /** By key: the bins of its tracks. */
    readonly into: readonly (readonly Float64Array[])[];
    readonly keys: Int32Array;
    readonly stride: number;
    /** By thread: the place of its color in a bin, -1 if it is not drawn. */
    readonly colorOf: Int32Array | undefined;
  },
): void {
  const { samples, stacks, functions, events, step, exactFrom = Infinity } = profile;
  const { stack, event, thread, count, period } = samples;
  const time = samples.time as Float64Array;
  const { from, to, bins } = query;
  const weight = query.weight === "period" ? period : count;
  const isSelected = selectionTest(profile, query, selection);
  const span = Math.max(1, to - from);
  const { unit, name = "" } = events[query.event] ?? {};
  const isInterval = INTERVALS.has(name);
  const isSpread = query.weight === "period" && (step === undefined || from >= exactFrom);
  const interval = isSpread ? samplingIntervals(profile)[query.event] ?? 0 : 0;
  /** By key: the time of its sample before. */
  const before: number[] = [];
  const last = rowAt(time, to + 1 + (isInterval ? 0 : 2 * interval));
  for (let row = isInterval ? 0 : rowAt(time, from); row < last; row++) {
    if (event[row] !== query.event || isSelected?.(row) === false) continue;
    const key = intAt(keys, row);
    const lists = into[key];
    if (lists === undefined || lists.length === 0) continue;
    const of = intAt(stack, row);
    const level = colorOf !== undefined
      ? intAt(colorOf, intAt(thread, row))
      : of < 0
      ? FUNCTION_KIND.OTHER
      : byteAt(functions.kind, intAt(stacks.item, of)) & FUNCTION_KIND.LEVEL;
    if (level < 0) continue;
    const at = floatAt(time, row);
    const own = floatAt(weight, row);
    let [begin, end] = [at, at];
    if (isInterval) end = at + own;
    else if (isSpread) {
      const long = unit === "nanoseconds" ? own : interval;
      begin = Math.max(at - long, before[key] ?? -Infinity);
      before[key] = at;
    }
    for (const list of lists) {
      spread(list, level, stride, own, [(begin - from) / span * bins, (end - from) / span * bins]);
    }
  }
}

/** Spreads a weight over a part of the bins, from and to; what lies beyond their ends is left out. */
function spread(
  list: Float64Array,
  level: number,
  stride: number,
  weight: number,
  [begin, end]: readonly [number, number],
): void {
  const bins = list.length / stride;
  if (end <= begin) {
    // The end of the range belongs to its last bin.
    const bin = begin === bins ? bins - 1 : Math.floor(begin);
    if (bin < 0 || bin >= bins) return;
    const at = bin * stride + level;
    list[at] = floatAt(list, at) + weight;
    return;
  }
  const [first, last] = [Math.max(0, begin), Math.min(bins, end)];
  for (let bin = Math.floor(first); bin < last; bin++) {
    const part = Math.min(last, bin + 1) - Math.max(first, bin);
    const at = bin * stride + level;
    list[at] = floatAt(list, at) + weight * part / (end - begin);
  }
}

/** A sample of a track, for the pointer. */
export interface TrackSample {
  /** Nanoseconds since the first sample. */
  readonly time: number;
  readonly thread: string;
  /** -1 if it is not known. */
  readonly cpu: number;
  /** Its stack, the sampled function first. */
  readonly stack: readonly number[];
  /** Samples of the track in the range, and their weight. */
  readonly count: number;
  readonly weight: number;
}

/** Returns the sample of a track that is next to a time, and how many there are in a range around that. */
export function sampleAt(
  profile: ViewProfile,
  names: ThreadNames,
  { kind, id }: Pick<Track, "kind" | "id">,
  { event: wanted, weight, from, to }: Pick<TrackQuery, "event" | "weight" | "from" | "to">,
  at: number,
): TrackSample | undefined {
  const { samples, threads, stacks } = profile;
  const { event, thread, cpu, time, stack } = samples;
  if (time === undefined) return undefined;
  const weights = weight === "period" ? samples.period : samples.count;
  let best = -1;
  let [count, sum] = [0, 0];
  for (let row = rowAt(time, from), last = rowAt(time, to); row < last; row++) {
    if (event[row] !== wanted) continue;
    const of = threads[intAt(thread, row)];
    const key = kind === "cpu" ? cpu?.[row] ?? -1 : kind === "process" ? of?.pid : of?.tid;
    if (kind !== "all" && key !== id) continue;
    count += floatAt(samples.count, row);
    sum += floatAt(weights, row);
    const isNearer = best < 0 ||
      Math.abs(floatAt(time, row) - at) < Math.abs(floatAt(time, best) - at);
    if (isNearer) best = row;
  }
  if (best < 0) return undefined;
  const tid = threads[intAt(thread, best)]?.tid ?? -1;
  const found: number[] = [];
  for (let row = intAt(stack, best); row >= 0; row = intAt(stacks.parent, row)) {
    found.push(intAt(stacks.item, row));
  }
  return {
    time: floatAt(time, best),
    thread: `${names.threads.name.get(tid) ?? "?"} ${tid}`,
    cpu: cpu?.[best] ?? -1,
    stack: found,
    count,
    weight: sum,
  };
}
