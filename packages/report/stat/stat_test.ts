import { bytesSource } from "@perfdata/format/bytes";
import { emptyAttr, PerfDataReader } from "@perfdata/format/records";
import { HEADER_CMDLINE, HEADER_VERSION } from "@perfdata/format/constants";
import { assertEquals } from "@std/assert";
import { asFile, type Entry, type Item } from "../../../fixtures/synthesize/recording.ts";
import { analyzeStat, type StatCounts, type StatOptions, type StatReport } from "./stat.ts";

const FIXTURE = new URL("../../../fixtures/recorded/stat.perf.data", import.meta.url);

/** A STAT record: event 0 or 1, CPU, thread, value, times enabled and running. */
type Counter = readonly [
  event: number,
  cpu: number,
  thread: number,
  val: number,
  ena: number,
  run?: number,
];

/** A recording of page faults (1) and a clock (0). */
interface Laid {
  readonly mode: number;
  readonly interval?: number;
  readonly scale?: number;
  readonly cpus?: readonly number[];
  readonly threads?: readonly (readonly [number, string])[];
  /** Counts at the end of each round, with its time in ns. */
  readonly rounds: readonly (readonly [time: number | undefined, counters: readonly Counter[]])[];
  readonly unit?: string;
}

function record(type: number, name: string, body: unknown): Item {
  return { record: { type, name, misc: 0, body } as Entry };
}

async function stat(
  laid: Laid,
  options: Pick<StatOptions, "by"> = {},
): Promise<{ report: StatReport; rounds: StatCounts[] }> {
  const { mode, interval = 0, scale = 1, cpus = [-1], threads = [[-1, ""]], rounds } = laid;
  const empty = emptyAttr();
  const events = [0n, 2n].map((config, i) => ({
    attr: { ...empty, size: 128, type: 1, config },
    ids: [BigInt(11 + i)],
  }));
  const settings = [[0n, mode], [1n, interval], [2n, scale]] as const;
  const items = [
    record(73, "THREAD_MAP", {
      entries: threads.map(([pid, comm]) => ({ pid: BigInt(pid), comm })),
    }),
    record(74, "CPU_MAP", {
      type: 0,
      cpus_data: { cpu: cpus.map((cpu) => cpu & 0xffff) },
    }),
    record(75, "STAT_CONFIG", { data: settings.map(([tag, val]) => ({ tag, val: BigInt(val) })) }),
    ...(laid.unit === undefined ? [] : [
      record(78, "EVENT_UPDATE", { type: 0n, id: 11n, unit: laid.unit }),
      record(78, "EVENT_UPDATE", { type: 1n, id: 11n, scale: 1e-6 }),
    ]),
    ...rounds.flatMap(([time, counters], i) => [
      ...counters.map(([event, cpu, thread, val, ena, run = ena]) =>
        record(76, "STAT", {
          ...{ id: BigInt(11 + event), cpu, thread },
          ...{ val: BigInt(val), ena: BigInt(ena), run: BigInt(run) },
        })
      ),
      ...(time === undefined ? [] : [
        record(77, "STAT_ROUND", {
          type: i === rounds.length - 1 ? 1n : 0n,
          time: BigInt(time),
        }),
      ]),
    ]),
  ];
  const features = [
    { id: HEADER_VERSION, name: "VERSION", value: "6.1.0" },
    { id: HEADER_CMDLINE, name: "CMDLINE", value: { argv: ["perf", "stat"] } },
  ] as const;
  const bytes = await asFile({ events, items, features: features as never }, true);
  const reader = await PerfDataReader.open(bytesSource(bytes as Uint8Array<ArrayBuffer>));
  const found: StatCounts[] = [];
  const report = await analyzeStat(reader, { ...options, round: (counts) => found.push(counts) });
  return { report, rounds: found };
}

/** Rows as `group event count`, or with the state if there is no count. */
function texts({ rows }: StatCounts): string[] {
  return rows.map(({ group, event, state, count }) =>
    `${group.name}/${group.cpus} ${event} ${state === "counted" ? count : state}`
  );
}

Deno.test("analyzeStat: intervals have the counts of perf 6.1", async () => {
  const reader = await PerfDataReader.open(bytesSource(Deno.readFileSync(FIXTURE)));
  const found: string[] = [];
  const rates: (string | undefined)[] = [];
  const report = await analyzeStat(reader, {
    round: ({ time, rows }) => {
      for (const { name, value, unit } of rows) {
        const number = typeof value === "bigint" ? String(value) : value.toFixed(2);
        found.push([time, number, unit, name].join(" "));
      }
      rates.push(rows[1]?.metrics[0]?.value.toFixed(2));
    },
  });
  assertEquals([report.by, report.isCut, report.unknown, report.wanted], ["all", false, 0, ""]);
  assertEquals(report.interval > 0, true);
  assertEquals(found, [
    "5077940 8.78 msec cpu-clock",
    "5077940 56  page-faults",
    "14866694 18.36 msec cpu-clock",
    "14866694 33  page-faults",
    "19891215 4.03 msec cpu-clock",
    "19891215 51  page-faults",
  ]);
  // Thousands per second of this interval's clock; perf divides by the mean clock of all intervals
  // so far.
  assertEquals(rates, ["6.38", "1.80", "12.66"]);
});

Deno.test("analyzeStat: by CPU, each event has a row for each CPU, sorted by CPU", async () => {
  const { report, rounds } = await stat({
    mode: 0,
    cpus: [0, 1],
    rounds: [[900, [[0, 1, 0, 7, 5], [0, 0, 0, 3, 5], [1, 0, 0, 2, 5], [1, 1, 0, 4, 5]]]],
  });
  assertEquals([report.by, report.rounds, report.command], ["cpu", 1, ["perf", "stat"]]);
  assertEquals(rounds.map(texts), [["CPU0/1 0 3", "CPU1/1 0 7", "CPU0/1 1 2", "CPU1/1 1 4"]]);
  assertEquals([rounds[0]?.time, rounds[0]?.duration], [900n, 900]);
});

Deno.test("analyzeStat: all CPUs together are summed up, and extrapolated together", async () => {
  const { rounds } = await stat({
    mode: 1,
    cpus: [0, 1],
    rounds: [[900, [[0, 0, 0, 10, 100, 50], [0, 1, 0, 30, 100, 100], [1, 0, 0, 5, 0]]]],
  });
  // (10 + 30) * (100 + 100) / (50 + 100); the other event was never enabled.
  assertEquals(rounds.map(texts), [["/2 0 53", "/2 1 not counted"]]);
  const [row] = rounds[0]?.rows ?? [];
  assertEquals([row?.enabled, row?.running], [200n, 150n]);
});

Deno.test("analyzeStat: without scaling, a count is the counter's value", async () => {
  const { rounds } = await stat({ mode: 1, scale: 0, rounds: [[9, [[0, -1, 0, 10, 100, 50]]]] });
  assertEquals(rounds.map(texts), [["/0 0 10", "/0 1 not supported"]]);
});

Deno.test("analyzeStat: by CPU, counters are extrapolated one by one", async () => {
  const { rounds } = await stat({
    mode: 0,
    cpus: [0, 1],
    rounds: [[9, [[0, 0, 0, 10, 100, 50], [0, 1, 0, 30, 100, 0]]]],
  });
  assertEquals(texts(rounds[0] as StatCounts).slice(0, 2), ["CPU0/1 0 20", "CPU1/1 0 not counted"]);
});

Deno.test("analyzeStat: an interval has the counts since the previous one, and its own length", async () => {
  const { report, rounds } = await stat({
    mode: 1,
    interval: 5,
    rounds: [
      [500, [[0, -1, 0, 10, 100], [1, -1, 0, 1, 100]]],
      [1200, [[0, -1, 0, 25, 300], [1, -1, 0, 1, 300]]],
      [0, []],
    ],
  });
  assertEquals([report.rounds, report.interval], [2, 5]);
  assertEquals(rounds.map(texts), [["/0 0 10", "/0 1 1"], ["/0 0 15", "/0 1 0"]]);
  assertEquals(rounds.map(({ time, duration }) => [time, duration]), [[500n, 500], [1200n, 700]]);
  assertEquals(rounds.map(({ rows }) => rows[0]?.enabled), [100n, 200n]);
});

Deno.test("analyzeStat: by thread, each event has its threads, the largest count first", async () => {
  const { report, rounds } = await stat({
    mode: 4,
    threads: [[70, "sh"], [71, "cat"]],
    rounds: [[9, [[0, -1, 0, 3, 5], [0, -1, 1, 8, 5], [1, -1, 0, 9, 5], [1, -1, 1, 1, 5]]]],
  }, { by: "thread" });
  assertEquals(report.by, "thread");
  assertEquals(rounds.map(texts), [["cat-71/0 0 8", "sh-70/0 0 3", "sh-70/0 1 9", "cat-71/0 1 1"]]);
});

Deno.test("analyzeStat: an unsupported grouping is reported, and CPUs are shown", async () => {
  const rounds = [[9, [[0, 0, 0, 3, 5]]]] as const;
  const { report } = await stat({ mode: 1, cpus: [0], rounds }, { by: "socket" });
  assertEquals([report.by, report.wanted], ["cpu", "socket"]);
  const threads = await stat({ mode: 1, rounds }, { by: "node" });
  assertEquals([threads.report.by, threads.report.wanted], ["all", "node"]);
});

Deno.test("analyzeStat: positions in the CPU map, which older perf wrote, become CPU numbers", async () => {
  const { rounds } = await stat({
    mode: 0,
    cpus: [4, 6],
    rounds: [[9, [[0, 0, 0, 3, 5], [0, 1, 0, 8, 5]]]],
  });
  assertEquals(texts(rounds[0] as StatCounts).slice(0, 2), ["CPU4/1 0 3", "CPU6/1 0 8"]);
});

Deno.test("analyzeStat: a truncated recording has its counts, and no length", async () => {
  const { report, rounds } = await stat({ mode: 1, rounds: [[undefined, [[0, -1, 0, 3, 5]]]] });
  assertEquals([report.isCut, report.rounds, rounds[0]?.duration], [true, 1, undefined]);
  assertEquals(rounds.map(texts), [["/0 0 3", "/0 1 not supported"]]);
});

Deno.test("analyzeStat: a record of an unknown event is counted as unknown", async () => {
  const { report, rounds } = await stat({
    mode: 1,
    rounds: [[9, [[5, -1, 0, 3, 5], [0, -1, 0, 4, 5]]]],
  });
  assertEquals([report.unknown, texts(rounds[0] as StatCounts)[0]], [1, "/0 0 4"]);
});

Deno.test("analyzeStat: an update of an event's unit and scale changes its value, not its count", async () => {
  const { rounds } = await stat({
    mode: 1,
    unit: "msec",
    rounds: [[4_000_000, [[0, -1, 0, 2_000_000, 5], [1, -1, 0, 8, 5]]]],
  });
  const [clock, faults] = rounds[0]?.rows ?? [];
  assertEquals([clock?.unit, clock?.value, clock?.count], ["msec", 2, 2_000_000n]);
  assertEquals(clock?.metrics.map(({ value }) => value), [0.5]);
  // 8 in 2 ms.
  assertEquals(faults?.metrics.map(({ value, unit }) => [value, unit]), [[4, "K/sec"]]);
});
