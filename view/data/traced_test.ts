import { assertEquals } from "@std/assert";
import { bytesUpTo } from "../pt/growth.ts";
import { tracedBy } from "./traced.ts";

Deno.test("tracedBy: a buffer belongs to its CPU, or to its thread and process", () => {
  const growth = (size: number) => ({
    at: Float64Array.of(0, size),
    time: Float64Array.of(10, 20),
    size,
  });
  const found = tracedBy(
    [
      { ...growth(1), cpu: 3, tid: -1 },
      { ...growth(2), cpu: -1, tid: 71 },
      { ...growth(3), cpu: -1, tid: 72 },
      { ...growth(4), cpu: -1, tid: 80 },
      // A thread without samples.
      { ...growth(5), cpu: -1, tid: 99 },
      { ...growth(6), cpu: 3, tid: -1 },
    ],
    -5,
    [{ pid: 70, tid: 71 }, { pid: 70, tid: 72 }, { pid: 80, tid: 80 }],
    undefined,
  );
  const sizes = (by: keyof typeof found) =>
    [...found[by]].map(([id, buffers]) => [id, ...buffers.map(({ size }) => size)]);
  assertEquals(sizes("cpu"), [[3, 1, 6]]);
  assertEquals(sizes("thread"), [[71, 2], [72, 3], [80, 4], [99, 5]]);
  assertEquals(sizes("process"), [[70, 2, 3], [80, 4]]);
  assertEquals(found.cpu.get(3)?.[0]?.time, Float64Array.of(5, 15));
});

Deno.test("tracedBy: a CPU's buffer is split among the threads that ran there", () => {
  // 1,000 bytes in 100 ns on CPU 0, 300 in the same time on CPU 1.
  const buffer = (cpu: number, size: number) => ({
    at: Float64Array.of(0, size),
    time: Float64Array.of(0, 100),
    size,
    cpu,
    tid: -1,
  });
  const rows = [
    // Thread 71 of process 70 has CPU 0 from 10 to 30 and from 60 to 70, then CPU 1 from 80 to 90.
    [10, 71, 0, 0],
    [30, 71, 0, 1],
    [60, 71, 0, 0],
    [70, 71, 0, 1],
    [80, 71, 1, 0],
    [90, 71, 1, 1],
    // Thread 72 of the same process has CPU 1 from 20 to 60.
    [20, 72, 1, 0],
    [60, 72, 1, 1],
    // A thread that never left its CPU.
    [75, 73, 0, 0],
  ] as const;
  const column = (k: 0 | 1 | 2 | 3) => Int32Array.from(rows, (row) => row[k]);
  // Two buffers of one CPU: 1,000 bytes in total.
  const found = tracedBy([buffer(0, 400), buffer(1, 300), buffer(0, 600)], 0, [], {
    time: Float64Array.from(column(0)),
    pid: Int32Array.from(rows, () => 70),
    tid: column(1),
    cpu: column(2),
    out: Uint8Array.from(column(3)),
    more: false,
  });
  const all = (by: "thread" | "process", id: number, time: number) =>
    found[by].get(id)?.reduce((sum, growth) => sum + bytesUpTo(growth, time), 0);
  const at = [5, 20, 30, 45, 60, 65, 70, 85, 100];
  assertEquals(
    at.map((time) => all("thread", 71, time)),
    [0, 100, 200, 200, 200, 250, 300, 315, 330],
  );
  assertEquals(at.map((time) => all("thread", 72, time)), [0, 0, 30, 75, 120, 120, 120, 120, 120]);
  assertEquals(
    at.map((time) => all("process", 70, time)),
    [0, 100, 230, 275, 320, 370, 420, 435, 450],
  );
  assertEquals([found.thread.has(73), found.cpu.size], [false, 2]);
});
