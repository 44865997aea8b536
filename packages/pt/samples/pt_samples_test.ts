import { assertEquals } from "@std/assert";
import { decodePt } from "../decode/pt_run.ts";
import { BASE, ip, psb, small, tnt, tsc } from "../testing.ts";
import { parseItrace } from "./itrace.ts";
import { PebsRecord } from "./pt_pebs.ts";
import { PtSampleRows, SAMPLE_WORD, SAMPLE_WORDS } from "./pt_sample_rows.ts";
import { SamplePeriod } from "./pt_sample_period.ts";
import { PtSamples } from "./pt_samples.ts";

const PACKETS = [
  ...psb(0, BASE),
  tsc(1000),
  tnt("11"),
  tsc(3000),
  ip("TIP", BASE),
  ip("FUP", 0x1000n),
  ip("TIP.PGD"),
];

/** The addresses of samples. */
async function samples(letters: string): Promise<string[]> {
  const { trace } = await small({ cpus: [PACKETS] });
  const lines: string[] = [];
  const sink: PtSamples = new PtSamples(trace, {
    itrace: { ...parseItrace(letters), pebs: false },
    maxNonTurboRatio: 28,
    hasKernel: false,
    snapshots: false,
    filter: {},
    merge: false,
    idle: () => {
      const { rows } = sink;
      for (let i = 0; i < rows.count; i++) {
        const word = (name: keyof typeof SAMPLE_WORD) =>
          rows.words[i * SAMPLE_WORDS + SAMPLE_WORD[name]] ?? 0;
        const list = word("LISTS");
        const chain = list < 0 ? "" : ` of ${rows.lists[list]} callers`;
        lines.push(
          `${word("KIND")} ${word("TID")} ${word("FROM_LO").toString(16)} ` +
            `${word("TO_LO").toString(16)} ${word("FLAGS")} ${rows.value[i]}${chain}`,
        );
      }
      sink.clear();
    },
  });
  await decodePt(trace, sink);
  sink.finish();
  await sink.idle();
  return lines;
}

Deno.test("PtSamples: each branch gives a row, and so does the interrupt that ends tracing", async () => {
  // Kind, thread, from, to, flags of perf (call 3, return 5, jump 1; 1, 0x20 and 0x200: an interrupt ends tracing), value.
  assertEquals((await samples("b")).map((line) => line.split(" ").slice(0, 5).join(" ")), [
    "1 7 1000 1010 3",
    "1 7 1012 1005 5",
    "1 7 1005 1010 3",
    "1 7 1012 100a 5",
    "1 7 100a 1000 1",
    "1 7 1000 0 545",
  ]);
  const calls = await samples("c");
  assertEquals(calls.filter((line) => line.includes(" 1010 ")).length, 2);
  assertEquals(calls.some((line) => line.includes(" 1012 ")), false);
});

Deno.test("PtSamples: each Nth instruction gives a row with period N", async () => {
  const rows = (await samples("i3i")).map((line) => line.split(" "));
  assertEquals(rows.map(([kind, tid, from]) => `${kind} ${tid} ${from}`), [
    "0 7 1011",
    "0 7 1010",
    "0 7 100a",
  ]);
  assertEquals(rows.map((row) => row[5]), ["3", "3", "3"]);
  assertEquals((await samples("i1i")).length, 9);
});

Deno.test("PtSamples: a sample's call chain has its callers", async () => {
  const rows = await samples("i3ig8");
  // At 1011 and 1010, 1000 is the caller.
  assertEquals(rows.map((row) => /of (\d)/.exec(row)?.[1]), ["1", "1", "0"]);
});

Deno.test("SamplePeriod: a period of N instructions gives each Nth, in paths of any length", async () => {
  const { trace } = await small({ cpus: [PACKETS] });
  const { clock } = trace;
  const period = new SamplePeriod({ unit: "instructions", period: 5 }, clock);
  assertEquals(period.isOn, true);
  assertEquals([period.next(3), period.next(4)], [3, 1]);
  assertEquals(period.take(), 5);
  assertEquals([period.isFirst, period.next(4, 2)], [true, 4]);
  assertEquals([period.passes(2), period.passes(1)], [true, false]);
  assertEquals(period.next(1), 0);
  assertEquals(period.take(), 5);
  assertEquals(period.isFirst, false);
  assertEquals(period.takePart(), { takes: 2, passed: 0 });
  assertEquals(new SamplePeriod(undefined, clock).isOn, false);
});

Deno.test("SamplePeriod: a period of ticks gives a sample at each multiple of it", async () => {
  const { trace } = await small({ cpus: [PACKETS] });
  const { clock } = trace;
  const period = new SamplePeriod({ unit: "ticks", period: 16 }, clock);
  period.time(8);
  // An instruction counts as one tick: the eighth is at 16, the next one 16 later.
  const first = period.next(100);
  const second = period.next(100, first + 1);
  assertEquals(second - first, 16);
});

Deno.test("PebsRecord: counters of a record give their events once these are known", () => {
  const counters = [
    { time: 10, cpu: 0, tid: 7, counter: 0, event: 4 },
    { time: 20, cpu: 1, tid: 7, counter: 0, event: 9 },
    { time: 30, cpu: -1, tid: 7, counter: 33, event: 6 },
  ];
  const record = new PebsRecord({ counters }, { cpu: 0, tid: undefined });
  record.begin(4);
  record.item(0, 0x1000, 1);
  record.item(1, 1, 2);
  record.item(2, 77, 5);
  record.begin(5);
  record.item(0, 0x2000, 3);
  record.item(1, 0xffff, 0);
  assertEquals([record.hasIp, record.ipLow, record.ipHigh], [true, 0x1000, 1]);
  assertEquals([record.hasTsc, record.tscLow, record.tscHigh], [true, 77, 5]);
  assertEquals([record.addressLow, record.addressHigh, record.isOpen], [0x2000, 3, true]);
  assertEquals([...record.events(5)], [-1, -1]);
  assertEquals([...record.events(25)], [4, -1]);
  assertEquals([...record.events(30)], [4, 6]);
  record.isOpen = false;
  record.begin(4);
  assertEquals([record.hasIp, record.hasTsc, record.addressLow], [false, false, 0]);
  assertEquals([...record.events(40)], [-1]);
  const single = new PebsRecord({ counters, single: 3 }, { cpu: 1, tid: undefined });
  single.begin(4);
  single.item(1, 2, 0);
  assertEquals([...single.events(50)], [3]);
});

Deno.test("PtSampleRows: rows that are copied and dropped keep their lists", () => {
  const rows = new PtSampleRows();
  for (let i = 0; i < 1100; i++) {
    const at = rows.add(i, 2 * i);
    rows.from(at, i, 1, 5);
    rows.to(at, i + 1, 2, 6);
    rows.words[at + SAMPLE_WORD.LISTS] = -1;
    if (i % 500 !== 99) continue;
    // A list with a caller, and without branches and data.
    rows.words[at + SAMPLE_WORD.LISTS] = rows.reserve(6);
    rows.lists.set([1, i, 8, 9, 0, 0], rows.listWords);
    rows.listWords += 6;
  }
  rows.drop(600);
  assertEquals([rows.count, rows.time[0], rows.value[0], rows.listWords], [500, 600, 1200, 6]);
  // Row 1099 of all: the list of row 599 was removed.
  const list = rows.words[499 * SAMPLE_WORDS + SAMPLE_WORD.LISTS] ?? -1;
  assertEquals([list, rows.lists[list + 1]], [0, 1099]);
  const other = new PtSampleRows();
  other.copy(rows, 0);
  other.copy(rows, 499);
  assertEquals([other.count, other.time[1], other.listWords, other.lists[1]], [2, 1099, 6, 1099]);
  const words = other.words.subarray(SAMPLE_WORDS);
  assertEquals([
    words[SAMPLE_WORD.FROM_LO],
    words[SAMPLE_WORD.FROM_HI],
    words[SAMPLE_WORD.FROM],
    words[SAMPLE_WORD.TO_LO],
    words[SAMPLE_WORD.TO_HI],
    words[SAMPLE_WORD.TO],
  ], [1099, 1, 5, 1100, 2, 6]);
});
