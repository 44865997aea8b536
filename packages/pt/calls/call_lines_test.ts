import { assertEquals } from "@std/assert";
import type { Packet } from "@perfdata/intel-pt";
import { BASE, ip, psb, type Small, tnt, tsc } from "../testing.ts";
import {
  callLines,
  type CallLinesOptions,
  sumLines,
  summed,
  timeLines,
  treeLines,
} from "./testing.ts";

/**
 * 1000: call 1010; 1005: jmp rax
 * 1010: call rax; 1012: ret
 * 1013: nop; 1014: ret
 * 1015: jmp rax
 * 1017: syscall; 1019: ret
 */
const CODE = Uint8Array.fromHex(
  "e80b000000" + "ffe0" + "909090909090909090" + "ffd0" + "c3" + "90c3" + "ffe0" + "0f05" + "c3",
);

// 1000 ticks are 372 ns; times of calls are those of the last packet with a time.

/** A trace of CPU 0 with these packets after a PSB+ at 1000. */
function trace(...packets: Packet[]): Small {
  return { code: CODE, cpus: [[...psb(0, BASE), tsc(1000), ...packets]] };
}

/** 1010 calls itself, and the inner call calls 1013; all return, and 1005 jumps to 1013. */
const RECURSION = trace(
  ip("TIP", 0x1010n),
  tsc(2000),
  ip("TIP", 0x1013n),
  tsc(3000),
  tnt("1"),
  tsc(4000),
  tnt("1"),
  tsc(5000),
  tnt("1"),
  ip("TIP", 0x1013n),
  tsc(7000),
);

async function all(recording: Small, options: CallLinesOptions = {}) {
  const sums = await summed(recording, { ...options, tree: true, timeline: true });
  return {
    calls: await callLines(recording, options),
    sums: sumLines(sums),
    tree: treeLines(sums),
    timeline: timeLines(sums),
    sink: sums.sink,
  };
}

Deno.test("PtCalls: values of PTWRITE are rows in the innermost call, at their address or that of execution", async () => {
  const writes = (ip: boolean, payload: bigint): Packet => ({
    type: "PTW",
    operandSize: 8,
    payload,
    ip,
  });
  const lines = await callLines(trace(
    ip("TIP", 0x1010n),
    tsc(2000),
    writes(true, 0x1_0000_0005n),
    ip("FUP", 0x1010n),
    ip("TIP", 0x1013n),
    tsc(3000),
    tnt("1"),
    writes(false, 7n),
    tsc(4000),
  ));
  // The columns after the time are duration, and the halves of the value.
  assertEquals(lines.filter((line) => line.startsWith("write")), [
    "write 10 7/0 2 744 -1 5 1 cycles",
    "write 12 7/0 2 1116 -1 7",
  ]);
});

Deno.test("PtCalls: recursive calls nest; the time of both is counted once, that of each is its own", async () => {
  const { calls, sums, tree, timeline, sink } = await all(RECURSION);
  assertEquals(calls, [
    "call 10 7/0 0 372",
    "call 10 7/0 1 744",
    "call 13 7/0 2 1116",
    // Duration, and instructions: 1013 1014; then 1010 and 1012 around them, twice.
    "return 13 7/0 2 1488 372 2",
    "return 10 7/0 1 1860 1116 4",
    "return 10 7/0 0 1860 1488 6",
  ]);
  assertEquals(sums, [
    // 1000 and 1010 share the time from 372 to 744. Then 1010, 1013 and 1014, 1012, and 1012 and
    // 1005 have a period each.
    "0: 1 186 0; 0 0 0 0",
    // 1012 and 1005 from 1860 to 2604.
    "5: 1 372 0; 0 0 0 0",
    "10: 2 558 0; 2 0 1488 6",
    "12: 2 744 0; 0 0 0 0",
    "13: 2 372 0; 1 0 372 2",
  ]);
  assertEquals(tree, [
    // 1000 and 1005; 1010 and 1012, outer and inner.
    "7: 0 2 558",
    "7: 0;10 2 558",
    "7: 0;10;10 2 744",
    "7: 0;10;10;13 2 372",
  ]);
  assertEquals(timeline, [
    "7: 0 0 372",
    "7: 10 372 744",
    "7: 10 744 1116",
    "7: 13 1116 1488",
    "7: 10 1488 1860",
    "7: 0 1860 2604",
  ]);
  assertEquals([sink.sums.insns, Math.round(sink.sums.time)], [8, 2604 - 372]);
});

Deno.test("PtCalls: a time filter keeps the calls and returns in it, with their whole durations", async () => {
  const { calls, sums, tree, timeline } = await all(RECURSION, { from: 744, to: 1488 });
  assertEquals(calls, [
    "call 10 7/0 1 744",
    "call 13 7/0 2 1116",
    "return 13 7/0 2 1488 372 2",
  ]);
  assertEquals(sums, [
    // From 744 to 1488 of the outer call, whose end is later.
    "10: 1 372 0; 0 0 744 0",
    // The last moment has its instruction, and no time.
    "12: 1 0 0; 0 0 0 0",
    "13: 2 372 0; 1 0 372 2",
  ]);
  assertEquals(tree.filter((line) => !line.endsWith(" 0 0")), [
    "7: 0;10;10 2 372",
    "7: 0;10;10;13 2 372",
  ]);
  assertEquals(timeline.slice(-2), ["7: 10 744 1116", "7: 13 1116 1488"]);
  assertEquals((await all(RECURSION, { from: 745, to: 1487 })).calls, ["call 13 7/0 2 1116"]);
  const other = await all(RECURSION, { tids: [8] });
  assertEquals([other.calls, other.sums, other.tree], [[], [], []]);
  assertEquals((await all(RECURSION, { tids: [7, 8] })).calls.length, 6);
});

Deno.test("PtCalls: a jump to a return address ends that call and all inside it, without returns", async () => {
  // 1010 calls 1015, which jumps to 1005: longjmp.
  const { calls, sums, tree } = await all(
    trace(
      ip("TIP", 0x1015n),
      tsc(2000),
      ip("TIP", 0x1005n),
      tsc(3000),
      ip("TIP", 0x1013n),
      tsc(7000),
    ),
  );
  assertEquals(calls, [
    "call 10 7/0 0 372",
    "call 15 7/0 1 744",
    "open 15 7/0 1 1116 372 1",
    "open 10 7/0 0 1116 744 2",
  ]);
  // Numbers of calls, and of calls without a return.
  assertEquals(sums.map((line) => line.split("; ")[1]), [
    ...["0 0 0 0", "0 0 0 0", "1 1 744 2", "1 1 372 1"],
  ]);
  assertEquals(tree.map((line) => line.split(" ").slice(0, 3).join(" ")), [
    ...["7: 0 2", "7: 0;10 1", "7: 0;10;15 1"],
  ]);
});

Deno.test("PtCalls: after a tail call, time and instructions count for the called function", async () => {
  // 1015 jumps to 1013, which returns to 1012.
  const { calls, tree } = await all(trace(
    ip("TIP", 0x1015n),
    tsc(2000),
    ip("TIP", 0x1013n),
    tsc(3000),
    tnt("1"),
    tsc(4000),
    tnt("1"),
    ip("TIP", BASE),
    tsc(5000),
  ));
  assertEquals(calls, [
    "call 10 7/0 0 372",
    "call 15 7/0 1 744",
    "return 15 7/0 1 1488 744 3",
    "return 10 7/0 0 1488 1116 5",
  ]);
  assertEquals(tree[2], "7: 0;10;15 3 744");
});

Deno.test("PtCalls: a system call is no call if it continues after itself; a signal handler is one", async () => {
  const back = await all(trace(
    ip("TIP", 0x1017n),
    ip("TIP.PGD"),
    tsc(2000),
    ip("TIP.PGE", 0x1019n),
    tsc(3000),
    tnt("1"),
    tsc(5000),
    tnt("1"),
    ip("TIP", BASE),
    tsc(6000),
  ));
  assertEquals(back.calls, [
    "call 10 7/0 0 372",
    "call 17 7/0 1 372",
    "return 17 7/0 1 1860 1488 2",
    "return 10 7/0 0 1860 1488 4",
  ]);
  // The time in the kernel, from 372 to 744, belongs to no place; 1019 has the time up to 1860.
  assertEquals(back.sums.at(-1), "19: 1 744 0; 0 0 0 0");
  // The handler at 1013 returns to 1012 by chance; then 1017 is called, and continues at 1019,
  // where it was left.
  const signal = await all(trace(
    ip("TIP", 0x1017n),
    ip("TIP.PGD"),
    tsc(2000),
    ip("TIP.PGE", 0x1015n),
    tsc(3000),
    ip("TIP", 0x1017n),
    ip("TIP.PGD"),
    tsc(4000),
    ip("TIP.PGE", 0x1010n),
    tsc(5000),
  ));
  assertEquals(signal.calls.slice(0, 4), [
    "call 10 7/0 0 372",
    "call 17 7/0 1 372",
    // It returns to 1019, after the system call.
    "call 15 7/0 2 744",
    // A second signal in the handler.
    "call 10 7/0 3 1488",
  ]);
  // From the handler to 1019: sigreturn.
  const sigreturn = await all(trace(
    ip("TIP", 0x1013n),
    ip("FUP", 0x1014n),
    ip("TIP.PGD"),
    tsc(2000),
    ip("TIP.PGE", 0x1017n),
    ip("TIP.PGD"),
    tsc(3000),
    ip("TIP.PGE", 0x1014n),
    tsc(4000),
    tnt("1"),
    tsc(5000),
  ));
  assertEquals(sigreturn.calls.slice(0, 5), [
    "call 10 7/0 0 372",
    "call 13 7/0 1 372",
    // Interrupted at 1014.
    "call 17 7/0 2 744",
    "return 17 7/0 2 1116 372 1",
    // The return waits for a packet that does not come.
    "open 13 7/-1 1 1860 1488 3",
  ]);
});

Deno.test("PtCalls: an interrupt is a call of its handler, from the instruction that was not executed", async () => {
  // Interrupted at 1010, to 1015, which jumps back to 1010. That is no return, since it is a jump;
  // 1010 calls 1013.
  const { calls, tree } = await all(trace(
    ip("FUP", 0x1010n),
    ip("TIP", 0x1015n),
    tsc(2000),
    ip("TIP", 0x1010n),
    tsc(3000),
    ip("TIP", 0x1013n),
    tsc(4000),
    tnt("1"),
    tsc(5000),
  ));
  assertEquals(calls.slice(0, 3), [
    "call 10 7/0 0 372",
    "call 15 7/0 1 372",
    "call 13 7/0 2 1488",
  ]);
  // Calls that are open at the end of the trace have no CPU and no return.
  assertEquals(calls.slice(3).map((line) => line.split(" ").slice(0, 5).join(" ")), [
    ...["open 13 7/-1 2 1860", "open 15 7/-1 1 1860", "open 10 7/-1 0 1860"],
  ]);
  assertEquals(tree[1], "7: 0;10 0 0");
});

Deno.test("PtCalls: a pause of tracing that resumes at the same address changes no calls", async () => {
  const { calls, sums } = await all(trace(
    ip("FUP", 0x1010n),
    ip("TIP.PGD"),
    tsc(2000),
    ip("TIP.PGE", 0x1010n),
    ip("TIP", 0x1013n),
    tsc(3000),
    tnt("1"),
  ));
  assertEquals(calls, [
    "call 10 7/0 0 372",
    "call 13 7/0 1 1116",
    "open 13 7/-1 1 1116 0 2",
    "open 10 7/-1 0 1116 744 3",
  ]);
  // From 372 to 744 no code ran, so 1000 has no time. From 744 on, 1010 has it.
  assertEquals(sums.slice(0, 2), ["0: 1 0 0; 0 0 0 0", "10: 1 372 0; 1 1 744 3"]);
});

Deno.test("PtCalls: after lost packets, calls that were open stay open", async () => {
  const { calls } = await all(trace(
    ip("TIP", 0x1010n),
    { type: "OVF" },
    ip("FUP", 0x1013n),
    tsc(2000),
    ip("TIP", 0x1012n),
    tsc(3000),
    ip("TIP", 0x1005n),
    tsc(4000),
    ip("TIP", BASE),
  ));
  // The target of the call in 1010 is lost; the outer call returns to 1005. 1010, 1013, 1014 and
  // 1012 were executed.
  assertEquals(calls, ["call 10 7/0 0 372", "return 10 7/0 0 1488 1116 4"]);
});

Deno.test("PtCalls: a call has the core clocks up to its return, a place those of its own instructions", async () => {
  const cyc = (cycles: bigint): Packet => ({ type: "CYC", cycles });
  const { calls, sums } = await all(trace(
    cyc(10n),
    ip("TIP", 0x1010n),
    tsc(2000),
    cyc(20n),
    ip("TIP", 0x1013n),
    tsc(3000),
    cyc(40n),
    tnt("1"),
    tsc(4000),
    cyc(80n),
    tnt("1"),
    tsc(5000),
    cyc(160n),
    tnt("1"),
    tsc(6000),
  ));
  assertEquals(calls.slice(3), [
    "return 13 7/0 2 1488 372 2 80 cycles",
    "return 10 7/0 1 1860 1116 4 280 cycles",
    // 20, 40, 80 and 160: all after the first.
    "open 10 7/-1 0 2232 1860 6 300 cycles",
  ]);
  assertEquals(sums, [
    // 20 for 1000 and 1010, 40 for the inner 1010, 80 for 1013 and 1014, 160 for 1012.
    "0: 1 186 10; 0 0 0 0",
    "10: 2 558 50; 2 1 1860 6",
    "12: 2 744 160; 0 0 0 0",
    "13: 2 372 80; 1 0 372 2",
  ]);
});

/** 7 runs on CPU 0; from 2000 to 4000 it is 8, which continues on CPU 1 at 4500. */
const THREADS: Small = {
  code: CODE,
  tids: [7, 8],
  mtc: true,
  switches: [
    { ticks: 2000, cpu: 0, tid: 8 },
    { ticks: 4000, cpu: 0, tid: 7 },
    { ticks: -500, cpu: 1, tid: 0 },
    { ticks: 4500, cpu: 1, tid: 8 },
  ],
  cpus: [
    [
      ...psb(0, BASE),
      tsc(1000),
      ip("TIP", 0x1010n),
      ip("FUP", 0x1010n),
      ip("TIP.PGD"),
      tsc(2000),
      ip("TIP.PGE", BASE),
      tsc(3000),
      ip("TIP", 0x1013n),
      ip("FUP", 0x1013n),
      ip("TIP.PGD"),
      tsc(4000),
      ip("TIP.PGE", 0x1010n),
      ip("TIP", 0x1013n),
      tsc(5000),
      tnt("1"),
    ],
    [
      ...psb(0),
      tsc(4500),
      ip("TIP.PGE", 0x1013n),
      tsc(6000),
      // The CPU has not seen the calls, so it does not compress their returns.
      ip("TIP", 0x1012n),
      tsc(7000),
      ip("TIP", 0x1005n),
      tsc(8000),
      ip("TIP", BASE),
    ],
  ],
};

Deno.test("PtCalls: each thread has its own calls, which continue on another CPU", async () => {
  const { calls, tree, sums } = await all(THREADS);
  assertEquals(calls.filter((line) => line.includes(" 7/")), [
    "call 10 7/0 0 372",
    // The recursive call of 1010 is interrupted at once, and continues after thread 8 has run.
    "call 10 7/0 1 372",
    "call 13 7/0 2 1860",
    "open 13 7/-1 2 2976 1116 2",
    "open 10 7/-1 1 2976 2604 3",
    "open 10 7/-1 0 2976 2604 4",
  ]);
  assertEquals(calls.filter((line) => line.includes(" 8/")), [
    "call 10 8/0 0 1116",
    "call 13 8/0 1 1116",
    // The return is known at the packet after its target address.
    "return 13 8/1 1 2604 1488 2",
    "return 10 8/1 0 2976 1860 4",
  ]);
  // 7: 1000, 1010 twice, 1013 and 1014; 8: 1000, 1010 and 1012, 1013 and 1014, 1005.
  assertEquals(tree.map((line) => line.split(" ").slice(0, 3).join(" ")).sort(), [
    ...["7: 0 1", "7: 0;10 1", "7: 0;10;10 1", "7: 0;10;10;13 2"],
    ...["8: 0 2", "8: 0;10 2", "8: 0;10;13 2"],
  ]);
  // Three calls of 1010, two of which stay open; two calls of 1013, one per thread.
  assertEquals(
    sums.filter((line) => !line.endsWith("0 0 0 0")).map((line) => line.split("; ")[1]),
    [
      `3 2 ${2604 + 1860} 8`,
      `2 1 ${1116 + 1488} 4`,
    ],
  );
});
