import { emptyAttr } from "@perfdata/format/records";
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { type MetricEvent, metricsOf, metricSums, statRole } from "./stat_metrics.ts";

const MISS = 0x1_0000n;

/** An event by type and config. */
function event(type: number, config: bigint, name = "", user = false): MetricEvent {
  const empty = emptyAttr();
  const flags = { ...empty.flags, exclude_kernel: user };
  return { name, attr: { ...empty, type, config, flags } };
}

/** The metrics of the last of some events, as `value unit` with the printed digits. */
function shown(
  counts: readonly (readonly [MetricEvent, number])[],
  wall?: number,
): string[] {
  const sums = metricSums(counts.map(([event]) => event), counts.map(([, count]) => count));
  const [last, count] = counts.at(-1) as readonly [MetricEvent, number];
  return metricsOf(last, count, sums, wall).map(({ value, digits, sign = "", unit }) =>
    `${value.toFixed(digits)}${sign} ${unit}`
  );
}

const CLOCK = event(1, 0n), CYCLES = event(0, 0n), INSTRUCTIONS = event(0, 1n);
const FRONTEND = event(0, 7n), BACKEND = event(0, 8n);

Deno.test("statRole: hardware events have the roles of perf_hw_id, for any kind of core", () => {
  const roles = Array.from({ length: 10 }, (_, config) => statRole(event(0, BigInt(config))));
  assertEquals(roles, [
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-frontend",
    "stalled-backend",
    undefined,
  ]);
  assertEquals(statRole(event(0, 4n << 32n | 1n)), "instructions");
});

Deno.test("statRole: only the two clocks of the software events have a role", () => {
  assertEquals([0n, 1n, 2n].map((config) => statRole(event(1, config))), [
    ...["clock", "clock", undefined],
  ]);
});

Deno.test("statRole: caches have a role for loads and load misses, not for stores or prefetches", () => {
  const names = ["L1-dcache", "L1-icache", "LL-cache", "dTLB cache", "iTLB cache"];
  for (const [i, name] of names.entries()) {
    assertEquals(statRole(event(3, BigInt(i))), name);
    assertEquals(statRole(event(3, BigInt(i) | MISS)), `${name} misses`);
  }
  assertEquals(statRole(event(3, 0x100n)), undefined);
  assertEquals(statRole(event(3, 0x100n | MISS)), undefined);
  assertEquals(statRole(event(3, 5n)), undefined);
});

Deno.test("statRole: raw events have a role by name", () => {
  assertEquals(statRole(event(4, 0n, "topdown-be-bound")), "td-be-bound");
  assertEquals(statRole(event(4, 0n, "cpu/tx-start/")), "tx-start");
  assertEquals(statRole(event(4, 0n, "topdown")), undefined);
});

Deno.test("metricSums: events of one role and scope give their mean, missing counts are ignored", () => {
  const events = [CYCLES, CYCLES, CYCLES, event(0, 0n, "", true), event(1, 9n)];
  const sums = metricSums(events, [10, 30, undefined, 5, 7]);
  assertEquals([...sums.values()], [20, 5]);
});

Deno.test("metricsOf: a clock gives the number of used CPUs", () => {
  assertEquals(shown([[CLOCK, 3e9]], 2e9), ["1.500 CPUs utilized"]);
  assertEquals(shown([[CLOCK, 3e9]]), []);
  assertEquals(shown([[CLOCK, 3e9]], 0), []);
});

Deno.test("metricsOf: cycles give GHz if a clock was counted", () => {
  assertEquals(shown([[CLOCK, 2e9], [CYCLES, 5e9]]), ["2.500 GHz"]);
  assertEquals(shown([[CLOCK, 0], [CYCLES, 5e9]]), []);
  assertEquals(shown([[CYCLES, 5e9]]), []);
});

Deno.test("metricsOf: instructions give their number per cycle, and the larger of stalls", () => {
  assertEquals(
    shown([[CYCLES, 1000], [FRONTEND, 300], [BACKEND, 500], [INSTRUCTIONS, 2000]]),
    ["2.00  insn per cycle", "0.25  stalled cycles per insn"],
  );
  assertEquals(shown([[CYCLES, 1000], [INSTRUCTIONS, 500]]), ["0.50  insn per cycle"]);
  assertEquals(shown([[BACKEND, 500], [INSTRUCTIONS, 0]]), []);
  assertEquals(shown([[CYCLES, 0], [INSTRUCTIONS, 5]]), []);
});

Deno.test("metricsOf: events of other modes or cores are not combined", () => {
  assertEquals(shown([[CYCLES, 1000], [event(0, 1n, "", true), 500]]), []);
  assertEquals(shown([[CYCLES, 1000], [event(0, 1n << 32n | 1n), 500]]), []);
});

Deno.test("metricsOf: misses are shares of their accesses", () => {
  const ratios = [
    [event(0, 4n), event(0, 5n), "12.50% of all branches"],
    [event(0, 2n), event(0, 3n), "12.500% of all cache refs"],
    [event(3, 0n), event(3, MISS), "12.50% of all L1-dcache accesses"],
    [event(3, 4n), event(3, 4n | MISS), "12.50% of all iTLB cache accesses"],
    [CYCLES, FRONTEND, "12.50% frontend cycles idle"],
    [CYCLES, BACKEND, "12.50% backend cycles idle"],
  ] as const;
  for (const [whole, part, text] of ratios) {
    assertEquals(shown([[whole, 800], [part, 100]]), [text]);
  }
  assertEquals(shown([[event(0, 4n), 0], [event(0, 5n), 100]]), ["0.00% of all branches"]);
  assertEquals(shown([[event(0, 5n), 100]]), []);
});

Deno.test("metricsOf: transactions give their cycles, aborted cycles, and cycles per transaction", () => {
  const inside = event(4, 0n, "cpu/cycles-t/"), committed = event(4, 0n, "cpu/cycles-ct/");
  assertEquals(shown([[CYCLES, 1000], [inside, 400]]), ["40.00% transactional cycles"]);
  assertEquals(shown([[CYCLES, 1000], [inside, 400], [committed, 300]]), [
    "10.00% aborted cycles",
  ]);
  // More cycles were committed than ran in transactions: none was aborted.
  assertEquals(shown([[CYCLES, 1000], [inside, 200], [committed, 300]]), ["0.00% aborted cycles"]);
  assertEquals(shown([[inside, 400], [committed, 300]]), []);
  const start = event(4, 0n, "cpu/tx-start/"), elision = event(4, 0n, "cpu/el-start/");
  assertEquals(shown([[inside, 400], [start, 8]]), ["50 cycles / transaction"]);
  assertEquals(shown([[inside, 400], [elision, 4]]), ["100 cycles / elision"]);
  assertEquals(shown([[inside, 400], [start, 0]]), ["0 cycles / transaction"]);
  assertEquals(shown([[start, 8]]), []);
});

Deno.test("metricsOf: shares of slots need all four kinds, and sum up to 100 %", () => {
  const slots = (["retiring", "bad-spec", "fe-bound", "be-bound"] as const)
    .map((name, i): [MetricEvent, number] => [event(4, 0n, `topdown-${name}`), 10 * (i + 1)]);
  const texts = slots.map((_, i) => shown([...slots.slice(i + 1), ...slots.slice(0, i + 1)]));
  assertEquals(texts, [
    ["10.0% Retiring"],
    ["20.0% Bad Speculation"],
    ["30.0% Frontend Bound"],
    ["40.0% Backend Bound"],
  ]);
  assertEquals(shown(slots.slice(0, 3)), []);
});

Deno.test("metricsOf: other events give a rate per second of the clock, with up to three digits before the point", () => {
  const faults = event(1, 2n);
  const rates = [[500, "500.000 /sec"], [1000, "1000.000 /sec"], [1001, "1.001 K/sec"]] as const;
  for (const [count, text] of rates) {
    assertEquals(shown([[CLOCK, 1e9], [faults, count]]), [text]);
  }
  assertEquals(shown([[CLOCK, 2e9], [faults, 5e6]]), ["2.500 M/sec"]);
  assertEquals(shown([[CLOCK, 1e9], [faults, 7e12]]), ["7000.000 G/sec"]);
  assertEquals(shown([[CLOCK, 0], [faults, 5]]), ["0.000 /sec"]);
  assertEquals(shown([[faults, 5]]), []);
  const [metric] = metricsOf(faults, 56, metricSums([CLOCK], [8.78e6]), undefined);
  assertAlmostEquals(metric?.value ?? 0, 6.378, 1e-3);
});
