import { byteAt, floatAt, intAt } from "@perfdata/format/bytes";
import {
  FloatColumn,
  type FrameStacks,
  frameStacks,
  FUNCTION_KIND,
  functionNames,
  NodeTable,
  type Profile,
} from "@perfdata/profile";

/** Options of a {@linkcode CallTree}. */
export interface CallTreeOptions {
  /** Index of the event. */
  readonly event: number;
  /** `true`: the sampled functions first, then their callers. */
  readonly callers?: boolean;
  /**
   * Only stacks with such a function, from its outermost call on: its callees, or with `callers`
   * its callers.
   */
  readonly focus?: ((name: string) => boolean) | undefined;
  /** First level: none, commands or threads. */
  readonly root?: "none" | "command" | "thread";
  /** `false` drops inlined functions; their callers get the samples. */
  readonly inline?: boolean;
  /** Whether nodes are grouped by source line, not only by function. */
  readonly lines?: boolean;
  /** With `callers`: functions with a smaller share of the period need no callers. */
  readonly leastShare?: number;
}

/** Callers and callees with their samples: one row per node, a parent before its children. */
export interface CallTree {
  /** Number of nodes. */
  readonly length: number;
  /** The node above: the caller, or with `callers` the callee; −1 at the top. */
  readonly parent: Int32Array;
  /** The node's index in `names`. */
  readonly item: Int32Array;
  /** Names by item. */
  readonly names: readonly string[];
  /** 1 if an item's name comes from an unverified file. */
  readonly unverified: Uint8Array;
  /** Short name of each item's object; empty without an object. */
  readonly dsos: readonly string[];
  /** Samples in the node and below it. */
  readonly samples: Float64Array;
  /** Period in the node and below it. */
  readonly period: Float64Array;
  /** Samples in the node itself. */
  readonly selfSamples: Float64Array;
  /** Period in the node itself. */
  readonly selfPeriod: Float64Array;
  /** Samples of the event, of which shares are computed. */
  readonly totalSamples: number;
  /** Period of the event. */
  readonly totalPeriod: number;
  /** Samples outside of the tree, since no function of their stack is in focus. */
  readonly otherSamples: number;
}

/** Samples and periods by stack and root. */
interface StackSums {
  readonly length: number;
  readonly root: Int32Array;
  readonly node: Int32Array;
  readonly samples: Float64Array;
  readonly period: Float64Array;
}

/**
 * Makes a call tree.
 *
 * @example
 * ```ts
 * import { callTree } from "@perfdata/export/tree";
 * import { ProfileBuilder } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * const main = builder.stack(-1, builder.place(-1, 1, [{ name: "main" }]));
 * const work = builder.stack(main, builder.place(-1, 2, [{ name: "work" }]));
 * const thread = builder.thread(7, 7, "demo");
 * builder.sample({ stack: main, event: 0, thread, period: 100 });
 * builder.sample({ stack: work, event: 0, thread, period: 300 });
 * const down = callTree(builder.profile(), { event: 0 });
 * assertEquals([...down.item].map((item) => down.names[item]), ["main", "work"]);
 * assertEquals([[...down.period], [...down.selfPeriod]], [[400, 300], [100, 300]]);
 * const up = callTree(builder.profile(), { event: 0, callers: true });
 * assertEquals([...up.item].map((item) => up.names[item]), ["main", "work", "main"]);
 * assertEquals([...up.period], [100, 300, 300]);
 * ```
 */
export function callTree(profile: Profile, options: CallTreeOptions): CallTree {
  const { callers = false, inline = true, lines = false, root = "none" } = options;
  const stacks = frameStacks(profile, { by: lines ? "frame" : "function", inline });
  const names = new ItemNames(profile, lines, root);
  const sums = sumStacks(profile, stacks, options.event, names);
  const total = { samples: 0, period: 0 };
  for (let i = 0; i < sums.length; i++) {
    total.samples += floatAt(sums.samples, i);
    total.period += floatAt(sums.period, i);
  }
  const tree = new TreeSums();
  const focus = options.focus && names.matching(options.focus);
  const wanted = callers
    ? wantedLeaves(stacks, sums, total.period * (options.leastShare ?? 0))
    : null;
  const path = new Int32Array(longest(stacks) + 1);
  let other = 0;
  for (let i = 0; i < sums.length; i++) {
    const root = intAt(sums.root, i);
    const samples = floatAt(sums.samples, i);
    let length = 0;
    for (let node = intAt(sums.node, i); node >= 0; node = intAt(stacks.parent, node)) {
      path[length++] = intAt(stacks.item, node);
    }
    let from = length;
    if (focus !== undefined) {
      while (from > 0 && focus[intAt(path, from - 1)] === 0) from--;
      if (from === 0) {
        other += samples;
        continue;
      }
    }
    let at = root < 0 ? -1 : tree.node(-1, names.rootItem(root));
    if (length === 0) at = tree.node(at, names.noStack);
    else if (!callers) {
      for (let i = from - 1; i >= 0; i--) at = tree.node(at, intAt(path, i));
    } else {
      const first = focus === undefined ? 0 : from - 1;
      // A function that is not shown needs no callers, which are most of such a tree.
      const last = wanted === null || wanted[intAt(path, 0)] === 1 ? length : 1;
      for (let i = first; i < last || i === first; i++) at = tree.node(at, intAt(path, i));
    }
    tree.add(at, samples, floatAt(sums.period, i));
  }
  return { ...tree.finish(), ...names.columns(), ...totals(total), otherSamples: other };
}

function totals({ samples, period }: { samples: number; period: number }) {
  return { totalSamples: samples, totalPeriod: period };
}

function sumStacks(
  { samples, stacks: { parent } }: Profile,
  stacks: FrameStacks,
  event: number,
  names: ItemNames,
): StackSums {
  const nodes = new NodeTable();
  const counts = new FloatColumn();
  const periods = new FloatColumn();
  for (let i = 0; i < samples.length; i++) {
    if (samples.event[i] !== event) continue;
    const stack = intAt(samples.stack, i);
    const node = stack < 0 || stack >= parent.length ? -1 : intAt(stacks.of, stack);
    const sum = nodes.node(names.rootOf(intAt(samples.thread, i)), node);
    if (sum === counts.length) {
      counts.push(0);
      periods.push(0);
    }
    counts.add(sum, samples.count[i] as number);
    periods.add(sum, floatAt(samples.period, i));
  }
  return {
    length: nodes.length,
    root: nodes.parents(),
    node: nodes.items(),
    samples: counts.array(),
    period: periods.array(),
  };
}

/** By item: 1 if its own share reaches the least one that is shown. */
function wantedLeaves(
  { item }: FrameStacks,
  { length, node, period }: StackSums,
  least: number,
): Uint8Array | null {
  if (least <= 0) return null;
  let most = 0;
  for (const value of item) most = Math.max(most, value);
  const self = new Float64Array(most + 1);
  for (let i = 0; i < length; i++) {
    const of = intAt(node, i);
    const leaf = of < 0 ? -1 : intAt(item, of);
    if (leaf >= 0) self[leaf] = floatAt(self, leaf) + floatAt(period, i);
  }
  return Uint8Array.from(self, (period) => period >= least ? 1 : 0);
}

function longest({ parent }: FrameStacks): number {
  const depth = new Int32Array(parent.length);
  let most = 0;
  for (let i = 0; i < parent.length; i++) {
    const above = intAt(parent, i);
    depth[i] = above < 0 ? 1 : intAt(depth, above) + 1;
    most = Math.max(most, intAt(depth, i));
  }
  return most;
}

/** Names of items: functions or lines, then roots, then the one for samples without a stack. */
class ItemNames {
  readonly #names: string[] = [];
  readonly #unverified: Uint8Array;
  readonly #dsos: string[] = [];
  readonly #rootOf: Int32Array;
  readonly #firstRoot: number;
  /** The item of samples without a stack. */
  readonly noStack: number;

  constructor(profile: Profile, lines: boolean, root: "none" | "command" | "thread") {
    const { functions, frames, files, objects, threads } = profile;
    const names = functionNames(profile);
    const isUnverified = (number: number) =>
      (byteAt(functions.kind, number) & FUNCTION_KIND.UNVERIFIED) !== 0 ? 1 : 0;
    const dso = (number: number) => objects[functions.object[number] ?? -1]?.name ?? "[unknown]";
    if (lines) {
      for (let frame = 0; frame < frames.function.length; frame++) {
        const number = intAt(frames.function, frame);
        const file = files[frames.file[frame] ?? -1];
        const line = intAt(frames.line, frame);
        const base = file?.slice(file.lastIndexOf("/") + 1);
        const at = base === undefined || line === 0 ? "" : ` ${base}:${line}`;
        this.#names.push(`${names[number]}${at}`);
        this.#dsos.push(dso(number));
      }
    } else {
      this.#names.push(...names);
      this.#dsos.push(...names.map((_, number) => dso(number)));
    }
    this.#firstRoot = this.#names.length;
    this.#unverified = Uint8Array.from(
      { length: this.#firstRoot },
      (_, item) => isUnverified(lines ? intAt(frames.function, item) : item),
    );
    const roots = new Map<string, number>();
    this.#rootOf = threads.numbers(({ comm, tid }) => {
      if (root === "none") return -1;
      const name = root === "command" ? comm : `${comm} ${tid}`;
      let number = roots.get(name);
      if (number === undefined) roots.set(name, number = roots.size);
      return number;
    });
    for (const name of roots.keys()) this.#add(name);
    this.noStack = this.#add("[no stack]");
  }

  #add(name: string): number {
    this.#dsos.push("");
    return this.#names.push(name) - 1;
  }

  rootOf(thread: number): number {
    return this.#rootOf[thread] ?? -1;
  }

  rootItem(root: number): number {
    return this.#firstRoot + root;
  }

  /** By item: 1 if its name passes the test. */
  matching(test: (name: string) => boolean): Uint8Array {
    return Uint8Array.from(
      this.#names,
      (name, item) => item < this.#firstRoot && test(name) ? 1 : 0,
    );
  }

  columns(): Pick<CallTree, "names" | "unverified" | "dsos"> {
    return { names: this.#names, unverified: this.#unverified, dsos: this.#dsos };
  }
}

class TreeSums {
  readonly #nodes = new NodeTable();
  readonly #samples = new FloatColumn();
  readonly #period = new FloatColumn();

  node(parent: number, item: number): number {
    const node = this.#nodes.node(parent, item);
    if (node === this.#samples.length) {
      this.#samples.push(0);
      this.#period.push(0);
    }
    return node;
  }

  add(node: number, samples: number, period: number): void {
    this.#samples.add(node, samples);
    this.#period.add(node, period);
  }

  finish() {
    const parent = this.#nodes.parents();
    const selfSamples = this.#samples.array();
    const selfPeriod = this.#period.array();
    const samples = selfSamples.slice(), period = selfPeriod.slice();
    for (let node = parent.length - 1; node >= 0; node--) {
      const above = intAt(parent, node);
      if (above < 0) continue;
      samples[above] = floatAt(samples, above) + floatAt(samples, node);
      period[above] = floatAt(period, above) + floatAt(period, node);
    }
    const item = this.#nodes.items();
    return { length: parent.length, parent, item, samples, period, selfSamples, selfPeriod };
  }
}
