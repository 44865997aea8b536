import { type PtSampleRows, SAMPLE, SAMPLE_WORD, SAMPLE_WORDS } from "@perfdata/pt";
import { BRANCH, CHOSEN, type JoinedNumbers, Run } from "@perfdata/session";
import { assertEquals } from "@std/assert";
import { BranchCounts } from "./branch_counts.ts";
import { TraceBranches } from "./branch_trace.ts";

/** A branch of a stack: source and target place, cycles, whether it was mispredicted. */
type Entry = readonly [from: number, to: number, cycles?: number, mispredicted?: boolean];

/** A run of samples with branch stacks, the latest branch first. */
function runOf(stacks: readonly (readonly Entry[])[], chosen: number = CHOSEN.YES): Run {
  const run = new Run();
  run.count = stacks.length;
  const entries = stacks.flat();
  run.branches = Int32Array.from(entries.flatMap(([from, to]) => [from, to]));
  run.branchFlags = Int32Array.from(
    entries,
    ([, , cycles = 0, mispredicted = false]) =>
      cycles << BRANCH.CYCLES_AT | (mispredicted ? BRANCH.MISPREDICTED : BRANCH.PREDICTED),
  );
  let at = 0;
  stacks.forEach((stack, i) => {
    run.chosen[i] = chosen;
    run.branchStart[i] = at;
    at += 2 * stack.length;
    run.branchStart[i + 1] = at;
  });
  return run;
}

/** All counts: branches as `from>to taken mispredicted`, traces as `to..until ran timed cycles`. */
function texts(counts: BranchCounts): { branches: string[]; traces: string[] } {
  const from = counts.branches.parents(), to = counts.branches.items();
  const before = counts.traces.parents(), until = counts.traces.items();
  return {
    branches: [...from].map((source, i) =>
      `${source}>${to[i]} ${counts.taken.array()[i]} ${counts.mispredicted.array()[i]}`
    ).sort(),
    traces: [...before].map((branch, i) =>
      `${to[branch]}..${until[i]} ${counts.ran.array()[i]} ${counts.timed.array()[i]} ${
        counts.cycles.array()[i]
      }`
    ).sort(),
  };
}

function counted(...runs: Run[]): BranchCounts {
  const counts = new BranchCounts();
  for (const run of runs) counts.rows(run);
  counts.finish();
  return counts;
}

/** The oldest branch 1>2, then 3>4 after 5 cycles of 2..3, then 5>6 after 7 cycles of 4..5. */
const STACK: readonly Entry[] = [[5, 6, 7], [3, 4, 5, true], [1, 2, 9]];

Deno.test("BranchCounts: a stack of three branches has two traces", () => {
  const counts = counted(runOf([STACK]));
  assertEquals(texts(counts), {
    branches: ["1>2 1 0", "3>4 1 1", "5>6 1 0"],
    traces: ["2..3 1 1 5", "4..5 1 1 7"],
  });
  assertEquals(counts.samples, 1);
});

Deno.test("BranchCounts: a repeated stack is counted each time, also in another run", () => {
  const counts = counted(runOf([STACK, STACK]), runOf([STACK]));
  assertEquals(texts(counts), {
    branches: ["1>2 3 0", "3>4 3 3", "5>6 3 0"],
    traces: ["2..3 3 3 15", "4..5 3 3 21"],
  });
  assertEquals(counts.samples, 3);
});

Deno.test("BranchCounts: a trace without cycles is counted as run, not as timed", () => {
  const counts = counted(runOf([[[5, 6], [1, 2]], [[5, 6, 8], [1, 2]]]));
  assertEquals(texts(counts).traces, ["2..5 2 1 8"]);
});

Deno.test("BranchCounts: a branch has at most 65535 cycles", () => {
  assertEquals(texts(counted(runOf([[[5, 6, 65_535], [1, 2]]]))).traces, ["2..5 1 1 65535"]);
});

Deno.test("BranchCounts: samples that are filtered out, or have no branches, are not counted", () => {
  for (const chosen of [CHOSEN.NO, CHOSEN.TOTAL]) {
    assertEquals(texts(counted(runOf([STACK], chosen))), { branches: [], traces: [] });
  }
  const counts = counted(runOf([[], STACK, []]));
  assertEquals([counts.samples, texts(counts).branches.length], [1, 3]);
});

Deno.test("BranchCounts: a branch from address 0 ends no trace", () => {
  // The end of the trace after the branch to 2 is unknown.
  assertEquals(texts(counted(runOf([[[-1, 6], [1, 2]]]))), {
    branches: ["-1>6 1 0", "1>2 1 0"],
    traces: [],
  });
});

Deno.test("BranchCounts: a second finish() adds nothing", () => {
  const counts = counted(runOf([STACK]));
  const once = texts(counts);
  counts.finish();
  assertEquals(texts(counts), once);
});

Deno.test("BranchCounts: counts are kept when the tables grow", () => {
  const stacks = Array.from({ length: 1500 }, (_, i): Entry[] => [[2 * i + 3, 1, 2], [9999, i]]);
  const runs: Run[] = [];
  for (let i = 0; i < stacks.length; i += 60) runs.push(runOf(stacks.slice(i, i + 60)));
  const counts = counted(...runs, ...runs);
  assertEquals(counts.traces.length, 1500);
  assertEquals([...counts.ran.array()], Array(1500).fill(2));
  assertEquals([...counts.cycles.array()], Array(1500).fill(4));
});

Deno.test("BranchCounts: joined parts of two threads have the sums, in the numbers of the whole", () => {
  const first = counted(runOf([STACK]));
  const second = new BranchCounts();
  // The other thread has numbers from 10 down: 9 in place of 1.
  second.rows(runOf([STACK.map(([from, to, ...rest]): Entry => [10 - from, 10 - to, ...rest]), [
    [-1, 3],
  ]]));
  const place = Int32Array.from({ length: 10 }, (_, there) => 10 - there);
  first.join(second.part(), { place } as Partial<JoinedNumbers> as JoinedNumbers);
  assertEquals(first.samples, 3);
  assertEquals(texts(first), {
    branches: ["-1>7 1 0", "1>2 2 0", "3>4 2 2", "5>6 2 0"],
    traces: ["2..3 2 2 10", "4..5 2 2 14"],
  });
});

/** A row of a trace: kind, thread, CPU, places, cycles. */
type TraceRow = readonly [
  kind: number,
  tid: number,
  cpu: number,
  from: number,
  to: number,
  cycles?: number,
];

function traced(rows: readonly TraceRow[]): BranchCounts {
  const counts = new BranchCounts();
  const words = new Int32Array(rows.length * SAMPLE_WORDS);
  rows.forEach(([kind, tid, cpu, from, to, cycles = 0], i) => {
    const at = i * SAMPLE_WORDS;
    words[at + SAMPLE_WORD.KIND] = kind;
    words[at + SAMPLE_WORD.TID] = tid;
    words[at + SAMPLE_WORD.CPU] = cpu;
    words[at + SAMPLE_WORD.FROM] = from;
    words[at + SAMPLE_WORD.TO] = to;
    words[at + SAMPLE_WORD.IPC_CYCLES] = cycles;
  });
  new TraceBranches(counts).take({ words, count: rows.length } as Partial<
    PtSampleRows
  > as PtSampleRows);
  counts.finish();
  return counts;
}

const B = SAMPLE.BRANCHES;

Deno.test("TraceBranches: two consecutive branches give the range of code between them, with its cycles if both have a time", () => {
  assertEquals(
    texts(traced([[B, 7, 0, 1, 2, 4], [B, 7, 0, 3, 4, 6], [B, 7, 0, 5, 6], [
      ...[B, 7, 0, 7, 8, 9] as const,
    ]])),
    {
      branches: ["1>2 1 0", "3>4 1 0", "5>6 1 0", "7>8 1 0"],
      // The cycles at 7 count since 3, so they cover more than this trace.
      traces: ["2..3 1 1 6", "4..5 1 0 0", "6..7 1 0 0"],
    },
  );
});

Deno.test("TraceBranches: no trace joins branches of two threads of a CPU, or of two CPUs", () => {
  assertEquals(texts(traced([[B, 7, 0, 1, 2], [B, 8, 0, 3, 4]])).traces, []);
  assertEquals(texts(traced([[B, 7, 0, 1, 2], [B, 7, 1, 3, 4]])).traces, []);
  // The trace of CPU 1 continues.
  assertEquals(
    texts(traced([[B, 7, 0, 1, 2], [B, 8, 1, 5, 6], [B, 7, 0, 3, 4], [B, 8, 1, 7, 8]])).traces,
    ["2..3 1 0 0", "6..7 1 0 0"],
  );
});

Deno.test("TraceBranches: buffers of threads are kept apart by thread", () => {
  assertEquals(
    texts(traced([[B, 0, -1, 1, 2], [B, 1, -1, 5, 6], [B, 0, -1, 3, 4]])).traces,
    ["2..3 1 0 0"],
  );
});

Deno.test("TraceBranches: an error, an end or a start of tracing ends a trace", () => {
  const error = SAMPLE.INSTRUCTIONS;
  assertEquals(texts(traced([[B, 7, 0, 1, 2], [error, 7, 0, 9, 9], [B, 7, 0, 3, 4]])).traces, []);
  const ended = traced([[B, 7, 0, 1, 2], [B, 7, 0, 3, -1], [B, 7, 0, -1, 5], [B, 7, 0, 6, 7]]);
  assertEquals(texts(ended), {
    branches: ["-1>5 1 0", "1>2 1 0", "3>-1 1 0", "6>7 1 0"],
    traces: ["2..3 1 0 0", "5..6 1 0 0"],
  });
  assertEquals(texts(traced([[B, 7, 0, -1, -1], [B, 7, 0, 3, 4]])).branches, ["3>4 1 0"]);
});
