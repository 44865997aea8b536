import { assertEquals } from "@std/assert";
import { ProfileBuilder } from "../collecting/profile_builder.ts";
import { threadNames } from "./thread_names.ts";

/** The names of a profile. Each row has process, thread, name, number of samples, and the event. */
function named(...rows: readonly (readonly [number, number, string, number, number?])[]) {
  const builder = new ProfileBuilder({
    events: [{ name: "cpu-clock", unit: "nanoseconds" }, { name: "page-faults", unit: "count" }],
  });
  for (const [pid, tid, comm, count, event = 0] of rows) {
    const thread = builder.thread(pid, tid, comm);
    if (count > 0) builder.sample({ stack: -1, event, thread, count, period: 1 });
  }
  const { processes, threads } = threadNames(builder.profile());
  return {
    processes: Object.fromEntries(processes.name),
    threads: Object.fromEntries(threads.name),
    formerly: [Object.fromEntries(processes.others), Object.fromEntries(threads.others)],
  };
}

Deno.test("threadNames: g++ that execs into cc1plus, with all samples as cc1plus, is cc1plus", () => {
  for (const [before, after] of [[0, 9], [1, 9], [4, 4]] as const) {
    assertEquals(named([5740, 5740, "g++", before], [5740, 5740, "cc1plus", after]), {
      processes: { 5740: "cc1plus" },
      threads: { 5740: "cc1plus" },
      formerly: [{ 5740: ["g++"] }, { 5740: ["g++"] }],
    });
  }
});

Deno.test("threadNames: a process that execs at its end keeps the name of most of its samples", () => {
  assertEquals(named([7, 7, "make", 9], [7, 7, "sh", 2], [7, 7, "rm", 1]), {
    processes: { 7: "make" },
    threads: { 7: "make" },
    formerly: [{ 7: ["sh", "rm"] }, { 7: ["sh", "rm"] }],
  });
});

Deno.test("threadNames: a renamed thread has its own name, the process that of its main thread", () => {
  // The main thread has few samples, of another event.
  const rows = [
    [29880, 29885, "app", 1],
    [29880, 29880, "app", 1, 1],
    [29880, 29885, "worker-5", 90],
  ] as const;
  assertEquals(named(...rows), {
    processes: { 29880: "app" },
    threads: { 29880: "app", 29885: "worker-5" },
    formerly: [{}, { 29885: ["app"] }],
  });
});

Deno.test("threadNames: samples of one name count together, those of all events as well", () => {
  const rows = [[7, 7, "old", 3], [7, 7, "new", 2], [7, 7, "new", 2, 1]] as const;
  assertEquals(named(...rows).processes, { 7: "new" });
});

Deno.test("threadNames: a process whose main thread has no sample has the name of most of its samples", () => {
  const rows = [[30, 31, "one", 4], [30, 32, "pool", 3], [30, 33, "pool", 3]] as const;
  assertEquals(named(...rows), {
    processes: { 30: "pool" },
    threads: { 31: "one", 32: "pool", 33: "pool" },
    formerly: [{ 30: ["one"] }, {}],
  });
});

Deno.test("threadNames: no thread, and threads that are not known", () => {
  assertEquals(named(), { processes: {}, threads: {}, formerly: [{}, {}] });
  assertEquals(named([-1, -1, ":-1", 2]).processes, { "-1": ":-1" });
});
