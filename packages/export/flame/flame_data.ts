import { byteAt, floatAt, intAt } from "@perfdata/format/bytes";
import {
  FloatColumn,
  frameStacks,
  FUNCTION_KIND,
  IntColumn,
  NodeTable,
  type Profile,
  type ProfileEvent,
  type ProfileThread,
  runFunction,
  runObject,
  ThreadTable,
} from "@perfdata/profile";

/** Data of a flame graph: stacks of functions, and samples by thread and time slice. */
export interface FlameData {
  /** Title of the recording. */
  readonly title: string;
  /** Trust in names and stacks, in one line. */
  readonly trust: string;
  /** Names of the sides of a comparison, base first; otherwise one name. */
  readonly sides: readonly string[];
  /** Number of recordings of each side. */
  readonly recordings: readonly number[];
  /** The events. */
  readonly events: readonly ProfileEvent[];
  /** The threads. */
  readonly threads: readonly ProfileThread[];
  /** Names of the objects. */
  readonly objects: readonly string[];
  /** Paths of source files. */
  readonly files: readonly string[];
  /** Names of the functions; `""` for unnamed code. */
  readonly names: readonly string[];
  /** Object of each function; -1 if there is none. */
  readonly functionObject: Int32Array;
  /** `FUNCTION_KIND` bits of each function. */
  readonly functionKind: Int32Array;
  /** Caller of each node, an earlier node; -1 for the outermost. */
  readonly parent: Int32Array;
  /** Function of each node. */
  readonly item: Int32Array;
  /** Source file of each node's heaviest line; -1 if unknown. */
  readonly file: Int32Array;
  /** Heaviest line of each node; 0 if unknown. */
  readonly line: Int32Array;
  /** Number of time slices, at least 1. */
  readonly slices: number;
  /** Time of the first sample in nanoseconds. */
  readonly start: number;
  /** Time of the last sample. */
  readonly end: number;
  /** Samples: one row per side, event, thread, slice and node. */
  readonly rows: FlameRows;
  /** Number of nodes dropped by the limit; their samples count for their callers. */
  readonly omittedNodes: number;
  /** Largest share (0 to 1) of an event in one of the dropped nodes. */
  readonly omittedShare: number;
}

/** Samples of a {@linkcode FlameData}. */
export interface FlameRows {
  /** Node; -1 for samples without a stack. */
  readonly node: Int32Array;
  /** Side; 0 for the base of a comparison. */
  readonly side: Int32Array;
  /** Event. */
  readonly event: Int32Array;
  /** Thread. */
  readonly thread: Int32Array;
  /** Slice of time. */
  readonly slice: Int32Array;
  /** PMU of the event; only for one recording with an event of several PMUs. */
  readonly pmu?: Uint8Array;
  /** Number of samples. */
  readonly count: Float64Array;
  /** Period of the samples. */
  readonly period: Float64Array;
}

/** Limits of {@linkcode flameData}. */
export interface FlameLimits {
  /** Nodes; default 150,000. */
  readonly nodes?: number;
  /** Rows of samples; default 400,000. More rows are reduced by using fewer time slices. */
  readonly rows?: number;
  /** Time slices; default 120. */
  readonly slices?: number;
  /** Whether inlined functions are frames; default true. */
  readonly inline?: boolean;
  /** Number of profiles in the base of a comparison; 0 without a comparison. */
  readonly base?: number;
}

/** One side: the profile, with functions and threads in common numbers. */
interface Side {
  readonly profile: Profile;
  readonly side: number;
  readonly of: Int32Array;
  readonly threads: Int32Array;
}

/**
 * Makes the data of a flame graph from one profile, from several together, or from a comparison
 * (base first).
 *
 * Functions of several profiles are matched by name, object and kind, ignoring addresses and
 * numbers that differ between executions; events by name.
 *
 * @throws {RangeError} without a profile
 */
export function flameData(profiles: readonly Profile[], limits: FlameLimits = {}): FlameData {
  const [first] = profiles;
  if (first === undefined) throw new RangeError("no profile");
  const { base = 0 } = limits;
  const functions = new Functions(profiles.length > 1);
  const threads = new ThreadTable();
  const nodes = new NodeTable();
  const lines = new HeaviestLines();
  const sides: Side[] = profiles.map((profile, number) => {
    const numbers = functions.add(profile);
    const stacks = frameStacks(profile, { by: "frame", inline: limits.inline ?? true });
    const own = new Int32Array(stacks.item.length);
    for (let row = 0; row < own.length; row++) {
      const caller = intAt(stacks.parent, row);
      const of = intAt(numbers, intAt(profile.frames.function, intAt(stacks.item, row)));
      own[row] = nodes.node(caller < 0 ? -1 : intAt(own, caller), of);
    }
    lines.add(profile, stacks, own);
    return {
      profile,
      side: number < base ? 0 : base > 0 ? 1 : 0,
      of: stacks.of.map((row) => row < 0 ? -1 : intAt(own, row)),
      threads: Int32Array.from(
        profile.threads,
        ({ pid, tid, comm }) => threads.add(pid, tid, comm),
      ),
    };
  });
  const events = first.events;
  const eventOf = sides.map(({ profile }) =>
    Int32Array.from(profile.events, ({ name }) => events.findIndex((known) => known.name === name))
  );
  const shares = inclusiveShares(sides, eventOf, events.length, nodes);
  let maxNodes = limits.nodes ?? 150_000;
  const maxRows = limits.rows ?? 400_000;
  let slices = sides.some(({ profile }) => profile.samples.time === undefined)
    ? 1
    : limits.slices ?? 120;
  for (;;) {
    const kept = keep(nodes, shares, maxNodes);
    const rows = countRows(sides, eventOf, kept.number, slices, maxRows);
    if (rows === undefined) {
      if (slices > 1) slices = Math.floor(slices / 3) || 1;
      else maxNodes = Math.ceil(Math.min(maxNodes, nodes.length) / 2);
      if (maxNodes > 1) continue;
    }
    const [start, end] = span(sides);
    const parents = nodes.parents();
    const items = nodes.items();
    return {
      title: first.title,
      trust: [...new Set(profiles.map(({ trust }) => trust))].filter((line) => line !== "").join(
        " · ",
      ),
      recordings: base === 0 ? [profiles.length] : [base, profiles.length - base],
      sides: base === 0
        ? [first.title]
        : [profiles.slice(0, base), profiles.slice(base)].map((of) =>
          of.map(({ title }) => title).join(", ")
        ),
      events,
      threads: [...threads],
      objects: functions.objects,
      files: lines.files,
      names: functions.names,
      functionObject: functions.object.array(),
      functionKind: functions.kind.array(),
      parent: Int32Array.from(kept.nodes, (node) => {
        const parent = intAt(parents, node);
        return parent < 0 ? -1 : intAt(kept.number, parent);
      }),
      item: Int32Array.from(kept.nodes, (node) => intAt(items, node)),
      file: Int32Array.from(kept.nodes, (node) => intAt(lines.file.array(), node)),
      line: Int32Array.from(kept.nodes, (node) => intAt(lines.line.array(), node)),
      slices,
      start,
      end,
      rows: rows ?? EMPTY,
      omittedNodes: nodes.length - kept.nodes.length,
      omittedShare: kept.omitted,
    };
  }
}

const EMPTY: FlameRows = {
  node: new Int32Array(),
  side: new Int32Array(),
  event: new Int32Array(),
  thread: new Int32Array(),
  slice: new Int32Array(),
  count: new Float64Array(),
  period: new Float64Array(),
};

/** Functions of all sides, by name, object and kind. */
class Functions {
  readonly names: string[] = [];
  readonly object = new IntColumn();
  readonly kind = new IntColumn();
  readonly objects: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #objectNumbers = new Map<string, number>();
  readonly #ofRuns: boolean;

  /** @param ofRuns Whether names may differ between runs in addresses and numbers. */
  constructor(ofRuns: boolean) {
    this.#ofRuns = ofRuns;
  }

  add({ functions, objects }: Profile): Int32Array {
    const objectOf = objects.map(({ name }) => {
      const key = this.#ofRuns ? runObject(name) : name;
      let number = this.#objectNumbers.get(key);
      if (number === undefined) {
        this.#objectNumbers.set(key, number = this.objects.push(key) - 1);
      }
      return number;
    });
    return Int32Array.from(functions.name, (name, row) => {
      const object = objectOf[intAt(functions.object, row)] ?? -1;
      const kind = byteAt(functions.kind, row);
      // One function, even if only one recording verifies its name.
      const plain = this.#ofRuns ? runFunction(name) : name;
      const key = `${object} ${kind & ~FUNCTION_KIND.UNVERIFIED} ${plain}`;
      let number = this.#numbers.get(key);
      if (number === undefined) {
        this.#numbers.set(key, number = this.names.push(plain) - 1);
        this.object.push(object);
        this.kind.push(kind);
      }
      return number;
    });
  }
}

/** The heaviest line of each node, by period. */
class HeaviestLines {
  readonly file = new IntColumn();
  readonly line = new IntColumn();
  readonly files: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #most = new FloatColumn();

  add(
    { files, frames, samples }: Profile,
    stacks: { parent: Int32Array; item: Int32Array; of: Int32Array },
    nodeOf: Int32Array,
  ): void {
    const weights = new Float64Array(stacks.item.length);
    for (let i = 0; i < samples.length; i++) {
      const stack = intAt(samples.stack, i);
      if (stack >= 0) {
        (weights[intAt(stacks.of, stack)] as number) += floatAt(samples.period, i);
      }
    }
    for (let row = weights.length - 1; row >= 0; row--) {
      const parent = intAt(stacks.parent, row);
      if (parent >= 0) (weights[parent] as number) += floatAt(weights, row);
    }
    for (let row = 0; row < weights.length; row++) {
      const node = intAt(nodeOf, row);
      while (this.#most.length <= node) {
        this.#most.push(-1);
        this.file.push(-1);
        this.line.push(0);
      }
      if (floatAt(weights, row) <= floatAt(this.#most.array(), node)) continue;
      const frame = intAt(stacks.item, row);
      this.#most.array()[node] = floatAt(weights, row);
      this.line.array()[node] = intAt(frames.line, frame);
      const path = files[intAt(frames.file, frame)];
      let number = path === undefined ? -1 : this.#numbers.get(path);
      if (number === undefined && path !== undefined) {
        this.#numbers.set(path, number = this.files.push(path) - 1);
      }
      this.file.array()[node] = number ?? -1;
    }
  }
}

/** The largest inclusive share of each node in any event of any side. */
function inclusiveShares(
  sides: readonly Side[],
  eventOf: readonly Int32Array[],
  eventCount: number,
  nodes: NodeTable,
): Float64Array {
  const most = new Float64Array(nodes.length);
  const parents = nodes.parents();
  for (const [number, { profile: { samples }, of }] of sides.entries()) {
    for (let event = 0; event < eventCount; event++) {
      const sums = new Float64Array(nodes.length);
      let total = 0;
      for (let i = 0; i < samples.length; i++) {
        if (eventOf[number]?.[samples.event[i] as number] !== event) continue;
        const stack = intAt(samples.stack, i);
        total += floatAt(samples.period, i);
        if (stack >= 0) (sums[intAt(of, stack)] as number) += floatAt(samples.period, i);
      }
      for (let node = sums.length - 1; node >= 0; node--) {
        const sum = floatAt(sums, node);
        const parent = intAt(parents, node);
        if (parent >= 0) (sums[parent] as number) += sum;
        if (total > 0) most[node] = Math.max(floatAt(most, node), sum / total);
      }
    }
  }
  return most;
}

/** Keeps the nodes with the largest shares. A caller's share is not smaller than its callees'. */
function keep(nodes: NodeTable, shares: Float64Array, limit: number) {
  const count = nodes.length;
  const number = new Int32Array(count);
  const parents = nodes.parents();
  const sorted = shares.slice().sort();
  const least = count > limit ? floatAt(sorted, count - limit) : -1;
  const kept: number[] = [];
  let omitted = 0;
  for (let node = 0; node < count; node++) {
    const parent = intAt(parents, node);
    const share = floatAt(shares, node);
    // Nodes with equal shares at the limit are dropped together, so the limit is never exceeded.
    if (count <= limit || share > least) number[node] = kept.push(node) - 1;
    else {
      number[node] = parent < 0 ? -1 : intAt(number, parent);
      omitted = Math.max(omitted, share);
    }
  }
  return { number, nodes: kept, omitted };
}

function span(sides: readonly Side[]): [number, number] {
  const times = sides.map(({ profile: { samples } }) => {
    const { time, length } = samples;
    return time === undefined || length === 0
      ? [0, 0] as const
      : [floatAt(time, 0), floatAt(time, length - 1)] as const;
  });
  // Compared recordings have different clocks, so slices count from each start.
  const [first] = times;
  if (first === undefined) return [0, 0];
  return [first[0], first[0] + Math.max(...times.map(([from, to]) => to - from))];
}

/** Sums up samples; `undefined` if there are more rows than `limit`. */
function countRows(
  sides: readonly Side[],
  eventOf: readonly Int32Array[],
  number: Int32Array,
  slices: number,
  limit: number,
): FlameRows | undefined {
  const [start, end] = span(sides);
  const width = (end - start) / slices || 1;
  const keys = new NodeTable();
  const rows = new NodeTable();
  const count = new FloatColumn();
  const period = new FloatColumn();
  const pmuColumn = sides.length === 1 ? sides[0]?.profile.samples.pmu : undefined;
  const pmus = pmuColumn === undefined ? 1 : 1 + pmuColumn.reduce((a, b) => Math.max(a, b), 0);
  for (const [at, { profile: { samples }, of, threads, side }] of sides.entries()) {
    const from = samples.time?.[0] ?? 0;
    for (let i = 0; i < samples.length; i++) {
      const event = eventOf[at]?.[samples.event[i] as number] ?? -1;
      if (event < 0) continue;
      const slice = samples.time === undefined ? 0 : Math.min(
        slices - 1,
        Math.max(0, Math.floor((floatAt(samples.time, i) - from) / width)),
      );
      const stack = intAt(samples.stack, i);
      const node = stack < 0 ? -1 : intAt(number, intAt(of, stack));
      const key = keys.node(
        ((event * pmus + (pmuColumn?.[i] ?? 0)) * slices + slice) * 2 + side,
        intAt(threads, intAt(samples.thread, i)),
      );
      const row = rows.node(key, node);
      if (row === count.length) {
        if (row === limit) return undefined;
        count.push(0);
        period.push(0);
      }
      count.add(row, samples.count[i] as number);
      period.add(row, floatAt(samples.period, i));
    }
  }
  const keyOf = rows.parents();
  const nodeOf = rows.items();
  const first = keys.parents();
  const thread = keys.items();
  const [counts, periods] = [count.array(), period.array()];
  // Sorted so that columns change little between rows, which compresses well.
  const order = Int32Array.from(keyOf, (_, row) => row).sort((a, b) => {
    const [p, q] = [intAt(keyOf, a), intAt(keyOf, b)];
    return intAt(first, p) - intAt(first, q) ||
      intAt(thread, p) - intAt(thread, q) ||
      intAt(nodeOf, a) - intAt(nodeOf, b);
  });
  const pick = (value: (row: number) => number) => Int32Array.from(order, value);
  const where = (row: number) => intAt(first, intAt(keyOf, row));
  return {
    node: pick((row) => intAt(nodeOf, row)),
    side: pick((row) => where(row) & 1),
    event: pick((row) => Math.floor((where(row) >> 1) / slices / pmus)),
    ...(pmuColumn === undefined ? {} : {
      pmu: Uint8Array.from(order, (row) => Math.floor((where(row) >> 1) / slices) % pmus),
    }),
    slice: pick((row) => (where(row) >> 1) % slices),
    thread: pick((row) => intAt(thread, intAt(keyOf, row))),
    count: Float64Array.from(order, (row) => floatAt(counts, row)),
    period: Float64Array.from(order, (row) => floatAt(periods, row)),
  };
}
