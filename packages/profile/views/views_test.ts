import { assertEquals } from "@std/assert";
import { ProfileBuilder } from "../collecting/profile_builder.ts";
import { functionNames, type Profile, totals } from "../columns/profile.ts";
import { painted, shareStyle } from "../text/colors.ts";
import { filterProfile, pickSamples } from "./filter_profile.ts";
import { depthFirst, frameStacks, ranks } from "./frame_stacks.ts";
import { groupSamples } from "./group_samples.ts";
import { withStateFrames } from "./state_frames.ts";

/** main calls f (inlined into g) in libc, and unmapped code; threads a and b; the last sample has no stack. */
function made(timed = false): Profile {
  const builder = new ProfileBuilder({
    events: [{ name: "cycles", unit: "count" }, { name: "faults", unit: "count" }],
  });
  const program = builder.object({ name: "program", path: "/bin/program" });
  const libc = builder.object({ name: "libc.so.6", path: "/lib/libc.so.6" });
  const main = builder.place(program, 1, [{ name: "main" }]);
  const f = builder.place(libc, 2, [{ name: "f", line: 3 }, { name: "g", line: 9 }]);
  const f2 = builder.place(libc, 4, [{ name: "f", line: 4 }, { name: "g", line: 9 }]);
  const unmapped = builder.place(-1, 3, []);
  const root = builder.stack(-1, main);
  const [a, b] = [builder.thread(1, 1, "a"), builder.thread(1, 2, "b")];
  const stacks = [
    builder.stack(root, f),
    builder.stack(root, f2),
    builder.stack(root, unmapped),
    root,
    -1,
  ];
  const rows = [[0, 0, a], [1, 0, b], [2, 1, a], [3, 0, b], [4, 1, b], [0, 0, b]] as const;
  for (const [i, [stack, event, thread]] of rows.entries()) {
    const time = timed ? { time: 10 * i, cpu: i } : {};
    builder.sample({ stack: stacks[stack] ?? -1, event, thread, period: 2 ** i, ...time });
  }
  return builder.profile();
}

const periods = (
  profile: Profile,
) => [...profile.samples.period.subarray(0, profile.samples.length)];

Deno.test("filterProfile: thread, object and function, also one that f is inlined into, choose samples", () => {
  const profile = made();
  assertEquals(filterProfile(profile, {}), profile);
  assertEquals(periods(filterProfile(profile, { comm: (name) => name === "a" })), [1, 4]);
  assertEquals(periods(filterProfile(profile, { dso: (name) => name === "libc.so.6" })), [
    1,
    2,
    32,
  ]);
  assertEquals(periods(filterProfile(profile, { dso: (name) => name === "[unknown]" })), [4]);
  assertEquals(periods(filterProfile(profile, { symbol: (name) => name === "g" })), [1, 2, 32]);
  assertEquals(periods(filterProfile(profile, { symbol: (name) => name === "main" })), [8]);
  const both = filterProfile(profile, {
    comm: (name) => name === "b",
    symbol: (name) => name === "f",
  });
  assertEquals([periods(both), totals(both)], [[2, 32], [
    { samples: 2, period: 34 },
    { samples: 0, period: 0 },
  ]]);
});

Deno.test("pickSamples: rows give their columns, with time and CPU if there are any", () => {
  const { samples } = made(true);
  const picked = pickSamples(samples, Int32Array.of(5, 2));
  assertEquals([picked.length, [...picked.event], [...picked.thread], [...picked.count]], [
    2,
    [0, 1],
    [1, 0],
    [1, 1],
  ]);
  assertEquals([[...picked.time ?? []], [...picked.cpu ?? []], [...picked.stack]], [
    [50, 20],
    [5, 2],
    [samples.stack[5], samples.stack[2]],
  ]);
  assertEquals("time" in pickSamples(made().samples, Int32Array.of(0)), false);
});

Deno.test("frameStacks: a stack gives a row for each function, frame or number, with and without inlined functions", () => {
  const profile = made();
  const names = functionNames(profile);
  const paths = (options: Parameters<typeof frameStacks>[1]) => {
    const { parent, item, of } = frameStacks(profile, options);
    return [...of].map((row) => {
      const path: string[] = [];
      for (let at = row; at >= 0; at = parent[at] ?? -1) {
        const number = options.by === "frame" ? profile.frames.function[item[at] ?? 0] : item[at];
        path.unshift(names[number ?? 0] ?? "");
      }
      return path.join(" ");
    });
  };
  const wanted = ["main", "main g f", "main g f", "main [unknown]"];
  assertEquals(paths({ by: "function" }), wanted);
  assertEquals(paths({ by: "frame" }), wanted);
  assertEquals(paths({ by: "function", inline: false }), [
    "main",
    "main g",
    "main g",
    "main [unknown]",
  ]);
  const rows = (by: "function" | "frame") => frameStacks(profile, { by }).parent.length;
  assertEquals([rows("function"), rows("frame")], [4, 5]);
  const one = Int32Array.from(names, () => 0);
  assertEquals(paths({ by: one })[1], "main main main");
});

Deno.test("depthFirst: siblings are in order of their ranks, children after their parents", () => {
  const stacks = {
    parent: Int32Array.of(-1, -1, 0, 0, 2, 1),
    item: Int32Array.of(1, 0, 3, 2, 0, 0),
  };
  // 1 (rank 0), its child 5, 0 (rank 1), 3 (rank 2), 2 (rank 3), its child 4.
  assertEquals([...depthFirst(stacks, [0, 1, 2, 3])], [2, 0, 4, 3, 5, 1]);
  assertEquals([...depthFirst({ parent: new Int32Array(), item: new Int32Array() }, [])], []);
});

Deno.test("ranks: labels give their alphabetical order, equal ones the same", () => {
  assertEquals([...ranks(["c", "a", "b", "a", "B"])], [3, 1, 2, 1, 0]);
});

Deno.test("groupSamples: samples by event, then threads with most samples first", () => {
  const groups = [...groupSamples(made())].map((
    { event, thread, rows },
  ) => [event, thread, [...rows]]);
  assertEquals(groups, [[0, 1, [1, 3, 5]], [0, 0, [0]], [1, 0, [2]], [1, 1, [4]]]);
});

Deno.test("withStateFrames: samples in a state get a frame of it, others stay as they are", () => {
  const profile = made();
  const states = Uint8Array.of(0, 2, 1, 0, 2, 2);
  const out = withStateFrames(profile, states, ["[waiting]", "[runnable]"], "[off-cpu]");
  const names = functionNames(out);
  const path = (row: number) => {
    const found: string[] = [];
    for (let at = out.samples.stack[row] ?? -1; at >= 0; at = out.stacks.parent[at] ?? -1) {
      const place = out.stacks.place[at] ?? 0;
      const frame = out.places.frames[(out.places.start[place + 1] ?? 0) - 1] ?? 0;
      found.unshift(names[out.frames.function[frame] ?? 0] ?? "");
    }
    return found.join(" ");
  };
  assertEquals([0, 1, 2, 3, 4, 5].map(path), [
    "main g",
    "main g [runnable]",
    "main [unknown] [waiting]",
    "main",
    "[runnable]",
    "main g [runnable]",
  ]);
  assertEquals(out.objects.at(-1), { name: "[off-cpu]", path: "[off-cpu]" });
  assertEquals([out.functions.object.at(-1), out.functions.kind.at(-1)], [2, 3]);
  assertEquals([out.frames.line.at(-1), out.frames.file.at(-1), out.places.object.at(-2)], [
    0,
    -1,
    2,
  ]);
  assertEquals(out.stacks.parent.length, profile.stacks.parent.length + 4);
  assertEquals(profile.samples.stack[1], 2);
});

Deno.test("painted, shareStyle: styles give escapes, plain ones and no mode give the text", () => {
  assertEquals([5, 4.99, 0.5, 0.49].map(shareStyle), ["hot", "warm", "warm", "plain"]);
  assertEquals(painted("x", "warm", "colors"), "\x1b[32mx\x1b[0m");
  assertEquals(painted("x", "warm", "attributes"), "x");
  assertEquals(painted("x", "hot", "attributes"), "\x1b[1mx\x1b[0m");
  assertEquals([painted("x", "hot", "none"), painted("", "hot", "colors")], ["x", ""]);
});

Deno.test("frameStacks: unmapped callers in a row are one frame at the root, too; unnamed code of an object is not", () => {
  const builder = new ProfileBuilder({ events: [] });
  const object = builder.object({ name: "a.so", path: "/a.so" });
  const nowhere = [1, 2, 3].map((address) => builder.place(-1, address, []));
  const unnamed = [4, 5].map((address) => builder.place(object, address, []));
  let stack = -1;
  for (const place of [...nowhere, ...unnamed, nowhere[0] ?? 0]) {
    stack = builder.stack(stack, place);
  }
  const { parent, item, of } = frameStacks(builder.profile(), { by: "function" });
  // [unknown] for three places, twice [a.so], and [unknown] again.
  assertEquals([...of], [0, 0, 0, 1, 2, 3]);
  assertEquals([[...parent], [...item]], [[-1, 0, 1, 2], [0, 1, 1, 0]]);
});

Deno.test("depthFirst: several roots and depths are numbered, siblings of one rank keep their rows apart", () => {
  const stacks = {
    // 0 calls 1, which calls 2 and 3; 4 is another root, which calls 5.
    parent: Int32Array.of(-1, 0, 1, 1, -1, 4),
    item: Int32Array.of(0, 1, 2, 3, 4, 5),
  };
  const byItem = depthFirst(stacks, [0, 1, 2, 3, 4, 5]);
  assertEquals([...byItem], [0, 1, 2, 3, 4, 5]);
  // In descending order: 4, 5, 0, 1, 3, 2.
  assertEquals([...depthFirst(stacks, [5, 4, 3, 2, 1, 0])], [2, 3, 5, 4, 0, 1]);
  const same = [...depthFirst(stacks, [0, 0, 0, 0, 0, 0])];
  assertEquals(same.toSorted((a, b) => a - b), [0, 1, 2, 3, 4, 5]);
});

Deno.test("filterProfile: samples without a stack pass filters by thread, and none by object or function", () => {
  const profile = made(true);
  const all = () => true;
  assertEquals(periods(filterProfile(profile, { comm: all })), [1, 2, 4, 8, 16, 32]);
  assertEquals(periods(filterProfile(profile, { dso: all })), [1, 2, 4, 8, 32]);
  assertEquals(periods(filterProfile(profile, { symbol: all })), [1, 2, 4, 8, 32]);
  assertEquals(periods(filterProfile(profile, { symbol: () => false })), []);
  const { samples } = filterProfile(profile, { dso: (name) => name === "program" });
  assertEquals([samples.length, [...samples.time ?? []], [...samples.cpu ?? []]], [1, [30], [3]]);
  assertEquals([...samples.count, ...samples.thread, ...samples.event], [1, 1, 0]);
});

Deno.test("groupSamples: threads with more rows come first, of equals the first thread; empty groups are left out", () => {
  const builder = new ProfileBuilder({
    events: ["a", "b", "c"].map((name) => ({ name, unit: "count" } as const)),
  });
  const threads = [1, 2, 3].map((tid) => builder.thread(1, tid, `t${tid}`));
  for (const [event, thread] of [[2, 1], [0, 2], [0, 0], [2, 1], [2, 0], [0, 2], [0, 0]] as const) {
    builder.sample({ stack: -1, event, thread: threads[thread] ?? 0, period: 1 });
  }
  const groups = [...groupSamples(builder.profile())].map((
    { event, thread, rows },
  ) => [event, thread, [...rows]]);
  assertEquals(groups, [[0, 0, [2, 6]], [0, 2, [1, 5]], [2, 1, [0, 3]], [2, 0, [4]]]);
  assertEquals([...groupSamples(new ProfileBuilder({ events: [] }).profile())], []);
});
