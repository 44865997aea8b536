import { assertEquals, assertThrows } from "@std/assert";
import type { Item } from "../../../fixtures/synthesize/recording.ts";
import { at, psb, small } from "../testing.ts";
import { PtSideband, Switches } from "./pt_sideband.ts";

/** perf's time, in thousands of ticks (372 ns) after the first TSC packet. */
const after = (thousands: number) => at(1000 * thousands);

/** A record of a thread at a time. */
function record(
  ticks: number,
  tid: number,
  fields: { type: number; name: string; misc?: number; body: unknown },
  cpu = 0,
): Item {
  return {
    record: {
      misc: 0,
      ...fields,
      sample_id: { pid: tid, tid, time: after(ticks), cpu, identifier: 21n },
    } as Item["record"],
    event: 1,
  };
}

const OUT = 0x2000;

/** A SWITCH, or with another thread a SWITCH_CPU_WIDE. */
function change(ticks: number, tid: number, isOut: boolean, cpu: number, other?: number): Item {
  const misc = isOut ? OUT : 0;
  return other === undefined
    ? record(ticks, tid, { type: 14, name: "SWITCH", misc, body: {} }, cpu)
    : record(ticks, tid, {
      ...{ type: 15, name: "SWITCH_CPU_WIDE", misc },
      body: { next_prev_pid: other, next_prev_tid: other },
    }, cpu);
}

function map(
  ticks: number,
  pid: number,
  addr: bigint,
  filename: string,
  misc = 2,
  len = 0x1000n,
): Item {
  return record(ticks, pid, {
    ...{ type: 10, name: "MMAP2", misc },
    body: {
      ...{ pid, tid: pid, addr, len, pgoff: 0n, maj: 8, min: 1, ino: 42n, ino_generation: 0n },
      ...{ prot: 5, flags: 2, filename },
    },
  });
}

function comm(ticks: number, pid: number, tid: number, name: string, misc = 0): Item {
  return record(ticks, tid, { type: 3, name: "COMM", misc, body: { pid, tid, comm: name } });
}

function fork(
  ticks: number,
  [pid, tid]: [number, number],
  [ppid, ptid]: [number, number],
  misc = 0,
): Item {
  const body = { pid, ppid, tid, ptid, time: after(ticks) };
  return record(ticks, ptid, { type: 7, name: "FORK", misc, body });
}

async function sidebandOf(items: readonly Item[], cpus = 1) {
  const { trace } = await small({ cpus: Array.from({ length: cpus }, () => psb(0)), items });
  const { sideband } = trace;
  return {
    sideband,
    threads: sideband.threads,
    time: (ticks: number) => sideband.origin.since(after(ticks)),
    /** Threads that ran on a CPU, with their start in ticks. */
    ran: (cpu: number) => {
      const { first, count = 0, tid, time } = sideband.switches.get(cpu) ?? {};
      const ticks = (ns = NaN) => Math.round((ns - sideband.origin.since(at(0))) / 372);
      return [first, ...Array.from({ length: count }, (_, i) => `${tid?.[i]} ${ticks(time?.[i])}`)];
    },
  };
}

Deno.test("Switches: consecutive rows of one thread become one; rows beyond the first buffer are kept", () => {
  const switches = new Switches();
  for (let i = 0; i < 300; i++) switches.add(10 * i, i >> 1);
  assertEquals([switches.first, switches.count, switches.tid[149], switches.time[149]], [
    -1,
    150,
    149,
    2980,
  ]);
  assertEquals([switches.tid[0], switches.time[0], switches.time[1]], [0, 0, 20]);
});

Deno.test("PtSideband: CPU-wide switch records give the next thread in both directions, per-thread ones only switches in", async () => {
  // ITRACE_START of thread 7 on each CPU at -900 ticks.
  const { ran, sideband } = await sidebandOf([
    change(1000, 7, true, 0, 8),
    change(1000, 8, false, 0, 7),
    change(2000, 8, true, 0, 0),
    change(3000, 9, false, 0, 0),
    change(500, 5, true, 1, 6),
    change(800, 6, false, 1, 5),
    change(900, 4, true, 2),
    change(950, 3, false, 2),
    change(960, 3, false, -1),
  ], 2);
  assertEquals(ran(0), [-1, "7 -1", "8 1000", "0 2000", "9 3000"]);
  assertEquals(ran(1), [-1, "7 -1", "6 500"]);
  // A SWITCH record does not name the next thread.
  assertEquals(ran(2).slice(1), ["3 950"]);
  assertEquals([0, 1, 3].map((cpu) => sideband.firstThread(cpu)), [7, 7, -1]);
  // If switches are recorded, the process that perf started does not count as running.
  assertEquals(sideband.firstThread(3, 77), -1);
});

Deno.test("PtSideband: without switches, the first thread is the started one, or else the only other one", async () => {
  const { sideband } = await sidebandOf([]);
  assertEquals([sideband.firstThread(0, 5), sideband.firstThread(1, 5), sideband.firstThread(1)], [
    ...[7, 5, -1],
  ]);
  const start = (ticks: number, tid: number, cpu: number) =>
    record(ticks, tid, { type: 12, name: "ITRACE_START", body: { pid: tid, tid } }, cpu);
  // A record without a CPU counts for all CPUs; of several records, the first counts.
  const { sideband: all, ran } = await sidebandOf([
    start(10, 8, -1),
    start(20, 9, -1),
    start(30, 6, 3),
    start(40, 5, 3),
  ]);
  assertEquals([0, 1, 3].map((cpu) => all.firstThread(cpu)), [7, 8, 6]);
  assertEquals([ran(3), ran(-1)], [[-1, "6 30", "5 40"], [undefined]]);
  assertEquals(all.started.size, 3);
});

Deno.test("PtSideband: the first thread of a CPU is the one that its first switch leaves, or of an earlier record", async () => {
  const { sideband } = await sidebandOf([change(100, 9, false, 4, 6), change(200, 8, false, 5)]);
  // 9 came after 6; the thread before 8 is unknown, so 8 is the first.
  assertEquals([sideband.firstThread(4), sideband.firstThread(5)], [6, 8]);
  assertEquals([sideband.threads.pid(9, 0), sideband.threads.pid(77, 0)], [9, 77]);
});

Deno.test("PtSideband: counters below 64 of AUX_OUTPUT_HW_ID give events with time, CPU and thread", async () => {
  const counter = (ticks: number, hw_id: bigint, cpu = 0): Item =>
    record(ticks, 7, { type: 21, name: "AUX_OUTPUT_HW_ID", body: { hw_id } }, cpu);
  const { sideband, time } = await sidebandOf([
    counter(10, 0n),
    counter(20, 63n, 3),
    counter(30, 64n),
    counter(40, 1n << 32n),
  ]);
  assertEquals(sideband.counters, [
    { time: time(10), cpu: 0, tid: 7, counter: 0, event: 1 },
    { time: time(20), cpu: 3, tid: 7, counter: 63, event: 1 },
  ]);
});

Deno.test("PtSideband: a change of kernel code has the new bytes; freed memory has none", async () => {
  const poke = (ticks: number, addr: bigint, before: number[], bytes: number[]): Item =>
    record(ticks, 0, {
      ...{ type: 20, name: "TEXT_POKE", misc: 1 },
      body: {
        ...{ addr, old_len: before.length, new_len: bytes.length },
        old_bytes: Uint8Array.from(before),
        new_bytes: Uint8Array.from(bytes),
        padding: new Uint8Array((12 - (before.length + bytes.length) % 8) % 8),
      },
    });
  const { sideband, time } = await sidebandOf([
    poke(10, 0xffff_ffff_8100_0010n, [1, 2, 3], [4, 5]),
    poke(20, 0x1_0000_0000n, [], [9]),
    poke(30, 0x2_0000_0000n, [1], []),
  ]);
  assertEquals(sideband.pokes, [
    { time: time(10), low: 0x8100_0010 | 0, high: -1, bytes: Uint8Array.of(4, 5) },
    { time: time(20), low: 0, high: 1, bytes: Uint8Array.of(9) },
  ]);
});

Deno.test("PtSideband.threads: it throws until all records are read", async () => {
  const { trace } = await small({ cpus: [psb(0)] });
  assertThrows(() => new PtSideband(trace.aux).threads, TypeError, "not read");
});

Deno.test("PtThreads: the name and process of a thread are those at the given time", async () => {
  const { threads, time } = await sidebandOf([
    comm(100, 20, 20, "shell"),
    comm(200, 20, 21, "worker"),
    comm(300, 20, 20, "program"),
    comm(400, 30, 21, "moved"),
    comm(400, 30, 21, "again"),
  ]);
  const name = (tid: number, ticks: number) => threads.name(tid, time(ticks)) ?? "-";
  // Before its first name, a thread has that name.
  assertEquals([50, 100, 299, 300, 999].map((ticks) => name(20, ticks)), [
    ...["shell", "shell", "shell", "program", "program"],
  ]);
  // Of two names at one time, the last one counts.
  assertEquals([name(21, 399), name(21, 400), name(22, 400)], ["worker", "again", "-"]);
  assertEquals([20, 21, 30].map((tid) => threads.name(tid, Infinity)), [
    "program",
    "again",
    undefined,
  ]);
  // As in perf (machine__update_thread_pid), a thread stays in its process until a FORK.
  assertEquals([150, 200, 399, 400].map((ticks) => threads.pid(21, time(ticks))), [20, 20, 20, 20]);
  assertEquals([threads.pid(20, time(0)), threads.pid(99, time(0))], [20, 99]);
});

Deno.test("PtThreads: an address has the map at the time, else the last map there; a fork copies maps, a thread shares them", async () => {
  const { sideband, threads, time } = await sidebandOf([
    map(100, 20, 0x10_0000n, "/bin/first"),
    comm(150, 20, 20, "first"),
    fork(200, [30, 30], [20, 20]),
    map(300, 20, 0x10_0000n, "/bin/second"),
    fork(400, [20, 21], [20, 20]),
    map(500, 30, 0x20_0000n, "/bin/child"),
  ]);
  const path = (pid: number, ticks: number, address: number) => {
    const found = threads.map(threads.stateAt(pid, time(ticks)), 0, address);
    return found < 0 ? "-" : threads.names.text(threads.history.mapName(found));
  };
  assertEquals([100, 299, 300].map((ticks) => path(20, ticks, 0x10_0000)), [
    ...["/bin/first", "/bin/first", "/bin/second"],
  ]);
  // The child has the maps of its parent at the fork, and its own.
  assertEquals([250, 900].map((ticks) => path(30, ticks, 0x10_0fff)), ["/bin/first", "/bin/first"]);
  assertEquals([path(30, 500, 0x20_0000), path(20, 500, 0x20_0000)], ["/bin/child", "-"]);
  // Not yet mapped at that time: the mapping at the end.
  assertEquals([path(30, 210, 0x20_0000), path(30, 500, 0x20_1000), path(40, 500, 0x10_0000)], [
    ...["/bin/child", "-", "-"],
  ]);
  assertEquals([path(21, 100, 0x10_0000), path(21, 400, 0x10_0000)], [
    "/bin/second",
    "/bin/second",
  ]);
  assertEquals([threads.name(30, Infinity), threads.pid(21, 0), threads.pid(30, time(200))], [
    ...["first", 20, 30],
  ]);
  // Changes: the map of the trace's program, these maps, and the fork of a process.
  assertEquals(sideband.mapTimes.slice(1).map((ns) => ns - time(0) > 0), [true, true, true, true]);
});

Deno.test("PtThreads: a forked process has its parent's name until it gets its own, a thread its creator's", async () => {
  const { threads, time } = await sidebandOf([
    comm(100, 20, 20, "parent"),
    comm(110, 20, 21, "creator"),
    fork(200, [20, 22], [20, 21]),
    fork(300, [30, 30], [20, 20]),
    comm(400, 30, 30, "own"),
    fork(500, [40, 40], [30, 30]),
    comm(600, 50, 50, "fifty"),
    fork(700, [50, 50], [20, 20]),
  ]);
  assertEquals([22, 30, 40, 50].map((tid) => threads.name(tid, time(999))), [
    ...["creator", "own", "own", "parent"],
  ]);
  assertEquals([threads.name(30, time(350)), threads.name(50, time(650))], ["parent", "fifty"]);
});

Deno.test("PtThreads: after an exec, the new program's maps replace the old ones from its first map on", async () => {
  const exec = 0x2000;
  const { sideband, threads, time } = await sidebandOf([
    map(100, 20, 0x10_0000n, "/bin/old"),
    comm(200, 20, 20, "new", exec),
    map(300, 20, 0x20_0000n, "/bin/new"),
    map(350, 20, 0x30_0000n, "/lib/more"),
    comm(400, 20, 20, "renamed"),
  ]);
  assertEquals(sideband.execs, [{ time: time(300), pid: 20 }]);
  // As in perf, maps that are not replaced stay.
  const is = (ticks: number, address: number) =>
    threads.map(threads.stateAt(20, time(ticks)), 0, address) >= 0;
  assertEquals([is(150, 0x10_0000), is(300, 0x10_0000), is(300, 0x20_0000)], [true, true, true]);
  assertEquals(sideband.mapTimes.length, 4);
});

Deno.test("PtThreads: a kernel address gives the kernel's map at any time, in each process", async () => {
  const { threads, time } = await sidebandOf([
    map(100, -1, 0xffff_ffff_8100_0000n, "[kernel.kallsyms]_text", 1, 0x100_0000n),
  ]);
  const found = (pid: number, low: number) =>
    threads.map(threads.stateAt(pid, time(0)), -1, low | 0) >= 0;
  assertEquals([found(7, 0x8100_0000), found(99, 0x81ff_ffff), found(7, 0x8200_0000)], [
    ...[true, true, false],
  ]);
});

Deno.test("PtThreads: a thread id that is used again has the process, name and maps of its time", async () => {
  const { threads, time } = await sidebandOf([
    map(50, 20, 0x10_0000n, "/bin/old"),
    comm(100, 20, 20, "old"),
    fork(200, [20, 20], [30, 30]),
    map(300, 20, 0x20_0000n, "/bin/new"),
    comm(300, 20, 20, "new"),
  ]);
  const names = [100, 199, 250, 300].map((ticks) => threads.name(20, time(ticks)));
  assertEquals(names, ["old", "old", "new", "new"]);
  const is = (ticks: number, address: number) =>
    threads.map(threads.stateAt(20, time(ticks)), 0, address) >= 0;
  assertEquals([is(150, 0x10_0000), is(150, 0x20_0000)], [true, false]);
  assertEquals([is(210, 0x10_0000), is(210, 0x20_0000)], [false, true]);
});

Deno.test("PtThreads: a thread known from context switches has the process of its samples; an unknown thread is its own process", async () => {
  const of = (tid: number, pid: number): Item => {
    const item = change(10, tid, false, 0);
    return {
      ...item,
      record: { ...item.record, sample_id: { pid, tid, time: after(10), cpu: 0, identifier: 21n } },
    } as Item;
  };
  const { threads } = await sidebandOf([of(88, 80), of(9, -1)]);
  assertEquals([88, 9, 77, -1, 0].map((tid) => threads.pid(tid, 0)), [80, 9, 77, -1, 0]);
});
