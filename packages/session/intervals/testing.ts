/** Test support: recordings of the scheduler, laid out by hand. */
import { emptyAttr, PerfDataWriter } from "@perfdata/format/records";
import { encodeFeature } from "@perfdata/format/features";
import { memorySink } from "@perfdata/format/bytes";
import {
  HEADER_EVENT_DESC,
  HEADER_SP_META_INFO,
  HEADER_TRACING_DATA,
  PERF_CONTEXT_KERNEL,
  PERF_CONTEXT_USER,
  PERF_RECORD_FINISHED_ROUND,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";

/** An event of a thread on a CPU at a time. Each process has one thread. */
export interface Happening {
  /** Time in ns. */
  readonly time: bigint;
  /** The thread. */
  readonly tid: number;
  /** The CPU; 0 by default. */
  readonly cpu?: number;
  /** The next thread, and the state of the previous one (`prev_state`). */
  readonly to?: readonly [tid: number, state: bigint];
  /** The thread that is woken. */
  readonly wakes?: number;
  /** A SWITCH record: out, preempted, or in. */
  readonly change?: "out" | "preempted" | "in";
  /** FORK or EXIT of the process; any other text is the name in a COMM record. */
  readonly task?: "fork" | "exit" | string;
  /** A kernel lock whose wait begins, with `flags`; `got` is a lock whose wait ends. */
  readonly waits?: readonly [lock: bigint, flags: number];
  readonly got?: bigint;
  /** Number of lost records. */
  readonly lost?: bigint;
  /** Whether a round (FINISHED_ROUND) ends after the event. */
  readonly endsRound?: boolean;
  /** A sample of the clock. */
  readonly clock?: bigint;
  /** A sample of a counter. */
  readonly counter?: bigint;
  /** Whether the sample of the clock or the counter is of kernel code. */
  readonly isKernel?: boolean;
  /** Entry of an interrupt handler: of an interrupt with a name, a softirq, or the local timer. */
  readonly enters?: Handled;
  readonly exits?: Handled;
  /** Call chain of a sample, innermost first: addresses of the process. */
  readonly chain?: readonly bigint[];
}

/** An interrupt handler. */
export type Handled =
  | readonly ["irq", number: number, name: string]
  | readonly ["softirq", number: number]
  | readonly ["timer"];

const FORMAT = (name: string, id: number, fields: readonly string[]) =>
  `name: ${name}\nID: ${id}\nformat:\n${
    ["unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0", "", ...fields].map((field) =>
      field === "" ? "\n" : `\tfield:${field};\n`
    ).join("")
  }\nprint fmt: "", 0\n`;

const SWITCH = 301;
const WAKING = 302;
const FORMATS = [
  FORMAT("sched_switch", SWITCH, [
    "pid_t prev_pid;\toffset:8;\tsize:4;\tsigned:1",
    "long prev_state;\toffset:16;\tsize:8;\tsigned:1",
    "pid_t next_pid;\toffset:24;\tsize:4;\tsigned:1",
  ]),
  FORMAT("sched_waking", WAKING, ["pid_t pid;\toffset:8;\tsize:4;\tsigned:1"]),
];

const BEGIN = 303;
const END = 304;
const LOCK = "void * lock_addr;\toffset:8;\tsize:8;\tsigned:0";
const LOCK_FORMATS = [
  FORMAT("contention_begin", BEGIN, [LOCK, "unsigned int flags;\toffset:16;\tsize:4;\tsigned:0"]),
  FORMAT("contention_end", END, [LOCK, "int ret;\toffset:16;\tsize:4;\tsigned:1"]),
];

const INT = (name: string, at = 8) => `int ${name};\toffset:${at};\tsize:4;\tsigned:1`;
const NAME = "__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0";
const IRQ_FORMATS = [
  FORMAT("irq_handler_entry", 401, [INT("irq"), NAME]),
  FORMAT("irq_handler_exit", 402, [INT("irq"), INT("ret", 12)]),
  FORMAT("softirq_entry", 403, [INT("vec")]),
  FORMAT("softirq_exit", 404, [INT("vec")]),
];
const VECTOR_FORMATS = [
  FORMAT("local_timer_entry", 405, [INT("vector")]),
  FORMAT("local_timer_exit", 406, [INT("vector")]),
];

/** Types and configs of the events. */
const EVENTS = {
  switch: [2, BigInt(SWITCH)],
  waking: [2, BigInt(WAKING)],
  clock: [1, 0n],
  counter: [0, 0n],
  begin: [2, BigInt(BEGIN)],
  end: [2, BigInt(END)],
  "irq+": [2, 401n],
  "irq-": [2, 402n],
  "softirq+": [2, 403n],
  "softirq-": [2, 404n],
  "timer+": [2, 405n],
  "timer-": [2, 406n],
} as const;

/** An event of the recording. */
type EventName = keyof typeof EVENTS;

/** The events of a recording with interrupt handlers. */
export const WITH_HANDLERS: readonly EventName[] = [
  ...["switch", "clock", "counter", "irq+", "irq-", "softirq+", "softirq-"] as const,
  ...["timer+", "timer-"] as const,
];

/** Writes a recording with an event each for switches, wakeups and the clock, with call chains. */
export async function schedulerRecording(
  happenings: readonly Happening[],
  {
    events = ["switch", "waking", "clock"],
    chains = true,
    cpus = true,
    names = false,
    formats = true,
    wide = false,
    simpleperf = false,
    vectorSize = 4,
  }: {
    readonly events?: readonly EventName[];
    readonly chains?: boolean;
    /** Whether records have the CPU. */
    readonly cpus?: boolean;
    /** Whether the recording has the names of the events (EVENT_DESC). */
    readonly names?: boolean;
    /** Whether the recording has the formats of tracepoints (TRACING_DATA). */
    readonly formats?: boolean;
    /** Whether switches are SWITCH_CPU_WIDE records. */
    readonly wide?: boolean;
    /** Whether META_INFO of simpleperf has the names of tracepoints. */
    readonly simpleperf?: boolean;
    /** Size of the field with the number of a softirq in its format. */
    readonly vectorSize?: number;
  } = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const sink = memorySink();
  const types = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
    PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW | (cpus ? PERF_SAMPLE_CPU : 0) |
    (chains ? PERF_SAMPLE_CALLCHAIN : 0);
  const context_switch = happenings.some(({ change }) => change !== undefined);
  const idOf = (event: EventName) => BigInt(1 + events.indexOf(event));
  const described = events.map((event) => ({
    attr: {
      ...emptyAttr(),
      size: 128,
      type: EVENTS[event][0],
      config: EVENTS[event][1],
      sample_type: BigInt(types),
      sample_period: 1n,
      flags: {
        ...emptyAttr().flags,
        sample_id_all: true,
        comm: true,
        task: true,
        context_switch,
      },
    },
    ids: [idOf(event)],
  }));
  const writer = await PerfDataWriter.file(sink, { events: described });
  for (const what of happenings) {
    const { time, tid, cpu = 0, chain = [] } = what;
    const sample = (
      event: EventName,
      period: bigint,
      raw: readonly bigint[],
    ) => {
      const markers = [PERF_CONTEXT_KERNEL, 0xffff_ffff_8100_0000n, PERF_CONTEXT_USER, ...chain];
      const isUser = (event === "clock" || event === "counter") && what.isKernel !== true;
      const all = isUser ? [PERF_CONTEXT_USER, ...chain] : markers;
      const entries = chain.length === 0 ? [] : all;
      return record(9, isUser ? 2 : 1, [
        idOf(event),
        isUser ? chain[0] ?? 0n : 0xffff_ffff_8100_0000n,
        BigInt(tid) << 32n | BigInt(tid),
        time,
        ...(cpus ? [BigInt(cpu)] : []),
        period,
        ...(chains ? [BigInt(entries.length), ...entries] : []),
        // The size, with the first 4 bytes of the data, so that the rest is in whole words.
        BigInt(8 * raw.length - 4) | (raw[0] ?? 0n) << 32n,
        ...raw.slice(1),
      ]);
    };
    const other = (type: number, misc: number, words: readonly bigint[]) =>
      record(type, misc, [
        ...words,
        BigInt(tid) << 32n | BigInt(tid),
        time,
        ...(cpus ? [BigInt(cpu)] : []),
        1n,
      ]);
    if (what.to !== undefined) {
      const [next, state] = what.to;
      await writer.write(sample("switch", 1n, rawWords([[8, tid], [16, state], [24, next]], 28)));
    }
    if (what.wakes !== undefined) {
      await writer.write(sample("waking", 1n, rawWords([[8, what.wakes]], 12)));
    }
    if (what.waits !== undefined) {
      const [lock, flags] = what.waits;
      await writer.write(sample("begin", 1n, rawWords([[8, lock], [16, flags]], 20)));
    }
    if (what.got !== undefined) {
      await writer.write(sample("end", 1n, rawWords([[8, what.got], [16, 0]], 20)));
    }
    if (what.clock !== undefined) await writer.write(sample("clock", what.clock, rawWords([], 4)));
    if (what.counter !== undefined) {
      await writer.write(sample("counter", what.counter, rawWords([], 4)));
    }
    for (const [handled, end] of [[what.enters, "+"], [what.exits, "-"]] as const) {
      if (handled === undefined) continue;
      const [kind, number = 236, name = ""] = handled;
      const text = new TextEncoder().encode(end === "+" ? `${name}\0` : "\0");
      const fields = [
        [8, number],
        [12, text.length << 16 | 16],
        ...[...text].map((byte, i) => [16 + i, byte]),
      ];
      const raw = rawWords(fields as [number, number][], 16 + text.length + 3);
      await writer.write(sample(`${kind}${end}`, 1n, raw));
    }
    if (what.lost !== undefined) await writer.write(other(2, 0, [1n, what.lost]));
    if (what.change !== undefined) {
      const misc = { in: 0, out: 0x2000, preempted: 0x6000 }[what.change];
      // The other thread of the switch: none.
      await writer.write(wide ? other(15, misc, [0n]) : other(14, misc, []));
    }
    if (what.task === "fork" || what.task === "exit") {
      const words = [BigInt(tid) | 1n << 32n, BigInt(tid) | 1n << 32n, time];
      await writer.write(other(what.task === "fork" ? 7 : 4, 0, words));
    } else if (what.task !== undefined) {
      const name = new Uint8Array(16);
      name.set(new TextEncoder().encode(what.task));
      const text = new DataView(name.buffer);
      const words = [text.getBigUint64(0, true), text.getBigUint64(8, true)];
      await writer.write(other(3, 0, [BigInt(tid) << 32n | BigInt(tid), ...words]));
    }
    if (what.endsRound === true) await writer.write(record(PERF_RECORD_FINISHED_ROUND, 0, []));
  }
  const value = {
    version: "0.5",
    bigendian: 0,
    long_size: 8,
    page_size: 4096,
    header_page: "",
    header_event: "",
    ftrace_formats: [],
    systems: [
      { name: "sched", formats: FORMATS },
      { name: "lock", formats: LOCK_FORMATS },
      {
        name: "irq",
        formats: IRQ_FORMATS.map((text) =>
          text.replace(/(vec;\toffset:8;\tsize:)4/, `$1${vectorSize}`)
        ),
      },
      { name: "irq_vectors", formats: VECTOR_FORMATS },
    ],
    kallsyms: "",
    printk_formats: "",
  };
  const bytes = encodeFeature({ id: HEADER_TRACING_DATA, name: "TRACING_DATA", value });
  const called: Partial<Record<EventName, string>> = {
    switch: "sched:sched_switch",
    waking: "sched:sched_waking",
    clock: "cpu-clock",
    begin: "lock:contention_begin",
    end: "lock:contention_end",
    "irq+": "irq:irq_handler_entry",
    "irq-": "irq:irq_handler_exit",
    "softirq+": "irq:softirq_entry",
    "softirq-": "irq:softirq_exit",
  };
  const descriptions = {
    attr_size: 128,
    events: described.map(({ attr, ids }, i) => ({
      attr,
      ids,
      name: called[events[i] as EventName] ?? "",
    })),
  };
  await writer.close([
    ...(formats ? [{ id: HEADER_TRACING_DATA, bytes }] : []),
    ...(names
      ? [{
        id: HEADER_EVENT_DESC,
        bytes: encodeFeature({ id: HEADER_EVENT_DESC, name: "EVENT_DESC", value: descriptions }),
      }]
      : []),
    ...(simpleperf
      ? [{
        id: HEADER_SP_META_INFO,
        bytes: encodeFeature({
          ...{ id: HEADER_SP_META_INFO, name: "SP_META_INFO" },
          value: [{ key: "event_type_info", value: `sched:sched_switch,2,${SWITCH}` }],
        }),
      }]
      : []),
  ]);
  return sink.bytes();
}

/** Raw data with fields at their offsets. Its first 4 bytes share a word with the size. */
function rawWords(fields: readonly (readonly [number, number | bigint])[], size: number): bigint[] {
  const bytes = new Uint8Array(4 + Math.ceil((size - 4) / 8) * 8);
  const view = new DataView(bytes.buffer);
  for (const [at, value] of fields) {
    if (typeof value === "bigint") view.setBigInt64(at, value, true);
    else view.setInt32(at, value, true);
  }
  const words = [BigInt(view.getUint32(0, true))];
  for (let at = 4; at < bytes.length; at += 8) words.push(view.getBigUint64(at, true));
  return words;
}

function record(type: number, misc: number, words: readonly bigint[]): Uint8Array {
  const bytes = new Uint8Array(8 + 8 * words.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, type, true);
  view.setUint16(4, misc, true);
  view.setUint16(6, bytes.length, true);
  words.forEach((word, i) => view.setBigUint64(8 + 8 * i, BigInt.asUintN(64, word), true));
  return bytes;
}
