import { assertEquals } from "@std/assert";
import { IP_FLAG } from "../samples/pt_sample_rows.ts";
import { CallDepth } from "./pt_call_depth.ts";
import { CallEvents } from "./pt_call_events.ts";
import { CALL_END, CallLog, EndedCall } from "./pt_call_log.ts";
import { CALL_OP, CallOpReader, CallOps, OwnSums } from "./pt_call_ops.ts";
import { CallStack, PENDING, RESUMES } from "./pt_call_stack.ts";
import { CallTimeline, CallTree } from "./pt_call_tree.ts";
import { latencyBucket, LatencyTable } from "./pt_latency.ts";

/** A finished call of a place. */
function ended(
  place: number,
  since: number,
  end: number,
  insns = 1,
  kind: number = CALL_END.RETURNED,
): EndedCall {
  return Object.assign(new EndedCall(kind, place, true), { since, end, insns });
}

/** A log whose rows are known if `isKnown`: places 1 and 2 are row 0, place 3 does not count. */
function log(isKnown: () => boolean, from = -Infinity, to = Infinity, own?: OwnSums) {
  const latency = new LatencyTable();
  const rows = {
    resolve: () => {},
    of: (place: number) => isKnown() ? place === 3 ? -1 : place <= 2 ? 0 : place : undefined,
  };
  return { latency, log: new CallLog({ rows, latency, from, to, own }) };
}

function stats(latency: LatencyTable, row: number): unknown[] {
  const { calls, open, time, insns, slowest } = latency.of(row) ?? {};
  return [
    calls,
    open,
    time,
    insns,
    slowest?.map(({ duration, time, tid }) => `${tid}: ${duration} at ${time}`),
  ];
}

Deno.test("CallLog: a recursive call counts, but its time and instructions are only in the outer call", () => {
  for (const late of [false, true]) {
    let isKnown = !late;
    const { latency, log: calls } = log(() => isKnown);
    const [a, b] = [calls.thread(7), calls.thread(8)];
    assertEquals([a, b], [0, 1]);
    calls.call(a, 1);
    calls.call(b, 2);
    // Place 2 is the same function as place 1.
    calls.call(a, 2);
    calls.call(a, 3);
    calls.call(a, 5);
    calls.end(a, ended(5, 120, 130, 4));
    calls.end(a, ended(3, 115, 135, 6));
    calls.end(a, ended(2, 110, 150, 10));
    calls.end(a, ended(1, 100, 200, 30));
    calls.end(b, ended(2, 300, 340, 7, CALL_END.PASSED));
    if (late) assertEquals(latency.of(0), undefined);
    isKnown = true;
    calls.settle();
    // 100 of 7, without the 40 of the inner call; 40 of 8, whose return was not seen.
    assertEquals(stats(latency, 0), [3, 1, 140, 37, ["7: 100 at 100", "7: 40 at 110"]]);
    assertEquals(stats(latency, 5), [1, 0, 10, 4, ["7: 10 at 120"]]);
    assertEquals(latency.of(3), undefined);
    assertEquals([calls.isOpen(a, 0), calls.isOpen(a, 99)], [false, false]);
  }
});

Deno.test("CallLog.settle: calls after one of an unknown place are counted when the place is known, in order", () => {
  const known = new Set([1]);
  const latency = new LatencyTable();
  const rows = { resolve: () => {}, of: (place: number) => known.has(place) ? place : undefined };
  const calls = new CallLog({ rows, latency, from: -Infinity, to: Infinity });
  const thread = calls.thread(7);
  calls.call(thread, 1);
  assertEquals(calls.isOpen(thread, 1), true);
  calls.call(thread, 2);
  calls.call(thread, 1);
  calls.end(thread, ended(1, 30, 40));
  assertEquals(latency.of(1), undefined);
  known.add(2);
  calls.settle();
  // The inner call is part of the outer one, which is still open.
  assertEquals([stats(latency, 1).slice(0, 4), latency.of(2)], [[1, 0, 0, 0], undefined]);
  calls.end(thread, ended(2, 20, 50));
  calls.end(thread, ended(1, 10, 60, 5));
  assertEquals([latency.of(1)?.time, latency.of(1)?.insns, latency.of(2)?.time], [50, 5, 30]);
  assertEquals(calls.isOpen(thread, 1), false);
});

Deno.test("CallLog: more calls and rows than the first buffers hold are all counted", () => {
  let isKnown = false;
  const { latency, log: calls } = log(() => isKnown);
  const thread = calls.thread(7);
  for (let i = 0; i < 1000; i++) calls.call(thread, 10 + i);
  for (let i = 999; i >= 0; i--) calls.end(thread, ended(10 + i, i, 2000 + i, i));
  isKnown = true;
  calls.settle();
  for (const i of [0, 63, 64, 255, 256, 999]) {
    assertEquals(stats(latency, 10 + i), [1, 0, 2000, i, [`7: 2000 at ${i}`]]);
  }
  calls.settle();
  assertEquals(latency.of(10)?.calls, 1);
});

Deno.test("CallLog: with a time filter, a call has its time within the filter; excluded calls have none", () => {
  const { latency, log: calls } = log(() => true, 100, 200);
  const thread = calls.thread(7);
  const one = (since: number, end: number, counts = true) => {
    calls.call(thread, 1);
    calls.end(thread, Object.assign(ended(1, since, end, 3), { counts }));
    const { calls: n, time, insns } = latency.of(0) ?? {};
    return [n, time, insns];
  };
  assertEquals(one(50, 150), [1, 50, 3]);
  assertEquals(one(150, 250), [2, 100, 6]);
  assertEquals(one(50, 250), [3, 200, 9]);
  // Its end is outside of the part, so neither the call nor its instructions count.
  assertEquals(one(120, 220, false), [3, 280, 9]);
  assertEquals(one(20, 90), [4, 280, 12]);
  assertEquals(one(210, 290), [5, 280, 15]);
  // Unknown times.
  assertEquals(one(-1, 150), [6, 280, 18]);
  assertEquals(one(150, -1), [7, 280, 21]);
  assertEquals(ended(1, 0, 0).duration, 0);
});

Deno.test("CallLog.handOver: it closes the thread's calls, and keeps their sums under the given owner", () => {
  for (const late of [false, true]) {
    let isKnown = !late;
    const own = new OwnSums();
    const { latency, log: calls } = log(() => isKnown, -Infinity, Infinity, own);
    const thread = calls.thread(7);
    calls.call(thread, 1);
    calls.call(thread, 7);
    calls.end(thread, ended(7, 10, 15, 2));
    calls.handOver(thread, 40);
    calls.call(thread, 1);
    calls.end(thread, ended(1, 20, 50, 8));
    calls.handOver(thread, 41);
    calls.handOver(thread, 42);
    isKnown = true;
    calls.settle();
    assertEquals([...own.take()], [40, 7, 5, 2, 41, 0, 30, 8]);
    assertEquals([latency.of(0)?.calls, latency.of(0)?.time], [1, 0]);
    assertEquals(calls.isOpen(thread, 0), false);
    assertEquals([...own.take()], []);
  }
});

Deno.test("OwnSums.end: sums of a row add up until end(owner), then begin at 0 for the next owner", () => {
  const own = new OwnSums();
  own.addOwn(500, 10, 1);
  own.addOwn(2, 3, 4);
  own.addOwn(500, 5, 6);
  own.end(1);
  own.addOwn(500, 7, 0);
  own.end(2);
  own.end(3);
  assertEquals([...own.take()], [1, 500, 15, 7, 1, 2, 3, 4, 2, 500, 7, 0]);
  for (let number = 0; number < 100; number++) {
    own.addOwn(number, number, 1);
    own.end(number);
  }
  const words = own.take();
  assertEquals([words.length, [...words.subarray(-4)]], [400, [99, 99, 99, 1]]);
});

Deno.test("CallEvents: join adds the taken rows with thread, CPU and depth; drop removes the first rows", () => {
  const events = new CallEvents();
  for (let i = 0; i < 600; i++) {
    const row = events.add(i % 3, 7, 1, i % 5, i, 10 * i);
    assertEquals(row, i);
    if (i % 3 !== 0) {
      events.duration[row] = i;
      events.insns[row] = 2 * i;
    }
  }
  const placeOf = Int32Array.from({ length: 600 }, (_, i) => i + 1000);
  const part = events.take();
  assertEquals([events.count, part.kind.length, part.cycles.length], [0, 600, 0]);
  const other = new CallEvents();
  other.add(0, 1, 2, 3, 4, 5);
  other.cycles[1] = 77;
  other.join(part, { from: 10, to: 600, tid: 9, cpu: -1, depth: 100 }, placeOf);
  const row = (i: number) => [
    ...[other.kind[i], other.tid[i], other.cpu[i], other.depth[i], other.place[i], other.time[i]],
    ...[other.duration[i], other.insns[i], other.cycles[i]],
  ];
  assertEquals(other.count, 591);
  assertEquals(row(0), [0, 1, 2, 3, 4, 5, -1, 0, 0]);
  // Row 10: 10 % 3, 10 % 5 and 100 around it.
  assertEquals(row(1), [1, 9, -1, 100, 1010, 100, 10, 20, 0]);
  assertEquals(row(590), [2, 9, -1, 104, 1599, 5990, 599, 1198, 0]);
  other.drop(590);
  assertEquals([other.count, row(0)], [1, [2, 9, -1, 104, 1599, 5990, 599, 1198, 0]]);
  // A row added in its place has no data of the dropped one.
  other.clear();
  other.add(1, 2, 3, 4, 5, 6);
  assertEquals([other.count, row(0)], [1, [1, 2, 3, 4, 5, 6, -1, 0, 0]]);
});

Deno.test("CallEvents.take: the part has core clocks if any row has them", () => {
  const events = new CallEvents();
  events.add(1, 7, 0, 0, 0, 1);
  events.cycles[events.add(1, 7, 0, 0, 0, 2)] = 5;
  const part = events.take();
  assertEquals([...part.cycles], [0, 5]);
  const other = new CallEvents();
  other.join(part, { from: 1, to: 2, tid: 1, cpu: 1, depth: 0 }, Int32Array.of(0));
  assertEquals([other.count, other.cycles[0], other.time[0]], [1, 5, 2]);
});

Deno.test("CallStack.returnsTo: it counts the frames up to the innermost one that returns to the address", () => {
  const stack = new CallStack(7, 3);
  assertEquals([stack.tid, stack.number, stack.returnsTo(1, 0)], [7, 3, 0]);
  for (let i = 0; i < 100; i++) {
    stack.insns = 10 * i;
    stack.cycles = 3 * i;
    stack.push(i, i % 50, 1, i);
  }
  assertEquals([stack.depth, stack.peak, stack.place[99], stack.since[99]], [100, 100, 99, 99]);
  assertEquals([stack.sinceInsns[99], stack.sinceCycles[99], stack.returnHigh[99]], [990, 297, 1]);
  // 49 is the last one, 48 the one before. The upper half of the address counts.
  assertEquals([stack.returnsTo(49, 1), stack.returnsTo(48, 1), stack.returnsTo(0, 1)], [1, 2, 50]);
  assertEquals([stack.returnsTo(49, 0), stack.returnsTo(50, 1)], [0, 0]);
  stack.depth = 10;
  assertEquals([stack.returnsTo(0, 1), stack.peak], [10, 100]);
  stack.forgetOldest();
  assertEquals([stack.depth, stack.place[0], stack.place[4], stack.sinceInsns[0]], [5, 5, 9, 50]);
  assertEquals([stack.returnLow[0], stack.since[1], stack.sinceCycles[4]], [5, 6, 27]);
});

Deno.test("CallStack.returnsTo: only the innermost 4096 frames are searched", () => {
  const stack = new CallStack(7, 0);
  for (let i = 0; i < 4095; i++) stack.push(i, i, 0, 0);
  assertEquals([stack.isOpenBelow, stack.returnsTo(0, 0)], [true, 4095]);
  stack.push(1, 5000, 0, 0);
  assertEquals([stack.isOpenBelow, stack.returnsTo(0, 0)], [false, 4096]);
  stack.push(1, 5000, 0, 0);
  assertEquals([stack.returnsTo(0, 0), stack.returnsTo(1, 0)], [0, 4096]);
});

Deno.test("CallStack: empty() forgets calls and depths of call sites; restart() also pending state and counts", () => {
  const stack = new CallStack(7, 0);
  assertEquals([stack.depthOf(0), stack.depthOf(9)], [-1, -1]);
  stack.noteSite(9, 4);
  stack.noteSite(0, 0);
  assertEquals([stack.depthOf(0), stack.depthOf(9), stack.depthOf(1)], [0, 4, -1]);
  stack.sites.push(9);
  stack.push(1, 2, 3, 4);
  stack.empty();
  assertEquals([stack.depthOf(0), stack.depthOf(9), stack.depth, stack.peak, stack.sites], [
    ...[-1, -1, 0, 0, []],
  ]);
  Object.assign(stack, { base: 5, noted: 6, insns: 7, cycles: 8, pending: 0, resumes: 0 });
  stack.noteSite(2, 1);
  stack.push(1, 2, 3, 4);
  stack.restart();
  const { base, noted, insns, cycles, pending, resumes, depth } = stack;
  assertEquals([base, noted, insns, cycles, depth, stack.depthOf(2)], [-1, 0, 0, 0, 0, -1]);
  assertEquals([pending, resumes], [PENDING.UNKNOWN, RESUMES.UNKNOWN]);
});

Deno.test("CallOpReader: it reads operations in order, each after the rows of the calls before it", () => {
  const events = { count: 0 };
  const ops = new CallOps(events);
  const stack = new CallStack(7, 0);
  Object.assign(stack, { insns: 5, cycles: 6 });
  ops.add(CALL_OP.STEP, stack, 7, 0, 0, 100);
  events.count = 3;
  Object.assign(stack, { insns: 15, cycles: 16 });
  stack.push(40, 0x1005, -1, 77);
  Object.assign(stack, { insns: 25, cycles: 26 });
  ops.addSums(stack, 9);
  ops.addFrame(stack, 0);
  ops.add(CALL_OP.GO_ON, stack, 1, 0x2000, 3, 200);
  ops.add(CALL_OP.LEFT, stack);
  const reader = new CallOpReader(ops.take());
  const read: number[][] = [];
  const following: number[] = [reader.following];
  while (reader.next()) {
    const { kind, low, high, time, insns, cycles, a, b } = reader;
    read.push([kind, low, high, time, insns, cycles, a, b]);
    following.push(reader.following);
  }
  assertEquals(read, [
    [CALL_OP.STEP, 0, 0, 100, 5, 6, 7, 0],
    [CALL_OP.ROWS, 0, 0, -1, 25, 26, 3, 0],
    // At most one call was open.
    [CALL_OP.SUMS, 0, 0, -1, 25, 26, 9, 1],
    // The numbers are those at the time of the call.
    [CALL_OP.FRAME, 0x1005, -1, 77, 15, 16, 40, 0],
    [CALL_OP.GO_ON, 0x2000, 3, 200, 25, 26, 1, 0],
    [CALL_OP.LEFT, 0, 0, -1, 25, 26, 0, 0],
  ]);
  assertEquals(following, [...read.map(([kind]) => kind ?? -2), -1]);
  // Rows count from 0 again.
  events.count = 2;
  for (let i = 0; i < 100; i++) ops.add(CALL_OP.RETURN, stack, i);
  const again = new CallOpReader(ops.take());
  again.next();
  assertEquals([again.kind, again.a], [CALL_OP.ROWS, 2]);
  let last = -1;
  while (again.next()) last = again.a;
  assertEquals([last, ops.take().length, ops.count], [99, 0, 0]);
});

const { BRANCH, CALL, RETURN, TRACE_BEGIN, TRACE_END } = IP_FLAG;

Deno.test("CallDepth: a call pushes its return address; a return there, or tracing that begins there, ends it", () => {
  const calls = new CallDepth();
  const branch = (flags: number, from: number, to: number, size = 5) => {
    calls.branch(BRANCH | flags, from, 0, size, to, 0);
    return [calls.depth, calls.count, calls.pushed];
  };
  assertEquals(branch(CALL, 0x1000, 0x2000), [1, 1, true]);
  assertEquals([calls.low[0], calls.place[0]], [0x1005, -1]);
  calls.setPlace(9);
  assertEquals(calls.place[0], 9);
  assertEquals(branch(CALL, 0x2000, 0x3000, 2), [2, 2, true]);
  // A jump, and a call of the next instruction, which only pushes its address.
  assertEquals(branch(0, 0x3000, 0x3100), [2, 2, false]);
  assertEquals(branch(CALL, 0x3100, 0x3105), [2, 2, false]);
  // A return to an unknown address ends no call.
  assertEquals(branch(RETURN, 0x3110, 0x9999), [3, 2, false]);
  assertEquals(branch(RETURN, 0x3110, 0), [3, 2, false]);
  assertEquals(branch(RETURN, 0x3110, 0x2002), [2, 1, false]);
  assertEquals(branch(CALL, 0x2002, 0x3000), [2, 2, true]);
  // longjmp leaves the inner call without a return.
  assertEquals(branch(RETURN, 0x3000, 0x1005), [1, 0, false]);
  calls.clear();
  assertEquals([calls.depth, calls.count], [0, 0]);
});

Deno.test("CallDepth: a call to untraced code ends when tracing begins again", () => {
  const calls = new CallDepth();
  const branch = (flags: number, from: number, to: number) => {
    calls.branch(BRANCH | flags, from, 0, 2, to, 0);
    return calls.count;
  };
  assertEquals(branch(CALL, 0x1000, 0x2000), 1);
  // Without a target, nothing is pushed.
  assertEquals(branch(CALL | TRACE_END, 0x2000, 0), 1);
  assertEquals(branch(CALL | TRACE_END, 0x2000, 0x8000), 2);
  assertEquals(branch(TRACE_BEGIN, 0, 0x5000), 1);
  assertEquals(branch(CALL | TRACE_END, 0x2000, 0x8000), 2);
  // The call that returns there has ended already, and the other call stays.
  assertEquals(branch(TRACE_BEGIN, 0, 0x2002), 1);
  assertEquals(branch(TRACE_BEGIN, 0, 0x2002), 1);
});

Deno.test("CallDepth: return addresses carry into the upper half, and both halves are compared", () => {
  const calls = new CallDepth();
  calls.branch(BRANCH | CALL, 0xffff_fffe | 0, 4, 5, 0x10, 0);
  assertEquals([calls.low[0], calls.high[0]], [3, 5]);
  calls.branch(BRANCH | CALL, 0xffff_fff0 | 0, 4, 0x10, 0, 5);
  // The address of the next instruction is 5 and 0.
  assertEquals(calls.count, 1);
  calls.branch(BRANCH | CALL, 0x10, 4, 5, 0x15, 3);
  assertEquals(calls.count, 2);
  calls.branch(BRANCH | RETURN, 0, 0, 1, 3, 4);
  assertEquals(calls.count, 2);
  calls.branch(BRANCH | RETURN, 0, 0, 1, 3, 5);
  assertEquals(calls.count, 0);
  for (let i = 0; i < 200; i++) calls.branch(BRANCH | CALL, 16 * i, 0, 5, 0x100_0000, 0);
  assertEquals([calls.count, calls.low[199], calls.place[199]], [200, 16 * 199 + 5, -1]);
});

Deno.test("CallTree, CallTimeline: after the buffers grow, nodes and rows keep their indices and sums", () => {
  const tree = new CallTree();
  const timeline = new CallTimeline();
  let node = -1;
  for (let i = 0; i < 1000; i++) {
    node = tree.node(i % 3 === 0 ? -1 : node, i, i % 7);
    tree.addTo(node, i, 2);
    timeline.add(i % 7, node, i, i + 0.5);
  }
  assertEquals([tree.count, timeline.count, node], [1000, 1000, 999]);
  for (const i of [0, 255, 256, 511, 512, 999]) {
    assertEquals([tree.parent[i], tree.place[i], tree.tid[i]], [
      i % 3 === 0 ? -1 : i - 1,
      i,
      i % 7,
    ]);
    assertEquals([tree.insns[i], tree.time[i]], [i, 2 * i]);
    assertEquals([timeline.tid[i], timeline.node[i], timeline.from[i], timeline.to[i]], [
      ...[i % 7, i, i, i + 0.5],
    ]);
  }
  tree.addTo(5, 1, 2 ** 37);
  assertEquals(tree.isExact, false);
});

Deno.test("latencyBucket: negative durations are in the first bucket, too long ones in the last", () => {
  // 64 powers of two with four steps each.
  assertEquals([-1, 0, 0.9, 1, 7.9, 8, 9, 10, 15, 16, 2 ** 62, 2 ** 80].map(latencyBucket), [
    ...[0, 0, 0, 1, 7, 8, 8, 9, 11, 12, 8 + 4 * 59, 255],
  ]);
});
