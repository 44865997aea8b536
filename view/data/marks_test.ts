import { assertEquals } from "@std/assert";
import { type Marks, marksBy, selectedMarks, sortedMarks } from "./marks.ts";

/** Two threads of process 7, and one of process 9. */
const MARKS: Marks = {
  time: Float64Array.of(10, 20, 30, 40),
  pid: Int32Array.of(7, 7, 9, 7),
  tid: Int32Array.of(7, 8, 9, 7),
  cpu: Int32Array.of(0, 1, 1, -1),
  name: Int32Array.of(0, 1, 0, 1),
  names: ["sched:sched_switch", "COMM"],
  text: ["b", "a", "c", "a"],
  left: 0,
};

Deno.test("selectedMarks: marks are selected by time, process, thread, CPU, name and search, in order of time", () => {
  const rows = (
    ...args: [Parameters<typeof selectedMarks>[1], Parameters<typeof selectedMarks>[2]?]
  ) => [...selectedMarks(MARKS, ...args)];
  assertEquals(rows({}), [0, 1, 2, 3]);
  assertEquals(rows({ from: 20, to: 40 }), [1, 2]);
  assertEquals(rows({ pids: [9], tids: [8] }), [1, 2]);
  assertEquals(rows({ cpus: [1] }), [1, 2]);
  assertEquals(rows({}, { only: "COMM" }), [1, 3]);
  assertEquals(rows({}, { only: "none" }), []);
  assertEquals(rows({ pids: [7] }, { matched: Uint8Array.of(0, 1, 1, 1) }), [1, 3]);
});

Deno.test("sortedMarks: marks are sorted by each column in both directions, equal ones by time", () => {
  const all = Int32Array.of(0, 1, 2, 3);
  const sorted = (
    by: "time" | "thread" | "event" | "text",
    up: boolean,
  ) => [...sortedMarks(all, MARKS, { by, up, threadName: (tid) => tid === 9 ? "a" : "b" })];
  assertEquals([sorted("time", true), sorted("time", false)], [[0, 1, 2, 3], [3, 2, 1, 0]]);
  assertEquals([sorted("text", true), sorted("text", false)], [[1, 3, 0, 2], [2, 0, 1, 3]]);
  assertEquals(sorted("event", true), [1, 3, 0, 2]);
  assertEquals([sorted("thread", true), sorted("thread", false)], [[2, 0, 3, 1], [1, 0, 3, 2]]);
});

Deno.test("marksBy: each process, thread or CPU has its own marks", () => {
  const rows = Int32Array.of(0, 2, 3);
  assertEquals([...marksBy(MARKS, "process", rows)], [[7, [0, 3]], [9, [2]]]);
  assertEquals([...marksBy(MARKS, "cpu", rows)], [[0, [0]], [1, [2]], [-1, [3]]]);
});
