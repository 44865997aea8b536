import {
  type Diff,
  type DiffMeasure,
  type DiffRecording,
  diffRecordings,
  type DiffRow,
  type ViewProfile,
} from "@perfdata/export/tree";
import { FUNCTION_KIND, ranks, runFunction, runObject } from "@perfdata/profile";
import { CallGraph } from "./call_graph.ts";
import { type FlameBoxes, flameBoxes, type FlameQuery } from "./flame_boxes.ts";
import type { Shown, ViewEngine } from "./view_engine.ts";
import { byteAt, intAt } from "@perfdata/format/bytes";

/** Properties of a comparison, shown before its results. */
export interface ComparisonFacts {
  readonly title: string;
  readonly trust: string;
  /** Nanoseconds between its first and last sample. */
  readonly duration: number;
  /** Whether a side is a sum of recordings, whose variance is unknown. */
  readonly isSummed: boolean;
  /** Names of the functions of the shown recording, followed by those that only the base has. */
  readonly names: readonly string[];
  /** By function: short name of its object. */
  readonly objects: readonly string[];
}

/** Options of a comparison. */
export interface ComparisonQuery {
  readonly by: DiffMeasure;
  /** Whether a function includes its callees. */
  readonly children: boolean;
}

export interface ComparedFunctions extends Omit<Diff, "rows"> {
  readonly rows: readonly (DiffRow & { readonly fn: number })[];
}

/** The recording that determines the width of boxes. */
export type Side = "base" | "now";

/** Boxes of a flame graph, with the weights of the other recording. */
export interface ComparedBoxes extends FlameBoxes {
  /** By box: weight in the other recording. */
  readonly other: Float64Array;
  /** Total weight of the other recording. */
  readonly otherSum: number;
}

/** Compares the selection of a recording with another recording. */
export class Comparison {
  readonly #base: ViewEngine;
  readonly #now: ViewEngine;
  readonly #names: string[];
  readonly #objects: string[];
  /** Number of each function by name, object and whether it is inlined, and by name and object only. */
  readonly #number = new Map<string, number>();
  /** By row of the base's stacks, transformed or not: number of the function. */
  readonly #items = new WeakMap<Int32Array, Int32Array>();
  readonly #numberOfBase: Int32Array;
  readonly #rank: Int32Array;

  /** @param base The other recording. */
  constructor(base: ViewEngine, now: ViewEngine) {
    this.#base = base;
    this.#now = now;
    const own = now.whole;
    this.#names = [...own.functions.name];
    this.#objects = this.#names.map((_, fn) => objectOf(own, fn));
    for (const [fn, name] of plainNames(own).entries()) this.#know(own, fn, name, fn);
    const plain = plainNames(base.whole);
    this.#numberOfBase = Int32Array.from(plain, (name, fn) => {
      const object = objectOf(base.whole, fn);
      // A function that is inlined on one side only is the same function.
      const known = this.#number.get(keyOf(base.whole, fn, name)) ??
        this.#number.get(`${name}\0${object}`);
      if (known !== undefined) return known;
      const number = this.#names.push(base.whole.functions.name[fn] as string) - 1;
      this.#objects.push(object);
      this.#know(base.whole, fn, name, number);
      return number;
    });
    this.#rank = ranks(this.#names);
  }

  /** Returns the properties shown before the results. */
  facts(): ComparisonFacts {
    const { title, trust, duration, recordings = 1 } = this.#base.whole;
    const isSummed = recordings > 1 || (this.#now.whole.recordings ?? 1) > 1;
    return { title, trust, duration, isSummed, names: this.#names, objects: this.#objects };
  }

  /**
   * Compares functions like the command `diff`.
   *
   * @throws {RangeError} If one of the recordings has no samples of the event.
   */
  functions(shown: Shown, { by, children }: ComparisonQuery): ComparedFunctions {
    const event = this.#now.whole.events[shown.event]?.name ?? "";
    const found = diffRecordings(
      [recordingOf(this.#base, this.#ofBase(shown))],
      [recordingOf(this.#now, shown)],
      { event, by, children, inline: shown.inline },
    );
    const names = new Map(found.same.map(({ before, after }) => [before, after]));
    const number = (name: string, object: string) => this.#number.get(`${name}\0${object}`);
    return {
      ...found,
      rows: found.rows.map((row) => {
        const other = names.get(row.object);
        const fn = number(row.name, row.object) ??
          (other === undefined ? undefined : number(row.name, other));
        return { ...row, fn: fn ?? -1 };
      }),
    };
  }

  flame(shown: Shown, query: FlameQuery, width: Side): ComparedBoxes {
    const now = this.#now.graph(shown).graph;
    const { stacks, weights } = this.#base.graph(this.#ofBase(shown));
    let item = this.#items.get(stacks.item);
    if (item === undefined) {
      item = stacks.item.map((fn) => intAt(this.#numberOfBase, fn));
      this.#items.set(stacks.item, item);
    }
    const base = new CallGraph({ ...stacks, item }, weights, shown.weight);
    const [graph, other] = width === "now" ? [now, base] : [base, now];
    const boxes = flameBoxes(graph, this.#rank, query, other);
    return { ...boxes, otherSum: other.sum };
  }

  #know(profile: ViewProfile, fn: number, name: string, number: number): void {
    this.#number.set(keyOf(profile, fn, name), number);
    const plain = `${name}\0${objectOf(profile, fn)}`;
    if (!this.#number.has(plain)) this.#number.set(plain, number);
  }

  /** Selects all of the base, since the selection applies to the other recording only. */
  #ofBase({ event, weight, inline, transforms }: Shown): Shown {
    const name = this.#now.whole.events[event]?.name;
    const of = this.#base.whole.events.findIndex((one) => one.name === name);
    return { event: of, weight, inline, transforms };
  }
}

function objectOf({ functions, objects }: ViewProfile, fn: number): string {
  return runObject(objects[intAt(functions.object, fn)]?.name ?? "[unknown]");
}

function keyOf(profile: ViewProfile, fn: number, name: string): string {
  const isInlined = (byteAt(profile.functions.kind, fn) & FUNCTION_KIND.INLINED) !== 0;
  return `${name}\0${objectOf(profile, fn)}\0${isInlined}`;
}

/** Returns the names of functions without the parts that differ from run to run. */
function plainNames({ functions: { name } }: ViewProfile): string[] {
  return name.map((label) => runFunction(label));
}

/** Converts the selection to the form that `diff` compares. */
function recordingOf(engine: ViewEngine, shown: Shown): DiffRecording {
  const { whole: profile } = engine;
  const { stacks, weights } = engine.graph(shown);
  const { events, samples, duration } = profile;
  const sampled = new Set(samples.event.subarray(0, samples.length));
  const from = Math.max(0, shown.from ?? 0);
  const to = Math.min(duration, shown.to ?? duration);
  return {
    objects: profile.objects,
    threads: profile.threads,
    functions: { ...profile.functions, name: plainNames(profile) },
    parent: stacks.parent,
    item: stacks.item,
    samples: weights.count,
    periods: weights.period,
    bareSamples: weights.bareCount,
    barePeriod: weights.barePeriod,
    seconds: Math.max(0, to - from) / 1e9,
    sampled: [...sampled].map((number) => events[number]?.name ?? `${number}`),
  };
}
