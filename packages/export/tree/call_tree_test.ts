import { assertEquals } from "@std/assert";
import { namesOf, type PlainSample, plainSamples, profileOf } from "../testing.ts";
import { type CallTree, callTree, type CallTreeOptions } from "./call_tree.ts";

const SAMPLES = plainSamples(800, 11);
const PROFILE = profileOf(SAMPLES);

/** By path: samples and period, with callees and without. */
type Sums = Map<string, number[]>;

function sumsOf(tree: CallTree): Sums {
  const sums: Sums = new Map();
  const paths: string[] = [];
  for (let i = 0; i < tree.length; i++) {
    const up = tree.parent[i] as number;
    const name = tree.names[tree.item[i] as number] as string;
    const path = paths[i] = up < 0 ? name : `${paths[up]}\0${name}`;
    const own = [tree.samples[i], tree.period[i], tree.selfSamples[i], tree.selfPeriod[i]];
    // An inlined and a called function of one name are two items.
    const known = sums.get(path) ?? [0, 0, 0, 0];
    sums.set(path, known.map((value, at) => value + (own[at] as number)));
  }
  return sums;
}

/** The sums, computed from strings: `path` gives a sample's path, or `undefined`. */
function expected(event: number, path: (sample: PlainSample) => string[] | undefined): Sums {
  const sums: Sums = new Map();
  for (const sample of SAMPLES) {
    const names = sample.event === event ? path(sample) : undefined;
    names?.forEach((_, i) => {
      const key = names.slice(0, i + 1).join("\0");
      const sum = sums.get(key) ?? [0, 0, 0, 0];
      const self = i === names.length - 1 ? 1 : 0;
      const more = [1, sample.period, self, self * sample.period];
      sums.set(key, sum.map((value, at) => value + (more[at] as number)));
    });
  }
  return sums;
}

function compare(
  options: Partial<CallTreeOptions>,
  path: (sample: PlainSample) => string[] | undefined,
): void {
  for (const event of [0, 1]) {
    const tree = callTree(PROFILE, { event, ...options });
    assertEquals(sumsOf(tree), expected(event, path));
    const of = SAMPLES.filter((sample) => sample.event === event);
    assertEquals(tree.totalSamples, of.length);
    assertEquals(tree.totalPeriod, of.reduce((sum, { period }) => sum + period, 0));
    assertEquals(tree.otherSamples, of.filter((sample) => path(sample) === undefined).length);
  }
}

function stackOf(sample: PlainSample): string[] {
  return sample.stack.length === 0 ? ["[no stack]"] : namesOf(sample);
}

Deno.test("callTree: callees have the sums of the samples' paths", () => compare({}, stackOf));

Deno.test("callTree: callers have the sums of the reversed paths", () => {
  compare({ callers: true }, (sample) => stackOf(sample).reverse());
});

Deno.test("callTree: without inlining, callers get the samples of inlined functions", () => {
  compare(
    { inline: false },
    (sample) =>
      sample.stack.length === 0
        ? ["[no stack]"]
        : sample.stack.filter((name) => !name.startsWith("~")),
  );
});

Deno.test("callTree: roots are commands or threads", () => {
  compare({ root: "command" }, (sample) => [sample.thread[0], ...stackOf(sample)]);
  compare({ root: "thread" }, (sample) => [
    `${sample.thread[0]} ${sample.thread[2]}`,
    ...stackOf(sample),
  ]);
});

/** The path from the outermost call of f9 on. */
function focused(sample: PlainSample): string[] | undefined {
  const names = namesOf(sample);
  const at = names.indexOf("f9");
  return at < 0 ? undefined : names.slice(at);
}

Deno.test("callTree: a focus has stacks from its outermost call on, and counts the others", () => {
  compare({ focus: (name) => name === "f9" }, focused);
});

Deno.test("callTree: callers of a focus begin at its outermost call", () => {
  const of = (sample: PlainSample) => {
    const names = namesOf(sample);
    const at = names.indexOf("f9");
    return at < 0 ? undefined : names.slice(0, at + 1).reverse();
  };
  compare({ callers: true, focus: (name) => name === "f9" }, of);
});

Deno.test("callTree: functions below the least share have no callers, those above have all", () => {
  const tree = callTree(PROFILE, { event: 0, callers: true, leastShare: 0.03 });
  const all = callTree(PROFILE, { event: 0, callers: true });
  assertEquals(tree.totalPeriod, all.totalPeriod);
  const whole = sumsOf(all), kept = sumsOf(tree);
  const hasCallers = (sums: Sums, name: string) =>
    [...sums.keys()].some((path) => path.startsWith(`${name}\0`));
  let without = 0;
  for (let i = 0; i < tree.length; i++) {
    if ((tree.parent[i] as number) >= 0) continue;
    const name = tree.names[tree.item[i] as number] as string;
    assertEquals(kept.get(name)?.slice(0, 2), whole.get(name)?.slice(0, 2));
    if (name === "[no stack]" || name === "main") continue;
    const isLarge = (tree.period[i] as number) >= 0.03 * all.totalPeriod;
    const own = Array.from(tree.parent).includes(i);
    assertEquals(own, isLarge && hasCallers(whole, name), name);
    if (!own) without++;
  }
  assertEquals(without > 5, true);
});

Deno.test("callTree: by lines, names have file and line, and sums equal those of functions", () => {
  const tree = callTree(PROFILE, { event: 0, lines: true });
  const names = new Set(Array.from(tree.item, (item) => tree.names[item] as string));
  assertEquals([...names].some((name) => /^f\d+ demo\.c:\d+$/.test(name)), true);
  assertEquals([...names].some((name) => / in\.h:3$/.test(name)), true);
  const own = tree.selfPeriod.reduce((sum, period) => sum + period, 0);
  assertEquals(own, tree.totalPeriod);
});

Deno.test("callTree: each item has its object's short name, roots have none", () => {
  const tree = callTree(PROFILE, { event: 0, root: "command" });
  assertEquals(tree.dsos.length, tree.names.length);
  for (const [i, name] of tree.names.entries()) {
    if (["main one", "worker", "x", "[no stack]"].includes(name)) assertEquals(tree.dsos[i], "");
    // An inlined function is in the object of the function around it.
    else if (name === "main") assertEquals(tree.dsos[i], "demo");
    else assertEquals(["demo", "[kernel.kallsyms]"].includes(tree.dsos[i] as string), true);
  }
  assertEquals(tree.unverified.every((is) => is === 0), true);
});
