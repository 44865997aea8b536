import { floatAt, intAt, numberAt } from "@perfdata/format/elements";
import { frameStacks } from "@perfdata/profile/frame-stacks";
import {
  FUNCTION_KIND,
  functionName,
  type Profile,
  type ProfileThread,
} from "@perfdata/profile/profile";
import { runFunction, runObject } from "@perfdata/profile/run-names";
import { type SameObject, sameObjects } from "./diff_objects.ts";

export type { SameObject };
import { normalTwoSided, rateTest, shareTest, significant, welch } from "./statistics.ts";

/** Properties in which recordings have to agree for a comparison. */
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
  /** Whether inlined functions are functions of their own, and not part of what they are in. */
  readonly inline?: boolean;
  /** Whether a function has what it called as well. */
  readonly children?: boolean;
  /** Whether rows are call paths, with all that they called. */
  readonly paths?: boolean;
  /** Objects of the base by name, with the names that they have on the other side. */
  readonly same?: ReadonlyMap<string, string>;
}

/** A side of a row: means over the recordings of the side. */
export interface DiffSide {
  /** Samples, of all recordings. */
  readonly samples: number;
  /** Sum of their periods. */
  readonly period: number;
  /** The measure: a share, 0 to 1, or period per second or recording. */
  readonly value: number;
}

/** A function or path that is on one of the sides at least. */
export interface DiffRow {
  /** The function; of a path, the innermost one. */
  readonly name: string;
  /** Its object. */
  readonly object: string;
  /** Of a path: its functions, outermost first. */
  readonly path?: readonly string[];
  /** The base. */
  readonly before: DiffSide;
  /** What is compared with it. */
  readonly after: DiffSide;
  /** Change of the measure, as a part of the whole base: 0.05 is five percent of all. */
  readonly change: number;
  /** Ends of the interval that has the change with 95%. */
  readonly interval: readonly [number, number];
  /** Probability that chance alone makes such a change. */
  readonly chance: number;
  /** Whether the change counts, among all that were tested. */
  readonly isSignificant: boolean;
  /** `now inlined`, `no longer inlined`, `moved from OBJECT`, `moved to OBJECT`, `new`, `gone`. */
  readonly note: string;
}

/** A comparison. */
export interface Diff {
  /** The rows, those with the largest change first. */
  readonly rows: readonly DiffRow[];
  /** Sums of the base. */
  readonly before: DiffSide;
  /** Sums of what is compared with it. */
  readonly after: DiffSide;
  /** Change of all as a part of the base: other than 0 for `time` and `period` only. */
  readonly change: number;
  /** Objects that are taken for the same although their names differ. */
  readonly same: readonly SameObject[];
  /** Whether each side has several recordings, whose spread decides; else the number of samples does. */
  readonly isRepeated: boolean;
}

/**
 * With one recording a side: how much the rate of a function differs from run to run of the same program at
 * least, as a part of it. A machine that does something else at the same time makes it more: what most
 * functions of the two recordings differ by is taken where there are enough of them.
 */
const RUN_TO_RUN = 0.05;
/** Functions that tell how much two runs differ. */
const ENOUGH_FUNCTIONS = 8;
/** Median of the square of a normal deviate. */
const MEDIAN_SQUARE = 0.4549;
/** Half the width of an interval that has 95% of a normal distribution. */
const DEVIATES = 1.96;

/** Samples that a change has to have on both sides together, to be more than chance. */
const LEAST_SAMPLES = 10;

/** A recording as it is compared: stacks of functions, and samples of one event by stack. */
export interface DiffRecording extends Pick<Profile, "objects"> {
  /** The threads: their names tell which objects are programs. */
  readonly threads: Iterable<ProfileThread>;
  /** By function: the name, the object (-1: none), and `FUNCTION_KIND` bits. */
  readonly functions: {
    readonly name: readonly string[];
    readonly object: ArrayLike<number>;
    readonly kind: ArrayLike<number>;
  };
  /** By row of the stacks: the caller, a row before (-1: none). */
  readonly parent: Int32Array;
  /** By row of the stacks: the function. */
  readonly item: Int32Array;
  /** By row of the stacks: samples whose innermost function it is. */
  readonly samples: Float64Array;
  /** The same, periods. */
  readonly periods: Float64Array;
  /** Samples without a stack. */
  readonly bareSamples: number;
  /** Their periods. */
  readonly barePeriod: number;
  /** Seconds from the first sample to the last one; 0 if samples have no time. */
  readonly seconds: number;
  /** The events that there are samples of. */
  readonly sampled: readonly string[];
}

/** Which events there are samples of, as the end of a message. */
function onlyOf(recordings: readonly DiffRecording[]): string {
  const names = new Set(recordings.flatMap(({ sampled }) => sampled));
  return names.size === 0 ? "" : `, only of ${[...names].sort().join(", ")}`;
}

/** A recording, counted. */
interface Counted {
  readonly samples: number;
  readonly period: number;
  /** What rates are of: seconds, or 1 for a recording. */
  readonly amount: number;
  /** Samples and periods by key. */
  readonly keys: Map<string, { samples: number; period: number }>;
  /** Names of functions that are inlined somewhere. */
  readonly inlined: ReadonlySet<string>;
}

/**
 * Compares recordings, function by function or path by path.
 *
 * Functions of both sides are the same where name and object's short name are, so that rebuilt programs
 * can be compared; what is inlined counts for the function that it is in, as with `perf diff`.
 *
 * With one recording a side, a change is tested against the chance of sampling: what another run of
 * the same program would have differed in is not known. With several, against their spread (Welch).
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
 * {@linkcode diff} of what is summed up by stack already; `inline` and the event are those of the sums.
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
  const changes = isRepeated
    ? keys.map((key) => repeatedChange(base, now, key))
    : changesOfRuns(base, now, keys);
  const notes = new Notes(base.recordings, now.recordings, options.paths === true);
  const rows = rowsOf(changes, notes, options.paths === true);
  return {
    rows: options.paths ? withoutPassing(rows) : rows,
    before: base.whole,
    after: now.whole,
    change: now.whole.value / base.whole.value - 1,
    same,
    isRepeated,
  };
}

/** A side of a comparison: its recordings, and what they have together. */
class Side {
  readonly recordings: readonly Counted[];
  /** Sums of the recordings. */
  readonly whole: DiffSide;
  /** Whether the measure is a rate, and not a share. */
  readonly isRate: boolean;
  /** What the number of samples of a key is compared with: a rate is tested by it, or a share. */
  readonly size: number;
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
    // What is compared is the period: how many samples it is depends on what a sample stands for.
    this.size = this.isRate ? amount * samples / period : samples;
    this.#amount = amount;
  }

  /** The keys of all recordings; those of several come as often. */
  keys(): string[] {
    return this.recordings.flatMap((one) => [...one.keys.keys()]);
  }

  /** What the recordings have of a key. */
  of(key: string): DiffSide {
    let [samples, period] = [0, 0];
    for (const one of this.recordings) {
      const found = one.keys.get(key);
      samples += found?.samples ?? 0;
      period += found?.period ?? 0;
    }
    const value = this.#measure({ samples, period }, { ...this.whole, amount: this.#amount });
    return { samples, period, value };
  }

  /** The measure of a key in each recording. */
  each(key: string): number[] {
    return this.recordings.map((one) =>
      this.#measure(one.keys.get(key) ?? { samples: 0, period: 0 }, one)
    );
  }

  #measure(
    part: Pick<Counted, "samples" | "period">,
    whole: Pick<Counted, "samples" | "period" | "amount">,
  ): number {
    if (this.isRate) return part.period / whole.amount;
    return this.#by === "total" ? part.period / whole.period : part.samples / whole.samples;
  }
}

/** A change of what has a key, without its name. */
interface Change extends Pick<DiffRow, "before" | "after" | "change" | "interval" | "chance"> {
  readonly key: string;
}

/** The change of a key where each side has several recordings: their spread says what chance makes. */
function repeatedChange(base: Side, now: Side, key: string): Change {
  const spread = welch(base.each(key), now.each(key));
  if (spread === undefined) throw new RangeError("a side has fewer than two recordings");
  const whole = base.whole.value;
  return {
    key,
    before: base.of(key),
    after: now.of(key),
    change: spread.difference / whole,
    interval: [spread.low / whole, spread.high / whole],
    chance: spread.chance,
  };
}

/** The changes of keys where a side has one recording: the numbers of samples say what chance makes. */
function changesOfRuns(base: Side, now: Side, keys: readonly string[]): Change[] {
  const { isRate } = base;
  const whole = base.whole.value;
  const found = keys.map((key) => {
    const [before, after] = [base.of(key), now.of(key)];
    const ratio = logRatio(before.samples, base.size, after.samples, now.size);
    return { key, before, after, ratio };
  });
  const spread = runSpread(found.map(({ ratio }) => ratio), isRate ? RUN_TO_RUN : 0);
  return found.map(({ key, before, after, ratio: { ratio, variance } }) => {
    const error = Math.sqrt(variance + spread ** 2);
    const test = isRate ? rateTest : shareTest;
    const chance = Math.max(
      test(before.samples, base.size, after.samples, now.size),
      error === 0 ? 0 : normalTwoSided(ratio / error),
    );
    // Around the change: as far as the two values together may be off.
    const reach = DEVIATES * error * Math.max(before.value, after.value) / whole;
    const change = (after.value - before.value) / whole;
    return { key, before, after, change, interval: [change - reach, change + reach], chance };
  });
}

/** Changes as rows: which of them count, what they are called, those with the largest change first. */
function rowsOf(changes: readonly Change[], notes: Notes, isPath: boolean): DiffRow[] {
  // What has too few samples to say anything is no test.
  const tested = changes.filter(({ before, after }) =>
    before.samples + after.samples >= LEAST_SAMPLES
  );
  const counting = significant(tested.map(({ chance }) => chance));
  const counts = new Set(tested.filter((_, i) => counting[i] === true));
  return changes.map((one): DiffRow => {
    const { key, ...change } = one;
    const { name, object, path } = parts(key);
    return {
      name,
      object,
      ...(isPath ? { path } : {}),
      ...change,
      isSignificant: counts.has(one),
      note: notes.of(key),
    };
  }).sort((a, b) =>
    Math.abs(b.change) - Math.abs(a.change) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  );
}

/** How much a function differs between two recordings. */
interface LogRatio {
  /** Natural logarithm of the ratio of the two rates or shares. */
  readonly ratio: number;
  /** What sampling alone makes of it. */
  readonly variance: number;
  /** Samples of both. */
  readonly samples: number;
}

/** The ratio of `m` in `t` to `k` in `s`; half a sample more of each, so that there is one. */
function logRatio(k: number, s: number, m: number, t: number): LogRatio {
  return {
    ratio: Math.log((m + 0.5) / t * (s / (k + 0.5))),
    variance: 1 / (k + 0.5) + 1 / (m + 0.5),
    samples: k + m,
  };
}

/**
 * By how much, as a part, most functions of two recordings differ beyond what sampling makes of it: with
 * it, the median of their differences is that of chance.
 */
function runSpread(pairs: readonly LogRatio[], least: number): number {
  const some = pairs.filter(({ samples }) => samples >= 2 * LEAST_SAMPLES);
  if (some.length < ENOUGH_FUNCTIONS) return least;
  const median = (spread: number): number => {
    const squares = some.map(({ ratio, variance }) => ratio ** 2 / (variance + spread ** 2))
      .sort((a, b) => a - b);
    return numberAt(squares, squares.length >> 1);
  };
  let [low, high] = [0, 4];
  for (let i = 0; i < 40; i++) {
    const middle = (low + high) / 2;
    if (median(middle) > MEDIAN_SQUARE) low = middle;
    else high = middle;
  }
  return Math.max(least, high < 1e-6 ? 0 : high);
}

/** Parts of a key: between functions of a path, and between function and object. */
const STEP = "\u0000";
const OF = "\u0001";

function parts(key: string): { name: string; object: string; path: string[] } {
  const steps = key.split(STEP).map((step) => step.split(OF));
  const [name = "", object = ""] = steps.at(-1) ?? [];
  return { name, object, path: steps.map(([step = ""]) => step) };
}

/** Sums up the samples of a recording by stack of functions. */
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

/** Sums up a recording by what is compared. */
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
    // A function without a name has that of its object.
    return (plain === `[${object}]` ? `[${called}]` : plain) + OF + called;
  });
  const keys: Counted["keys"] = new Map();
  const add = (key: string, n: number, period: number) => {
    if (n === 0) return;
    let sum = keys.get(key);
    if (sum === undefined) keys.set(key, sum = { samples: 0, period: 0 });
    sum.samples += n;
    sum.period += period;
  };
  const label = (row: number) => labels[intAt(item, row)] as string;
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
      add(path[row] as string, n, period);
      continue;
    }
    // What calls itself again counts once.
    let outer = children ? up : -1;
    while (outer >= 0 && label(outer) !== label(row)) outer = intAt(parent, outer);
    if (outer < 0) add(label(row), n, period);
  }
  if (bareSamples > 0) add(`[no stack]${OF}[unknown]`, bareSamples, barePeriod);
  const inlined = new Set(
    functions.name.filter((_, f) => ((functions.kind[f] as number) & FUNCTION_KIND.INLINED) !== 0)
      .map(runFunction),
  );
  const amount = by === "time" ? seconds : 1;
  return { samples: all, period: whole, amount, keys, inlined };
}

/** Says what became of functions that are on one side only. */
class Notes {
  readonly #before: readonly Counted[];
  readonly #after: readonly Counted[];
  readonly #isPath: boolean;
  /** By side: objects of each function. */
  readonly #objects: readonly Map<string, Set<string>>[];

  constructor(before: readonly Counted[], after: readonly Counted[], isPath: boolean) {
    this.#before = before;
    this.#after = after;
    this.#isPath = isPath;
    this.#objects = [before, after].map((side) => {
      const objects = new Map<string, Set<string>>();
      for (const key of isPath ? [] : side.flatMap((one) => [...one.keys.keys()])) {
        const { name, object } = parts(key);
        if (name.startsWith("[")) continue;
        let found = objects.get(name);
        if (found === undefined) objects.set(name, found = new Set());
        found.add(object);
      }
      return objects;
    });
  }

  of(key: string): string {
    const [before, after] = [this.#before, this.#after].map((side) =>
      side.some(({ keys }) => keys.has(key))
    );
    if (before && after) return "";
    const { name } = parts(key);
    if (!this.#isPath) {
      const other = before ? this.#after : this.#before;
      if (other.some(({ inlined }) => inlined.has(name))) {
        return before ? "now inlined" : "no longer inlined";
      }
    }
    const [there] = this.#isPath ? [] : this.#objects[before ? 1 : 0]?.get(name) ?? [];
    if (before) return there === undefined ? "gone" : `moved to ${there}`;
    return there === undefined ? "new" : `moved from ${there}`;
  }
}

/** Leaves out paths whose change is that of one path that they lead to. */
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
