import { checkMemory, floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import { markedName, shortNames } from "@perfdata/profile";
import type { CallTree } from "./call_tree.ts";

/** Options of {@linkcode treeLines}. */
export interface TreeTextOptions {
  /** Nodes with a smaller share of the period are dropped: 0.005 is half a percent. */
  readonly leastShare: number;
  /** Limit of lines, which keeps those with the largest shares, plus a line about dropped ones. */
  readonly lines?: number | undefined;
  /**
   * Whether the tree leads from functions to their callers. Then START marks outermost functions.
   */
  readonly callers?: boolean | undefined;
  /** Names are shortened so that a line fits into these columns. */
  readonly columns?: number | undefined;
  /** Whether long lines are truncated at their end instead. */
  readonly fullNames?: boolean | undefined;
}

/** A displayed node. */
export interface ShownNode {
  /** Index of the node in the tree. */
  readonly node: number;
  /** The nodes of the line: a path in which each has one child and no samples of its own. */
  readonly path: readonly number[];
  /** Displayed children, largest first. */
  readonly children: readonly ShownNode[];
}

/** The displayed nodes of a tree. */
export interface ShownTree {
  /** Nodes of the first level, largest first. */
  readonly roots: readonly ShownNode[];
  /** Number of lines. */
  readonly lines: number;
  /** Number of dropped nodes. */
  readonly left: number;
  /** Largest share of a dropped node. */
  readonly leftShare: number;
}

/**
 * Selects the nodes to display, and folds paths of one child into a line.
 *
 * @param tree A call tree.
 */
export function shownTree(
  tree: CallTree,
  { leastShare, lines = Infinity }: TreeTextOptions,
): ShownTree {
  const least = leastShare * tree.totalPeriod;
  const all = choose(tree, least);
  if (all.lines <= lines) return all;
  // A child is never larger than its parent, so the largest nodes form a tree.
  const limits = [...new Set(Float64Array.from(tree.period).sort().reverse())]
    .slice(0, lines * MOST_FOLDED);
  let low = 0, high = limits.length;
  let best = choose(tree, Infinity);
  while (low < high) {
    const middle = (low + high) >>> 1;
    const shown = choose(tree, Math.max(least, numberAt(limits, middle)));
    if (shown.lines <= lines) {
      best = shown;
      low = middle + 1;
    } else high = middle;
  }
  return best;
}

/** Assumed limit of the nodes in one line. */
const MOST_FOLDED = 64;

/** Selects all nodes with at least this period. */
function choose(tree: CallTree, least: number): ShownTree {
  const { parent, period, length, totalPeriod, names, item, selfPeriod } = tree;
  const children: number[][] = Array.from({ length: 1 }, () => []);
  const of = new Map<number, number[]>();
  let left = 0, leftMost = 0;
  for (let node = 0; node < length; node++) {
    if ((node & 0xfff) === 0) checkMemory();
    const value = floatAt(period, node);
    if (value < least || value <= 0) {
      left++;
      leftMost = Math.max(leftMost, value);
      continue;
    }
    const above = intAt(parent, node);
    const siblings = above < 0 ? children[0] as number[] : of.get(above);
    if (siblings === undefined) of.set(above, [node]);
    else siblings.push(node);
  }
  const order = (a: number, b: number): number =>
    floatAt(period, b) - floatAt(period, a) ||
    ((names[intAt(item, a)] ?? "") < (names[intAt(item, b)] ?? "") ? -1 : 1);
  let lines = 0;
  const show = (first: number): ShownNode => {
    const path = [first];
    let node = first;
    for (;;) {
      const below = of.get(node) ?? [];
      const only = below[0];
      // A node with dropped children is not folded.
      if (
        below.length !== 1 || only === undefined || selfPeriod[node] !== 0 ||
        period[only] !== period[node]
      ) break;
      path.push(node = only);
    }
    if ((++lines & 0xfff) === 0) checkMemory();
    const below = (of.get(node) ?? []).sort(order);
    return { node, path, children: below.map(show) };
  };
  const roots = (children[0] as number[]).sort(order).map(show);
  return { roots, lines, left, leftShare: totalPeriod === 0 ? 0 : leftMost / totalPeriod };
}

const percent = (part: number, whole: number): string =>
  `${(whole === 0 ? 0 : 100 * part / whole).toFixed(2)}%`;

/**
 * Formats a call tree as lines: share, self, samples, and functions; paths of one child in one
 * line.
 *
 * @example
 * ```ts
 * import { callTree, treeLines } from "@perfdata/export/tree";
 * import { ProfileBuilder } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * const main = builder.stack(-1, builder.place(-1, 1, [{ name: "main" }]));
 * const run = builder.stack(main, builder.place(-1, 2, [{ name: "run" }]));
 * const thread = builder.thread(7, 7, "demo");
 * builder.sample({ stack: run, event: 0, thread, period: 100 });
 * builder.sample({ stack: builder.stack(run, builder.place(-1, 3, [{ name: "f" }])), event: 0, thread, period: 300 });
 * const tree = callTree(builder.profile(), { event: 0 });
 * assertEquals(treeLines(tree, { leastShare: 0 }), [
 *   "  SHARE     SELF  SAMPLES  FUNCTION",
 *   "100.00%   25.00%        2  main → run  [unknown]",
 *   " 75.00%   75.00%        1  → f",
 * ]);
 * ```
 */
export function treeLines(tree: CallTree, options: TreeTextOptions): string[] {
  const { columns = Infinity, callers = false, fullNames = false } = options;
  const { roots } = shownTree(tree, options);
  const { period, selfPeriod, samples, totalPeriod, names, dsos, item } = tree;
  const width = Math.max(7, String(tree.totalSamples).length);
  const lines = [
    `  SHARE    ${callers ? "START" : " SELF"}  ${"SAMPLES".padStart(width)}  FUNCTION`,
  ];
  // Depth first without recursion, since stacks are deep.
  const waiting: { shown: ShownNode; indent: string; mark: string; text: string }[] = [];
  /** Columns of the numbers before a name. */
  const before = 20 + width;
  const push = (nodes: readonly ShownNode[], indent: string, top: boolean, dso: string): void => {
    const paths = nodes.map(({ path }) => pathText(path.map((at) => shownName(tree, at))));
    const where = nodes.map(({ node }) => {
      const own = dsos[intAt(item, node)] ?? "";
      // Unnamed code has the name of its object.
      const isNamed = names[intAt(item, node)] !== bracketed(own);
      return own === "" || own === dso || !isNamed ? "" : `  ${bracketed(own)}`;
    });
    const room = columns - before - indent.length - (top ? 0 : 2) -
      Math.max(0, ...where.map(({ length }) => length));
    const shown = fullNames || room < LEAST_NAME ? paths : shortNames(paths, room);
    for (let i = nodes.length - 1; i >= 0; i--) {
      // An only child needs no column of its own, which matters in deep stacks.
      const mark = top ? "" : nodes.length === 1 ? ONLY : i === nodes.length - 1 ? "└ " : "├ ";
      const text = `${shown[i]}${where[i]}`;
      waiting.push({ shown: nodes[i] as ShownNode, indent, mark, text });
    }
  };
  push(roots, "", true, "");
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { shown, indent, mark, text } = next;
    const { node } = shown;
    const line = [
      percent(floatAt(period, node), totalPeriod).padStart(7),
      percent(floatAt(selfPeriod, node), totalPeriod).padStart(8),
      String(samples[node]).padStart(width + 1),
      ` ${indent}${mark}${text}`,
    ].join(" ");
    if ((lines.length & 0xfff) === 0) checkMemory();
    lines.push(line.length > columns ? `${line.slice(0, columns - 1)}…` : line);
    const deeper = mark === "" || mark === ONLY ? indent : indent + (mark === "└ " ? "  " : "│ ");
    push(shown.children, deeper, false, dsos[intAt(item, node)] ?? "");
  }
  return lines;
}

/** With fewer characters left for a name, lines are truncated. */
const LEAST_NAME = 12;

/** Mark of an only child. */
const ONLY = "→ ";

/** Joins names of consecutive calls; recursion is counted. */
function pathText(names: readonly string[]): string {
  const parts: string[] = [];
  for (let i = 0; i < names.length;) {
    let end = i + 1;
    while (names[end] === names[i]) end++;
    parts.push(end - i > 1 ? `${names[i]} ×${end - i}` : names[i] as string);
    i = end;
  }
  return parts.join(" → ");
}

function shownName({ names, unverified, item }: CallTree, node: number): string {
  const of = intAt(item, node);
  const name = names[of] ?? "";
  return markedName(unverified[of] === 1 ? { name, verified: false } : { name });
}

function bracketed(name: string): string {
  return name.startsWith("[") ? name : `[${name}]`;
}

/** A node of {@linkcode nestedTree}. */
export interface NestedNode {
  /** Name of the function. */
  readonly name: string;
  /** `false` if the name comes from an unverified file. */
  readonly verified?: false;
  /** Short name of the object; empty for a command or thread. */
  readonly dso: string;
  /** Samples in the node and below. */
  readonly samples: number;
  /** Period in the node and below. */
  readonly period: number;
  /** Samples in the node itself; missing in a tree of callers. */
  readonly self_samples?: number;
  /** Period in the node itself; missing in a tree of callers. */
  readonly self_period?: number;
  /** In a tree of callers: samples whose stacks start here. */
  readonly start_samples?: number;
  /** In a tree of callers: period of the samples whose stacks start here. */
  readonly start_period?: number;
  /** Nodes below, largest first. */
  readonly children: NestedNode[];
}

/** A row of {@linkcode treeRows}. */
export interface TreeRow extends Omit<NestedNode, "children"> {
  /** Index of the node, from 0. */
  readonly id: number;
  /** Index of the node above; `null` at the top. */
  readonly parent: number | null;
  /** Number of nodes above it. */
  readonly depth: number;
  /** Share of the period, 0 to 1. */
  readonly share: number;
  /** Share of the node itself; missing in a tree of callers. */
  readonly self_share?: number;
  /** In a tree of callers: share of the stacks that start here. */
  readonly start_share?: number;
}

/**
 * The nodes with a large enough share, one row each, depth first and largest first.
 *
 * @param callers Whether it is a tree of callers.
 */
export function treeRows(tree: CallTree, leastShare: number, callers = false): TreeRow[] {
  const { period, samples, selfPeriod, selfSamples, totalPeriod, names, dsos, item } = tree;
  const rows: TreeRow[] = [];
  const { roots } = shownTree(tree, { leastShare });
  const waiting: { shown: ShownNode; parent: number | null; depth: number }[] = [];
  const push = (nodes: readonly ShownNode[], parent: number | null, depth: number): void => {
    for (const shown of nodes.toReversed()) waiting.push({ shown, parent, depth });
  };
  push(roots, null, 0);
  const share = (part: number): number => totalPeriod === 0 ? 0 : part / totalPeriod;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    let { parent, depth } = next;
    for (const node of next.shown.path) {
      const id = rows.length;
      const [own, ownPeriod] = [floatAt(selfSamples, node), floatAt(selfPeriod, node)];
      const sums = callers
        ? { start_samples: own, start_period: ownPeriod }
        : { self_samples: own, self_period: ownPeriod };
      const ownShare = share(ownPeriod);
      rows.push({
        id,
        parent,
        depth,
        name: names[intAt(item, node)] ?? "",
        ...(tree.unverified[intAt(item, node)] === 1 ? { verified: false as const } : {}),
        dso: dsos[intAt(item, node)] ?? "",
        samples: floatAt(samples, node),
        period: floatAt(period, node),
        ...sums,
        share: share(floatAt(period, node)),
        ...(callers ? { start_share: ownShare } : { self_share: ownShare }),
      });
      parent = id;
      depth++;
    }
    push(next.shown.children, parent, depth);
  }
  return rows;
}

/** Nests the rows. */
export function nestedTree(rows: readonly TreeRow[]): NestedNode[] {
  const nodes = rows.map(
    (
      {
        id: _,
        parent: __,
        depth: ___,
        share: ____,
        self_share: _____,
        start_share: ______,
        ...node
      },
    ) => ({
      ...node,
      children: [] as NestedNode[],
    }),
  );
  const roots: NestedNode[] = [];
  rows.forEach(({ parent }, i) => {
    const node = nodes[i] as NestedNode;
    if (parent === null) roots.push(node);
    else nodes[parent]?.children.push(node);
  });
  return roots;
}
