import { encodePackets, type Packet } from "@perfdata/intel-pt";
import { assertEquals } from "@std/assert";
import { at, ip, psb, small, tsc } from "../testing.ts";
import { type LeftAddress, PtTurns, type TurnSurroundings } from "./pt_turns.ts";
import { snapshotTimes } from "./pt_snapshots.ts";

/** Ticks of the TSC, at 2.688 ticks per ns. */
const ticks = (ns: number) => Math.round(ns * 2.688);

interface Choices {
  readonly packets: readonly Packet[];
  /** Context switches: ns since the first packet, thread. */
  readonly switches: readonly (readonly [ns: number, tid: number])[];
  readonly execs?: readonly (readonly [ns: number, pid: number])[];
  /** Context switches of another CPU. */
  readonly others?: readonly (readonly [ns: number, tid: number])[];
  /** Address at which each thread left user space. */
  readonly left?: Readonly<Record<number, number>>;
  readonly tids?: readonly number[];
}

function columns(of: Choices["switches"], first: number) {
  return {
    count: of.length,
    time: Float64Array.from(of, ([ns]) => first + ns),
    tid: Int32Array.from(of, ([, tid]) => tid),
  };
}

const address = (low: number): LeftAddress => ({ low, high: 0, isUnsure: false });

/** Runs ahead in a trace in which thread 7 runs. `resume` chooses at the packet with a number. */
async function turnsOf(
  { packets, switches, execs = [], others = [], left = {}, tids = [7, 8, 9] }: Choices,
) {
  const { trace } = await small({ cpus: [packets], tids });
  const { source, clock, sideband } = trace;
  const first = clock.origin.since(at(0));
  sideband.execs.push(...execs.map(([ns, pid]) => ({ time: first + ns, pid })));
  const about: TurnSurroundings = {
    ...{ source, clock, sideband },
    ratios: {},
    switches: columns(switches, first),
    others: [columns(others, first)],
    leftAt: new Map(Object.entries(left).map(([tid, low]) => [Number(tid), address(low)])),
  };
  const [stream] = trace.aux.streams;
  if (stream === undefined) throw new Error("no trace");
  const turns = new PtTurns(about, stream, undefined, 0);
  const offset = (number: number) => encodePackets(packets.slice(0, number)).length;
  await turns.lookPast(offset(5));
  const has = turns.prepare(offset(5), 7, first, 0);
  return {
    has,
    turns,
    nextTurn: () => turns.nextTurn - first,
    turnEnd: () => turns.turnEnd - first,
    resume: (
      number: number,
      expected?: number,
      { hasRun = false, isMapped = () => true }: {
        readonly hasRun?: boolean;
        readonly isMapped?: (tid: number) => boolean;
      } = {},
    ) => {
      const { turn, isCertain } = turns.resume(
        offset(number),
        expected === undefined ? undefined : address(expected),
        hasRun,
        isMapped,
      );
      return [turn?.tid, isCertain];
    },
  };
}

/**
 * A system call at 100c, after which the thread may continue anywhere; two TIP.PGE packets; 372 us.
 */
const TWO: readonly Packet[] = [
  ...psb(0, 0x100cn),
  ip("TIP.PGD"),
  ip("TIP.PGE", 0x1010n),
  ip("TIP.PGD"),
  ip("TIP.PGE", 0x1013n),
  ip("TIP.PGD"),
  tsc(ticks(372_000)),
];

Deno.test("PtTurns.prepare: switches to the running thread or to the idle task give no turns", async () => {
  for (const switches of [[], [[100, 0]], [[100, 7]], [[400_000, 8]]] as const) {
    const { has, nextTurn } = await turnsOf({ packets: TWO, switches });
    assertEquals([has, nextTurn()], [false, Infinity]);
  }
});

Deno.test("PtTurns.turnEnd: a turn ends 1 ns before the next one, the last one at the next time", async () => {
  const { has, nextTurn, turnEnd, resume } = await turnsOf({
    packets: TWO,
    switches: [[1000, 0], [100_000, 8], [200_000, 8], [400_000, 9]],
    left: { 8: 0x1010 },
  });
  assertEquals([has, nextTurn(), turnEnd()], [true, 100_000, 99_999]);
  assertEquals(resume(6, 0x1005), [8, true]);
  assertEquals([nextTurn(), turnEnd()], [Infinity, 372_000]);
});

Deno.test("PtTurns.resume: the thread that left at the address continues; if two left there, the choice is not certain", async () => {
  const switches = [[100_000, 8]] as const;
  // 7 continues at 1010, 8 at 1013.
  const one = await turnsOf({ packets: TWO, switches, left: { 8: 0x1013 } });
  assertEquals([one.resume(6, 0x1010), one.resume(8, 0x1010)], [[undefined, true], [8, true]]);
  // Both left at 1010, so the code does not tell.
  const both = await turnsOf({ packets: TWO, switches, left: { 8: 0x1010 } });
  assertEquals(both.resume(6, 0x1010)[1], false);
  // The system call, two bytes before the address, is restarted.
  const restarted = await turnsOf({ packets: TWO, switches, left: { 8: 0x1012 } });
  assertEquals(restarted.resume(6, 0x1005), [8, true]);
});

Deno.test("PtTurns.resume: a thread without code at the address is not chosen", async () => {
  const found = await turnsOf({ packets: TWO, switches: [[100_000, 8], [200_000, 9]] });
  assertEquals(found.resume(6, 0x1005, { isMapped: (tid) => tid !== 8 }), [9, true]);
});

Deno.test("PtTurns.resume: after an exec, the new program begins at another address than where the old one left", async () => {
  const execs = [[100_000, 7]] as const;
  const found = await turnsOf({ packets: TWO, switches: [], execs });
  assertEquals([found.has, found.nextTurn()], [true, 100_000]);
  // 1010 is where it left; 1013 is the start of the program.
  assertEquals(found.resume(6, 0x1010), [undefined, true]);
  assertEquals(found.nextTurn(), 100_000);
  assertEquals(found.resume(8, 0x1005), [7, true]);
  // Execs of another process, before the time, and after the next one.
  for (const other of [[100_000, 8], [0, 7], [400_000, 7]] as const) {
    assertEquals((await turnsOf({ packets: TWO, switches: [], execs: [other] })).has, false);
  }
});

Deno.test("PtTurns.resume: another packet than TIP.PGE or PIP gives no turn", async () => {
  const { resume } = await turnsOf({ packets: TWO, switches: [[100_000, 8]] });
  assertEquals(resume(7), [undefined, false]);
});

Deno.test("PtTurns.resume: a PIP with an unknown CR3 gives the thread by its position in the trace, not certain", async () => {
  const pip = (cr3: bigint): Packet => ({ type: "PIP", cr3, nr: false });
  const packets = [
    ...psb(0, 0x100cn),
    ...[pip(0x2000n), pip(0x4000n), pip(0x2000n)],
    tsc(ticks(372_000)),
  ];
  const found = await turnsOf({ packets, switches: [[100_000, 8], [200_000, 7]] });
  // Threads of different processes: a packet tells.
  assertEquals([found.has, found.turns.isUnsure], [true, false]);
  // No process of a CR3 is known, so the position in the trace decides: a third of 372 us.
  assertEquals(found.resume(6), [8, false]);
});

Deno.test("snapshotTimes: the buffer with most snapshots gives the times, in order; no snapshots give none", async () => {
  const { trace } = await small({ cpus: [psb(0), psb(0)] });
  const { clock } = trace;
  const { aux } = trace;
  const [stream] = aux.streams;
  const [piece] = stream?.pieces ?? [];
  if (stream === undefined || piece === undefined) throw new Error("no trace");
  const of = (...times: number[]) => ({
    ...stream,
    pieces: times.map((tick) => ({ ...piece, reference: clock.base + BigInt(tick) })),
  });
  const taken = (mode: bigint, ...streams: ReturnType<typeof of>[]) =>
    snapshotTimes(
      {
        ...aux,
        ...(aux.intelPt === undefined ? {} : { intelPt: { ...aux.intelPt, snapshot_mode: mode } }),
        streams,
      } as typeof aux,
      clock,
    ).map((ns) => ns - clock.ns(0));
  // 1000 ticks are 372 ns.
  assertEquals(taken(1n, of(2000), of(3000, 1000), of(5000, 6000)), [372, 1116]);
  assertEquals(taken(1n, of(9000)), [3348]);
  assertEquals(taken(1n), []);
  assertEquals(taken(0n, of(9000)), []);
});
