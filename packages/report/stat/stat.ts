import { type PerfDataReader, type PerfEvent, RecordCodec } from "@perfdata/format/records";
import { numberAt } from "@perfdata/format/bytes";
import type { CommandLine } from "@perfdata/format/features";
import {
  HEADER_CMDLINE,
  HEADER_VERSION,
  PERF_RECORD_CPU_MAP,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_STAT,
  PERF_RECORD_STAT_CONFIG,
  PERF_RECORD_STAT_ROUND,
  PERF_RECORD_THREAD_MAP,
} from "@perfdata/format/constants";
import {
  type CpuCache,
  type CpuPlace,
  EventNames,
  recordedCaches,
  recordedCpus,
  recordedFeatures,
  recordedNodes,
  streamFeature,
} from "@perfdata/session";
import { CPU_MAP, cpusOf, EVENT_UPDATE } from "@perfdata/user-records/metadata";
import { STAT, STAT_CONFIG, STAT_ROUND, THREAD_MAP } from "@perfdata/user-records";
import {
  type MetricEvent,
  metricsOf,
  metricSums,
  type StatMetric,
  statRole,
} from "./stat_metrics.ts";

/** Aggregation of counts. */
export const STAT_GROUPINGS = [
  ...["all", "cpu", "core", "cache", "die", "socket", "node", "thread"] as const,
] as const;
/** Aggregation of counts. */
export type StatGrouping = typeof STAT_GROUPINGS[number];

/** A group of counts: a CPU, core, thread, …, depending on the aggregation. */
export interface StatGroup {
  /** Name: `CPU0`, `S0-D0-C1`, `N0`, `bash-1234`; empty if there is a single group. */
  readonly name: string;
  /** Number of CPUs. */
  readonly cpus: number;
}

/** Count of an event in a group. */
export interface StatRow {
  /** Index of the event. */
  readonly event: number;
  /** Its name. */
  readonly name: string;
  /** Unit of the value: `msec`, `Joules`; empty for a number of events. */
  readonly unit: string;
  /** The CPUs or the thread. */
  readonly group: StatGroup;
  /** Whether there is a count. */
  readonly state: "counted" | "not counted" | "not supported";
  /** Count, extrapolated if the event had a counter for only a part of the time. */
  readonly count: bigint;
  /** Count in its unit; the plain count without a unit. */
  readonly value: number | bigint;
  /** Time in ns that the event was enabled. */
  readonly enabled: bigint;
  /** Time in ns that it had a counter. */
  readonly running: bigint;
  /** Metrics computed from this count and others. */
  readonly metrics: readonly StatMetric[];
}

/** All counts of an interval, or of the whole recording. */
export interface StatCounts {
  /** End of the interval, in ns since counting began. */
  readonly time: bigint;
  /** Length of the interval in ns; `undefined` if the recording was truncated. */
  readonly duration: number | undefined;
  /** Counts in perf's order. */
  readonly rows: readonly StatRow[];
}

/** Contents of a recording of `perf stat record`. */
export interface StatReport {
  /** Aggregation of counts. */
  readonly by: StatGrouping;
  /** Milliseconds of an interval; 0 for a single count at the end. */
  readonly interval: number;
  /** The counted command: perf's command line, if known. */
  readonly command: readonly string[] | undefined;
  /** Number of intervals, or 1. */
  readonly rounds: number;
  /** STAT records of unknown events or threads. */
  readonly unknown: number;
  /** Whether the recording ended before its counts were complete. */
  readonly isCut: boolean;
  /** Aggregation of the recording, if it cannot be shown. */
  readonly wanted: string;
}

/** Options of the summation. */
export interface StatOptions {
  /** Aggregation; by default that of `perf stat record`. */
  readonly by?: StatGrouping;
  /** Receives each interval when it is complete. */
  round?(counts: StatCounts, report: Pick<StatReport, "by" | "interval" | "command">): void;
  /** Receives the number of read bytes. */
  progress?(bytes: number): void;
}

interface Count {
  val: bigint;
  ena: bigint;
  run: bigint;
}

interface Counted extends MetricEvent {
  readonly event: PerfEvent;
  unit: string;
  scale: number;
  /** The event's own CPUs, if it has some. */
  cpus: readonly number[] | undefined;
  /** Current counts by CPU and thread. */
  readonly now: Map<string, { cpu: number; thread: number; count: Count }>;
  /** Counts at the end of the previous interval. */
  before: Map<string, Count>;
}

interface Group extends StatGroup {
  /** Sort key of groups. */
  readonly order: readonly number[];
  readonly members: Set<string>;
}

const codec = new RecordCodec([CPU_MAP, EVENT_UPDATE, STAT, STAT_CONFIG, STAT_ROUND, THREAD_MAP]);
const KNOWN = new Set([
  ...[PERF_RECORD_CPU_MAP, PERF_RECORD_EVENT_UPDATE, PERF_RECORD_STAT, PERF_RECORD_STAT_CONFIG],
  ...[PERF_RECORD_STAT_ROUND, PERF_RECORD_THREAD_MAP],
]);
/** Tags of STAT_CONFIG. */
const CONFIG = { MODE: 0n, INTERVAL: 1n, SCALE: 2n, LEVEL: 3n };
/** `type` of the final round, and of updates of an event's unit, scale and CPUs. */
const FINAL = 1n;
const UPDATE = { UNIT: 0n, SCALE: 1n, CPUS: 3n };
/** Limit of counters that a damaged recording may define. */
const MOST_COUNTERS = 1 << 20;

/**
 * `enum aggr_mode`, which has changed: names by number, with the first version of perf that has
 * them.
 */
const MODES: readonly (readonly [major: number, minor: number, names: readonly string[]])[] = [
  [6, 9, ["cpu", "all", "socket", "die", "cluster", "cache", "core", "thread", "", "node"]],
  [6, 5, ["cpu", "all", "socket", "die", "cache", "core", "thread", "", "node"]],
  [5, 3, ["cpu", "all", "socket", "die", "core", "thread", "", "node"]],
  [0, 0, ["cpu", "all", "socket", "core", "thread", ""]],
];

/** Meaning of a recording's mode in its version of perf. */
function groupingOf(mode: number, version: string | undefined, hasLevel: boolean): string {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version ?? "") ??
    (hasLevel ? ["", "6", "9"] : ["", "6", "1"]);
  const [ma, mi] = [Number(major), Number(minor)];
  const [, , names] = MODES.find(([a, b]) => ma > a || (ma === a && mi >= b)) ?? [0, 0, []];
  return names[mode] ?? "";
}

/**
 * A count extrapolated from the time with a counter to the whole time; `undefined` without a
 * counter.
 */
function scaled({ val, ena, run }: Count, isScaled: boolean): bigint | undefined {
  if (ena === 0n || run === 0n) return undefined;
  if (!isScaled || run >= ena) return val;
  return BigInt(Math.trunc(Number(val) * Number(ena) / Number(run)));
}

/** The input of metrics: the count in its unit; for clocks, in ns. */
function inUnit(event: Counted, count: bigint): number {
  return Number(count) * (statRole(event) === "clock" ? 1 : event.scale);
}

/** Sums up a recording of `perf stat record` by interval, in one pass. */
class StatPass {
  readonly #reader: PerfDataReader;
  readonly #options: StatOptions;
  readonly #names: EventNames;
  readonly #features = new Map<number, Uint8Array>();
  #events: Counted[] | undefined;
  #cpus: readonly number[] = [];
  #threads: readonly { readonly pid: bigint; readonly comm: string }[] = [];
  #config = new Map<bigint, bigint>();
  #places: readonly CpuPlace[] = [];
  #nodes = new Map<number, number>();
  #caches = new Map<number, CpuCache[]>();
  #by: StatGrouping | undefined;
  #wanted = "";
  #command: readonly string[] | undefined;
  #last = 0n;
  #rounds = 0;
  #unknown = 0;
  #updates: Uint8Array[] = [];
  /** Whether STAT records have positions in the CPU map instead of CPU numbers. */
  #hasPositions: boolean | undefined;
  #isChanged = false;

  constructor(reader: PerfDataReader, options: StatOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#names = new EventNames(reader);
  }

  async run(): Promise<StatReport> {
    const reader = this.#reader;
    let bytes = 0;
    for await (const batch of reader.batches()) {
      for (let i = 0; i < batch.count; i++) {
        const [start, size] = [batch.start(i), batch.size(i)];
        const feature = streamFeature(reader, batch.bytes, batch.view, start, start + size);
        if (feature !== undefined) this.#features.set(feature.id, feature.payload.slice());
        this.#names.record(batch.bytes, batch.view, start, start + size);
        const type = batch.type(i);
        if (!KNOWN.has(type) || reader.isGoogleDialect) continue;
        const record = codec.decode(batch.recordBytes(i).slice(), batch.context(i));
        if (record.name === "CPU_MAP") this.#cpus = cpusOf(record.body);
        else if (record.name === "THREAD_MAP") this.#threads = record.body.entries;
        else if (record.name === "STAT_CONFIG") {
          this.#config = new Map(record.body.data.map(({ tag, val }) => [tag, val]));
        } else if (record.name === "EVENT_UPDATE") {
          this.#updates.push(batch.recordBytes(i).slice());
        } else if (record.name === "STAT") {
          this.#take(await this.#counted(), record.body);
        } else if (record.name === "STAT_ROUND") {
          await this.#round(record.body.time, record.body.type === FINAL);
        }
      }
      if (batch.payload !== undefined) await this.#names.payload(batch.payload);
      const { recordBytes } = reader.stats;
      this.#options.progress?.(recordBytes - bytes);
      bytes = recordBytes;
    }
    const isCut = this.#isChanged && this.#rounds === 0;
    if (isCut) await this.#round(undefined, true);
    return { ...this.#said(), isCut, rounds: this.#rounds, unknown: this.#unknown };
  }

  #said(): Pick<StatReport, "by" | "interval" | "command" | "wanted"> {
    return {
      by: this.#by ?? "all",
      interval: this.#interval,
      command: this.#command,
      wanted: this.#wanted,
    };
  }

  get #interval(): number {
    return Number(this.#config.get(CONFIG.INTERVAL) ?? 0n);
  }

  /** The events, with their updates, which precede counts. */
  async #counted(): Promise<Counted[]> {
    if (this.#events !== undefined) return this.#events;
    const names = await this.#names.all();
    const events = this.#reader.events.all.map((event, i): Counted => ({
      event,
      name: names[i] ?? "?",
      attr: event.attr,
      unit: "",
      scale: 1,
      cpus: undefined,
      now: new Map(),
      before: new Map(),
    }));
    for (const bytes of this.#updates) {
      const record = codec.decode(bytes, { littleEndian: this.#reader.littleEndian });
      if (record.name !== "EVENT_UPDATE") continue;
      const { type, id, unit, scale, cpus } = record.body;
      const counted = events.find(({ event }) => event.ids.includes(id));
      if (counted === undefined) continue;
      if (type === UPDATE.UNIT) counted.unit = unit ?? "";
      if (type === UPDATE.SCALE && Number.isFinite(scale)) counted.scale = scale as number;
      if (type === UPDATE.CPUS && cpus !== undefined) counted.cpus = cpusOf(cpus);
    }
    await this.#chooseGrouping();
    return this.#events = events;
  }

  async #chooseGrouping(): Promise<void> {
    const wanted = new Set([HEADER_CMDLINE, HEADER_VERSION]);
    const said = await recordedFeatures(this.#reader, wanted, this.#features);
    const command = said.get(HEADER_CMDLINE) as CommandLine | undefined;
    this.#command = command === undefined || "argv" in command ? command?.argv : [command.line];
    const version = said.get(HEADER_VERSION);
    this.#places = await recordedCpus(this.#reader, this.#features);
    this.#nodes = await recordedNodes(this.#reader, this.#features);
    this.#caches = await recordedCaches(this.#reader, this.#features);
    const mode = Number(this.#config.get(CONFIG.MODE) ?? 1n);
    const recorded = groupingOf(
      mode,
      typeof version === "string" ? version : undefined,
      this.#config.has(CONFIG.LEVEL),
    );
    const by = this.#options.by ?? recorded;
    const known = STAT_GROUPINGS.find((grouping) => grouping === by) ?? (by === "" ? "all" : "cpu");
    this.#by = this.#can(known) ? known : this.#hasCpus && by !== "all" ? "cpu" : "all";
    this.#wanted = this.#by === by || by === "" ? "" : by;
  }

  /** Whether CPUs were counted, not threads. */
  get #hasCpus(): boolean {
    return this.#cpus.some((cpu) => cpu >= 0);
  }

  #can(by: StatGrouping): boolean {
    if (by === "all") return true;
    if (by === "thread") return this.#threads.some(({ pid }) => pid >= 0n);
    if (!this.#hasCpus) return false;
    if (by === "cpu") return true;
    if (by === "cache") return this.#caches.size > 0;
    return by === "node" ? this.#nodes.size > 0 : this.#places.length > 0;
  }

  #take(
    events: readonly Counted[],
    { id, cpu, thread, val, ena, run }: {
      readonly id: bigint;
      readonly cpu: number;
      readonly thread: number;
      readonly val: bigint;
      readonly ena: bigint;
      readonly run: bigint;
    },
  ): void {
    const counted = events.find(({ event }) => event.ids.includes(id));
    const key = `${cpu} ${thread}`;
    if (counted === undefined || (!counted.now.has(key) && counted.now.size >= MOST_COUNTERS)) {
      this.#unknown++;
      return;
    }
    counted.now.set(key, { cpu, thread, count: { val, ena, run } });
    this.#isChanged = true;
  }

  /** CPU number of a STAT record. Before Linux 5.17 records have its position in the CPU map. */
  #cpuOf(event: Counted, cpu: number): number {
    return this.#hasPositions ? (event.cpus ?? this.#cpus)[cpu] ?? cpu : cpu;
  }

  #groupOf(event: Counted, cpu: number, thread: number): Omit<Group, "cpus" | "members"> {
    const number = this.#cpuOf(event, cpu);
    const place = this.#places[number] ?? { core: -1, die: -1, socket: -1 };
    const { core, die, socket } = place;
    switch (this.#by) {
      case "cpu":
        return { name: number < 0 ? "" : `CPU${number}`, order: [number] };
      case "core":
        return { name: `S${socket}-D${die}-C${core}`, order: [socket, die, core] };
      case "die":
        return { name: `S${socket}-D${die}`, order: [socket, die] };
      case "socket":
        return { name: `S${socket}`, order: [socket] };
      case "cache": {
        const { level, first } = this.#cacheOf(number);
        return {
          name: `S${socket}-D${die}-L${level}-ID${first}`,
          order: [socket, die, level, first],
        };
      }
      case "node": {
        const node = this.#nodes.get(number) ?? -1;
        return { name: `N${node}`, order: [node] };
      }
      case "thread": {
        const { pid, comm } = this.#threads[thread] ?? { pid: -1n, comm: "" };
        return { name: `${comm}-${pid}`, order: [thread] };
      }
      default:
        return { name: "", order: [] };
    }
  }

  /** The cache of a CPU at perf's configured level, otherwise the outermost one. */
  #cacheOf(cpu: number): CpuCache {
    const caches = this.#caches.get(cpu) ?? [];
    const level = Number(this.#config.get(CONFIG.LEVEL) ?? 0n);
    return caches.find((cache) => cache.level === level) ?? caches.at(-1) ??
      { level: 0, first: cpu };
  }

  async #round(time: bigint | undefined, isFinal: boolean): Promise<void> {
    const events = await this.#counted();
    if (this.#hasPositions === undefined) {
      this.#hasPositions = events.some(({ cpus, now }) => {
        const map = new Set(cpus ?? this.#cpus);
        return [...now.values()].some(({ cpu }) => cpu >= 0 && !map.has(cpu));
      });
    }
    const end = time ?? 0n;
    const isInterval = this.#interval > 0;
    const span = Number(isInterval ? end - this.#last : end);
    const duration = time === undefined || !(span > 0) ? undefined : span;
    if (isInterval && isFinal && end === 0n && this.#rounds > 0) return;
    const rows = this.#rows(events, duration);
    for (const event of events) {
      for (const [key, { count }] of event.now) event.before.set(key, count);
    }
    this.#last = end;
    this.#rounds++;
    this.#isChanged = false;
    this.#options.round?.({ time: end, duration, rows }, this.#said());
  }

  /** The count of each event in each group, in perf's order. */
  #rows(events: readonly Counted[], duration: number | undefined): StatRow[] {
    const isScaled = this.#config.get(CONFIG.SCALE) !== 0n;
    const groups = new Map<string, Group>();
    const sums = new Map<string, (Count & { bad: boolean })[]>();
    events.forEach((event, i) => {
      for (const [key, { cpu, thread, count }] of event.now) {
        const { name, order } = this.#groupOf(event, cpu, thread);
        const group = groups.get(name) ?? { name, order, cpus: 0, members: new Set<string>() };
        groups.set(name, group);
        if (cpu >= 0) group.members.add(`${this.#cpuOf(event, cpu)}`);
        const before = event.before.get(key) ?? { val: 0n, ena: 0n, run: 0n };
        const delta = {
          val: count.val - before.val,
          ena: count.ena - before.ena,
          run: count.run - before.run,
        };
        const of = sums.get(name) ?? [];
        sums.set(name, of);
        const sum = of[i] ??= { val: 0n, ena: 0n, run: 0n, bad: false };
        // A single group is extrapolated as a whole, other groups counter by counter.
        const val = this.#by === "all" ? delta.val : scaled(delta, isScaled);
        // One CPU without a count invalidates its core or socket, so that intervals stay
        // comparable.
        sum.bad ||= val === undefined && this.#by !== "thread";
        sum.val += val ?? 0n;
        sum.ena += delta.ena;
        sum.run += delta.run;
      }
    });
    const byGroup = [...groups.values()].sort((a, b) => {
      const at = a.order.findIndex((value, i) => value !== b.order[i]);
      return at < 0 ? 0 : numberAt(a.order, at) - numberAt(b.order, at);
    });
    if (byGroup.length === 0) {
      byGroup.push({ name: "", order: [], cpus: 0, members: new Set() });
    }
    const rowsOf = byGroup.map((group) => {
      const counts = events.map((event, i) => {
        const sum = sums.get(group.name)?.[i];
        if (sum === undefined) return undefined;
        const count = sum.bad ? undefined : this.#by === "all" ? scaled(sum, isScaled) : sum.val;
        const isNone = sum.bad && this.#by !== "cpu";
        return { count, ena: isNone ? 0n : sum.ena, run: isNone ? 0n : sum.run, event };
      });
      const all = metricSums(events, counts.map((of) => of && inUnit(of.event, of.count ?? 0n)));
      const shown = { name: group.name, cpus: group.members.size };
      return events.map((event, i): StatRow | undefined => {
        const found = counts[i];
        const isSupported = event.now.size > 0;
        // An event of some CPUs has no rows for others.
        if (found === undefined && isSupported) return undefined;
        const count = found?.count;
        const [ena, run] = [found?.ena ?? 0n, found?.run ?? 0n];
        const state = count !== undefined && ena > 0n && run > 0n
          ? "counted"
          : isSupported
          ? "not counted"
          : "not supported";
        const isCounted = state === "counted" && count !== undefined;
        return {
          event: i,
          name: event.name,
          unit: event.unit,
          group: shown,
          state,
          count: isCounted ? count : 0n,
          value: !isCounted ? 0n : event.scale === 1 ? count : Number(count) * event.scale,
          enabled: ena,
          running: run,
          metrics: isCounted ? metricsOf(event, inUnit(event, count), all, duration) : [],
        };
      });
    });
    // Cores and the like list all of their events; CPUs and threads are listed below each event.
    const isByEvent = this.#by === "cpu" || this.#by === "thread";
    if (!isByEvent) return rowsOf.flat().filter((row) => row !== undefined);
    return events.flatMap((_, i) => {
      const rows = rowsOf.map((of) => of[i]).filter((row) => row !== undefined);
      return this.#by === "cpu" ? rows : rows.sort((a, b) => Number(b.count - a.count));
    });
  }
}

/**
 * Sums up a recording of `perf stat record` by interval, like `perf stat`.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { analyzeStat } from "@perfdata/report/figures";
 * import { assertEquals } from "@std/assert";
 *
 * const file = bytesSource(await Deno.readFile("fixtures/recorded/stat.perf.data"));
 * const events: string[] = [];
 * await analyzeStat(await PerfDataReader.open(file), {
 *   round: ({ rows }) => events.push(rows.map(({ name }) => name).join(" ")),
 * });
 * assertEquals(new Set(events), new Set(["cpu-clock page-faults"]));
 * ```
 */
export function analyzeStat(
  reader: PerfDataReader,
  options: StatOptions = {},
): Promise<StatReport> {
  return new StatPass(reader, options).run();
}
