import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { runEngine } from "../reading/run_engine.ts";
import type { SampleFilter } from "../samples/resolve.ts";
import type { Run } from "../order/run.ts";
import type { Engine } from "../engine/engine.ts";
import { intervalLines } from "./interval_text.ts";
import { type ThreadInterval, ThreadIntervals } from "./thread_intervals.ts";
import { type Handled, type Happening, schedulerRecording, WITH_HANDLERS } from "./testing.ts";

interface Found {
  /** `tid from-to` and the time without that of handlers. */
  readonly ran: readonly string[];
  /** The same, and the frames of the handlers, outermost first, after the count of frames below. */
  readonly handled: readonly string[];
  readonly intervals: ThreadIntervals;
  /** Sum of all times on a CPU. */
  readonly sum: number;
}

async function found(
  happenings: readonly Happening[],
  filter: SampleFilter = {},
  how: Parameters<typeof schedulerRecording>[1] = {},
): Promise<Found> {
  const bytes = await schedulerRecording(happenings, { events: WITH_HANDLERS, ...how });
  const ran: string[] = [];
  const handled: string[] = [];
  let intervals: ThreadIntervals | undefined;
  let sum = 0;
  const text = ({ tid, from, to, interrupted }: ThreadInterval): string => {
    const [begin, end] = [from, to].map((time) => (intervals?.base ?? 0n) + BigInt(time));
    sum += to - from - interrupted;
    return `${tid} ${begin}-${end} ${to - from - interrupted}`;
  };
  const framesOf = ({ places, stacks }: Engine, of: number): string => {
    const names: string[] = [];
    for (; of >= 0; of = stacks.parent[of] ?? -1) {
      const place = stacks.place[of] ?? -1;
      const { names: known } = places.objects[places.object(place)] ?? {};
      names.unshift(known?.[places.address(place)] ?? "");
    }
    const below = names.filter((name) => name === "").length;
    return `${below} ${names.slice(below).join(";")}`;
  };
  await runEngine(await PerfDataReader.open(bytesSource(bytes)), [{
    needs: { stacks: true, looksAt: (run: Run, i: number) => intervals?.looksAt(run, i) ?? true },
    async start(engine: Engine) {
      intervals = await ThreadIntervals.open(engine, {
        off: () => {},
        ran: (interval) => ran.push(text(interval)),
        handled: (interval) =>
          handled.push(`${text(interval)} ${framesOf(engine, interval.stack)}`),
      }, { filter });
    },
    applied: (run: Run, i: number) => intervals?.applied(run, i),
    rows: (run: Run) => intervals?.rows(run),
    finish: () => intervals?.finish(),
  }]);
  assert(intervals !== undefined);
  return { ran, handled, intervals, sum };
}

const CHAIN = [0x1010n, 0x1020n];
const NET: Handled = ["softirq", 3];
const BLOCK: Handled = ["softirq", 4];
const DISK: Handled = ["irq", 36, "virtio1-req.0"];
const CARD: Handled = ["irq", 41, "eth0"];
const TIMER: Handled = ["timer"];
const begins = (time: bigint, tid = 7): Happening => ({ time, tid: 0, to: [tid, 0n] });
const leaves = (time: bigint, tid = 7): Happening => ({ time, tid, to: [0, 1n], chain: CHAIN });
const at = (time: bigint, more: Partial<Happening>): Happening => ({
  ...{ time, tid: 7, chain: CHAIN },
  ...more,
});

Deno.test("ThreadIntervals: an interrupt in a softirq counts for the innermost handler, and neither for the thread", async () => {
  const { ran, handled, intervals } = await found([
    begins(100n),
    at(110n, { enters: CARD }),
    at(114n, { exits: CARD }),
    at(120n, { enters: NET }),
    at(130n, { enters: DISK }),
    at(137n, { exits: DISK }),
    at(150n, { exits: NET }),
    leaves(200n),
  ]);
  // 4 of eth0, 7 of the disk, 30 - 7 of NET_RX: the stack of an entry has 3 frames.
  assertEquals(handled, [
    "7 110-114 4 3 [irq eth0]",
    "7 130-137 7 3 [softirq NET_RX];[irq virtio1-req.0]",
    "7 120-150 23 3 [softirq NET_RX]",
  ]);
  assertEquals(ran, ["7 100-200 66"]);
  assertEquals(intervals.handlers, { count: 3, unended: 0, unbegun: 0, isSampled: false });
});

Deno.test("ThreadIntervals: a clock's sample in the timer's interrupt is of the interrupted code, a counter's of the handler", async () => {
  const { ran, handled } = await found([
    begins(100n),
    at(120n, { enters: TIMER }),
    at(121n, { clock: 1n }),
    at(124n, { exits: TIMER }),
    at(130n, { enters: BLOCK }),
    at(140n, { enters: TIMER }),
    at(141n, { clock: 1n, isKernel: true }),
    at(144n, { exits: TIMER }),
    at(150n, { counter: 1n, isKernel: true }),
    at(160n, { exits: BLOCK }),
    leaves(200n),
  ]);
  assertEquals(ran, ["7 100-120 20", "7 120-200 46"]);
  assertEquals(handled, [
    "7 120-124 4 3 [irq local_timer]",
    "7 130-140 10 3 [softirq BLOCK]",
    "7 140-144 4 3 [softirq BLOCK];[irq local_timer]",
    "7 140-150 6 3 [softirq BLOCK]",
    "7 150-160 10 3 [softirq BLOCK]",
  ]);
});

Deno.test("ThreadIntervals: a handler without a recorded end counts up to the last record in it, an end without an entry not", async () => {
  const { ran, handled, intervals } = await found([
    begins(100n),
    at(105n, { exits: CARD }),
    at(110n, { enters: NET }),
    at(118n, { counter: 1n, isKernel: true }),
    // User code: the softirq has ended.
    at(130n, { counter: 1n }),
    at(140n, { enters: NET }),
    at(145n, { enters: DISK }),
    at(147n, { exits: DISK }),
    // A softirq interrupts no handler.
    at(150n, { enters: BLOCK }),
    at(152n, { exits: BLOCK }),
    // The thread leaves its CPU.
    at(160n, { enters: CARD }),
    leaves(200n),
    begins(300n, 8),
    // The end of the recording.
    { time: 310n, tid: 8, enters: NET },
    { time: 311n, tid: 8, counter: 1n, isKernel: true },
  ]);
  assertEquals(handled, [
    "7 110-118 8 3 [softirq NET_RX]",
    "7 145-147 2 3 [softirq NET_RX];[irq virtio1-req.0]",
    "7 140-147 5 3 [softirq NET_RX]",
    "7 150-152 2 3 [softirq BLOCK]",
    "8 310-311 1 1 [softirq NET_RX]",
  ]);
  assertEquals(ran, ["7 100-130 22", "7 130-200 61", "8 300-311 10"]);
  assertEquals(intervals.handlers, { count: 6, unended: 4, unbegun: 1, isSampled: false });
  assertEquals(
    intervalLines(intervals).filter((line) => line.includes("handlers")),
    [
      "interrupt handlers: 4 of 7 without a recorded end count up to the last record in them, 1 without a recorded entry not at all (71.43%)",
    ],
  );
});

Deno.test("ThreadIntervals: lost records end the handlers of their CPU; handlers of idle CPUs are of no thread", async () => {
  const { ran, handled, intervals } = await found([
    begins(100n),
    at(110n, { enters: NET }),
    at(115n, { counter: 1n, isKernel: true }),
    at(150n, { lost: 3n }),
    leaves(200n),
    { time: 210n, tid: 0, enters: DISK },
    { time: 220n, tid: 0, exits: DISK },
  ]);
  assertEquals(handled, ["7 110-115 5 3 [softirq NET_RX]"]);
  assertEquals(ran, ["7 100-115 10"]);
  assertEquals(intervals.handlers.unended, 1);
});

Deno.test("ThreadIntervals: a time filter cuts handlers, and the time of the thread without them", async () => {
  const happenings = [
    begins(100n),
    at(120n, { enters: NET }),
    at(130n, { enters: CARD }),
    at(150n, { exits: CARD }),
    at(160n, { exits: NET }),
    leaves(200n),
  ];
  const { ran, handled, sum } = await found(happenings, { time: [140n, 155n] });
  assertEquals(handled, [
    "7 140-150 10 3 [softirq NET_RX];[irq eth0]",
    "7 140-155 5 3 [softirq NET_RX]",
  ]);
  assertEquals(ran, ["7 140-155 0"]);
  assertEquals(sum, 15);
});

Deno.test("ThreadIntervals: handlers without the formats of their tracepoints are named, not counted", async () => {
  const happenings = [
    begins(100n),
    at(110n, { enters: NET }),
    at(120n, { exits: NET }),
    leaves(200n),
  ];
  const { handled, intervals } = await found(happenings, {}, { formats: false, names: true });
  assertEquals(handled, []);
  assert(intervals.undescribed.includes("irq:softirq_entry"), intervals.undescribed.join());
});

Deno.test("ThreadIntervals: handlers whose format has a number of another size are left out", async () => {
  const happenings = [
    begins(100n),
    at(110n, { enters: NET }),
    at(120n, { exits: NET }),
    leaves(200n),
  ];
  for (const vectorSize of [1, 2]) {
    const { handled, ran } = await found(happenings, {}, { vectorSize });
    assertEquals([handled, ran], [[], ["7 100-200 100"]]);
  }
});

Deno.test("ThreadIntervals: times of threads and handlers sum up to those without the handlers' tracepoints", async () => {
  const handled: Handled[] = [NET, BLOCK, DISK, CARD, TIMER];
  const step = fc.record({
    after: fc.integer({ min: 1, max: 9 }),
    what: fc.oneof(
      fc.constantFrom("leaves", "clock", "counter"),
      fc.record({ end: fc.constantFrom("enters", "exits"), of: fc.nat(handled.length - 1) }),
    ),
    isKernel: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      let time = 100n;
      const happenings: Happening[] = [begins(time)];
      for (const { after, what, isKernel } of steps) {
        time += BigInt(after);
        if (what === "leaves") happenings.push(leaves(time), begins(time += 5n));
        else if (typeof what === "string") happenings.push(at(time, { [what]: 1n, isKernel }));
        else happenings.push(at(time, { [what.end]: handled[what.of] }));
      }
      happenings.push(leaves(time + 1n));
      const others = happenings.filter(({ enters, exits }) => (enters ?? exits) === undefined);
      assertEquals((await found(happenings)).sum, (await found(others)).sum);
    }),
    { numRuns: 20, seed: 7 },
  );
});
