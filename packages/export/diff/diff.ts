// One module, since a row is judged by its counts, by the spread of its side, and by the names that moved
// between the sides: all of them are sums over the same recordings.
import { floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import {
  frameStacks,
  FUNCTION_KIND,
  functionName,
  type Profile,
  type ProfileThread,
  runFunction,
  runObject,
} from "@perfdata/profile";
import { type SameObject, sameObjects } from "./diff_objects.ts";

export type { SameObject };
import {
  CountChange,
  normalQuantile,
  runSpread,
  type SideCount,
  type SpreadPrior,
  welch,
} from "./statistics.ts";

/** The measure of a comparison. */
export type DiffMeasure = "total" | "samples" | "time" | "period";

/** Options of a comparison. */
export interface DiffOptions {
  /** Name of the event. */
  readonly event: string;
  /**
   * `total`: shares of the period; `samples`: shares of the samples; `time`: period per second;
   * `period`: period per recording, for recordings of the same work.
   */
  readonly by: DiffMeasure;
  /**
   * Whether inlined functions have their own rows, instead of belonging to the function around
   * them.
   */
  readonly inline?: boolean;
  /** Whether callees count for a function. */
  readonly children?: boolean;
  /** Whether rows are call paths, including callees. */
  readonly paths?: boolean;
  /** Names of the base's objects, with their names on the other side. */
  readonly same?: ReadonlyMap<string, string>;
}

/** One side of a row: means over the side's recordings. */
export interface DiffSide {
  /** Samples of all recordings. */
  readonly samples: number;
  /** Period of all recordings. */
  readonly period: number;
  /** The measure: a share from 0 to 1, or the period per second or recording. */
  readonly value: number;
}

/** A change of the measure, with its significance. */
export interface DiffChange {
  /** Change of the measure relative to the whole base: 0.05 is five percent of everything. */
  readonly change: number;
  /**
   * Confidence interval of the change. With 95 % probability, the intervals of all rows contain
   * their true changes.
   */
  readonly interval: readonly [number, number];
  /** Probability that chance alone causes such a change in any row, weighted by this row's size. */
  readonly chance: number;
  /** Whether the change is significant: the interval does not contain 0. */
  readonly isSignificant: boolean;
}

/** A function or path on at least one side. */
export interface DiffRow extends DiffChange {
  /** Name of the function; for a path, of its innermost function. */
  readonly name: string;
  /** Name of the object. */
  readonly object: string;
  /** The functions of a path, outermost first. */
  readonly path?: readonly string[];
  /** The base. */
  readonly before: DiffSide;
  /** The side that is compared with the base. */
  readonly after: DiffSide;
  /**
   * A remark: `now inlined`, `no longer inlined`, `moved from OBJECT`, `moved to OBJECT`, `new`,
   * `gone`, or empty.
   */
  readonly note: string;
}

/** A comparison. */
export interface Diff {
  /** The rows, by descending change. */
  readonly rows: readonly DiffRow[];
  /** Totals of the base. */
  readonly before: DiffSide;
  /** Totals of the other side. */
  readonly after: DiffSide;
  /** Relative change of the total: not 0 only for `time` and `period`. */
  readonly change: number;
  /** The change of the total with its interval; missing for shares, whose sum is always 1. */
  readonly whole?: DiffChange;
  /** Objects that are matched although their names differ. */
  readonly same: readonly SameObject[];
  /**
   * Whether each side has several recordings, so that their spread determines significance.
   * Otherwise the number of samples does.
   */
  readonly isRepeated: boolean;
}

/** Probability that at least one marked change is due to chance. */
const LEVEL = 0.05;

/**
 * For one recording per side: prior of the spread of functions' shares between runs of the same
 * program, beyond sampling noise. `bench/diff_chance.ts` measured it on a busy machine.
 */
const SHARE_PRIOR: SpreadPrior = { usual: 0.1, deviation: 0.5 };
/** The same for rates, which also depend on the machine's speed. */
const RATE_PRIOR: SpreadPrior = { usual: 0.15, deviation: 0.5 };
/**
 * The same for kernel functions: interrupts, page faults and switches depend on the machine more
 * than on the program.
 */
const KERNEL_PRIOR: SpreadPrior = { usual: 1, deviation: 0.5 };
/** Spread of the total rate between runs. */
const WHOLE_SPREAD = 0.1;

/** Samples (both sides) that a function needs to contribute to the estimate of the spread. */
const TELLING_SAMPLES = 20;
/** The count of the largest functions that contribute. */
const TELLING_FUNCTIONS = 200;
/** Samples that a function needs in an object, on one side only, to count as moved. */
const MOVED_SAMPLES = 10;

/** A recording to compare: stacks of functions, and one event's samples by stack. */
export interface DiffRecording extends Pick<Profile, "objects"> {
  /** The threads. An object with the name of a thread is a program. */
  readonly threads: Iterable<ProfileThread>;
  /** By function: name, object (-1: none), and `FUNCTION_KIND` bits. */
  readonly functions: {
    readonly name: readonly string[];
    readonly object: ArrayLike<number>;
    readonly kind: ArrayLike<number>;
  };
  /** Caller of each stack row, an earlier row (-1: none). */
  readonly parent: Int32Array;
  /** Function of each stack row. */
  readonly item: Int32Array;
  /** Samples of each stack row as the innermost one. */
  readonly samples: Float64Array;
  /** Period of each stack row as the innermost one. */
  readonly periods: Float64Array;
  /** Samples without a stack. */
  readonly bareSamples: number;
  /** Period of the samples without a stack. */
  readonly barePeriod: number;
  /** Seconds from the first to the last sample; 0 if samples have no time. */
  readonly seconds: number;
  /** The events with samples. */
  readonly sampled: readonly string[];
}

/** The events with samples, as the end of a message. */
function onlyOf(recordings: readonly DiffRecording[]): string {
  const names = new Set(recordings.flatMap(({ sampled }) => sampled));
  return names.size === 0 ? "" : `, only of ${[...names].sort().join(", ")}`;
}

interface Counted {
  readonly samples: number;
  readonly period: number;
  /** Divisor of rates: seconds, or 1 per recording. */
  readonly amount: number;
  /** Samples and period by key. */
  readonly keys: Map<string, { samples: number; period: number; readonly isKernel: boolean }>;
  /** Number of samples that tell as much as one would if periods were equal. */
  readonly dispersion: number;
  /** Names of functions that are inlined somewhere. */
  readonly inlined: ReadonlySet<string>;
}

/**
 * Compares recordings by function or by path.
 *
 * Functions are matched by name and the object's short name, so that rebuilt programs can be
 * compared. An inlined function counts for the function around it, as in `perf diff`.
 *
 * With one recording per side, a change is tested against sampling noise, and against the usual
 * difference between runs of the same program. With several, it is tested against sampling noise
 * and against their spread (Welch).
 *
 * @throws {RangeError} If a side has no samples of the event.
 */
export function diff(
  before: readonly Profile[],
  after: readonly Profile[],
  options: DiffOptions,
): Diff {
  const [base, now] = [before, after].map((side) => side.map((one) => recordingOf(one, options)));
  return diffRecordings(base as DiffRecording[], now as DiffRecording[], options);
}

/**
 * {@linkcode diff} of recordings that are already summed up by stack; the sums determine `inline`
 * and the event.
 *
 * @throws {RangeError} If a side has no samples of the event.
 */
export function diffRecordings(
  before: readonly DiffRecording[],
  after: readonly DiffRecording[],
  options: DiffOptions,
): Diff {
  const same = sameObjects(before, after, options.same);
  const names = new Map(same.map((one) => [one.after, one.before]));
  const [base, now] = [
    new Side(before.map((one) => count(one, options, new Map())), options.by),
    new Side(after.map((one) => count(one, options, names)), options.by),
  ];
  for (const [side, recordings] of [[base, before], [now, after]] as const) {
    if (side.whole.samples > 0) continue;
    throw new RangeError(
      `${side === base ? "the base has" : "the other side has"} no samples of ` +
        `${options.event}${onlyOf(recordings)}`,
    );
  }
  const keys = [...new Set([...base.keys(), ...now.keys()])];
  const isRepeated = base.recordings.length > 1 && now.recordings.length > 1;
  const sides = keys.map((key): KeySides => ({
    key,
    before: base.sumsOf(key),
    after: now.sumsOf(key),
  }));
  // A function's part of the level is its share of the samples, since large functions matter most.
  const samples = sides.reduce((sum, { before, after }) => sum + before.samples + after.samples, 0);
  const parts = sides.map(({ before, after }) => (before.samples + after.samples) / samples);
  const changes = isRepeated
    ? sides.map((of, i) => ({ ...of, ...repeatedChange(base, now, of.key, numberAt(parts, i)) }))
    : changesOfRuns(base, now, sides, parts);
  const notes = new Notes(base.recordings, now.recordings, options.paths === true);
  const rows = rowsOf(changes, notes, options.paths === true);
  return {
    rows: options.paths ? withoutPassing(rows) : rows,
    before: base.whole,
    after: now.whole,
    change: now.whole.value / base.whole.value - 1,
    ...(base.isRate ? { whole: wholeChange(base, now, isRepeated) } : {}),
    same,
    isRepeated,
  };
}

/** One side of a comparison: its recordings and their sums. */
class Side {
  readonly recordings: readonly Counted[];
  /** Sums of the recordings. */
  readonly whole: DiffSide;
  /** Whether the measure is a rate. Otherwise it is a share. */
  readonly isRate: boolean;
  /** Size with which a key's samples are compared, for testing a rate or a share. */
  readonly size: number;
  /** Number of samples that tell as much as one would if periods were equal. */
  readonly dispersion: number;
  readonly #by: DiffMeasure;
  readonly #amount: number;

  constructor(recordings: readonly Counted[], by: DiffMeasure) {
    const sum = (of: "samples" | "period" | "amount"): number =>
      recordings.reduce((sum, one) => sum + one[of], 0);
    const [samples, period, amount] = [sum("samples"), sum("period"), sum("amount")];
    this.recordings = recordings;
    this.#by = by;
    this.isRate = by === "time" || by === "period";
    this.whole = { samples, period, value: this.isRate ? period / amount : 1 };
    // The period is compared, so the number of samples depends on the period per sample.
    this.size = this.isRate ? amount * samples / period : samples;
    this.#amount = amount;
    this.dispersion = by === "samples" ? 1 : recordings.reduce(
      (sum, one) => sum + one.dispersion * one.samples / samples,
      0,
    );
  }

  keys(): string[] {
    return this.recordings.flatMap((one) => [...one.keys.keys()]);
  }

  sumsOf(key: string): DiffSide {
    let [samples, period] = [0, 0];
    for (const one of this.recordings) {
      const found = one.keys.get(key);
      samples += found?.samples ?? 0;
      period += found?.period ?? 0;
    }
    const value = this.#measure({ samples, period }, { ...this.whole, amount: this.#amount });
    return { samples, period, value };
  }

  /** The measure of a key (or of the total) in each recording. */
  each(key: string | undefined): number[] {
    return this.recordings.map((one) =>
      this.#measure(key === undefined ? one : one.keys.get(key) ?? { samples: 0, period: 0 }, one)
    );
  }

  /** Whether a key is a kernel function. */
  isKernel(key: string): boolean {
    return this.recordings.some((one) => one.keys.get(key)?.isKernel === true);
  }

  #measure(
    part: Pick<Counted, "samples" | "period">,
    whole: Pick<Counted, "samples" | "period" | "amount">,
  ): number {
    if (this.isRate) return part.period / whole.amount;
    return this.#by === "total" ? part.period / whole.period : part.samples / whole.samples;
  }
}

interface KeySides extends Pick<DiffRow, "before" | "after"> {
  readonly key: string;
}

interface Change extends KeySides, DiffChange {}

/** A change that is tested at this part of {@linkcode LEVEL}. */
function judged(change: number, interval: readonly [number, number], chance: number): DiffChange {
  const [low, high] = interval;
  return { change, interval, chance: Math.min(1, chance), isSignificant: low > 0 || high < 0 };
}

/**
 * The change of a key (or of the total) if each side has several recordings. It must exceed both
 * their spread and the sampling noise: few samples are often equal by chance, without any spread.
 *
 * @param part Part of the level.
 */
function repeatedChange(base: Side, now: Side, key: string | undefined, part: number): DiffChange {
  const spread = welch(base.each(key), now.each(key), LEVEL * part);
  if (spread === undefined) throw new RangeError("a side has fewer than two recordings");
  const [before, after] = key === undefined
    ? [base.whole, now.whole]
    : [base.sumsOf(key), now.sumsOf(key)];
  const counts = countsOf(base, now, before, after);
  const [low, high] = counts.interval(0, normalQuantile(LEVEL * part));
  const whole = base.whole.value;
  return judged(
    spread.difference / whole,
    [Math.min(low, spread.low) / whole, Math.max(high, spread.high) / whole],
    Math.max(spread.chance, counts.chance(0)) / part,
  );
}

function wholeChange(base: Side, now: Side, isRepeated: boolean): DiffChange {
  if (isRepeated) return repeatedChange(base, now, undefined, 1);
  const counts = countsOf(base, now, base.whole, now.whole);
  return countedChange(base, base.whole, now.whole, counts, WHOLE_SPREAD, 1);
}

/** The changes of keys if a side has one recording. The numbers of samples determine the noise. */
function changesOfRuns(
  base: Side,
  now: Side,
  sides: readonly KeySides[],
  parts: readonly number[],
): Change[] {
  const counts = sides.map(({ before, after }) => countsOf(base, now, before, after));
  const spreads = spreadsOf(base, now, sides, counts);
  return sides.map((of, i) => ({
    ...of,
    ...countedChange(
      base,
      of.before,
      of.after,
      counts[i] as CountChange,
      floatAt(spreads, i),
      numberAt(parts, i),
    ),
  }));
}

function countedChange(
  { whole: { value: whole } }: Side,
  before: DiffSide,
  after: DiffSide,
  counts: CountChange,
  spread: number,
  part: number,
): DiffChange {
  const [low, high] = counts.interval(spread, normalQuantile(LEVEL * part));
  const change = (after.value - before.value) / whole;
  return judged(change, [low / whole, high / whole], counts.chance(spread) / part);
}

/** The samples of both sides, scaled to give the compared values. */
function countsOf(base: Side, now: Side, before: DiffSide, after: DiffSide): CountChange {
  const sizes = [base, now].map((side, i): SideCount => {
    const [own, other] = i === 0 ? [before, after] : [after, before];
    const samples = own.samples / side.dispersion;
    const { value } = own;
    if (samples > 0 && value > 0) return { samples, size: samples / value };
    // The period per sample is only known from the other side.
    const { size } = i === 0 ? now : base;
    const weight = other.samples > 0 && other.value > 0 ? other.value * size / other.samples : 1;
    return { samples, size: side.size / side.dispersion / weight };
  });
  return new CountChange(sizes[0] as SideCount, sizes[1] as SideCount, base.isRate);
}

/**
 * Spread between runs by key, estimated from the other keys and the prior. A key does not
 * contribute to its own estimate, since its change would excuse itself.
 */
function spreadsOf(
  base: Side,
  now: Side,
  sides: readonly KeySides[],
  counts: readonly CountChange[],
): Float64Array {
  const found = new Float64Array(sides.length);
  const samples = sides.map(({ before, after }) => before.samples + after.samples);
  for (const isKernel of [false, true]) {
    const group = sides.map((_, i) => i).filter((i) => {
      const { key } = sides[i] as KeySides;
      return (base.isKernel(key) || now.isKernel(key)) === isKernel;
    });
    const prior = isKernel ? KERNEL_PRIOR : base.isRate ? RATE_PRIOR : SHARE_PRIOR;
    const isShare = !base.isRate && !isKernel;
    const telling = group.filter((i) => numberAt(samples, i) >= TELLING_SAMPLES)
      .sort((a, b) => numberAt(samples, b) - numberAt(samples, a)).slice(0, TELLING_FUNCTIONS);
    const spread = (of: readonly number[]) =>
      runSpread(of.map((i) => counts[i] as CountChange), prior, isShare);
    const all = spread(telling);
    for (const i of group) found[i] = all;
    for (const i of telling) found[i] = spread(telling.filter((other) => other !== i));
  }
  return found;
}

function rowsOf(changes: readonly Change[], notes: Notes, isPath: boolean): DiffRow[] {
  return changes.map(({ key, ...change }): DiffRow => {
    const { name, object, path } = parts(key);
    return { name, object, ...(isPath ? { path } : {}), ...change, note: notes.noteOf(key) };
  }).sort((a, b) =>
    Math.abs(b.change) - Math.abs(a.change) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  );
}

/** Separators in a key: between functions of a path, and between function and object. */
const STEP = "\u0000";
const OF = "\u0001";

function parts(key: string): { name: string; object: string; path: string[] } {
  const steps = key.split(STEP).map((step) => step.split(OF));
  const [name = "", object = ""] = steps.at(-1) ?? [];
  return { name, object, path: steps.map(([step = ""]) => step) };
}

/** Sums up a recording's samples by stack of functions. */
function recordingOf(profile: Profile, { event, inline }: DiffOptions): DiffRecording {
  const { samples, functions, objects, threads, events } = profile;
  const number = events.findIndex(({ name }) => name === event);
  const stacks = frameStacks(profile, { by: "function", inline: inline === true });
  const rows = stacks.item.length;
  const sums = { samples: new Float64Array(rows), periods: new Float64Array(rows) };
  let [bareSamples, barePeriod] = [0, 0];
  const sampled = new Set<string>();
  for (let i = 0; i < samples.length; i++) {
    const of = samples.event[i] as number;
    if (of !== number) {
      sampled.add(events[of]?.name ?? String(of));
      continue;
    }
    const stack = intAt(samples.stack, i);
    const [n, period] = [samples.count[i] as number, floatAt(samples.period, i)];
    if (stack < 0) {
      bareSamples += n;
      barePeriod += period;
      continue;
    }
    const row = intAt(stacks.of, stack);
    (sums.samples[row] as number) += n;
    (sums.periods[row] as number) += period;
  }
  const [start, end] = profile.span ?? [0, 0];
  return {
    objects,
    threads,
    functions: {
      name: functions.name.map((_, f) => functionName(profile, f)),
      object: functions.object,
      kind: functions.kind,
    },
    parent: stacks.parent,
    item: stacks.item,
    ...sums,
    bareSamples,
    barePeriod,
    seconds: (end - start) / 1e9,
    sampled: [...sampled],
  };
}

/** Sums up a recording by key. */
function count(
  { objects, functions, parent, item, samples, periods, bareSamples, barePeriod, seconds }:
    DiffRecording,
  { by, children, paths }: DiffOptions,
  names: ReadonlyMap<string, string>,
): Counted {
  const rows = item.length;
  const own = new Float64Array(rows * 2);
  let [all, whole] = [bareSamples, barePeriod];
  for (let row = 0; row < rows; row++) {
    all += own[row * 2] = floatAt(samples, row);
    whole += own[row * 2 + 1] = floatAt(periods, row);
  }
  const labels = functions.name.map((label, f) => {
    const object = runObject(objects[functions.object[f] as number]?.name ?? "[unknown]");
    const called = names.get(object) ?? object;
    const plain = runFunction(label);
    // An unnamed function has the name of its object.
    return (plain === `[${object}]` ? `[${called}]` : plain) + OF + called;
  });
  const keys: Counted["keys"] = new Map();
  const add = (key: string, n: number, period: number, isKernel: boolean) => {
    if (n === 0) return;
    let sum = keys.get(key);
    if (sum === undefined) keys.set(key, sum = { samples: 0, period: 0, isKernel });
    sum.samples += n;
    sum.period += period;
  };
  const label = (row: number) => labels[intAt(item, row)] as string;
  const isKernel = (row: number) =>
    ((functions.kind[intAt(item, row)] ?? 0) & FUNCTION_KIND.LEVEL) === FUNCTION_KIND.KERNEL;
  if (children || paths) {
    for (let row = rows - 1; row >= 0; row--) {
      const up = intAt(parent, row);
      if (up < 0) continue;
      (own[up * 2] as number) += floatAt(own, row * 2);
      (own[up * 2 + 1] as number) += floatAt(own, row * 2 + 1);
    }
  }
  const path: string[] = new Array(paths ? rows : 0);
  for (let row = 0; row < rows; row++) {
    const [n, period] = [floatAt(own, row * 2), floatAt(own, row * 2 + 1)];
    const up = intAt(parent, row);
    if (paths) {
      path[row] = up < 0 ? label(row) : path[up] + STEP + label(row);
      add(path[row] as string, n, period, isKernel(row));
      continue;
    }
    // A recursive function counts once.
    let outer = children ? up : -1;
    while (outer >= 0 && label(outer) !== label(row)) outer = intAt(parent, outer);
    if (outer < 0) add(label(row), n, period, isKernel(row));
  }
  if (bareSamples > 0) add(`[no stack]${OF}[unknown]`, bareSamples, barePeriod, false);
  const inlined = new Set(
    functions.name.filter((_, f) => ((functions.kind[f] as number) & FUNCTION_KIND.INLINED) !== 0)
      .map(runFunction),
  );
  const amount = by === "time" ? seconds : 1;
  const dispersion = dispersionOf(item, samples, periods);
  return { samples: all, period: whole, amount, dispersion, keys, inlined };
}

/**
 * Number of samples with varying periods that tell as much as one with equal periods: 1 plus the
 * squared relative deviation, measured over stacks of the same function.
 */
function dispersionOf(item: Int32Array, samples: Float64Array, periods: Float64Array): number {
  const sums = new Map<number, { n: number; period: number; squares: number; rows: number }>();
  for (const [row, fn] of item.entries()) {
    const [n, period] = [floatAt(samples, row), floatAt(periods, row)];
    if (n === 0) continue;
    let sum = sums.get(fn);
    if (sum === undefined) sums.set(fn, sum = { n: 0, period: 0, squares: 0, rows: 0 });
    sum.n += n;
    sum.period += period;
    sum.squares += period * period / n;
    sum.rows++;
  }
  let [deviation, freedom] = [0, 0];
  for (const { n, period, squares, rows } of sums.values()) {
    if (rows < 2 || period === 0) continue;
    const mean = period / n;
    deviation += Math.max(0, squares - period * mean) / (mean * mean);
    freedom += rows - 1;
  }
  return 1 + (freedom === 0 ? 0 : deviation / freedom);
}

/** Explains functions that are on one side only. */
class Notes {
  readonly #before: readonly Counted[];
  readonly #after: readonly Counted[];
  readonly #isPath: boolean;
  /** By side: the objects in which each function has enough samples to count as moved. */
  readonly #objects: readonly Map<string, Set<string>>[];

  constructor(before: readonly Counted[], after: readonly Counted[], isPath: boolean) {
    this.#before = before;
    this.#after = after;
    this.#isPath = isPath;
    this.#objects = [before, after].map((side) => {
      const objects = new Map<string, Set<string>>();
      for (const [key, { samples }] of isPath ? [] : side.flatMap(({ keys }) => [...keys])) {
        const { name, object } = parts(key);
        if (name.startsWith("[") || samples < MOVED_SAMPLES) continue;
        let found = objects.get(name);
        if (found === undefined) objects.set(name, found = new Set());
        found.add(object);
      }
      return objects;
    });
  }

  noteOf(key: string): string {
    const [before, after] = [this.#before, this.#after].map((side) =>
      side.some(({ keys }) => keys.has(key))
    );
    if (before && after) return "";
    const { name, object } = parts(key);
    if (!this.#isPath) {
      const other = before ? this.#after : this.#before;
      if (other.some(({ inlined }) => inlined.has(name))) {
        return before ? "now inlined" : "no longer inlined";
      }
    }
    const there = this.#isPath ? undefined : this.#placeOf(name, object, before === true);
    if (before) return there === undefined ? "gone" : `moved to ${there}`;
    return there === undefined ? "new" : `moved from ${there}`;
  }

  /**
   * The object that has the function only on the other side, if this object has it only on its own
   * side.
   */
  #placeOf(name: string, object: string, isBefore: boolean): string | undefined {
    const [here, there] = isBefore ? this.#objects : [...this.#objects].reverse();
    if (here?.get(name)?.has(object) !== true) return undefined;
    return [...there?.get(name) ?? []].find((other) => here?.get(name)?.has(other) !== true);
  }
}

/** Drops paths whose change is that of one longer path. */
function withoutPassing(rows: readonly DiffRow[]): DiffRow[] {
  const most = new Map<string, number>();
  for (const { path = [], change } of rows) {
    const up = path.slice(0, -1).join(STEP);
    if (Math.abs(change) > Math.abs(most.get(up) ?? 0)) most.set(up, change);
  }
  return rows.filter(({ path = [], change }) => {
    const below = most.get(path.join(STEP)) ?? 0;
    return !(change !== 0 && below / change > 0.9 && below / change < 1.1);
  });
}
