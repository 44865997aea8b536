import { assertEquals } from "@std/assert";
import { smallProfile } from "../testing.ts";
import { FUNCTION_KIND } from "@perfdata/profile";
import { changeColor, functionColors, KIND_COLORS, shareChange } from "./flame_colors.ts";
import { type FlameData, flameData } from "./flame_data.ts";
import { amount, boxFacts, boxName, flameFunctionName, percentage } from "./flame_text.ts";
import { type FlameSelection, type FlameTree, flameTree } from "./flame_tree.ts";

const DATA = flameData([smallProfile()]);

function tree(selection: Partial<FlameSelection> = {}, data: FlameData = DATA): FlameTree {
  return flameTree(data, {
    ...{ event: 0, weight: "period", order: "merged", root: "none" },
    ...selection,
  });
}

/**
 * Boxes as `name depth left right value self samples period`, by row and from the left; edges in
 * units of weight.
 */
function boxes(of: FlameTree, data: FlameData = DATA): string[] {
  const numbers = Array.from({ length: of.length }, (_, box) => box);
  const at = (column: Float64Array | Int32Array, box: number) => column[box] as number;
  return numbers.sort((a, b) => at(of.depth, a) - at(of.depth, b) || at(of.x, a) - at(of.x, b)).map(
    (box) => {
      const left = at(of.x, box) * of.total;
      const edges = [left, left + at(of.width, box) * of.total].map(Math.round);
      const sums = [of.value, of.self, of.samples, of.periods].map((column) => at(column, box));
      return [boxName(data, of, box), at(of.depth, box), ...edges, ...sums].join(" ");
    },
  );
}

Deno.test("flameTree: callers enclose their callees, samples without a stack come first", () => {
  const flame = tree();
  assertEquals(boxes(flame), [
    "[no stack] 0 0 4 4 4 1 4",
    "main 0 4 49 45 5 5 45",
    "f 1 4 44 40 0 4 40",
    "g 2 4 44 40 20 4 40",
    "k 3 4 24 20 20 1 20",
  ]);
  assertEquals([flame.total, flame.totalSamples, flame.totalPeriod, flame.rows], [49, 6, 49, 4]);
  assertEquals([flame.baseTotal, [...flame.base]], [0, [0, 0, 0, 0, 0]]);
});

Deno.test("flameTree: with samples as weight, widths are numbers of samples, and periods stay", () => {
  const flame = tree({ weight: "samples" });
  assertEquals(boxes(flame), [
    "[no stack] 0 0 1 1 1 1 4",
    "main 0 1 6 5 1 5 45",
    "f 1 1 5 4 0 4 40",
    "g 2 1 5 4 3 4 40",
    "k 3 1 2 1 1 1 20",
  ]);
  assertEquals([flame.total, flame.totalSamples, flame.totalPeriod], [6, 6, 49]);
});

Deno.test("flameTree: with callers first, boxes lead from each sampled function outwards", () => {
  assertEquals(boxes(tree({ order: "callers" })), [
    "[no stack] 0 0 4 4 4 1 4",
    "g 0 4 24 20 0 3 20",
    "k 0 24 44 20 0 1 20",
    "main 0 44 49 5 5 1 5",
    "f 1 4 24 20 0 3 20",
    "g 1 24 44 20 0 1 20",
    "main 2 4 24 20 20 3 20",
    "f 2 24 44 20 0 1 20",
    "main 3 24 44 20 20 1 20",
  ]);
});

Deno.test("flameTree: processes and threads enclose their stacks and samples without a stack", () => {
  assertEquals(boxes(tree({ root: "process" })), [
    "work er 0 0 7 7 4 2 7",
    "demo 0 7 49 42 0 4 42",
    "main 1 0 3 3 0 1 3",
    "main 1 7 49 42 5 4 42",
    "f 2 0 3 3 0 1 3",
    "f 2 7 44 37 0 3 37",
    "g 3 0 3 3 3 1 3",
    "g 3 7 44 37 17 3 37",
    "k 4 7 27 20 20 1 20",
  ]);
  assertEquals(boxes(tree({ root: "thread", event: 1 })), [
    "demo 7 0 0 1 1 0 1 1",
    "main 1 0 1 1 1 1 1",
  ]);
  assertEquals(boxes(tree({ event: 2 })), []);
});

Deno.test("flameData: samples of a slice, thread and stack are one row", () => {
  const data = flameData([smallProfile()], { slices: 2 });
  // From 1000 to 20000 ns, the middle is 10500: only the last sample is in the second slice.
  assertEquals([data.slices, data.start, data.end], [2, 1000, 20_000]);
  const { node, event, thread, slice, count, period } = data.rows;
  const rows = Array.from(node, (_, i) => [event[i], thread[i], slice[i], count[i], period[i]]);
  assertEquals(rows.map(String).sort(), [
    ...["0,0,0,1,10", "0,0,0,1,20", "0,0,0,1,5", "0,0,1,1,7", "0,1,0,1,3", "0,1,0,1,4"],
    "1,0,0,1,1",
  ]);
  assertEquals(boxes(tree({}, data), data), boxes(tree()));
});

Deno.test("flameData: without inlined functions, f has the samples of its inlined function", () => {
  const data = flameData([smallProfile()], { inline: false });
  assertEquals(boxes(tree({}, data), data).slice(1), [
    ...["main 0 4 49 45 5 5 45", "f 1 4 44 40 20 4 40", "k 2 4 24 20 20 1 20"],
  ]);
});

Deno.test("flameData: two profiles are summed up, a base is kept apart", () => {
  const both = flameData([smallProfile(), smallProfile()]);
  assertEquals([both.sides.length, tree({}, both).total, tree({}, both).baseTotal], [1, 98, 0]);
  assertEquals(both.recordings, [2]);
  const compared = flameData([smallProfile(), smallProfile(), smallProfile()], { base: 1 });
  const flame = tree({}, compared);
  assertEquals([compared.recordings, flame.baseTotal, flame.total], [[1, 2], 49, 98]);
  // The samples are those of the two profiles that are compared with the base.
  assertEquals([flame.totalSamples, flame.totalPeriod], [12, 98]);
  assertEquals([...flame.base], [...flame.value].map((value) => value / 2));
  for (let box = 0; box < flame.length; box++) assertEquals(shareChange(flame, box), 0);
});

Deno.test("boxFacts: shares of the total, of the parent and of the box itself, then samples, object and line", () => {
  const flame = tree();
  const box = (name: string) =>
    Array.from(flame.item, (_, i) => i).find((i) => boxName(DATA, flame, i) === name) as number;
  // 40/49 = 81.63 %, 40/45 = 88.89 %.
  assertEquals(boxFacts(DATA, flame, box("f"), 0), [
    "81.63% of all, 88.89% of its parent, 0% itself",
    "4 samples, cpu-clock 40 ns",
    "demo",
    "/src/demo.c:20",
  ]);
  assertEquals(boxFacts(DATA, flame, box("main"), 0)[0], "91.84% of all, 10.20% itself");
  assertEquals(boxFacts(DATA, flame, box("k"), 0).slice(1), [
    "1 samples, cpu-clock 20 ns",
    "[kernel]",
  ]);
  assertEquals(boxFacts(DATA, flame, box("[no stack]"), 0), [
    ...["8.16% of all, 8.16% itself", "1 samples, cpu-clock 4 ns"],
  ]);
});

Deno.test("boxFacts: a comparison has the previous share and its change with a sign", () => {
  const flame = tree();
  const twice = { ...DATA, sides: ["a", "b"] };
  // 45 of 49 now; 45 of 90 and 98 of 100 before.
  const before = (base: number, baseTotal: number) =>
    boxFacts(
      twice,
      { ...flame, base: new Float64Array(flame.length).fill(base), baseTotal },
      0,
      0,
    )[2];
  assertEquals(boxName(DATA, flame, 0), "main");
  assertEquals(before(45, 90), "50.00% before: +41.84%");
  assertEquals(before(98, 100), "98.00% before: −6.16%");
  assertEquals(before(0, 0), "0% before: +91.84%");
});

Deno.test("percentage, amount: numbers have useful digits", () => {
  assertEquals([0, 0.0009999, 0.001, 0.5, 0.99994, 0.99995].map(percentage), [
    ...["0%", "0.1000%", "0.10%", "50.00%", "99.99%", "100%"],
  ]);
  const times = [999, 1000, 999_999, 1e6, 1e9, 123_456_789_000].map((ns) =>
    amount(ns, "nanoseconds")
  );
  assertEquals(times, ["999 ns", "1.000 µs", "1000 µs", "1.000 ms", "1.000 s", "123.5 s"]);
  assertEquals(amount(1_234_567, "count"), "1,234,567");
});

Deno.test("flameFunctionName: unnamed code has the name of its object", () => {
  const data = { ...DATA, names: ["", "", "", "a"], functionObject: Int32Array.of(0, 1, -1, 0) };
  assertEquals([0, 1, 2, 3].map((number) => flameFunctionName(data, number)), [
    ...["[demo]", "[kernel]", "[unknown]", "a"],
  ]);
});

Deno.test("changeColor: no change is gray, a fifth or more is full blue or orange", () => {
  assertEquals([0, -0.2, 0.2, -1, 1].map(changeColor), [
    ...["#e2e2e2", "#4894d6", "#e87828", "#4894d6", "#e87828"],
  ]);
  // A twentieth is half of the way: 226 to 232, 120, 40.
  assertEquals(changeColor(0.05), "#e5ad85");
});

Deno.test("functionColors: the kernel and its modules share a color that no other object has", () => {
  const objects = [...Array(20).keys()];
  const { KERNEL, USER } = FUNCTION_KIND;
  const functionKind = objects.map((object) => object % 2 === 0 ? KERNEL : USER);
  const data = { names: objects.map(() => "f"), functionObject: objects, functionKind };
  const colors = functionColors(data, "object");
  const ofKernel = new Set(colors.filter((_, i) => functionKind[i] === KERNEL));
  assertEquals([...ofKernel], [functionColors(data, "kind")[0]]);
  assertEquals(colors.filter((color, i) => functionKind[i] === USER && ofKernel.has(color)), []);
});

Deno.test("functionColors: names differ in shade, objects and kinds in hue", () => {
  const data = {
    names: ["a", "a", "a", "a", "b"],
    functionObject: [0, 0, 1, -1, 0],
    functionKind: [0, 2, 0, 0, 0],
  };
  const [first, sameObject, otherObject, none, otherName] = functionColors(data, "object");
  assertEquals(first, sameObject);
  assertEquals(new Set([first, otherObject, none, otherName]).size, 4);
  const kinds = functionColors(data, "kind");
  assertEquals(kinds[0], kinds[2]);
  assertEquals(kinds[0] === kinds[1], false);
  assertEquals(KIND_COLORS.length, 5);
});
