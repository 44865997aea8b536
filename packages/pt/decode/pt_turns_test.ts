import { assertEquals } from "@std/assert";
import type { Packet } from "@perfdata/intel-pt";
import { at, ip, psb, small, type Switch, tsc } from "../testing.ts";
import { decodePt } from "./pt_run.ts";

/** 100c: syscall; the thread continues at 100e. */
const CALLS = 0x100cn;
const AFTER = 0x100en;

/**
 * A line for each address at which a thread continues: CPU, thread, address, ns since the first
 * time, `?` if unsure.
 */
async function threads(
  cpus: readonly (readonly Packet[])[],
  switches: readonly Switch[],
): Promise<{ lines: string[]; unsure: number }> {
  const { trace } = await small({ cpus, tids: [7, 8], switches });
  const { clock } = trace;
  const first = clock.origin.since(at(0));
  const lines: string[] = [];
  const counts = await decodePt(trace, {
    flow(buffer, run) {
      for (let i = 0; i < run.count; i++) {
        const event = ~(run.entries[i] ?? 0);
        // ENABLED
        if (run.kind[event] !== 2) continue;
        const mark = buffer.isUnsure ? "?" : "";
        const ns = clock.ns(run.time[event] ?? 0) - first;
        lines.push(
          `${buffer.index} ${buffer.tid}${mark} ${run.ipLow[event]?.toString(16)} ${ns}`,
        );
      }
    },
  });
  return { lines, unsure: counts.unsureThread };
}

/** An interrupt before an address, and the return to another address. */
const interrupted = (address: bigint, to: bigint): Packet[] => [
  ip("FUP", address),
  ip("TIP.PGD"),
  ip("TIP.PGE", to),
];

Deno.test("decodePt: after two switches between two times, each thread continues where it was interrupted", async () => {
  const packets = [
    ...psb(0, 0x1010n),
    // 7 is interrupted at 1011 and continues; 8 begins at 100c, and 7 continues at 1011 again.
    ...interrupted(0x1011n, 0x1011n),
    ...interrupted(0x1011n, CALLS),
    ip("TIP.PGD"),
    ip("TIP.PGE", 0x1011n),
    ...psb(100_000, 0x1011n),
  ];
  const switches = [{ ticks: 50_000, cpu: 0, tid: 8 }, { ticks: 80_000, cpu: 0, tid: 7 }];
  assertEquals(await threads([packets], switches), {
    // The earlier address of 8 is unknown: it may have been at 1011, too.
    lines: ["0 7? 1011 0", "0 8? 100c 18601", "0 7 1011 29761"],
    unsure: 1,
  });
});

Deno.test("decodePt: two threads in the same system call are told apart by time, and marked as unsure", async () => {
  const packets = [
    ...psb(0, CALLS),
    ip("TIP.PGD"),
    // Both threads may continue here, or one of them twice.
    ip("TIP.PGE", CALLS),
    ip("TIP.PGD"),
    ip("TIP.PGE", AFTER),
    ip("FUP", AFTER),
    ip("TIP.PGD"),
    tsc(100_000),
    ip("TIP.PGE", AFTER),
  ];
  const { lines, unsure } = await threads([packets], [{ ticks: 90_000, cpu: 0, tid: 8 }]);
  assertEquals(lines.map((line) => line.split(" ")[2]), ["100c", "100e", "100e"]);
  assertEquals(lines.map((line) => line.split(" ")[1])[2], "8");
  // The syscall at 100c ran while the running thread was unsure.
  assertEquals([lines.some((line) => line.includes("?")), unsure], [true, 1]);
});

Deno.test("decodePt: a thread that moves to another CPU continues where it left the first one", async () => {
  const cpus = [
    [
      ...psb(0, 0x1010n),
      ip("FUP", 0x1012n),
      ip("TIP.PGD"),
      tsc(200_000),
    ],
    [
      ...psb(0, CALLS),
      ip("TIP.PGD"),
      ip("TIP.PGE", 0x1012n),
      ip("FUP", 0x1012n),
      ip("TIP.PGD"),
      ip("TIP.PGE", AFTER),
      ...psb(190_000, AFTER),
    ],
  ];
  const switches = [
    { ticks: 60_000, cpu: 0, tid: 0 },
    { ticks: 70_000, cpu: 1, tid: 7 },
    { ticks: 90_000, cpu: 1, tid: 8 },
  ];
  assertEquals(await threads(cpus, switches), {
    lines: ["1 7 1012 26041", "1 8 100e 33482"],
    unsure: 0,
  });
});
