import type { PerfEvent, RecordBatch } from "@perfdata/format";
import { floatAt, intAt, numberAt } from "@perfdata/format/elements";
import {
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_WEIGHT,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from "@perfdata/format/perf-event";
import { CGROUP } from "@perfdata/format/records";
import { layoutOf } from "@perfdata/format/struct";
import {
  PERF_RECORD_CGROUP,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_SAMPLE,
} from "@perfdata/format/record-types";
import { SampleFields } from "@perfdata/format/sample-layout";
import type { Consumer, Engine, EngineOptions, Needs } from "@perfdata/session/engine";
import type { Parallelism, ThreadInterval, ThreadIntervals } from "@perfdata/session/intervals";
import { NodeTable } from "@perfdata/profile/node-table";
import { isTimeWeight, type ProfileWeight } from "@perfdata/profile/profile";
import { CHOSEN, type Run } from "@perfdata/session/run";
import { SampleComms } from "@perfdata/session/sample-comms";
import { streamFeature } from "@perfdata/session/stream-feature";
import { recordedCpus } from "../cpu_topology.ts";
import { sampleWeight } from "../sample_weight.ts";
import { LargestPeriods } from "@perfdata/session/ruling-period";
import { SampleReads } from "@perfdata/session/sample-reads";
import { type HistogramPart, SampleHistogram } from "@perfdata/session/sample-histogram";
import type { JoinedNumbers, Shareable } from "@perfdata/session/workers";
import {
  type DetailColumn,
  type DetailKeys,
  type DetailsPart,
  SampleDetails,
} from "./sample_details.ts";

/** Offsets of the fields of a CGROUP record. */
const CGROUP_RECORD = layoutOf(CGROUP);

/** What samples are grouped by besides event, comm and place. */
export interface SampleKeys {
  /** Processes. */
  readonly pid?: boolean | undefined;
  /** Threads. */
  readonly tid?: boolean | undefined;
  /** CPUs. */
  readonly cpu?: boolean | undefined;
  /** Bits of the flags of branches (`BRANCH` of the session), where branches are counted. */
  readonly branch?: number | undefined;
  /** Sockets of CPUs. */
  readonly sockets?: boolean | undefined;
  /** Other values of samples. */
  readonly details?: DetailKeys | undefined;
}

/** How to count. */
export interface CountOptions {
  /** What samples are grouped by. */
  readonly keys?: SampleKeys | undefined;
  /** Whether nodes are stacks; places otherwise. */
  readonly stacks?: boolean | undefined;
  /** Whether nodes are branches: each entry of branch stacks counts as a sample with a period of 1. */
  readonly branches?: boolean | undefined;
  /**
   * Whether nodes are accesses to memory: the place of the data and that of the code. A sample stands for its
   * weight then, at least for 1.
   */
  readonly memory?: boolean | undefined;
  /** Whether lines or inlined functions are wanted: callers in stacks are then at their calls. */
  readonly lines?: boolean | undefined;
  /**
   * What counts: samples with their periods (the default), or these divided by the number of threads that had a
   * CPU; times that threads had no CPU, or these and those that they had one; then all is of event 0.
   */
  readonly weight?: ProfileWeight | undefined;
  /**
   * While how many threads had a CPU samples count: at any number by default. Others are in the totals, as with
   * perf.
   */
  readonly parallelism?: ReadonlySet<number> | undefined;
  /** Which intervals count, where the weight is not that of samples. */
  readonly filter?: EngineOptions["filter"];
  /** Numbers of the events that count: all by default. */
  readonly events?: ReadonlySet<number> | undefined;
}

/** Totals of an event. */
export interface EventTotal {
  /** Samples. */
  samples: number;
  /** Sum of their periods. */
  period: number;
  /** The same, each divided by the number of threads that had a CPU, if that is counted. */
  latency?: number;
}

/** What one thread counted. */
export interface CountsPart {
  /** Samples and periods. */
  readonly histogram: HistogramPart;
  /** Threads without a name: `SampleComms.part`. */
  readonly comms: Int32Array<ArrayBuffer>;
  /** Places that branches lead from, or of data, where these are counted. */
  readonly from: Int32Array<ArrayBuffer>;
  /** Places that they lead to, or of the code that accessed the data. */
  readonly to: Int32Array<ArrayBuffer>;
  /** Other values: `SampleDetails.part`. */
  readonly details: DetailsPart | undefined;
  /** Totals by number of event. */
  readonly totals: readonly EventTotal[];
  /** The largest period of each event. */
  readonly largest: readonly number[];
  /** Samples whose READ values are damaged or of no known event. */
  readonly leftOut: number;
  /** Samples whose event has data sources. */
  readonly accesses: number;
}

/**
 * Counts samples by event, comm, place or stack, and more where that is asked for: a consumer of the
 * engine.
 *
 * Samples of a group that was read (`PERF_SAMPLE_READ`) count for each of its events with what it
 * counted since the sample before.
 */
export class SampleCounts implements Consumer, Shareable<CountsPart> {
  readonly needs: Needs;
  /** Totals by number of event. */
  readonly totals: EventTotal[] = [];
  /** The largest period of each event, or the largest weight where accesses to memory are counted. */
  readonly largest: LargestPeriods = new LargestPeriods();
  /** Whether nodes are stacks. */
  readonly stacks: boolean;
  /**
   * Where nodes are branches: the places that these lead from (`parents()`) and to (`items()`); where they are
   * accesses, the places of data and of code.
   */
  readonly pairs: NodeTable | undefined;
  /** What the pairs are. */
  readonly kind: "samples" | "branches" | "accesses";
  /** Other values of samples, if rows are grouped by some. */
  readonly details: SampleDetails | undefined;
  /** Paths of cgroups by id, as far as they were recorded. */
  readonly cgroups: Map<bigint, string> = new Map();
  /** By CPU: its socket, if rows are grouped by that and the recording says it. */
  sockets: readonly number[] | undefined;
  readonly #features = new Map<number, Uint8Array>();
  /** Where memory is asked for: samples whose event has data sources. */
  accesses = 0;
  #histogram = new SampleHistogram(1 << 14);
  readonly #options: CountOptions;
  /** Takes what records of switches are of, where intervals are counted. */
  readonly applied?: (run: Run, i: number) => void;
  #intervals: ThreadIntervals | undefined;
  #parallelism: Parallelism | undefined;
  /** By event, and by number of threads that had a CPU: the sum of the periods. */
  readonly #byThreads: (number[] | undefined)[] = [];
  /** Whether it is asked for. */
  readonly #isParallel: boolean;
  #engine: Engine | undefined;
  #events: readonly PerfEvent[] = [];
  readonly #fields: (SampleFields | undefined)[] = [];
  #leftOut = 0;
  #reads: SampleReads | undefined;
  #comms: SampleComms | undefined;

  /** Counts nothing yet. */
  constructor(options: CountOptions = {}) {
    this.#options = options;
    this.stacks = options.stacks === true;
    const { weight = "period" } = options;
    const isTime = isTimeWeight(weight);
    this.kind = options.branches === true
      ? "branches"
      : options.memory === true
      ? "accesses"
      : "samples";
    if (this.kind !== "samples") this.pairs = new NodeTable();
    const details = options.keys?.details;
    if (details !== undefined && details.columns.length > 0) {
      if (this.kind === "branches" || isTime) {
        throw new Error(
          `${details.columns.join()} is of samples, not of ${isTime ? "times" : "branches"}`,
        );
      }
      this.details = new SampleDetails(details);
    }
    this.#isParallel = weight === "latency" || options.parallelism !== undefined ||
      this.details?.has("parallelism") === true;
    const order = isTime || this.#isParallel ? "time" : "any";
    // Whether call chains were recorded is said of times.
    const looksAt = (run: Run, i: number): boolean => this.#intervals?.looksAt(run, i) ?? true;
    this.needs = this.stacks || isTime
      ? { order, stacks: true, calls: options.lines === true, ...(isTime ? { looksAt } : {}) }
      : {
        order,
        places: true,
        branches: options.branches === true,
        addr: options.memory === true,
      };
    if (isTime) this.applied = (run, i) => this.#intervals?.applied(run, i);
  }

  /** Samples and periods; a node is a place, a stack, a branch or an access. */
  get histogram(): SampleHistogram {
    return this.#histogram;
  }

  /** What is known of intervals, where they are counted. */
  get intervals(): ThreadIntervals | undefined {
    return this.#intervals;
  }

  /** The names of the events. */
  get eventNames(): readonly string[] {
    return this.#engine?.eventNames ?? [];
  }

  /** What is known of parallelism, where it is asked for. */
  get parallelism(): Parallelism | undefined {
    return this.#parallelism;
  }

  /** Comms by number; there are none before the pass. */
  get comms(): SampleComms | undefined {
    return this.#comms;
  }

  /** Whether a part of contexts is collected. */
  collects(column: "comm" | "pid" | "tid" | "cpu" | "branch" | DetailColumn): boolean {
    if (column === "branch") return (this.#options.keys?.branch ?? 0) !== 0;
    if (column === "comm") return true;
    if (column !== "pid" && column !== "tid" && column !== "cpu") {
      return this.details?.has(column) === true;
    }
    return this.#options.keys?.[column] === true;
  }

  /** Samples whose READ values are damaged or of no known event. */
  get leftOut(): number {
    return this.#leftOut + (this.#reads?.leftOut ?? 0);
  }

  /** Takes what the pass shares. */
  async start(engine: Engine): Promise<void> {
    this.#engine = engine;
    this.#comms = new SampleComms(engine);
    this.#reads = new SampleReads(engine.reader);
    this.#events = engine.reader.events.all;
    this.details?.start(this.#events, engine.reader.littleEndian);
    await this.described();
  }

  /** Finds the tracepoints of the scheduler, and the texts of others, of a stream when they have come. */
  async described(): Promise<void> {
    const { details } = this;
    const tracing = details?.has("trace") ? await this.#engine?.described.tracing() : undefined;
    if (details !== undefined && tracing !== undefined) {
      const { TracepointText } = await import("@perfdata/format/tracepoint");
      // Names of functions are known after the last sample: addresses stay what they are.
      details.tracer = new TracepointText(tracing, () => undefined);
    }
    const { weight = "period", filter } = this.#options;
    if (this.#isParallel) {
      const { Parallelism } = await import("@perfdata/session/intervals");
      this.#parallelism = await Parallelism.open(this.#engine as Engine);
    }
    if (!isTimeWeight(weight)) return;
    const take = (interval: ThreadInterval): void => this.#spent(interval);
    const listener = weight === "wall" ? { off: take, ran: take } : { off: take };
    const { ThreadIntervals } = await import("@perfdata/session/intervals");
    this.#intervals = await ThreadIntervals.open(this.#engine as Engine, listener, { filter });
  }

  /** Ends what is under way. */
  async finish(): Promise<void> {
    this.#intervals?.finish();
    this.#histogram.settle();
    // Whole numbers are added before they are divided: so sums have no fractions that depend on their order.
    for (const [event, sums] of this.#byThreads.entries()) {
      const total = this.totals[event];
      if (sums === undefined || total === undefined) continue;
      total.latency = sums.reduce((sum, period, threads) => sum + period / threads, 0);
    }
    if (this.#options.weight === "latency") {
      this.#histogram.roundPeriods();
      for (const total of this.totals) total.period = Math.round(total.period);
    }
    if (this.#options.keys?.sockets !== true || this.#engine === undefined) return;
    const cpus = await recordedCpus(this.#engine.reader, this.#features);
    this.sockets = cpus.map(({ socket }) => socket);
  }

  /** Counts the samples of a run. */
  rows(run: Run): void {
    const reads = this.#reads;
    const comms = this.#comms;
    if (reads === undefined || comms === undefined) return;
    while (this.totals.length < this.#events.length) this.totals.push({ samples: 0, period: 0 });
    const { count, type, chosen, event, period } = run;
    if (this.#intervals !== undefined) {
      for (let i = 0; i < count; i++) {
        if (type[i] !== PERF_RECORD_SAMPLE) comms.record(run, i);
      }
      this.#intervals.rows(run);
      this.#histogram.settle();
      return;
    }
    const parallelism = this.#parallelism;
    for (let i = 0; i < count; i++) {
      const kind = intAt(type, i);
      parallelism?.row(run, i);
      if (kind === PERF_RECORD_SAMPLE) {
        if (chosen[i] === CHOSEN.NO) {
          reads.skip(run, i);
          continue;
        }
        const called = comms.of(run, i);
        const of = intAt(event, i);
        if (reads.isPlain(of)) {
          this.#count(run, i, of, called, floatAt(period, i));
          continue;
        }
        const counters = reads.take(run, i);
        for (let k = 0; k < counters; k++) {
          this.#count(run, i, numberAt(reads.event, k), called, numberAt(reads.period, k));
        }
      } else {
        comms.record(run, i);
        if (kind === PERF_RECORD_HEADER_FEATURE) {
          const { bytes, view } = run.at(i);
          this.#feature(bytes, view, intAt(run.start, i), intAt(run.end, i));
        }
        if (kind !== PERF_RECORD_CGROUP) continue;
        const { bytes, view } = run.at(i);
        this.#cgroup(
          bytes,
          view,
          intAt(run.start, i),
          intAt(run.end, i),
          (this.#engine as Engine).reader.littleEndian,
        );
      }
    }
    this.#histogram.settle();
  }

  /** Takes the names of cgroups where samples are taken in any order. */
  other(batch: RecordBatch, i: number): void {
    if (batch.type(i) !== PERF_RECORD_CGROUP) return;
    const start = batch.start(i);
    this.#cgroup(batch.bytes, batch.view, start, start + batch.size(i), batch.littleEndian);
  }

  #feature(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    if (this.#options.keys?.sockets !== true || this.#engine === undefined) return;
    const feature = streamFeature(this.#engine.reader, bytes, view, start, end);
    if (feature !== undefined) this.#features.set(feature.id, feature.payload.slice());
  }

  #cgroup(bytes: Uint8Array, view: DataView, start: number, end: number, le: boolean): void {
    const { id, path } = CGROUP_RECORD;
    const text = bytes.subarray(start + path, end);
    const length = text.indexOf(0);
    const number = view.getBigUint64(start + id, le);
    if (this.cgroups.has(number)) return;
    this.cgroups.set(
      number,
      new TextDecoder().decode(text.subarray(0, length < 0 ? undefined : length)),
    );
  }

  part(): CountsPart {
    return {
      histogram: this.#histogram.part(),
      comms: this.#comms?.part() ?? new Int32Array(0),
      from: this.pairs?.parents().slice() ?? new Int32Array(0),
      to: this.pairs?.items().slice() ?? new Int32Array(0),
      details: this.details?.part(),
      accesses: this.accesses,
      totals: this.totals,
      largest: this.largest.periods,
      leftOut: this.leftOut,
    };
  }

  reuse(before: SampleCounts): void {
    this.#histogram = before.#histogram;
    this.#histogram.reset();
  }

  join(
    { histogram, comms, from, to, details, accesses, totals, largest, leftOut }: CountsPart,
    { place, stack }: JoinedNumbers,
  ): void {
    const called = (comm: number): number => this.#comms?.ofPart(comms, comm) ?? 0;
    const { pairs } = this;
    const nodes = this.stacks ? stack : pairs === undefined ? place : from.map((source, i) => {
      const target = intAt(to, i);
      return pairs.node(
        source < 0 ? -1 : intAt(place, source),
        target < 0 ? -1 : intAt(place, target),
      );
    });
    this.#histogram.join(histogram, called, nodes, details && this.details?.join(details));
    this.accesses += accesses;
    this.largest.join(largest);
    for (const [event, { samples, period }] of totals.entries()) {
      const total = this.totals[event] ??= { samples: 0, period: 0 };
      total.samples += samples;
      total.period += period;
    }
    this.#leftOut += leftOut;
  }

  /** Counts a time that a thread spent. */
  #spent({ comm, pid, tid, cpu, stack, place, from, to }: ThreadInterval): void {
    const comms = this.#comms;
    if (comms === undefined) return;
    const total = this.totals[0] ??= { samples: 0, period: 0 };
    total.samples++;
    total.period += to - from;
    const { keys } = this.#options;
    const context = this.#histogram.context(
      0,
      comms.ofThread(comm, tid, pid),
      keys?.pid ? pid : 0,
      keys?.tid ? tid : 0,
      keys?.cpu ? cpu : 0,
    );
    this.#histogram.addLater(context, this.stacks ? stack : place, to - from);
  }

  #count(run: Run, i: number, event: number, comm: number, period: number): void {
    const { events, keys } = this.#options;
    if (events !== undefined && !events.has(event)) return;
    const total = this.totals[event] as EventTotal;
    const { pairs } = this;
    if (pairs !== undefined && this.kind === "branches") {
      this.#countBranches(pairs, total, run, i, event, comm);
      return;
    }
    if (pairs !== undefined) period = this.#weight(run, i);
    this.largest.see(event, period);
    const parallelism = this.#parallelism;
    if (parallelism !== undefined) {
      const { threads } = parallelism;
      if (this.#options.weight === "latency") period /= threads;
      else {
        const sums = this.#byThreads[event] ??= [];
        sums[threads] = (sums[threads] ?? 0) + period;
      }
      if (this.details !== undefined) this.details.parallelism = parallelism.threads;
    }
    total.samples++;
    total.period += period;
    if (run.chosen[i] === CHOSEN.TOTAL) return;
    const { parallelism: wanted } = this.#options;
    if (wanted?.has(parallelism?.threads ?? 1) === false) return;
    const context = this.#histogram.context(
      event,
      comm,
      keys?.pid ? intAt(run.process, i) : 0,
      keys?.tid ? intAt(run.tid, i) : 0,
      keys?.cpu ? intAt(run.cpu, i) : 0,
      this.details?.of(run, i) ?? 0,
    );
    const node = pairs !== undefined
      ? pairs.node(this.#data(run, i), intAt(run.place, i))
      : this.stacks
      ? intAt(run.stack, i)
      : intAt(run.place, i);
    this.#histogram.addLater(context, node, period);
  }

  /** The place of the data of an access; -1 if its address is 0: it was not known. */
  #data(run: Run, i: number): number {
    const { layout } = this.#events[intAt(run.event, i)] as PerfEvent;
    if (layout.addr < 0) return -1;
    const { view } = run.at(i);
    const at = intAt(run.start, i) + layout.addr;
    return view.getInt32(at) === 0 && view.getInt32(at + 4) === 0 ? -1 : intAt(run.addr, i);
  }

  /** What an access counts for, as with `iter_add_single_mem_entry` of tools/perf/util/hist.c. */
  #weight(run: Run, i: number): number {
    const number = intAt(run.event, i);
    const event = this.#events[number] as PerfEvent;
    const { sampleType } = event.layout;
    if ((sampleType & PERF_SAMPLE_DATA_SRC) !== 0) this.accesses++;
    if ((sampleType & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) === 0) return 1;
    const fields = this.#fields[number] ??= new SampleFields(event.attr);
    const { view } = run.at(i);
    const { littleEndian: le } = (this.#engine as Engine).reader;
    if (!fields.locate(view, intAt(run.start, i), intAt(run.end, i), le)) return 1;
    return sampleWeight(view, fields.weight, sampleType, le) || 1;
  }

  /** Counts the branches of a sample, as `iter_add_next_branch_entry` of tools/perf/util/hist.c does. */
  #countBranches(
    nodes: NodeTable,
    total: EventTotal,
    run: Run,
    i: number,
    event: number,
    comm: number,
  ): void {
    const { keys } = this.#options;
    const { branches, branchFlags } = run;
    const first = intAt(run.branchStart, i);
    const end = intAt(run.branchStart, i + 1);
    total.samples += end - first >> 1;
    total.period += end - first >> 1;
    if (run.chosen[i] === CHOSEN.TOTAL) return;
    const mask = keys?.branch ?? 0;
    for (let k = first; k < end; k += 2) {
      const context = this.#histogram.context(
        event,
        comm,
        keys?.pid ? intAt(run.process, i) : 0,
        keys?.tid ? intAt(run.tid, i) : 0,
        keys?.cpu ? intAt(run.cpu, i) : 0,
        intAt(branchFlags, k >> 1) & mask,
      );
      this.#histogram.addLater(
        context,
        nodes.node(intAt(branches, k), intAt(branches, k + 1)),
        1,
      );
    }
  }
}
