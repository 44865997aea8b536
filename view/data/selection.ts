import {
  DROPPED,
  FUNCTION_KIND,
  NodeTable,
  type StackTransform,
  transformAll,
} from "@perfdata/profile";
import { inDepthFirstOrder, type StackRows, type ViewProfile } from "@perfdata/export/tree";
import { byteAt, floatAt, intAt } from "@perfdata/format/bytes";

/** The selection of samples, which all views share. */
export interface Selection {
  /** Index of the event. */
  readonly event: number;
  /** Start in nanoseconds since the first sample, inclusive. */
  readonly from?: number | undefined;
  /** End in nanoseconds since the first sample, exclusive. */
  readonly to?: number | undefined;
  /** Processes. A sample matches if its process is here or its thread in {@linkcode Selection.tids}. */
  readonly pids?: readonly number[] | undefined;
  readonly tids?: readonly number[] | undefined;
  readonly cpus?: readonly number[] | undefined;
  /** Number of the PMU among those of the event. */
  readonly pmu?: number | undefined;
  /** Objects of the innermost function. */
  readonly objects?: readonly number[] | undefined;
}

export type Weight = "period" | "samples";

export interface Weights {
  /** By row of the stacks: periods of the samples whose innermost frame it is. */
  readonly period: Float64Array;
  /** By row of the stacks: number of these samples. */
  readonly count: Float64Array;
  /** Periods of all samples, including those without a stack. */
  readonly totalPeriod: number;
  readonly totalCount: number;
  /** Periods of samples without a stack. */
  readonly barePeriod: number;
  /** Samples without a stack. */
  readonly bareCount: number;
}

/** Returns the first row at or after a time. */
export function rowAt(time: Float64Array, at: number): number {
  let [low, high] = [0, time.length];
  while (low < high) {
    const middle = low + high >>> 1;
    if (floatAt(time, middle) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns 1 for each selected thread of the profile. */
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

/** Returns the first row in a range of time, and the end. */
export function rowsIn(
  { samples: { time, length } }: ViewProfile,
  { from, to }: Pick<Selection, "from" | "to">,
): readonly [number, number] {
  if (time === undefined) return [0, length];
  return [from === undefined ? 0 : rowAt(time, from), to === undefined ? length : rowAt(time, to)];
}

/** Returns a function that tells whether a row is selected, regardless of its time. */
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

/** Returns the selected rows, in order. */
export function selectedRows(profile: ViewProfile, selection: Selection): Int32Array {
  const [first, last] = rowsIn(profile, selection);
  const isSelected = rowTest(profile, selection);
  const rows = new Int32Array(Math.max(0, last - first));
  let length = 0;
  for (let i = first; i < last; i++) if (isSelected(i)) rows[length++] = i;
  return rows.subarray(0, length);
}

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

/** Stacks that were changed. */
export interface ChangedStacks {
  readonly stacks: StackRows;
  /** By row as it was: the row of its samples, -1 if they have no stack, or `DROPPED`. */
  readonly of: Int32Array;
  /** The same for samples that had no stack. */
  readonly bare: number;
}

/** The row of changed stacks that a row of the profile's stacks became. */
export function changedRow({ of, bare }: ChangedStacks, row: number): number {
  return row < 0 ? bare : intAt(of, row);
}

export function transformedStacks(
  { stacks, of, bare }: ChangedStacks,
  transforms: readonly StackTransform[],
  rank: ArrayLike<number>,
): ChangedStacks {
  const made = transformAll(stacks, transforms);
  const { rows, number } = inDepthFirstOrder(made, rank);
  const ofMade = (row: number) => row < 0 ? row : intAt(number, row);
  const through = (row: number) =>
    row >= 0 ? ofMade(intAt(made.of, row)) : row === -1 ? ofMade(made.bare) : row;
  return { stacks: rows, of: of.map(through), bare: through(bare) };
}

/** The rows of samples that are selected and that changes of stacks did not drop, in order. */
export function keptRows(
  profile: ViewProfile,
  selection: Selection,
  changed: ChangedStacks | undefined,
): Int32Array {
  const rows = selectedRows(profile, selection);
  const { stack } = profile.samples;
  return changed === undefined
    ? rows
    : rows.filter((row) => changedRow(changed, intAt(stack, row)) !== DROPPED);
}

/** Removes inlined functions; their callers replace them. */
export function plainStacks(
  { stacks: { parent, item }, functions: { kind } }: ViewProfile,
  rank: ArrayLike<number>,
): ChangedStacks {
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
  return { stacks: rows, of: of.map((row) => row < 0 ? -1 : intAt(number, row)), bare: -1 };
}

/** The same weights by rows of changed stacks; samples that are dropped are in no sum. */
export function changedWeights(weights: Weights, { stacks, of, bare }: ChangedStacks): Weights {
  const rows = stacks.parent.length;
  const sums = { period: new Float64Array(rows), count: new Float64Array(rows) };
  let { barePeriod, bareCount, totalPeriod, totalCount } = weights;
  if (bare === DROPPED) {
    totalPeriod -= barePeriod;
    totalCount -= bareCount;
    barePeriod = bareCount = 0;
  }
  for (let row = 0; row < of.length; row++) {
    const at = intAt(of, row);
    const [period, count] = [floatAt(weights.period, row), floatAt(weights.count, row)];
    if (at === DROPPED) {
      totalPeriod -= period;
      totalCount -= count;
    } else if (at < 0) {
      barePeriod += period;
      bareCount += count;
    } else {
      sums.period[at] = floatAt(sums.period, at) + period;
      sums.count[at] = floatAt(sums.count, at) + count;
    }
  }
  return { ...sums, totalPeriod, totalCount, barePeriod, bareCount };
}
