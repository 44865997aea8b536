import type { PerfEventAttr } from "@perfdata/format/records";

/** The properties of an event that metrics need. */
export interface MetricEvent {
  /** Its name. */
  readonly name: string;
  /** The event's attr. */
  readonly attr: PerfEventAttr;
}

/** A value computed from several counts, as `perf stat` prints it after `#`. */
export interface StatMetric {
  /** The figure. */
  readonly value: number;
  /** Unit: `GHz`, `insn per cycle`, `K/sec`. */
  readonly unit: string;
  /** Number of decimals, as in perf. */
  readonly digits: number;
  /** Text between value and unit. */
  readonly sign?: "%" | " ";
}

/** Sums of a group of CPUs, by role. */
export type MetricSums = ReadonlyMap<string, number>;

/** Roles of hardware events in metrics, by config (`linux/perf_event.h`). */
const HARDWARE = [
  ...["cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses"],
  ...["bus-cycles", "stalled-frontend", "stalled-backend"],
];
/** Names of caches in metrics, which are about load misses. */
const CACHES = ["L1-dcache", "L1-icache", "LL-cache", "dTLB cache", "iTLB cache"];
/** `PERF_COUNT_HW_CACHE_RESULT_MISS` of a load. */
const LOAD_MISS = 1 << 16;
/** Roles of a processor's events, by name: shares of slots, and transactions. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ["topdown-retiring", "td-retiring"],
  ["topdown-bad-spec", "td-bad-spec"],
  ["topdown-fe-bound", "td-fe-bound"],
  ["topdown-be-bound", "td-be-bound"],
  ["cpu/cycles-t/", "cycles-in-tx"],
  ["cpu/cycles-ct/", "cycles-in-tx-committed"],
  ["cpu/tx-start/", "tx-start"],
  ["cpu/el-start/", "el-start"],
]);
/** Names of the shares of slots. */
const TOPDOWN: ReadonlyMap<string, string> = new Map([
  ["td-retiring", "Retiring"],
  ["td-bad-spec", "Bad Speculation"],
  ["td-fe-bound", "Frontend Bound"],
  ["td-be-bound", "Backend Bound"],
]);

/**
 * Role of an event in metrics.
 *
 * @example
 * ```ts
 * import { statRole } from "@perfdata/report/figures";
 * import { emptyAttr } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const attr = { ...emptyAttr(), type: 0, config: 0n };
 * assertEquals(statRole({ name: "cycles:u", attr }), "cycles");
 * ```
 */
export function statRole({ name, attr: { type, config } }: MetricEvent): string | undefined {
  if (type === 1) return config < 2n ? "clock" : undefined;
  // The upper half selects the kind of core.
  const low = Number(config & 0xffffffffn);
  if (type === 0) return HARDWARE[low];
  if (type === 3) {
    const cache = CACHES[low & 0xff];
    if (cache === undefined) return undefined;
    return low >> 8 === LOAD_MISS >> 8 ? `${cache} misses` : low >> 8 === 0 ? cache : undefined;
  }
  return NAMED.get(name);
}

/**
 * The scope of a metric: events of the same kind of core that count in the same modes. Clocks
 * belong to all scopes.
 */
function scopeOf({ attr: { type, config, flags } }: MetricEvent): string {
  const modes = [
    flags.exclude_kernel,
    flags.exclude_user,
    flags.exclude_hv,
    flags.exclude_host,
    flags.exclude_idle,
  ].map((is) => is ? 1 : 0).join("");
  return type === 0 || type === 3 ? `${modes} ${config >> 32n}` : `${modes} 0`;
}

function sumName(role: string, scope: string): string {
  return role === "clock" ? role : `${role} ${scope}`;
}

/**
 * The inputs of metrics: for each role the mean of its events, as in perf.
 *
 * @param counts Counts of the events, in the same order.
 */
export function metricSums(
  events: readonly MetricEvent[],
  counts: readonly (number | undefined)[],
): MetricSums {
  const sums = new Map<string, { sum: number; count: number }>();
  events.forEach((event, i) => {
    const role = statRole(event);
    const count = counts[i];
    if (role === undefined || count === undefined) return;
    const name = sumName(role, scopeOf(event));
    const known = sums.get(name) ?? { sum: 0, count: 0 };
    sums.set(name, { sum: known.sum + count, count: known.count + 1 });
  });
  return new Map([...sums].map(([name, { sum, count }]) => [name, sum / count]));
}

/** A rate in the unit with few digits. */
function rate(perSecond: number): StatMetric {
  let value = perSecond;
  let prefix = "";
  for (const larger of ["K", "M", "G"]) {
    if (value <= 1000) break;
    value /= 1000;
    prefix = larger;
  }
  return { value, unit: `${prefix}/sec`, digits: 3 };
}

/** Denominator of a ratio, and its unit. */
type Ratio = readonly [of: string, unit: string, digits?: number];

/** Denominators by role of the numerator. */
const RATIOS: ReadonlyMap<string, Ratio> = new Map<string, Ratio>([
  ["branch-misses", ["branches", "of all branches"]],
  ["cache-misses", ["cache-references", "of all cache refs", 3]],
  ["stalled-frontend", ["cycles", "frontend cycles idle"]],
  ["stalled-backend", ["cycles", "backend cycles idle"]],
  ["cycles-in-tx", ["cycles", "transactional cycles"]],
  ...CACHES.map((cache) => [`${cache} misses`, [cache, `of all ${cache} accesses`]] as const),
]);

/**
 * The metrics of an event, computed as in `perf stat`.
 *
 * @param count Count of the event.
 * @param sums Sums of the same CPUs: {@link metricSums}.
 * @param wall Length of the interval in ns, if known.
 *
 * @example
 * ```ts
 * import { metricsOf, metricSums } from "@perfdata/report/figures";
 * import { emptyAttr } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const events = [0n, 1n].map((config) => ({ name: "", attr: { ...emptyAttr(), type: 0, config } }));
 * const sums = metricSums(events, [1000, 2500]);
 * const [metric] = metricsOf(events[1]!, 2500, sums, undefined);
 * assertEquals([metric?.value, metric?.unit], [2.5, "insn per cycle"]);
 * ```
 */
export function metricsOf(
  event: MetricEvent,
  count: number,
  sums: MetricSums,
  wall: number | undefined,
): StatMetric[] {
  const role = statRole(event);
  const scope = scopeOf(event);
  const sum = (of: string) => sums.get(sumName(of, scope)) ?? 0;
  const has = (of: string) => sums.has(sumName(of, scope));
  const ratio = role === undefined ? undefined : RATIOS.get(role);
  if (role === "clock") {
    return wall ? [{ value: count / wall, unit: "CPUs utilized", digits: 3 }] : [];
  }
  if (role === "cycles") {
    const time = sum("clock");
    return time > 0 ? [{ value: count / time, unit: "GHz", digits: 3 }] : [];
  }
  if (role === "instructions") {
    const cycles = sum("cycles");
    const stalled = Math.max(sum("stalled-frontend"), sum("stalled-backend"));
    const metrics: StatMetric[] = [];
    if (cycles > 0) {
      metrics.push({ value: count / cycles, unit: "insn per cycle", digits: 2, sign: " " });
    }
    if (stalled > 0 && count > 0) {
      metrics.push({
        value: stalled / count,
        unit: "stalled cycles per insn",
        digits: 2,
        sign: " ",
      });
    }
    return metrics;
  }
  if (ratio !== undefined) {
    const [of, unit, digits = 2] = ratio;
    if (!has(of)) return [];
    const whole = sum(of);
    return [{ value: whole > 0 ? count / whole * 100 : 0, unit, digits, sign: "%" }];
  }
  if (role === "cycles-in-tx-committed") {
    const [cycles, inside] = [sum("cycles"), Math.max(sum("cycles-in-tx"), count)];
    if (cycles === 0) return [];
    const value = 100 * (inside - count) / cycles;
    return [{ value, unit: "aborted cycles", digits: 2, sign: "%" }];
  }
  if (role === "tx-start" || role === "el-start") {
    if (!has("cycles-in-tx")) return [];
    const value = count > 0 ? sum("cycles-in-tx") / count : 0;
    const unit = role === "tx-start" ? "cycles / transaction" : "cycles / elision";
    return [{ value, unit, digits: 0 }];
  }
  const bound = role === undefined ? undefined : TOPDOWN.get(role);
  if (bound !== undefined && [...TOPDOWN.keys()].every((of) => sum(of) > 0)) {
    const slots = [...TOPDOWN.keys()].reduce((all, of) => all + sum(of), 0);
    return [{ value: sum(role as string) / slots * 100, unit: bound, digits: 1, sign: "%" }];
  }
  const time = sum("clock");
  return has("clock") ? [rate(time > 0 ? 1e9 * count / time : 0)] : [];
}
