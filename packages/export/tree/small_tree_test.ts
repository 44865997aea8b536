import { assertEquals } from "@std/assert";
import { smallProfile } from "../testing.ts";
import { callTree, type CallTreeOptions } from "./call_tree.ts";
import { nestedTree, shownTree, treeLines, treeRows } from "./tree_text.ts";

const tree = (options: Partial<CallTreeOptions> = {}) =>
  callTree(smallProfile(), { event: 0, ...options });

Deno.test("treeLines: the largest comes first, with share, self and samples; a path of one child is a line", () => {
  // Of a period of 49: main 45 (5 of its own), f and g 40 (g 20 of its own), k 20, no stack 4.
  assertEquals(treeLines(tree(), { leastShare: 0 }), [
    "  SHARE     SELF  SAMPLES  FUNCTION",
    " 91.84%   10.20%        5  main  [demo]",
    " 81.63%   40.82%        4  → f → g",
    " 40.82%   40.82%        1  → k  [kernel]",
    "  8.16%    8.16%        1  [no stack]",
  ]);
});

Deno.test("treeLines: threads as roots have separate branches", () => {
  assertEquals(treeLines(tree({ root: "thread" }), { leastShare: 0 }), [
    "  SHARE     SELF  SAMPLES  FUNCTION",
    " 85.71%   10.20%        4  demo 7 → main  [demo]",
    " 75.51%   34.69%        3  → f → g",
    " 40.82%   40.82%        1  → k  [kernel]",
    " 14.29%    0.00%        2  work er 8",
    "  8.16%    8.16%        1  ├ [no stack]",
    "  6.12%    6.12%        1  └ main → f → g  [demo]",
  ]);
});

Deno.test("treeLines: with callers, START has the stacks' outermost functions; equal shares are sorted by name", () => {
  assertEquals(treeLines(tree({ callers: true }), { leastShare: 0.1, callers: true }), [
    "  SHARE    START  SAMPLES  FUNCTION",
    " 40.82%   40.82%        3  g → f → main  [demo]",
    " 40.82%   40.82%        1  k → g → f → main  [demo]",
    " 10.20%   10.20%        1  main  [demo]",
  ]);
});

Deno.test("shownTree: a limit of lines keeps the largest nodes, and counts the dropped ones", () => {
  const { lines, left, leftShare, roots } = shownTree(tree(), { leastShare: 0, lines: 2 });
  // k (20 of 49) and the samples without a stack are dropped; f and g share a line.
  assertEquals([lines, left, leftShare], [2, 2, 20 / 49]);
  assertEquals(roots.map(({ path, children }) => [path.length, children[0]?.path.length]), [[
    1,
    2,
  ]]);
  const least = shownTree(tree(), { leastShare: 20 / 49 });
  assertEquals([least.lines, least.left, least.leftShare], [3, 1, 4 / 49]);
});

Deno.test("treeRows: rows are numbered depth first, with parent, sums and shares", () => {
  const rows = treeRows(tree(), 0);
  assertEquals(
    rows.map(({ id, parent, depth, name, dso, samples, period, self_samples, self_period }) => [
      ...[id, parent, depth, name, dso, samples, period, self_samples, self_period],
    ]),
    [
      [0, null, 0, "main", "demo", 5, 45, 1, 5],
      [1, 0, 1, "f", "demo", 4, 40, 0, 0],
      [2, 1, 2, "g", "demo", 4, 40, 3, 20],
      [3, 2, 3, "k", "[kernel]", 1, 20, 1, 20],
      [4, null, 0, "[no stack]", "", 1, 4, 1, 4],
    ],
  );
  assertEquals(rows.map(({ share, self_share }) => [share, self_share]), [
    [45 / 49, 5 / 49],
    [40 / 49, 0],
    [40 / 49, 20 / 49],
    [20 / 49, 20 / 49],
    [4 / 49, 4 / 49],
  ]);
  const [first, second] = treeRows(tree({ callers: true }), 0.1, true);
  assertEquals([first?.start_samples, first?.start_share, first?.self_samples, second?.parent], [
    ...[0, 0, undefined, 0],
  ]);
});

Deno.test("nestedTree: children are within their parents, without numbers and shares", () => {
  const [main, bare, ...more] = nestedTree(treeRows(tree(), 0));
  assertEquals([bare?.name, bare?.children, more], ["[no stack]", [], []]);
  assertEquals(Object.keys(main ?? {}).sort(), [
    ...["children", "dso", "name", "period", "samples", "self_period", "self_samples"],
  ]);
  const k = main?.children[0]?.children[0]?.children[0];
  assertEquals([k?.name, k?.period, k?.children], ["k", 20, []]);
});
