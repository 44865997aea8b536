import { ByteText, floatAt, intAt } from "@perfdata/format/bytes";
import {
  groupSamples,
  type Profile,
  type ProfileWrite,
  type SampleGroup,
  threadNames,
} from "@perfdata/profile";
import { firefoxTables, MARKER } from "./firefox_tables.ts";

/** Written version of the processed profile format. The viewer upgrades it to its own. */
const PROCESSED_VERSION = 60;

/** Options of {@linkcode firefox}. */
export interface FirefoxOptions {
  /** Whether inlined functions are frames; default true. */
  readonly inline?: boolean;
  /** Whether a sample's period is the duration of its stack in ns, and so its weight. */
  readonly durations?: boolean;
}

/**
 * A profile for the Firefox Profiler (processed format, version 60), not yet compressed: see
 * `gzipped`.
 *
 * A thread has the samples of its first sampled event; samples of other events are in separate
 * threads beside it. `threadCPUDelta` is the period if the event is a clock or counts cycles.
 * Context switches and values of PTWRITE are markers. Times are milliseconds since the first sample.
 */
export function* firefox(
  profile: Profile,
  { inline = true, durations = false }: FirefoxOptions = {},
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  const { events, samples, switches } = profile;
  const text = new ByteText();
  const { stacks, shared, libs } = firefoxTables(profile, inline);
  const { time } = samples;
  let start = time?.[0] ?? switches[0]?.time ?? 0;
  if (switches[0] !== undefined && switches[0].time < start) start = switches[0].time;
  const cycles = events.map(({ name, unit }) => unit === "nanoseconds" || /cycles/.test(name));
  text.string(`{"meta":${JSON.stringify(meta(profile))},"libs":${JSON.stringify(libs)},`);
  text.string(`"pages":[],"shared":{`);
  for (const [number, table] of shared.entries()) {
    text.string(`${number > 0 ? "," : ""}${JSON.stringify(table.name)}:`);
    if (Array.isArray(table.columns)) text.string(JSON.stringify(table.columns));
    else {
      text.string(`{"length":${table.length}`);
      for (const [name, column] of Object.entries(table.columns)) {
        text.string(`,${JSON.stringify(name)}:[`);
        yield* values(text, table.length, (row) => column(row));
        text.byte(0x5d);
      }
      text.byte(0x7d);
    }
    if (text.isFull) yield text.take();
  }
  text.string(`},"threads":[`);
  const { processes } = threadNames(profile);
  const taken = new Map<number, number>();
  let comma = "\n";
  for (const group of groupSamples(profile)) {
    const { rows, event } = group;
    text.string(`${comma}{`);
    comma = ",\n";
    text.string(threadHead(profile, group, processes.name, taken, time, start));
    text.string(`,"samples":{"length":${rows.length},"weightType":`);
    text.string(durations ? `"tracing-ms","stack":[` : `"samples","stack":[`);
    yield* values(text, rows.length, (i) => {
      const stack = intAt(samples.stack, intAt(rows, i));
      return stack < 0 ? null : intAt(stacks.of, stack);
    });
    text.string(`],"time":[`);
    yield* values(
      text,
      rows.length,
      (i) => time === undefined ? i : milliseconds(floatAt(time, intAt(rows, i)) - start),
    );
    text.byte(0x5d);
    if (durations) {
      text.string(`,"weight":[`);
      yield* values(
        text,
        rows.length,
        (i) => milliseconds(floatAt(samples.period, intAt(rows, i))),
      );
      text.byte(0x5d);
    } else if (rows.some((row) => samples.count[row] !== 1)) {
      text.string(`,"weight":[`);
      yield* values(text, rows.length, (i) => samples.count[intAt(rows, i)] as number);
      text.byte(0x5d);
    } else text.string(`,"weight":null`);
    if (cycles[event]) {
      text.string(`,"threadCPUDelta":[`);
      yield* values(text, rows.length, (i) => floatAt(samples.period, intAt(rows, i)));
      text.byte(0x5d);
    }
    text.string(`},"markers":${JSON.stringify(markers(profile, group, start))}}`);
    if (text.isFull) yield text.take();
  }
  text.string("\n]}\n");
  yield text.take();
}

function milliseconds(nanoseconds: number): number {
  return Math.round(nanoseconds) / 1e6;
}

function* values(
  text: ByteText,
  length: number,
  value: (row: number) => number | boolean | null,
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  for (let row = 0; row < length; row++) {
    if (row > 0) text.byte(0x2c);
    const found = value(row);
    if (typeof found === "number") text.number(found);
    else text.string(String(found));
    if (text.isFull) yield text.take();
  }
}

function meta({ events, samples, title, writes }: Profile) {
  const { time } = samples;
  const span = time === undefined || samples.length < 2
    ? 0
    : floatAt(time, samples.length - 1) - floatAt(time, 0);
  return {
    version: 24,
    preprocessedProfileVersion: PROCESSED_VERSION,
    interval: span > 0 ? span / 1e6 / samples.length : 1,
    startTime: 0,
    processType: 0,
    stackwalk: 1,
    debug: 0,
    gcpoison: 0,
    asyncstack: 0,
    symbolicated: true,
    product: title === "" ? "perf record" : title,
    importedFrom: "Linux perf",
    platform: "Linux",
    extensions: { length: 0, baseURL: [], id: [], name: [] },
    categories: [
      { name: "User", color: "yellow", subcategories: ["Other"] },
      { name: "Kernel", color: "orange", subcategories: ["Other"] },
      { name: "JIT", color: "green", subcategories: ["Other"] },
      { name: "Other", color: "grey", subcategories: ["Other"] },
    ],
    sampleUnits: {
      time: "ms",
      eventDelay: "ms",
      threadCPUDelta: events[0]?.unit === "nanoseconds" ? "ns" : "variable CPU cycles",
    },
    markerSchema: [
      {
        name: "off-cpu",
        tooltipLabel: "{marker.name}",
        tableLabel: "{marker.data.cause}",
        display: ["marker-chart", "marker-table", "timeline-overview"],
        fields: [
          { key: "cause", label: "Cause", format: "string" },
          { key: "cpu", label: "CPU", format: "integer" },
        ],
      },
      ...(writes === undefined ? [] : [{
        name: "ptwrite",
        tooltipLabel: "{marker.data.payload}",
        tableLabel: "{marker.data.payload} ({marker.data.value}) in {marker.data.function}",
        chartLabel: "{marker.data.payload}",
        display: ["marker-chart", "marker-table", "timeline-overview"],
        fields: [
          { key: "payload", label: "Payload", format: "string" },
          { key: "value", label: "Value", format: "string" },
          { key: "function", label: "Function", format: "string" },
          { key: "cpu", label: "CPU", format: "integer" },
        ],
      }]),
    ],
  };
}

function threadHead(
  { events, threads, samples }: Profile,
  { event, thread, rows }: SampleGroup,
  processName: ReadonlyMap<number, string>,
  taken: Map<number, number>,
  time: Float64Array | undefined,
  start: number,
): string {
  const { comm, pid, tid } = threads.at(thread) ?? { comm: "", pid: -1, tid: -1 };
  const used = taken.get(tid) ?? 0;
  taken.set(tid, used + 1);
  const first = rows[0] ?? 0;
  const last = rows.at(-1) ?? 0;
  const from = time === undefined ? 0 : milliseconds(floatAt(time, first) - start);
  const to = time === undefined ? samples.length : milliseconds(floatAt(time, last) - start);
  return JSON.stringify({
    processType: "default",
    processStartupTime: from,
    processShutdownTime: to,
    registerTime: from,
    unregisterTime: to,
    pausedRanges: [],
    name: events.length > 1 ? `${comm} (${events[event]?.name ?? ""})` : comm,
    processName: processName.get(pid) ?? comm,
    isMainThread: pid === tid,
    pid: String(pid),
    tid: used === 0 ? tid : `${tid}.${used}`,
  }).slice(1, -1);
}

/** The data of a marker. */
type MarkerData =
  | { readonly type: "off-cpu"; readonly cause: string; readonly cpu: number }
  | (
    & { readonly type: "ptwrite"; readonly payload: string; readonly value: string }
    & Pick<
      ProfileWrite,
      "function" | "cpu"
    >
  );

/** Markers of the times off the CPU and of PTWRITE, in the first event's thread. */
function markers(
  { events, switches, threads, writes = [] }: Profile,
  group: SampleGroup,
  start: number,
) {
  const table = {
    length: 0,
    data: [] as MarkerData[],
    name: [] as number[],
    startTime: [] as (number | null)[],
    endTime: [] as (number | null)[],
    phase: [] as number[],
    category: [] as number[],
  };
  if (group.event !== 0 && events.length > 0) return table;
  const own = threads.at(group.thread);
  let left: typeof switches[number] | undefined;
  for (const change of switches) {
    // A thread that was renamed in between is the same thread.
    const of = threads.at(change.thread);
    if (of?.tid !== own?.tid || of?.pid !== own?.pid) continue;
    if (change.out) {
      left = change;
      continue;
    }
    if (left?.thread !== group.thread) continue;
    table.length++;
    table.name.push(MARKER.OFF_CPU);
    table.data.push({
      type: "off-cpu",
      cause: left.preempted ? "preempted" : "waiting",
      cpu: left.cpu,
    });
    table.startTime.push(milliseconds(left.time - start));
    table.endTime.push(milliseconds(change.time - start));
    table.phase.push(1);
    table.category.push(1);
    left = undefined;
  }
  for (const { thread, time, cpu, value, function: name } of writes) {
    if (thread !== group.thread) continue;
    table.length++;
    table.name.push(MARKER.PTWRITE);
    table.data.push({
      type: "ptwrite",
      payload: `0x${value.toString(16)}`,
      value: String(value),
      function: name,
      cpu,
    });
    table.startTime.push(milliseconds(time - start));
    table.endTime.push(null);
    table.phase.push(0);
    table.category.push(0);
  }
  return table;
}
