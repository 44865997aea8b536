import { FUNCTION_KIND } from "@perfdata/profile/profile";
import { NodeTable } from "@perfdata/profile/node-table";
import { inDepthFirstOrder, type StackRows, type ViewProfile } from "@perfdata/export/view-profile";
import { byteAt, floatAt, intAt } from "@perfdata/format/elements";

/** Selects the samples that all views show. */
export interface Selection {
  /** Number of the event. */
  readonly event: number;
  /** Nanoseconds since the first sample; this and what follows. */
  readonly from?: number | undefined;
  /** Nanoseconds since the first sample; what comes before. */
  readonly to?: number | undefined;
  /** Processes; with {@linkcode Selection.tids} one of both has to fit. */
  readonly pids?: readonly number[] | undefined;
  /** Threads. */
  readonly tids?: readonly number[] | undefined;
  /** CPUs. */
  readonly cpus?: readonly number[] | undefined;
  /** The PMU, among those of the event. */
  readonly pmu?: number | undefined;
  /** Objects that the innermost function is in. */
  readonly objects?: readonly number[] | undefined;
}

/** How samples are counted. */
export type Weight = "period" | "samples";

/** What is selected, summed up by stack. */
export interface Weights {
  /** By row of the stacks: periods of the samples whose innermost function it is. */
  readonly period: Float64Array;
  /** The same, samples. */
  readonly count: Float64Array;
  /** All periods, samples without a stack included. */
  readonly totalPeriod: number;
  /** All samples. */
  readonly totalCount: number;
  /** Periods of samples without a stack. */
  readonly barePeriod: number;
  /** Samples without a stack. */
  readonly bareCount: number;
}

/** First row at or after a time. */
export function rowAt(time: Float64Array, at: number): number {
  let [low, high] = [0, time.length];
  while (low < high) {
    const middle = low + high >>> 1;
    if (floatAt(time, middle) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** By number of a thread of the profile: 1 if it is selected. */
export function selectedThreads(
  { threads }: Pick<ViewProfile, "threads">,
  { pids, tids }: Pick<Selection, "pids" | "tids">,
): Uint8Array {
  if (pids === undefined && tids === undefined) return new Uint8Array(threads.length).fill(1);
  return Uint8Array.from(
    threads,
    ({ pid, tid }) => pids?.includes(pid) || tids?.includes(tid) ? 1 : 0,
  );
}

/** The rows of samples that a range of time has, from and to. */
export function rowsIn(
  { samples: { time, length } }: ViewProfile,
  { from, to }: Pick<Selection, "from" | "to">,
): readonly [number, number] {
  if (time === undefined) return [0, length];
  return [from === undefined ? 0 : rowAt(time, from), to === undefined ? length : rowAt(time, to)];
}

/** Whether a row of the samples is selected, apart from its time. */
export function rowTest(
  profile: ViewProfile,
  { event: number, cpus, objects, pmu: wanted, ...selection }: Selection,
): (row: number) => boolean {
  const { stack, event, thread, cpu, pmu } = profile.samples;
  const { stacks: { item }, functions: { object } } = profile;
  const threads = selectedThreads(profile, selection);
  const ofCpus = cpus === undefined || cpu === undefined ? undefined : new Set(cpus);
  const ofObjects = objects === undefined ? undefined : new Set(objects);
  return (row) => {
    if (wanted !== undefined && (pmu?.[row] ?? 0) !== wanted) return false;
    if (event[row] !== number || threads[intAt(thread, row)] === 0) return false;
    if (ofCpus !== undefined && !ofCpus.has(intAt(cpu as Int32Array, row))) return false;
    return ofObjects === undefined ||
      ofObjects.has(object[item[intAt(stack, row)] ?? -1] ?? -1);
  };
}

/** The rows of samples that are selected, in order. */
export function selectedRows(profile: ViewProfile, selection: Selection): Int32Array {
  const [first, last] = rowsIn(profile, selection);
  const isSelected = rowTest(profile, selection);
  const rows = new Int32Array(Math.max(0, last - first));
  let length = 0;
  for (let i = first; i < last; i++) if (isSelected(i)) rows[length++] = i;
  return rows.subarray(0, length);
}

/** Sums up what is selected. */
export function weigh(profile: ViewProfile, selection: Selection): Weights {
  const { stack, count, period } = profile.samples;
  const rows = profile.stacks.parent.length;
  const sums = { period: new Float64Array(rows), count: new Float64Array(rows) };
  let [totalPeriod, totalCount, barePeriod, bareCount] = [0, 0, 0, 0];
  for (const i of selectedRows(profile, selection)) {
    const of = intAt(stack, i);
    const [p, n] = [floatAt(period, i), floatAt(count, i)];
    totalPeriod += p;
    totalCount += n;
    if (of < 0) {
      barePeriod += p;
      bareCount += n;
    } else {
      sums.period[of] = floatAt(sums.period, of) + p;
      sums.count[of] = floatAt(sums.count, of) + n;
    }
  }
  return { ...sums, totalPeriod, totalCount, barePeriod, bareCount };
}

/** Stacks without what was inlined, and by row as it was the row that stands for it; -1 for none. */
export interface PlainStacks {
  readonly stacks: StackRows;
  readonly of: Int32Array;
}

/** Leaves out what was inlined: its callers stand for it. */
export function plainStacks(
  { stacks: { parent, item }, functions: { kind } }: ViewProfile,
  rank: ArrayLike<number>,
): PlainStacks {
  const nodes = new NodeTable();
  const of = new Int32Array(parent.length);
  for (let row = 0; row < parent.length; row++) {
    const up = intAt(parent, row);
    const caller = up < 0 ? -1 : intAt(of, up);
    const number = intAt(item, row);
    const isInlined = (byteAt(kind, number) & FUNCTION_KIND.INLINED) !== 0;
    of[row] = isInlined ? caller : nodes.node(caller, number);
  }
  const plain = { parent: nodes.parents().slice(), item: nodes.items().slice() };
  const { rows, number } = inDepthFirstOrder(plain, rank);
  return { stacks: rows, of: of.map((row) => row < 0 ? -1 : intAt(number, row)) };
}

/** The same weights by rows without what was inlined. */
export function plainWeights(weights: Weights, { stacks, of }: PlainStacks): Weights {
  const rows = stacks.parent.length;
  const sums = { period: new Float64Array(rows), count: new Float64Array(rows) };
  let { barePeriod, bareCount } = weights;
  for (let row = 0; row < of.length; row++) {
    const at = intAt(of, row);
    const [period, count] = [floatAt(weights.period, row), floatAt(weights.count, row)];
    if (at < 0) {
      barePeriod += period;
      bareCount += count;
    } else {
      sums.period[at] = floatAt(sums.period, at) + period;
      sums.count[at] = floatAt(sums.count, at) + count;
    }
  }
  return { ...weights, ...sums, barePeriod, bareCount };
}
