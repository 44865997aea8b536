import { assertEquals } from "@std/assert";
import { ProfileBuilder } from "../collecting/profile_builder.ts";
import { FloatColumn, IntColumn } from "./columns.ts";
import { FrameTable } from "./frame_table.ts";
import { NodeTable } from "./node_table.ts";
import {
  FUNCTION_KIND,
  functionName,
  functionNames,
  isTimeWeight,
  markedName,
  profileWeight,
  totals,
} from "./profile.ts";
import { ThreadTable } from "./thread_table.ts";

Deno.test("IntColumn, FloatColumn: values beyond the first buffer are kept", () => {
  const ints = new IntColumn();
  const floats = new FloatColumn();
  for (let i = 0; i < 200; i++) {
    ints.push(i - 100);
    floats.push(i / 2);
  }
  floats.add(199, 3);
  assertEquals([ints.length, ints.array().length, ints.array()[0], ints.array()[199]], [
    ...[200, 200, -100, 99],
  ]);
  assertEquals([floats.length, floats.array()[1], floats.array()[199]], [200, 0.5, 102.5]);
});

Deno.test("NodeTable: many nodes keep their indices, and find gives -1 for unknown ones", () => {
  const nodes = new NodeTable();
  const count = 5000;
  for (let i = 0; i < count; i++) assertEquals(nodes.node(i % 7 === 0 ? -1 : i - 1, i), i);
  for (let i = 0; i < count; i++) {
    assertEquals(nodes.node(i % 7 === 0 ? -1 : i - 1, i), i);
    assertEquals(nodes.find(i % 7 === 0 ? -1 : i - 1, i), i);
  }
  assertEquals([nodes.length, nodes.find(3, 3), nodes.find(-1, 1)], [count, -1, -1]);
  assertEquals([...nodes.parents().subarray(0, 3)], [-1, 0, 1]);
  assertEquals([nodes.items()[4999], nodes.items().length, nodes.parents().length], [
    ...[4999, count, count],
  ]);
});

Deno.test("FrameTable: equal functions and frames have equal indices; another object, kind, file or line has its own", () => {
  const table = new FrameTable();
  const bare = table.frame(0, 0, "f");
  const line = table.frame(0, 0, "f", "a.c", 7);
  assertEquals([bare, line, table.frame(0, 0, "f"), table.frame(0, 0, "f", "a.c", 7)], [
    0,
    1,
    0,
    1,
  ]);
  assertEquals([
    table.frame(0, 0, "f", "a.c", 8),
    table.frame(0, 0, "f", "b.c", 7),
    table.frame(0, 0, "f", undefined, 7),
    table.frame(1, 0, "f"),
    table.frame(0, 4, "f"),
    table.frame(0, 0, "g", "b.c", 7),
    table.frame(0, 0, "f", "b.c"),
  ], [2, 3, 4, 5, 6, 7, 8]);
  const { files, functions, frames } = table.columns();
  assertEquals(files, ["a.c", "b.c"]);
  assertEquals([functions.name, [...functions.object], [...functions.kind]], [
    ["f", "f", "f", "g"],
    [0, 1, 0, 0],
    [0, 0, 4, 0],
  ]);
  assertEquals([...frames.function], [0, 0, 0, 0, 0, 1, 2, 3, 0]);
  assertEquals([...frames.file], [-1, 0, 0, 1, -1, -1, -1, 1, 1]);
  assertEquals([...frames.line], [0, 7, 8, 7, 7, 0, 0, 7, 0]);
});

Deno.test("ThreadTable: another process, thread or name is another thread; a name equal to the tid is no name", () => {
  const threads = new ThreadTable();
  const all = [
    threads.add(7, 7, "main"),
    threads.add(7, 8, "worker"),
    threads.add(7, 8),
    threads.add(7, 8, ":8"),
    threads.add(7, 7, "renamed"),
    threads.add(9, 8, "worker"),
    threads.add(-1, -1, ":8"),
  ];
  assertEquals(all, [0, 1, 2, 2, 3, 4, 5]);
  assertEquals([threads.add(7, 8, "worker"), threads.add(9, 8, "worker")], [1, 4]);
  assertEquals(threads.length, 6);
  assertEquals(threads.toJSON().map(({ pid, tid, comm }) => `${pid} ${tid} ${comm}`), [
    ...["7 7 main", "7 8 worker", "7 8 :8", "7 7 renamed", "9 8 worker", "-1 -1 :8"],
  ]);
  assertEquals([threads.at(6), threads.at(-1), threads.at(5)?.comm], [undefined, undefined, ":8"]);
  assertEquals([...threads.numbers(({ tid }) => tid * 2)], [14, 16, 16, 14, 16, -2]);
});

Deno.test("ProfileBuilder: places, stacks, objects and samples give the columns of a profile", () => {
  const builder = new ProfileBuilder({
    events: [{ name: "cycles", unit: "count" }, { name: "cpu-clock", unit: "nanoseconds" }],
    title: "perf record",
  });
  const libc = { name: "libc.so.6", path: "/lib/libc.so.6" };
  assertEquals([builder.object(libc), builder.object({ ...libc })], [0, 0]);
  assertEquals(builder.object({ ...libc, buildId: "ab" }), 1);
  assertEquals(builder.object({ name: "[vdso]", path: "[vdso]" }), 2);
  const bare = builder.place(0, 16, []);
  const inlined = builder.place(1, 32, [
    { name: "inner", kind: FUNCTION_KIND.INLINED, file: "a.c", line: 3 },
    { name: "outer" },
  ]);
  const other = builder.place(2, 1, []);
  const unmapped = builder.place(-1, 5, []);
  const root = builder.stack(-1, inlined);
  assertEquals([root, builder.stack(root, bare), builder.stack(-1, inlined)], [0, 1, 0]);
  const thread = builder.thread(7, 8, "a");
  builder.sample({ stack: 1, event: 0, thread, period: 100, time: 50, cpu: 3 });
  builder.sample({ stack: -1, event: 1, thread, period: 7, count: 4, time: 20 });
  const profile = builder.profile();
  assertEquals([bare, inlined, other, unmapped], [0, 1, 2, 3]);
  assertEquals(functionNames(profile), ["[libc.so.6]", "inner", "outer", "[vdso]", "[unknown]"]);
  assertEquals(functionName(profile, 99), "[unknown]");
  assertEquals([...profile.places.start], [0, 1, 3, 4, 5]);
  assertEquals([...profile.places.object, ...profile.places.address], [0, 1, 2, -1, 16, 32, 1, 5]);
  assertEquals([...profile.places.frames].length, 5);
  assertEquals([...profile.stacks.parent, ...profile.stacks.place], [-1, 0, 1, 0]);
  const { samples } = profile;
  assertEquals([samples.length, [...samples.stack], [...samples.event]], [2, [1, -1], [0, 1]]);
  assertEquals([[...samples.time ?? []], [...samples.cpu ?? []]], [[50, 20], [3, -1]]);
  assertEquals([profile.span, profile.title, profile.trust, profile.epoch], [
    [20, 50],
    "perf record",
    "",
    0n,
  ]);
  assertEquals(totals(profile), [{ samples: 1, period: 100 }, { samples: 4, period: 7 }]);
  const untimed = new ProfileBuilder({ events: [] });
  untimed.sample({ stack: -1, event: 5, thread: 0, period: 1 });
  assertEquals(["time" in untimed.profile().samples, untimed.profile().span], [false, undefined]);
  assertEquals(totals(untimed.profile()), []);
});

Deno.test("profileWeight, markedName: names of weights and of functions", () => {
  assertEquals(["period", "latency", "off-cpu", "wall", "x", null].map(profileWeight), [
    ...["period", "latency", "off-cpu", "wall", undefined, undefined],
  ]);
  assertEquals((["period", "latency", "off-cpu", "wall"] as const).map(isTimeWeight), [
    ...[false, false, true, true],
  ]);
  assertEquals([markedName({ name: "f" }), markedName({ name: "f", verified: false })], [
    "f",
    "f?",
  ]);
});

Deno.test("totals: rows beyond the length and of no event do not count, counts and periods add up", () => {
  const samples = {
    length: 3,
    stack: Int32Array.of(-1, -1, -1, -1),
    event: Int32Array.of(0, 1, 9, 0),
    thread: new Int32Array(4),
    count: Float64Array.of(2, 3, 5, 7),
    period: Float64Array.of(2 ** 53 - 1, 0.5, 1, 1),
  };
  const events = ["a", "b"].map((name) => ({ name, unit: "count" } as const));
  assertEquals(totals({ events, samples }), [
    { samples: 2, period: 2 ** 53 - 1 },
    { samples: 3, period: 0.5 },
  ]);
});

Deno.test("functionName: code without a name is called by its object, in brackets once", () => {
  const builder = new ProfileBuilder({ events: [] });
  const object = (name: string) => builder.object({ name, path: `/x/${name}` });
  for (const name of ["libc.so.6", "[vdso]"]) builder.place(object(name), 1, []);
  builder.place(object("libc.so.6"), 2, [{ name: "read" }]);
  builder.place(-1, 3, [{ name: "known" }]);
  const profile = builder.profile();
  assertEquals([-1, 0, 1, 2, 3, 4].map((number) => functionName(profile, number)), [
    ...["[unknown]", "[libc.so.6]", "[vdso]", "read", "known", "[unknown]"],
  ]);
});
