import { assertEquals } from "@std/assert";
import { at, BASE, ip, psb, small, tnt, tsc } from "../testing.ts";
import { type ItraceOptions, parseItrace } from "./itrace.ts";
import { MetPlaces } from "./met_places.ts";
import { AddedLists } from "./pt_added_lists.ts";
import { IP_FLAG, PtSampleRows, SAMPLE_WORD } from "./pt_sample_rows.ts";
import { SampleStacks } from "./pt_sample_stacks.ts";
import { address, listsText, sampleRows } from "./testing.ts";

const CALL = IP_FLAG.BRANCH | IP_FLAG.CALL;
const RETURN = IP_FLAG.BRANCH | IP_FLAG.RETURN;
/** High half of an address of the kernel. */
const KERNEL = -1;

/** Stacks, with functions to apply branches and to read lists. */
async function stacks(letters: string, hasKernel = false) {
  const { trace } = await small({ cpus: [psb(0)] });
  const { code } = trace;
  const itrace: ItraceOptions = parseItrace(letters);
  const made = new SampleStacks(code, itrace, hasKernel);
  const space = code.space(7, 0);
  const rows = new PtSampleRows();
  return {
    made,
    rows,
    /** A branch from an instruction of 5 bytes; halves of addresses, high first. */
    branch: (flags: number, from: [number, number], to: [number, number], thread = 7, trace = 0) =>
      made.branch(thread, trace, flags, space, {
        ...{ fromHigh: from[0], fromLow: from[1], fromPlace: -1, size: 5 },
        ...{ toHigh: to[0], toLow: to[1], toPlace: -1 },
      }),
    lists: (isKernel = false, thread = 7, data: number[] = []) =>
      listsText(rows, made.lists(rows, thread, isKernel, data)),
    added: (high: number, low: number, thread = 7) =>
      listsText(rows, made.added(rows, thread, high, low)),
  };
}

Deno.test("SampleStacks: only the lists of the selected options are made", async () => {
  const flags = async (letters: string) => {
    const { isOn, isAdding, hasBranches } = (await stacks(letters)).made;
    return [isOn, isAdding, hasBranches];
  };
  assertEquals(await flags("b"), [false, false, false]);
  assertEquals(await flags("g"), [true, false, false]);
  assertEquals(await flags("l"), [true, false, true]);
  assertEquals(await flags("G"), [false, true, false]);
  assertEquals(await flags("L"), [false, true, true]);
});

Deno.test("SampleStacks: a change between kernel and user space uses an entry of the chain's size, like the sample", async () => {
  const chain = async (letters: string) => {
    const { branch, lists } = await stacks(letters);
    // User code calls twice, and the kernel once after a system call.
    assertEquals(branch(CALL, [0, 0x10], [0, 0x100]), 1);
    assertEquals(branch(CALL, [0, 0x100], [0, 0x200]), 2);
    assertEquals(branch(CALL | IP_FLAG.SYSCALLRET, [0, 0x200], [KERNEL, 0x1000]), 3);
    assertEquals(branch(CALL, [KERNEL, 0x1000], [KERNEL, 0x2000]), 4);
    return lists(true);
  };
  const all = ["ffffffff00001005", "205", "105", "15"];
  assertEquals(await chain("g16"), `callers ${all.join(" ")}`);
  // The sample itself, one kernel caller, the change, one user caller.
  assertEquals(await chain("g4"), `callers ${all.slice(0, 2).join(" ")}`);
  // The change would be the last entry.
  assertEquals(await chain("g3"), `callers ${all.slice(0, 1).join(" ")}`);
  assertEquals(await chain("g1"), "");
  const { branch, lists } = await stacks("g4");
  branch(CALL, [0, 0x10], [0, 0x100]);
  // A sample in the kernel with callers in user space: the change, and one caller.
  assertEquals([lists(true), lists(false)], ["callers 15", "callers 15"]);
  const two = await stacks("g2");
  two.branch(CALL, [0, 0x10], [0, 0x100]);
  assertEquals([two.lists(true), two.lists(false)], ["", "callers 15"]);
});

Deno.test("SampleStacks: a return removes its caller; each thread and piece of the trace has its own callers", async () => {
  const { branch, lists } = await stacks("g8l4");
  branch(CALL, [0, 0x10], [0, 0x100]);
  branch(CALL, [0, 0x100], [0, 0x200]);
  assertEquals(branch(CALL, [0, 0x10], [0, 0x500], 8), 1);
  // A return has the depth of its call.
  assertEquals(branch(RETURN, [0, 0x201], [0, 0x105]), 2);
  assertEquals(lists(), "callers 15, branches 201>105 100>200 10>100");
  assertEquals(lists(false, 8), "callers 15, branches 10>500");
  assertEquals(lists(false, 9), "");
  // After a gap of the trace, no call is known to be open.
  assertEquals(branch(CALL, [0, 0x105], [0, 0x300], 7, 1), 1);
  assertEquals(lists(), "callers 10a, branches 105>300");
  // A call of the next instruction only pushes its address.
  assertEquals(branch(CALL, [0, 0x300], [0, 0x305], 7, 1), 1);
});

Deno.test("SampleStacks: rows between two branches share lists, unless data, mode or thread differ or rows were dropped", async () => {
  const { made, rows, branch } = await stacks("g8");
  branch(CALL, [0, 0x10], [0, 0x100]);
  const first = made.lists(rows, 7, false);
  assertEquals([first, made.lists(rows, 7, false), rows.listWords], [0, 0, 3 + 3]);
  assertEquals(made.lists(rows, 7, true), 6);
  assertEquals(made.lists(rows, 7, true), 6);
  branch(CALL, [0, 0x100], [0, 0x200]);
  assertEquals(made.lists(rows, 7, true), 12);
  // Two callers more than the three numbers of entries; an unknown thread has no callers.
  assertEquals([made.lists(rows, 9, true), rows.listWords], [21, 24]);
  const withData = made.lists(rows, 9, true, [5, 0, 7]);
  assertEquals([withData, listsText(rows, withData)], [24, "data 5=7"]);
  // Lists with data are not shared.
  assertEquals(made.lists(rows, 9, true), 30);
  rows.drops++;
  assertEquals(made.lists(rows, 9, true), 33);
  assertEquals(made.lists(new PtSampleRows(), 9, true), 0);
});

Deno.test("SampleStacks: lists of a recorded sample leave out calls and branches after its address", async () => {
  const { branch, added } = await stacks("G8L3");
  branch(CALL, [0, 0x10], [0, 0x100]);
  branch(CALL, [0, 0x100], [0, 0x200]);
  // In user space, no branch was late.
  assertEquals(added(0, 0x210), "callers 105 15, branches 100>200 10>100");
  assertEquals(added(0, 0x210, 9), "");
  branch(IP_FLAG.BRANCH | IP_FLAG.CALL, [0, 0x210], [KERNEL, 0x1000]);
  // The branch into the kernel is left out for a sample in user space, but its return address is a
  // caller.
  assertEquals(added(0, 0x210), "callers 215 105 15, branches 100>200 10>100");
});

Deno.test("SampleStacks: lists of a kernel sample leave out calls and branches of its recording", async () => {
  const { branch, added } = await stacks("G8L8", true);
  branch(CALL, [0, 0x10], [KERNEL, 0x1000]);
  branch(IP_FLAG.BRANCH, [KERNEL, 0x1010], [KERNEL, 0x1100]);
  // The sample is at 0x1180, between the target of one branch and the source of the next.
  branch(CALL, [KERNEL, 0x1200], [KERNEL, 0x9000]);
  branch(IP_FLAG.BRANCH, [KERNEL, 0x9010], [KERNEL, 0x9100]);
  const chain = "callers 15";
  const kernel = (low: string) => `ffffffff0000${low}`;
  const branches = [
    `${kernel("1010")}>${kernel("1100")}`,
    `10>${kernel("1000")}`,
  ].join(" ");
  assertEquals(added(KERNEL, 0x1180), `${chain}, branches ${branches}`);
  assertEquals(added(KERNEL, 0x1100), `${chain}, branches ${branches}`);
  assertEquals(added(KERNEL, 0x1200), `${chain}, branches ${branches}`);
  // Between no two branches, so only the branch from user space remains.
  assertEquals(added(KERNEL, 0x5000), `${chain}, branches 10>${kernel("1000")}`);
  // From the return address of a call on, the call is a caller.
  assertEquals(added(KERNEL, 0x1205).split(",")[0], `callers ${kernel("1205")} 15`);
});

Deno.test("AddedLists: a sample has its thread's calls and branches up to its time in ticks", async () => {
  const { trace } = await small({ cpus: [psb(0)] });
  const { clock, code } = trace;
  const space = code.space(7, 0);
  const made = new SampleStacks(code, parseItrace("G8"), false);
  const first = 2 ** 40;
  const ns = (ticks: number) => clock.ns(first + ticks);
  const samples = {
    count: 4,
    time: Float64Array.of(ns(1000), ns(2000), ns(3000), ns(1500)),
    thread: Int32Array.of(7, 7, 7, 8),
    high: new Int32Array(4),
    low: Int32Array.of(0x100, 0x200, 0x300, 0x100),
  };
  const added = new AddedLists(samples, clock, made);
  const call = (ticks: number, from: number, thread = 7) => {
    added.before(thread, first + ticks);
    made.branch(thread, 0, CALL, space, {
      ...{ fromHigh: 0, fromLow: from, fromPlace: -1, size: 5 },
      ...{ toHigh: 0, toLow: 0x5000 + from, toPlace: -1 },
    });
  };
  call(900, 0x10);
  // The sample at 1000 is before the call at 1600; the sample at 2000 is after it.
  call(1600, 0x20);
  call(1600, 0x30, 8);
  call(2600, 0x40);
  call(100, 0x50, 9);
  const lists = [0, 1, 2, 3].map((sample) => listsText(added.rows, added.of(sample)));
  assertEquals(lists, [
    "callers 15",
    "callers 25 15",
    // No branch came after it.
    "callers 45 25 15",
    // Thread 8 had no open call.
    "",
  ]);
  // Later branches do not change lists.
  call(9000, 0x60);
  assertEquals(added.of(2), added.of(2));
  assertEquals(listsText(added.rows, added.of(2)), "callers 45 25 15");
});

Deno.test("sampleRows: recorded samples get call chains of the trace at their time", async () => {
  const packets = [...psb(0, BASE), tsc(1000), tnt("11"), tsc(3000), ip("TIP", BASE), tnt("1")];
  const { trace } = await small({ cpus: [packets] });
  const { clock } = trace;
  const time = Float64Array.of(clock.origin.since(at(500)), clock.origin.since(at(9000)));
  const recorded = {
    ...{ count: 2, time, thread: Int32Array.of(7, 7) },
    ...{ high: new Int32Array(2), low: Int32Array.of(0x1010, 0x1010) },
  };
  let found: string[] = [];
  await sampleRows({ cpus: [packets] }, "GL", {
    recorded,
    end: ({ added }) => {
      found = [0, 1].map((i) => added === undefined ? "" : listsText(added.rows, added.of(i)));
    },
  });
  // Before the first return, at 1000 ticks, the first call was open; at the end, all have returned.
  assertEquals(found, [
    "callers 1005, branches 1000>1010",
    "branches 1012>1005 1000>1010 100a>1000 1012>100a 1005>1010 1012>1005 1000>1010",
  ]);
});

Deno.test("MetPlaces: each place of the rows is listed once, negative ones never", () => {
  const met = new MetPlaces();
  const rows = new PtSampleRows();
  for (const [from, to] of [[0, 5], [-1, 0], [2000, -1], [5, 2000]] as const) {
    const at = rows.add(1, 1);
    rows.from(at, 0, 0, from);
    rows.to(at, 0, 0, to);
  }
  met.take(rows);
  assertEquals([...met.of(2001)].flatMap((is, place) => is === 1 ? [place] : []), [0, 5, 2000]);
  assertEquals([...met.takeList()], [0, 5, 2000]);
  assertEquals([...met.takeList()], []);
  met.add(5);
  met.add(5);
  met.add(-1);
  assertEquals([...met.takeList()], [5]);
});

Deno.test("PtSampleRows: rows beyond the first buffer keep all their words", () => {
  const rows = new PtSampleRows();
  for (let i = 0; i < 3000; i++) {
    const at = rows.add(i, i / 2);
    rows.from(at, i, -i, i + 1);
    rows.to(at, 2 * i, -2 * i, 2 * i + 1);
  }
  const word = (row: number, name: keyof typeof SAMPLE_WORD) =>
    rows.words[row * 18 + SAMPLE_WORD[name]];
  assertEquals([rows.count, rows.time[2999], rows.value[2999]], [3000, 2999, 1499.5]);
  for (const row of [0, 1023, 1024, 2999]) {
    assertEquals([word(row, "FROM_LO"), word(row, "FROM_HI"), word(row, "FROM")], [
      row,
      0 - row,
      row + 1,
    ]);
    assertEquals([word(row, "TO_LO"), word(row, "TO_HI"), word(row, "TO")], [
      ...[2 * row, 0 - 2 * row, 2 * row + 1],
    ]);
  }
  assertEquals(address(1, 2), "100000002");
});
