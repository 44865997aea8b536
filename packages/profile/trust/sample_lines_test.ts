import { assertEquals } from "@std/assert";
import { fileSource } from "@perfdata/format/files";
import { PerfDataReader } from "@perfdata/format/records";
import { LargestPeriods, runEngine } from "@perfdata/session";
import { SampleCollector } from "../collecting/sample_collector.ts";
import { missingColumns, sumDoubts } from "./sample_lines.ts";

const RECORDED = new URL("../../../fixtures/recorded/", import.meta.url).pathname;

/** A collector of a recording's samples by some details. */
async function collected(
  name: string,
  columns: readonly ("cgroup" | "time" | "machine")[],
  sockets: boolean,
): Promise<SampleCollector> {
  const collector = new SampleCollector({ keys: { sockets, details: { columns, parts: [] } } });
  const source = fileSource(RECORDED + name);
  const diagnostics = () => {};
  await runEngine(await PerfDataReader.open(source, { diagnostics }), [collector], { diagnostics });
  return collector;
}

Deno.test("missingColumns: a column that no sample has gives the option of perf record; others nothing", async () => {
  const lines = missingColumns(
    await collected("callchain.perf.data", ["cgroup", "time", "machine"], false),
  );
  assertEquals(lines, ["no sample has cgroup: perf record --all-cgroups records it"]);
});

Deno.test("missingColumns: sockets are missing if a recording has no topology", async () => {
  const killed = await collected("killed.perf.data", [], true);
  assertEquals(missingColumns(killed), ["the recording does not say which socket a CPU is of"]);
  assertEquals(missingColumns(await collected("callchain.perf.data", [], true)), []);
});

/** Largest periods of events. */
function largestOf(...periods: readonly number[]): LargestPeriods {
  const largest = new LargestPeriods();
  for (const [event, period] of periods.entries()) largest.see(event, period);
  return largest;
}

Deno.test("sumDoubts: a sample with most of the sum, and a sum of 2^53, give a line each", () => {
  const engine = { reader: { events: { all: [] } } };
  const events = [{ name: "cycles", unit: "count" }, { name: "faults", unit: "count" }] as const;
  const usual = { samples: 1000, period: 1_000_000 };
  const counts = { engine, largest: largestOf(5000, 2 ** 48) };
  const broken = { samples: 1000, period: 2 ** 48 + 999_000 };
  assertEquals(sumDoubts(counts, events, [usual]), { rounded: [], ruling: [] });
  const { rounded, ruling } = sumDoubts(counts, events, [{ ...usual, period: 2 ** 53 }, broken]);
  assertEquals(rounded, ["sums of periods from 2^53 on are rounded"]);
  assertEquals(ruling.map((line) => line.slice(0, 56)), [
    "one of 1000 samples of faults has a period of 2814749767",
  ]);
  const weights = sumDoubts({ ...counts, kind: "accesses" }, events, [usual, broken]);
  assertEquals(weights.ruling[0]?.includes("has a weight of"), true);
});
