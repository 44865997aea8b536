import { CHOSEN, Run } from "@perfdata/session";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import { assertEquals } from "@std/assert";
import { BranchCounts } from "../branches/branch_counts.ts";
import { codeRuns, insnRuns } from "./code_blocks.ts";

const INSNS = [0x10n, 0x12n, 0x17n, 0x19n, 0x1en].map((address) => ({ address }));

/** Straight code from one instruction of {@link INSNS} to another. */
function run(from: number, to: number, count: number, timed = 0, cycles = 0) {
  return { from: 0x100 + from, to: 0x100 + to, count, timed, cycles };
}

function executions(...runs: ReturnType<typeof run>[]): number[] {
  return insnRuns(INSNS, 0x110, runs).map(({ executions }) => executions);
}

Deno.test("insnRuns: all instructions of a run, including its last, ran", () => {
  assertEquals(executions(run(0x12, 0x19, 7)), [0, 7, 7, 7, 0]);
  assertEquals(executions(run(0x10, 0x1e, 7)), [7, 7, 7, 7, 7]);
  assertEquals(executions(run(0x17, 0x17, 7)), [0, 0, 7, 0, 0]);
});

Deno.test("insnRuns: overlapping runs are added", () => {
  assertEquals(executions(run(0x10, 0x17, 3), run(0x12, 0x1e, 4), run(0x12, 0x17, 1)), [
    ...[3, 8, 8, 4, 4],
  ]);
});

Deno.test("insnRuns: runs to other code, into an instruction or backwards are not counted", () => {
  assertEquals(
    executions(run(0x10, 0x18, 3), run(0x11, 0x17, 3), run(0x19, 0x10, 3), run(0x10, 0x80, 3)),
    [
      ...[0, 0, 0, 0, 0],
    ],
  );
  assertEquals(insnRuns([], 0x110, [run(0x10, 0x12, 3)]), []);
});

Deno.test("insnRuns: cycles are the mean of timed runs, at a run's last instruction", () => {
  const found = insnRuns(INSNS, 0x110, [run(0x10, 0x17, 9, 2, 10), run(0x12, 0x17, 9, 6, 6)]);
  assertEquals(found.map(({ cycles }) => cycles), [
    ...[undefined, undefined, 2, undefined, undefined],
  ]);
});

Deno.test("insnRuns: a block begins at a run's start, after its end, after a jump and at a jump's target", () => {
  const blocks = (jumps: (number | undefined)[], ...runs: ReturnType<typeof run>[]) =>
    insnRuns(INSNS.map((insn, i) => ({ ...insn, jump: jumps[i] })), 0x110, runs)
      .map(({ block }) => block);
  assertEquals(blocks([]), [0, 0, 0, 0, 0]);
  assertEquals(blocks([], run(0x12, 0x17, 1)), [0, 1, 1, 3, 3]);
  assertEquals(blocks([undefined, undefined, 1]), [0, 1, 1, 3, 3]);
  assertEquals(blocks([undefined, undefined, undefined, undefined, 0]), [0, 0, 0, 0, 0]);
});

Deno.test("codeRuns: runs within one wanted object are returned with their counts", () => {
  const stacks = [
    // Latest first: 2..3 after 5 cycles, then 4..5 after 7.
    [[5, 6], [3, 4], [1, 2]],
    [[5, 6], [3, 4]],
    // From one object to another, and within the other one.
    [[5, 6], [3, 104]],
    [[105, 6], [3, 104]],
    // Unmapped.
    [[5, 6], [3, -1]],
  ] as const;
  const rows = new Run();
  rows.count = stacks.length;
  rows.branches = Int32Array.from(stacks.flat(2));
  rows.branchFlags = new Int32Array(stacks.flat().length);
  rows.branchFlags.set([7 << 4, 5 << 4]);
  let at = 0;
  stacks.forEach((stack, i) => {
    rows.chosen[i] = CHOSEN.YES;
    rows.branchStart[i] = at;
    rows.branchStart[i + 1] = at += 2 * stack.length;
  });
  const counts = new BranchCounts();
  counts.rows(rows);
  counts.finish();
  const places = {
    objects: ["/a", "/b"].map((path): SymbolObject => ({ path, kind: "elf" })),
    object: (place: number) => place < 0 ? -1 : place < 100 ? 0 : 1,
    address: (place: number) => 0x1000 + place,
  };
  const runs = codeRuns(counts, places, (object) => object === 0);
  assertEquals(runs.toSorted((a, b) => a.from - b.from), [
    { from: 0x1002, to: 0x1003, count: 1, timed: 1, cycles: 5 },
    { from: 0x1004, to: 0x1005, count: 2, timed: 1, cycles: 7 },
  ]);
  assertEquals(codeRuns(counts, places, (object) => object === 1).map(({ from }) => from), [
    0x1068,
  ]);
});
