import { assertEquals } from "@std/assert";
import type { StatCounts, StatGrouping, StatRow } from "./stat.ts";
import { STAT_COLUMNS, statCells, statRow, StatText } from "./stat_text.ts";

const FAULTS: StatRow = {
  event: 1,
  name: "page-faults",
  unit: "",
  group: { name: "", cpus: 0 },
  state: "counted",
  count: 56n,
  value: 56n,
  enabled: 100n,
  running: 100n,
  metrics: [{ value: 6.379, unit: "K/sec", digits: 3 }],
};

const CLOCK: StatRow = {
  ...FAULTS,
  event: 0,
  name: "cpu-clock",
  unit: "msec",
  count: 8_779_000n,
  value: 8.779,
  metrics: [],
};

/** One interval of rows. */
function counts(...rows: StatRow[]): StatCounts {
  return { time: 5_077_940n, duration: 5_077_940, rows };
}

/** The line of a row with a group. */
function grouped(by: StatGrouping, name: string, row: StatRow = CLOCK): string | undefined {
  const text = new StatText();
  const group = { name, cpus: 2 };
  return text.round(counts({ ...row, group }), { by, interval: 5, command: undefined })[1];
}

Deno.test("StatText: intervals are lines of perf 6.1, below one heading", () => {
  const text = new StatText();
  const report = { by: "all", interval: 5, command: undefined } as const;
  assertEquals(text.round(counts(CLOCK, FAULTS), report), [
    "#           time             counts unit events",
    "     0.005077940               8.78 msec cpu-clock",
    "     0.005077940                 56      page-faults                      #    6.379 K/sec",
  ]);
  assertEquals(text.round(counts(CLOCK), report).length, 1);
});

Deno.test("StatText: the heading is repeated after 25 intervals", () => {
  const text = new StatText();
  const report = { by: "cpu", interval: 5, command: undefined } as const;
  const heads = Array.from({ length: 51 }, () => text.round(counts(), report).length);
  assertEquals(heads.flatMap((lines, i) => lines > 0 ? [i] : []), [0, 25, 50]);
});

Deno.test("StatText: each grouping has its own columns", () => {
  const tail = "              8.78 msec cpu-clock";
  assertEquals(grouped("cpu", "CPU1"), `     0.005077940 CPU1       ${tail}`);
  assertEquals(grouped("cpu", ""), `     0.005077940 ${tail}`);
  assertEquals(grouped("core", "S0-D0-C12"), `     0.005077940 S0-D0-C12          2 ${tail}`);
  assertEquals(grouped("die", "S0-D1"), `     0.005077940 S0-D1           2 ${tail}`);
  assertEquals(grouped("socket", "S1"), `     0.005077940 S1        2 ${tail}`);
  assertEquals(grouped("node", "N1"), `     0.005077940 N1        2 ${tail}`);
  assertEquals(
    grouped("cache", "S0-D0-L3-ID0"),
    `     0.005077940 S0-D0-L3-ID0              2 ${tail}`,
  );
  assertEquals(grouped("thread", "a-b-77"), `     0.005077940              a-b-77       ${tail}`);
});

Deno.test("StatText: a single count has the command above and the time below", () => {
  const text = new StatText();
  const report = { by: "all", interval: 0, command: ["sleep", "1"] } as const;
  assertEquals(text.round({ ...counts(FAULTS), time: 12_000_000_345n }, report), [
    "",
    " Performance counter stats for 'sleep 1':",
    "",
    "                56      page-faults                      #    6.379 K/sec",
    "",
    "      12.000000345 seconds time elapsed",
    "",
  ]);
  const cut = text.round({ ...counts(), duration: undefined }, { ...report, command: undefined });
  assertEquals(cut, ["", " Performance counter stats for 'pipe':", "", ""]);
});

Deno.test("StatText: a second metric has its own line, and the share of the time is behind the last one", () => {
  const text = new StatText();
  const report = { by: "all", interval: 5, command: undefined } as const;
  const metrics = [
    { value: 2, unit: "insn per cycle", digits: 2, sign: " " },
    { value: 25, unit: "of all", digits: 3, sign: "%" },
  ] as const;
  const row = { ...FAULTS, metrics, running: 25n };
  const [, first, second, ...rest] = text.round(counts(row), report);
  assertEquals(
    first,
    "     0.005077940                 56      page-faults                      #    2.00  insn per cycle",
  );
  assertEquals(second?.slice(0, 16 + 1 + 49), "     0.005077940 ".padEnd(16 + 1 + 49));
  assertEquals(second?.slice(66).trim().replace(/ +/g, " "), "# 25.000 % of all (25.00%)");
  assertEquals(rest, []);
});

Deno.test("StatText: an event without a count has the reason, and a long unit widens its column", () => {
  const report = { by: "all", interval: 5, command: undefined } as const;
  const none = { ...FAULTS, state: "not counted", value: 0n, metrics: [] } as const;
  const [head, first, second] = new StatText().round(
    counts(none, { ...none, state: "not supported", unit: "Joules" }),
    report,
  );
  assertEquals(head, "#           time             counts   unit events");
  assertEquals(first, "     0.005077940      <not counted>        page-faults");
  assertEquals(second, "     0.005077940    <not supported> Joules page-faults");
});

Deno.test("statRow: a counted row has its value, other rows have no unknown values", () => {
  assertEquals(statRow(counts(), { ...FAULTS, group: { name: "S0", cpus: 4 } }), {
    time: 5_077_940n,
    duration: 5_077_940,
    group: "S0",
    cpus: 4,
    event: "page-faults",
    event_index: 1,
    state: "counted",
    value: 56n,
    unit: undefined,
    count: 56n,
    enabled: 100n,
    running: 100n,
    metrics: [{ value: 6.379, unit: "K/sec" }],
  });
  const { group, cpus, value, count, unit } = statRow(counts(), {
    ...CLOCK,
    state: "not counted",
  });
  assertEquals([group, cpus, value, count, unit], [
    ...[undefined, undefined, undefined, undefined, "msec"],
  ]);
});

Deno.test("statCells: a row has a cell per column, and each further metric a row without counts", () => {
  const more = [{ value: 1, unit: "a", digits: 1 }, { value: 2, unit: "b", digits: 1 }];
  const rows = statCells(counts(), { ...FAULTS, metrics: more });
  assertEquals(rows.map(({ length }) => length), [STAT_COLUMNS.length, STAT_COLUMNS.length]);
  const [first, second] = rows.map((cells) =>
    Object.fromEntries(STAT_COLUMNS.map((name, i) => [name, cells[i]]))
  );
  assertEquals([first?.["event"], first?.["count"], first?.["metric"], first?.["metric_unit"]], [
    ...["page-faults", "56", 1, "a"],
  ]);
  assertEquals(
    [second?.["event"], second?.["state"], second?.["count"], second?.["metric"]],
    ["page-faults", "metric", undefined, 2],
  );
  assertEquals([second?.["running"], second?.["metric_unit"]], [undefined, "b"]);
});
