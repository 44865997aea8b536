import { assertEquals } from "@std/assert";
import type { Packet } from "@perfdata/intel-pt";
import { BASE, CONDITIONAL, CYCLES, ip, psb, tnt, TSC, tsc } from "../testing.ts";
import type { PtSamples } from "./pt_samples.ts";
import { sampleRows, type SampleRowsOptions } from "./testing.ts";

// 1000 ticks are 372 ns, 2000 are 744, 3000 are 1116, 5000 are 1860, 9000 are 3348.

/** The samples of a trace of CPU 0. */
function rows(packets: readonly Packet[], letters: string, options: SampleRowsOptions = {}) {
  return sampleRows({ cpus: [packets] }, letters, options);
}

/** Lines without their common part: kind, thread, process and CPU. */
function short(lines: readonly string[], prefix: string): string[] {
  return lines.map((line) => line.startsWith(prefix) ? line.slice(prefix.length) : line);
}

/** Both calls twice, the second time by a jump; then a system call at 100c. */
const TWICE: readonly Packet[] = [
  ...psb(0, BASE),
  tsc(1000),
  tnt("11"),
  tsc(3000),
  ip("TIP", BASE),
  tnt("1"),
  tsc(5000),
  tnt("1"),
  ip("TIP", 0x100cn),
  ip("FUP", 0x100cn),
  ip("TIP.PGD"),
  tsc(7000),
];

const BRANCHES = [
  // The first call uses no packet, so it is before the first time.
  "0 1000>1010 3 1 (at 0; to 10)",
  "372 1012>1005 5 1 (at 12; to 5)",
  "372 1005>1010 3 1 (at 5; to 10)",
  "372 1012>100a 5 1 (at 12; to a)",
  "1116 100a>1000 1 1 (at a; to 0)",
  "1116 1000>1010 3 1 (at 0; to 10)",
  "1116 1012>1005 5 1 (at 12; to 5)",
  "1116 1005>1010 3 1 (at 5; to 10)",
  "1860 1012>100a 5 1 (at 12; to a)",
  "1860 100a>100c 1 1 (at a; to c)",
  // Branch, asynchronous, trace end.
  "1860 100c 221 1 (at c)",
];

Deno.test("sampleRows: branches have time, flags, addresses and places; calls and returns are parts of them", async () => {
  const of = async (letters: string, options?: SampleRowsOptions) =>
    short(await rows(TWICE, letters, options), "branches 7/7/0 ");
  assertEquals(await of("b"), BRANCHES);
  const flagged = (flags: string) =>
    BRANCHES.filter((line) => flags.split(" ").includes(line.split(" ")[2] ?? ""));
  // Calls and the end of tracing; returns and its start, which does not occur here.
  const time = (line: string) => line.slice(line.indexOf(" "));
  assertEquals((await of("c")).map(time), flagged("3 221").map(time));
  assertEquals((await of("r")).map(time), flagged("5").map(time));
  assertEquals(
    (await of("cr")).map(time),
    BRANCHES.filter((line) => !/ 1 1 /.test(line)).map(time),
  );
  assertEquals(await of("bs4"), BRANCHES.slice(4));
  assertEquals((await of("cs1")).length, 4);
});

Deno.test("sampleRows: a part of the time and other threads leave out rows", async () => {
  const of = async (options: SampleRowsOptions) =>
    short(await rows(TWICE, "b", options), "branches 7/7/0 ");
  assertEquals(await of({ from: 372, to: 1116 }), BRANCHES.slice(1, 8));
  assertEquals(await of({ from: 373 }), BRANCHES.slice(4));
  assertEquals(await of({ to: 371 }), BRANCHES.slice(0, 1));
  assertEquals(await of({ filter: { tids: new Set([8]) } }), []);
  assertEquals(await of({ filter: { tids: new Set([8, 7]) } }), BRANCHES);
});

Deno.test("sampleRows: two CPUs are merged by time, the first CPU's rows first", async () => {
  const recording = { cpus: [TWICE, TWICE], tids: [7, 8] };
  const of = async (merge: boolean) =>
    (await sampleRows(recording, "b", { merge })).map((line) => line.replace("branches ", ""));
  const merged = await of(true);
  const wanted = [0, 372, 1116, 1860].flatMap((time) =>
    ["7/7/0 ", "8/8/1 "].flatMap((who) =>
      BRANCHES.filter((line) => line.startsWith(`${time} `)).map((line) => who + line)
    )
  );
  assertEquals(merged, wanted);
  assertEquals((await of(false)).toSorted(), wanted.toSorted());
});

Deno.test("sampleRows: a merged CPU that is behind holds back later rows of another one, to its end", async () => {
  const slow = [...psb(0, BASE), tsc(4000), tnt("1"), ip("TIP.PGD")];
  const lines = await sampleRows({ cpus: [TWICE, slow], tids: [7, 8] }, "b", { merge: true });
  // 4000 ticks are 1488 ns.
  const times = lines.map((
    line,
  ) => [line.split(" ")[1]?.split("/")[0], Number(line.split(" ")[2])]);
  assertEquals(
    times.map(([, time]) => time),
    times.map(([, time]) => Number(time)).toSorted((a, b) => a - b),
  );
  assertEquals(times.filter(([tid]) => tid === "8").map(([, time]) => time).slice(0, 2), [0, 1488]);
  assertEquals(times.filter(([tid]) => tid === "7").length, BRANCHES.length);
});

Deno.test("sampleRows: instructions of a period stand for it; branches among them have their target", async () => {
  const of = async (letters: string, options?: SampleRowsOptions) =>
    short(await rows(TWICE, letters, options), "instructions 7/7/0 ");
  // 1000 1010 1011, 1012 1005 1010, 1011 1012 100a: every third one, twice.
  const third = [
    "0 1011 0 3 (at 11)",
    "372 1010 0 3 (at 10)",
    "1116 100a>1000 1 3 (at a)",
    "1116 1011 0 3 (at 11)",
    "1116 1010 0 3 (at 10)",
    "1860 100a>100c 1 3 (at a)",
  ];
  assertEquals(await of("i3i"), third);
  assertEquals((await of("i3ib")).filter((line) => !line.startsWith("branches")), third);
  // Instructions of skipped samples count for the next sample.
  assertEquals(await of("i3is2"), [
    "1116 100a>1000 1 9 (at a)",
    ...third.slice(3),
  ]);
  // With the bytes of each instruction.
  assertEquals(
    await of("i3i", { bytes: true }),
    third.map((line) => line.replace(")", /at a/.test(line) ? ";  ff e0)" : ";  90)")),
  );
  // 18 instructions; the system call was not executed.
  assertEquals((await of("i1i")).length, 18);
  assertEquals(await of("i18i"), ["1860 100a>100c 1 18 (at a)"]);
  assertEquals(await of("i19i"), []);
});

Deno.test("sampleRows: a period of time gives an instruction at each multiple, in ticks or ns", async () => {
  const of = async (letters: string) => short(await rows(TWICE, letters), "instructions 7/7/0 ");
  // 9 instructions up to the jump at the second time, 5 up to the call after it: 512 ticks pass
  // between both.
  const wanted = ["1116 100a>1000 1 9 (at a)", "1116 1005>1010 3 5 (at 5)"];
  assertEquals(await of("i512t"), wanted);
  // 372 ns are 999 ticks, for which perf uses 512, the next lower power of two.
  assertEquals(await of("i372ns"), wanted);
});

Deno.test("sampleRows: call chains have the callers' return addresses, branch stacks the last branches", async () => {
  const of = async (letters: string) => short(await rows(TWICE, letters), "instructions 7/7/0 ");
  assertEquals(await of("i3ig4"), [
    "0 1011 0 3 (at 11; callers 1005)",
    "372 1010 0 3 (at 10; callers 100a)",
    "1116 100a>1000 1 3 (at a)",
    "1116 1011 0 3 (at 11; callers 1005)",
    "1116 1010 0 3 (at 10; callers 100a)",
    "1860 100a>100c 1 3 (at a)",
  ]);
  // The sample's own address takes the only entry.
  assertEquals((await of("i3ig1")).filter((line) => line.includes("callers")), []);
  assertEquals(await of("i3il2"), [
    "0 1011 0 3 (at 11; branches 1000>1010)",
    "372 1010 0 3 (at 10; branches 1005>1010 1012>1005)",
    "1116 100a>1000 1 3 (at a; branches 1012>100a 1005>1010)",
    "1116 1011 0 3 (at 11; branches 1000>1010 100a>1000)",
    "1116 1010 0 3 (at 10; branches 1005>1010 1012>1005)",
    "1860 100a>100c 1 3 (at a; branches 1012>100a 1005>1010)",
  ]);
  // Both lists, with the newest branch only.
  assertEquals((await of("i3ig4l1")).slice(0, 2), [
    "0 1011 0 3 (at 11; callers 1005, branches 1000>1010)",
    "372 1010 0 3 (at 10; callers 100a, branches 1005>1010)",
  ]);
});

/** 1000 calls 1010, where an interrupt leads to 1005, which calls 1010: three deep. */
const DEEP: readonly Packet[] = [
  ...psb(0, BASE),
  tsc(1000),
  ip("FUP", 0x1011n),
  ip("TIP", 0x1005n),
  tsc(2000),
  tnt("1"),
  ip("TIP", 0x1011n),
  tnt("1"),
];

Deno.test("sampleRows: depths count calls and interrupts that are open; a return is as deep as its call", async () => {
  assertEquals(short(await rows(DEEP, "b", { depths: true }), "branches 7/7/0 "), [
    "0 1000>1010 3 1 (at 0; to 10; depth 1)",
    // Branch, call, asynchronous, interrupt.
    "372 1011>1005 63 1 (at 11; to 5; depth 2)",
    "372 1005>1010 3 1 (at 5; to 10; depth 3)",
    "744 1012>100a 5 1 (at 12; to a; depth 3)",
    // A jump from 100a to the interrupted address is not a return.
    "744 100a>1011 1 1 (at a; to 11; depth 2)",
    "744 1012>1005 5 1 (at 12; to 5; depth 1)",
  ]);
  const chains = short(await rows(DEEP, "i1ig4"), "instructions 7/7/0 ");
  // 1000 1010; 1005, 1010 1011 1012, 100a; 1011 1012. Later code waits for a packet.
  assertEquals(
    chains.map((line) => `${line.split(" ")[1]} ${/callers ([^);,]*)/.exec(line)?.[1]}`),
    [
      "1000>1010 undefined",
      "1010 1005",
      "1005>1010 1011 1005",
      "1010 100a 1011 1005",
      "1011 100a 1011 1005",
      "1012>100a 100a 1011 1005",
      "100a>1011 1011 1005",
      "1011 1011 1005",
      "1012>1005 1011 1005",
    ],
  );
  const two = short(await rows(DEEP, "i1ig2"), "instructions 7/7/0 ");
  assertEquals(/callers ([^);,]*)/.exec(two[3] ?? "")?.[1], "100a");
});

Deno.test("sampleRows: ipc has instructions and core clocks since the last row of the kind that has them", async () => {
  const of = async (letters: string, kind: string) =>
    short(await rows(CYCLES, letters, { ipc: true }), `${kind} 7/7/0 `)
      .filter((line) => line.includes("ipc"))
      .map((line) => `${line.split(" ")[1]} ${/ipc ([^);]*)/.exec(line)?.[1]}`);
  assertEquals(await of("b", "branches"), [
    // 1000 1010 1011 1012; 1005 1010 1011 1012; 100a; then nine instructions up to the next CYC; four more.
    "1012>1005 4/7",
    "1012>100a 4/5",
    "100a>1000 1/30",
    "100a>1000 9/4",
    "1012>1005 4/6",
    "1005 0/9",
  ]);
  // At calls only: all instructions and cycles.
  assertEquals(await of("c", "branches"), ["1005 22/61"]);
  // Each second instruction: 1010 1012 1010 1012 1000 1011 1005 1011 100a 1010 1012.
  assertEquals(await of("i2i", "instructions"), [
    ...["1012>1005 4/7", "1012>100a 4/5", "100a>1000 10/34", "1012>1005 4/6"],
  ]);
  assertEquals((await rows(CYCLES, "b")).filter((line) => line.includes("ipc")), []);
});

Deno.test("sampleRows: cycles are samples of the core clocks up to a branch, since the sample before", async () => {
  const of = async (letters: string) =>
    (await rows(CYCLES, letters)).filter((line) => line.startsWith("cycles"))
      .map((line) => line.split(" ").slice(2).join(" "));
  assertEquals(await of("y1i"), [
    "372 1012>1005 5 7 (at 12)",
    "372 1012>100a 5 5 (at 12)",
    "372 100a>1000 1 30 (at a)",
    "372 100a>1000 1 4 (at a)",
    "372 1012>1005 5 6 (at 12)",
  ]);
  // Every second instruction. The jump with 30 cycles is not sampled, so the next sample counts
  // them, too.
  assertEquals((await of("y2i")).map((line) => line.split(" ")[3]), ["7", "5", "34", "6"]);
  assertEquals(await of("iy2i"), await of("y2i"));
  assertEquals((await rows(CYCLES, "iy2i")).filter((line) => line.startsWith("instr")).length, 11);
});

const PAGE_FAULT: readonly Packet[] = [
  ...psb(0, BASE),
  tsc(1000),
  tnt("1"),
  { type: "EVD", eventType: 0, payload: 0x1_0000_1234n },
  { type: "CFE", eventType: 1, vector: 14, ip: true },
  ip("FUP", 0x1005n),
  ip("TIP", 0x1010n),
  tsc(2000),
  { type: "CFE", eventType: 2, vector: 0, ip: false },
  ip("TIP", 0x1005n),
];

Deno.test("sampleRows: an event of an event trace has type and vector, and its data in the lists", async () => {
  // 256 times type 1, and vector 14.
  assertEquals(short(await rows(PAGE_FAULT, "bI"), ""), [
    "branches 7/7/0 0 1000>1010 3 1 (at 0; to 10)",
    "branches 7/7/0 372 1012>1005 5 1 (at 12; to 5)",
    "event 7/7/0 372 1005 1 270 (at 5; data 0=100001234)",
    "branches 7/7/0 372 1005>1010 63 1 (at 5; to 10)",
    "branches 7/7/0 744 1012>1005 5 1 (at 12; to 5)",
  ]);
  assertEquals((await rows(PAGE_FAULT, "b")).length, 4);
});

const EVENTS: readonly Packet[] = [
  ...psb(0, BASE),
  tsc(1000),
  { type: "CBR", ratio: 20 },
  tnt("1"),
  { type: "PTW", operandSize: 8, payload: 0x1_8000_0002n, ip: true },
  ip("FUP", 0x1005n),
  { type: "PTW", operandSize: 4, payload: 7n, ip: false },
  tsc(2000),
  { type: "MODE.TSX", inTx: true, txAbort: false },
  ip("FUP", 0x1005n),
  tnt("1"),
  tsc(3000),
  { type: "MODE.TSX", inTx: false, txAbort: false },
  ip("FUP", 0x100an),
  ip("TIP", BASE),
  { type: "EXSTOP", ip: true },
  ip("FUP", 0x1000n),
  { type: "MWAIT", hints: 0x20, extensions: 1 },
  { type: "PWRE", hardware: true, cState: 1, subCState: 2 },
  { type: "PWRX", lastCState: 3, deepestCState: 4, wakeReason: 1 },
  ip("TIP.PGD"),
  tsc(9000),
  { type: "CBR", ratio: 25 },
  ip("TIP.PGE", BASE),
  tnt("1"),
];

Deno.test("sampleRows: packets of power, transactions and PTWRITE are events at their addresses", async () => {
  const lines = (await rows(EVENTS, "xwp")).map((line) => line.replace("7/7/0 ", ""));
  assertEquals(lines, [
    "psb 0 1000 1 0 (at 0)",
    "cbr 372 1000 1 20 (at 0)",
    // Its own address; bits 63:32 of the payload are separate.
    "ptwrite 372 1005 1 2147483650 (at 5; high 1)",
    "ptwrite 372 1005 0 7 (at 5)",
    "transactions 744 1005 1 1 (at 5)",
    "transactions 1116 100a 1 1 (at a)",
    "exstop 1116 1000 1 0 (at 0)",
    "mwait 1116 0 0 32 (high 1)",
    // Bit 7: by hardware; the C-state is in bits 15:12, the sub-state in 11:8.
    "pwre 1116 0 0 4736",
    // Last C-state in bits 7:4, the deepest in 3:0, the reason from bit 8 on.
    "pwrx 1116 0 0 308",
    // Tracing is off: the last address of execution, which is the return.
    "cbr 3348 1012 1 25 (at 12)",
  ]);
  assertEquals((await rows(EVENTS, "x")).length, 2);
  assertEquals((await rows(EVENTS, "w")).length, 2);
  assertEquals((await rows(EVENTS, "ws1")).length, 1);
  assertEquals(await rows(EVENTS, "e"), []);
});

Deno.test("sampleRows: branches in a transaction have its flag, those without tracing begin and end it", async () => {
  const lines = short(await rows(EVENTS, "b"), "branches 7/7/0 ");
  assertEquals(lines.map((line) => line.split(" ").slice(0, 3).join(" ")), [
    "0 1000>1010 3",
    "372 1012>1005 5",
    // In the transaction. The call uses no packet, so it has the time before it.
    "372 1005>1010 403",
    "744 1012>100a 405",
    "1116 100a>1000 1",
    "1116 1000>1010 3",
    // The return ends tracing, which continues at 1000.
    "1116 1012 205",
    "3348 0>1000 101",
    "3348 1000>1010 3",
    "3348 1012>1005 5",
  ]);
});

const ABORT: readonly Packet[] = [
  ...psb(0, BASE),
  { type: "MODE.TSX", inTx: true, txAbort: false },
  ip("FUP", 0x1000n),
  tsc(1000),
  { type: "MODE.TSX", inTx: false, txAbort: true },
  ip("FUP", 0x1011n),
  ip("TIP", 0x1005n),
  tnt("1"),
];

Deno.test("sampleRows: an abort is a transaction and a branch to where it leads", async () => {
  assertEquals((await rows(ABORT, "bx")).map((line) => line.replace("7/7/0 ", "")), [
    "transactions 0 1000 1 1 (at 0)",
    "branches 0 1000>1010 403 1 (at 0; to 10)",
    // Branch and abort.
    "transactions 372 1011>1005 81 1 (at 11)",
    "branches 372 1011>1005 81 1 (at 11; to 5)",
    "branches 372 1005>1010 3 1 (at 5; to 10)",
    "branches 372 1012>100a 5 1 (at 12; to a)",
  ]);
});

const LOSSES: readonly Packet[] = [
  ...psb(0, BASE),
  tsc(1000),
  tnt("1"),
  { type: "OVF" },
  ip("FUP", 0x1010n),
  tnt("1"),
  tsc(2000),
  ip("TIP", 0x9000n),
  tnt("1"),
  ...psb(3000, BASE),
  tnt("11"),
  ip("TIP", BASE),
];

Deno.test("sampleRows: errors have perf's codes, and tracing begins again after them", async () => {
  const overflow = "error 372 1005 1 7 (at 5)";
  const others = ["error 375 1012 1 6 (at 12)", "error 744 9000 1 5 (at 9000)"];
  const of = async (letters: string) =>
    (await rows(LOSSES, letters)).map((line) => line.replace("7/7/0 ", ""));
  assertEquals(await of("e"), [overflow, ...others]);
  assertEquals(await of("e-o"), others);
  assertEquals(await of("e-l"), [overflow, ...others]);
  const branches = (await of("b")).filter((line) => line.includes(" 101 "));
  // Four instructions of two ticks each after 1000 ticks are 1008 ticks, which are 375 ns; 9000 is
  // unmapped.
  assertEquals(branches, [
    "branches 375 0>1010 101 1 (to 10)",
    "branches 744 0>9000 101 1 (to 9000)",
  ]);
});

const PEBS: readonly Packet[] = [
  ...psb(0, BASE),
  tsc(1000),
  tnt("1"),
  { type: "BBP", itemSize: 8, blockType: 4 },
  { type: "BIP", itemSize: 8, id: 0, value: 0x1010n },
  { type: "BIP", itemSize: 8, id: 1, value: 3n },
  { type: "BIP", itemSize: 8, id: 2, value: TSC + 500n },
  { type: "BBP", itemSize: 8, blockType: 5 },
  { type: "BIP", itemSize: 8, id: 0, value: 0x7fff_0000_1000n },
  { type: "BEP", ip: true },
  ip("FUP", 0x1005n),
  { type: "BBP", itemSize: 8, blockType: 4 },
  { type: "BEP", ip: false },
  tnt("1"),
  ip("TIP", BASE),
];

Deno.test("sampleRows: records of PEBS are samples of their counters' events, the others are counted", async () => {
  const counters = [{ time: 0, cpu: 0, tid: 7, counter: 0, event: 4 }];
  const of = async (letters: string, options: SampleRowsOptions = {}) => {
    let left = -1;
    const end = (sink: PtSamples) => left = sink.pebsRecords;
    const lines = await rows(PEBS, letters, { ...options, end });
    return [left, ...lines.filter((line) => line.startsWith("pebs"))];
  };
  // The record's own address and time, 500 ticks after the first; counters 0 and 1, one of which is
  // unknown.
  const first = "pebs 7/7/0 186 1010>7fff00001000 0 4 (at 10)";
  assertEquals(await of("o", { pebs: { counters } }), [2, first]);
  // The second record has neither, so the packet's address and time count. The single event counts
  // for all counters.
  assertEquals(await of("o", { pebs: { counters, single: 3 } }), [
    0,
    first,
    "pebs 7/7/0 372 1005 0 3 (at 5)",
  ]);
  assertEquals(await of("b"), [2]);
  assertEquals((await of("os1", { pebs: { counters, single: 3 } })).length, 2);
});

Deno.test("sampleRows: of packets alone, instructions are where packets have addresses", async () => {
  const of = async (packets: readonly Packet[], letters: string) =>
    (await rows(packets, letters)).map((line) => line.replace("7/7/0 ", ""));
  assertEquals(await of(TWICE, "iq"), [
    "instructions 0 1000 0 1 (at 0)",
    "instructions 1116 1000 0 1 (at 0)",
    "instructions 1860 100c 0 1 (at c)",
    "instructions 1860 100c 221 1 (at c)",
  ]);
  assertEquals(await of(TWICE, "bq"), ["branches 1860 100c 221 1 (at c)"]);
  assertEquals(await of(TWICE, "iqq"), ["instructions 0 1000 0 1 (at 0)"]);
  assertEquals((await of(TWICE, "iqs2")).length, 2);
  assertEquals((await of(EVENTS, "ixpq")).filter((line) => !/^instr/.test(line)), [
    "psb 0 1000 1 0 (at 0)",
    "cbr 372 1000 1 20 (at 0)",
    "transactions 744 1005 1 1 (at 5)",
    "transactions 1116 100a 1 1 (at a)",
    "exstop 1116 1000 1 0 (at 0)",
    "mwait 1116 0 0 32 (high 1)",
    "pwre 1116 0 0 4736",
    "pwrx 1116 0 0 308",
    "cbr 3348 1000 1 25 (at 0)",
  ]);
});

Deno.test("sampleRows: conditional branches are samples where they are taken, with what is counted at each", async () => {
  const branches = short(await sampleRows(CONDITIONAL, "b"), "branches 7/7/0 ");
  assertEquals(branches, [
    "372 1004>1000 1 1 (at 4; to 0)",
    // Branch, conditional.
    "744 1000>1004 9 1 (at 0; to 4)",
    "744 1004>1000 1 1 (at 4; to 0)",
  ]);
  // A branch that is not taken has no target.
  const insns = short(await sampleRows(CONDITIONAL, "i1i"), "instructions 7/7/0 ");
  assertEquals(insns.map((line) => line.split(" ").slice(0, 3).join(" ")), [
    "372 1000 9",
    "372 1002 0",
    "372 1003 0",
    "372 1004>1000 1",
    "744 1000>1004 9",
    "744 1004>1000 1",
  ]);
});
