import {
  FUNCTION_KIND,
  type Profile,
  ranks,
  type StackTransform,
  type ThreadNames,
  threadNames,
  transformOf,
} from "@perfdata/profile";
import {
  CallGraph,
  type Direction,
  type FunctionRows,
  functionRows,
  type Group,
} from "./call_graph.ts";
import { type FlameBoxes, flameBoxes, type FlameQuery } from "./flame_boxes.ts";
import { type FlameRoot, flameRoots, rootedStacks } from "./flame_roots.ts";
import { type Heat, heat, type HeatQuery } from "./heat.ts";
import {
  changedRow,
  type ChangedStacks,
  changedWeights,
  keptRows,
  plainStacks,
  type Selection,
  transformedStacks,
  weigh,
  type Weight,
  type Weights,
} from "./selection.ts";
import { selectedProfile } from "./selected_profile.ts";
import { finderOf } from "../flame/search.ts";
import type { TimeBoxes } from "./open_boxes.ts";
import { timeBoxes } from "./time_boxes.ts";
import {
  sampleAt,
  samplingIntervals,
  type Track,
  type TrackQuery,
  type Tracks,
  tracks,
  type TrackSample,
} from "./tracks.ts";
import type { PmuBoxes } from "./pmu_boxes.ts";
import type { StackRows, ViewProfile } from "@perfdata/export/tree";
import { byteAt, floatAt, intAt } from "@perfdata/format/bytes";

/** The selection and its weighting, shared by all views. */
export interface Shown extends Selection {
  readonly weight: Weight;
  /** Whether inlined functions are shown as functions. */
  readonly inline: boolean;
  /** Transforms of stacks, applied in this order: see `transformOf`. `having:` precedes a search. */
  readonly transforms?: readonly string[] | undefined;
}

/** Properties of a profile, shown before any view. */
export interface ProfileFacts extends
  Pick<
    ViewProfile,
    | "title"
    | "trust"
    | "notes"
    | "events"
    | "threads"
    | "objects"
    | "files"
    | "start"
    | "duration"
    | "step"
    | "exactFrom"
  > {
  readonly functions: ViewProfile["functions"];
  readonly names: ThreadNames;
  /** By event: total samples and period. */
  readonly totals: readonly { readonly samples: number; readonly period: number }[];
  /** By event: number of samples by thread. */
  readonly threadSamples: readonly Float64Array[];
  /** By event: sampled CPUs. */
  readonly cpus: readonly (readonly number[])[];
  /** By event: ns from one sample of a running thread to the next; 0 if it is not known. */
  readonly intervals: readonly number[];
  /** Whether samples have times. */
  readonly timed: boolean;
  /** Whether the profile has inlined functions. */
  readonly hasInlined: boolean;
}

/** A line of a tree. */
export interface TreeRow {
  readonly item: number;
  readonly total: number;
  readonly self: number;
  /** Whether the line can be expanded. */
  readonly hasMore: boolean;
}

/** The lines of a tree below a path. */
export interface TreeRows {
  readonly rows: readonly TreeRow[];
  /** Weight of the whole selection. */
  readonly sum: number;
}

export interface TableRows extends FunctionRows {
  /** Weight of the whole selection. */
  readonly sum: number;
  readonly samples: number;
}

/** The selection, summed up by stack. */
export interface MadeGraph {
  readonly key: string;
  readonly graph: CallGraph;
  readonly weights: Weights;
  readonly stacks: StackRows;
}

/** A graph whose first row is processes or threads. */
interface RootedGraph {
  readonly key: string;
  readonly graph: CallGraph;
  readonly rank: ArrayLike<number>;
}

/** Computes the data of all views of a profile. */
export class ViewEngine {
  readonly profile: ViewProfile;
  /** The profile with a function for each object, to which code of it can collapse. */
  readonly whole: ViewProfile;
  /** For transforms with a pattern instead of a name: the test of names, by the transform's text. */
  readonly #tests: ReadonlyMap<string, (name: string) => boolean>;
  readonly #rank: Int32Array;
  readonly #names: ThreadNames;
  /** By object: the function that replaces all of its code. */
  readonly #into: Int32Array;
  #plain: ChangedStacks | undefined;
  /** Stacks after transforms, as they were asked for last. */
  #transformed: { readonly key: string; readonly stacks: ChangedStacks } | undefined;
  #rooted: RootedGraph | undefined;
  /** Graphs of the last queries, newest first. */
  readonly #graphs: MadeGraph[] = [];

  /**
   * Creates an engine for a profile.
   *
   * @param tests For transforms with a pattern instead of a name: the test of names, by the
   * transform's text.
   */
  constructor(
    profile: ViewProfile,
    tests: ReadonlyMap<string, (name: string) => boolean> = new Map(),
  ) {
    this.#tests = tests;
    const { functions, into } = withObjects(profile);
    this.profile = profile;
    this.whole = { ...profile, functions };
    this.#into = into;
    this.#rank = ranks(functions.name);
    this.#names = threadNames(profile);
  }

  /** Returns the properties shown before any view. */
  facts(): ProfileFacts {
    const {
      title,
      trust,
      notes,
      events,
      threads,
      objects,
      functions,
      files,
      start,
      duration,
      step,
    } = this.whole;
    const { samples } = this.whole;
    const totals = events.map(() => ({ samples: 0, period: 0 }));
    const threadSamples = events.map(() => new Float64Array(threads.length));
    const cpus = events.map(() => new Set<number>());
    for (let row = 0; row < samples.length; row++) {
      const event = intAt(samples.event, row);
      const total = totals[event];
      const count = floatAt(samples.count, row);
      if (total !== undefined) {
        total.samples += count;
        total.period += floatAt(samples.period, row);
      }
      const thread = intAt(samples.thread, row);
      const ofEvent = threadSamples[event];
      if (ofEvent !== undefined) ofEvent[thread] = floatAt(ofEvent, thread) + count;
      const cpu = samples.cpu?.[row] ?? -1;
      if (cpu >= 0) cpus[event]?.add(cpu);
    }
    return {
      title,
      trust,
      notes,
      events,
      threads,
      objects,
      functions,
      ...(files === undefined ? {} : { files }),
      start,
      duration,
      ...(step === undefined ? {} : { step, exactFrom: this.whole.exactFrom }),
      names: this.#names,
      totals,
      threadSamples,
      cpus: cpus.map((of) => [...of].sort((a, b) => a - b)),
      intervals: samplingIntervals(this.profile),
      timed: samples.time !== undefined && duration > 0,
      hasInlined: functions.kind.some((kind) => (kind & FUNCTION_KIND.INLINED) !== 0),
    };
  }

  flame(shown: Shown, query: FlameQuery): FlameBoxes & PmuBoxes {
    const { root = "function", direction } = query;
    const graphOf = (of: Shown) =>
      root === "function" || direction === "up"
        ? { graph: this.graph(of).graph, rank: this.#rank }
        : this.#rootedGraph(of, root);
    const { graph, rank } = graphOf(shown);
    const pmus = this.whole.events[shown.event]?.pmus;
    if (query.pmus !== true || pmus === undefined) return flameBoxes(graph, rank, query);
    const ofPmus = pmus.map((_, pmu) =>
      flameBoxes(graph, rank, query, graphOf({ ...shown, pmu }).graph).other
    );
    return { ...flameBoxes(graph, rank, query), ofPmus };
  }

  /** Returns the graph of the selection below a row for each process or thread. */
  #rootedGraph(shown: Shown, root: Exclude<FlameRoot, "function">): RootedGraph {
    const key = JSON.stringify([shown, root]);
    if (this.#rooted?.key === key) return this.#rooted;
    const { samples, functions, threads } = this.whole;
    const roots = flameRoots(threads, root);
    const rank = ranks([...functions.name, ...roots.names]);
    const changed = this.#changed(shown);
    const { stacks, weights } = rootedStacks(
      changed?.stacks ?? this.whole.stacks,
      {
        ...samples,
        rows: keptRows(this.whole, shown, changed),
        stack: (row) => {
          const of = intAt(samples.stack, row);
          return changed === undefined ? of : changedRow(changed, of);
        },
      },
      roots,
      functions.name.length,
      rank,
    );
    return this.#rooted = { key, rank, graph: new CallGraph(stacks, weights, shown.weight) };
  }

  /** Lays out a flame graph in order of time; `undefined` if samples have no times. */
  timeFlame(shown: Shown, least: number): TimeBoxes | undefined {
    const { samples, threads } = this.whole;
    const { graph } = this.graph(shown);
    const { time } = samples;
    if (time === undefined) return undefined;
    const changed = this.#changed(shown);
    const rows = keptRows(this.whole, shown, changed);
    const weight = shown.weight === "period" ? samples.period : samples.count;
    const tids = new Set<number | undefined>();
    const stack = Int32Array.from(rows, (row) => {
      tids.add(threads[intAt(samples.thread, row)]?.tid);
      const of = intAt(samples.stack, row);
      return changed === undefined ? of : changedRow(changed, of);
    });
    return timeBoxes(
      graph,
      {
        stack,
        weight: Float64Array.from(rows, (row) => floatAt(weight, row)),
        time: Float64Array.from(rows, (row) => floatAt(time, row)),
      },
      tids.size > 1,
      least,
    );
  }

  /** Returns the selection as a profile, for the formats of other tools. */
  selected(shown: Shown): Profile {
    return selectedProfile(this.whole, shown, this.#changed(shown));
  }

  /** The share of the selection that transforms dropped. */
  droppedShare(shown: Shown): number {
    const { transforms: _, ...others } = shown;
    const [all, kept] = [this.graph(others).graph.sum, this.graph(shown).graph.sum];
    return all === 0 ? 0 : (all - kept) / all;
  }

  /** The stacks that are shown in place of those of the profile; `undefined` if these are. */
  #changed({ inline, transforms = [] }: Shown): ChangedStacks | undefined {
    if (!inline) this.#plain ??= plainStacks(this.whole, this.#rank);
    const plain = inline ? undefined : this.#plain;
    if (transforms.length === 0) return plain;
    const key = JSON.stringify([inline, transforms]);
    if (this.#transformed?.key !== key) {
      const { stacks } = this.whole;
      const before = plain ?? { stacks, of: Int32Array.from(stacks.parent.keys()), bare: -1 };
      const made = transforms.map((text) => this.#transform(text))
        .filter((transform) => transform !== undefined);
      this.#transformed = { key, stacks: transformedStacks(before, made, this.#rank) };
    }
    return this.#transformed.stacks;
  }

  #transform(text: string): StackTransform | undefined {
    const { functions, objects } = this.whole;
    const find = text.startsWith("having:") ? finderOf(text.slice(7)) : undefined;
    const test = typeof find === "function"
      ? (name: string) => find(name) !== undefined
      : this.#tests.get(text);
    const into = (object: number) => intAt(this.#into, object);
    return transformOf(text, { ...functions, objects, into }, test);
  }

  /** Returns the share of the selection with one of the given functions in its stack. Each sample counts once. */
  matchedShare(shown: Shown, matched: Uint8Array): number {
    const { graph: { total, sum }, stacks: { item, end } } = this.graph(shown);
    let found = 0;
    for (let row = 0; row < item.length;) {
      if (matched[intAt(item, row)] === 1) {
        found += floatAt(total, row);
        row = intAt(end, row);
      } else row++;
    }
    return sum === 0 ? 0 : found / sum;
  }

  /** Returns the heat map: samples by second and fraction of a second. */
  heat(query: HeatQuery): Heat {
    return heat(this.whole, query);
  }

  table(shown: Shown): TableRows {
    const { graph, weights } = this.graph(shown);
    const rows = functionRows(graph, this.whole.functions.name.length);
    return { ...rows, sum: graph.sum, samples: weights.totalCount };
  }

  /** Returns the lines of a tree below a path, by descending weight. */
  children(
    shown: Shown,
    direction: Direction,
    path: readonly number[],
    focus?: number,
  ): TreeRows {
    const { graph } = this.graph(shown);
    let groups: Group[];
    if (path.length === 0) groups = graph.roots(direction, focus);
    else {
      const found = graph.at(direction, path, focus);
      groups = found === undefined ? [] : graph.next(found, direction);
    }
    const place = (item: number) => item < 0 ? Infinity : intAt(this.#rank, item);
    groups.sort((a, b) => b.total - a.total || place(a.item) - place(b.item));
    return {
      rows: groups.map((group) => ({
        item: group.item,
        total: group.total,
        self: group.self,
        hasMore: graph.next(group, direction).length > 0,
      })),
      sum: graph.sum,
    };
  }

  /** Returns the samples over time. */
  tracks(
    query: TrackQuery,
    selection: Pick<Selection, "pids" | "tids" | "cpus">,
  ): Tracks {
    return tracks(this.whole, this.#names, query, selection);
  }

  /** Returns the sample of a track that is next to a time. */
  sampleAt(
    track: Pick<Track, "kind" | "id">,
    query: Pick<TrackQuery, "event" | "weight" | "from" | "to">,
    at: number,
  ): TrackSample | undefined {
    return sampleAt(this.whole, this.#names, track, query, at);
  }

  /** Returns the selection summed up by stack, from the cache if possible. */
  graph(shown: Shown): MadeGraph {
    const key = JSON.stringify(shown);
    const known = this.#graphs.find((made) => made.key === key);
    if (known !== undefined) return known;
    let weights = weigh(this.whole, shown);
    let { stacks } = this.whole;
    const changed = this.#changed(shown);
    if (changed !== undefined) {
      weights = changedWeights(weights, changed);
      ({ stacks } = changed);
    }
    const made = { key, graph: new CallGraph(stacks, weights, shown.weight), weights, stacks };
    this.#graphs.unshift(made);
    if (this.#graphs.length > 2) this.#graphs.pop();
    return made;
  }
}

/** The functions, with one for each object that code of it can collapse to. */
function withObjects(
  { functions, objects }: ViewProfile,
): { readonly functions: ViewProfile["functions"]; readonly into: Int32Array } {
  const { name: own, object, kind } = functions;
  const count = own.length;
  const into = new Int32Array(objects.length).fill(-1);
  const first = new Int32Array(objects.length).fill(-1);
  for (let fn = count - 1; fn >= 0; fn--) {
    const of = intAt(object, fn);
    if (of < 0) continue;
    first[of] = fn;
    if (own[fn] === nameOfObject(objects[of]?.name)) into[of] = fn;
  }
  const name = [...own];
  const added: number[] = [];
  for (const [of, fn] of first.entries()) {
    if (fn < 0 || intAt(into, of) >= 0) continue;
    into[of] = name.push(nameOfObject(objects[of]?.name)) - 1;
    added.push(of);
  }
  const levels = added.map((of) => byteAt(kind, intAt(first, of)) & FUNCTION_KIND.LEVEL);
  return {
    functions: {
      ...functions,
      name,
      object: Int32Array.from([...object, ...added]),
      kind: Uint8Array.from([...kind, ...levels]),
    },
    into,
  };
}

/** The displayed name of an object's code that has no symbol. */
function nameOfObject(name: string = "unknown"): string {
  return name.startsWith("[") ? name : `[${name}]`;
}
