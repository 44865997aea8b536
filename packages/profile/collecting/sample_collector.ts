// One class, since the columns that samples fill are also those that a part sends and a join adds up.
import { CGROUP, layoutOf, type PerfEvent, type RecordBatch } from "@perfdata/format/records";
import { byteAt, floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import {
  PERF_RECORD_CGROUP,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
} from "@perfdata/format/constants";
import {
  CHOSEN,
  type Consumer,
  type Engine,
  type JoinedNumbers,
  LargestPeriods,
  type Needs,
  type Parallelism,
  type Run,
  SampleComms,
  SampleHistogram,
  SampleReads,
  type Shareable,
  streamFeature,
  type ThreadInterval,
  type ThreadIntervals,
  TimeSpan,
} from "@perfdata/session";
import { NodeTable } from "../columns/node_table.ts";
import {
  isTimeWeight,
  type ProfileEvent,
  type ProfileTotal,
  type ProfileWeight,
} from "../columns/profile.ts";
import { AccessSamples } from "./access_samples.ts";
import {
  type CollectedPart,
  type CollectedSwitch,
  type CollectOptions,
  type SampleKeys,
  STAND_IN,
  type TakenRows,
} from "./collect_options.ts";
import { type DetailColumn, SampleDetails } from "./sample_details.ts";
import { TimedRows } from "./timed_rows.ts";

export type * from "./collect_options.ts";

/** Offsets of the fields of a CGROUP record. */
const { id: CGROUP_ID, path: CGROUP_PATH } = layoutOf(CGROUP);
const DECODER = new TextDecoder();

/** The event of the contexts of context switches, which belong to no event. */
const SWITCH = -1;

/**
 * Collects samples by event, comm and place or stack, and by further columns if requested.
 * Functions, profiles and tables are made from this consumer of the engine.
 *
 * A sample with the counts of a group (`PERF_SAMPLE_READ`) counts for each event of the group, with
 * the increase since the previous sample.
 *
 * The class has more than 400 lines because it is the only place where samples are counted: each
 * column has a few lines in the loop, in {@linkcode SampleCollector.part} and in
 * {@linkcode SampleCollector.join}.
 */
export class SampleCollector implements Consumer, Shareable<CollectedPart> {
  readonly needs: Needs;
  /** Totals by index of the event. */
  readonly totals: ProfileTotal[] = [];
  /** The largest period of each event; the largest weight if memory accesses are counted. */
  readonly largest: LargestPeriods = new LargestPeriods();
  /** The summed quantity. */
  readonly weight: ProfileWeight;
  /** Whether nodes are stacks. */
  readonly stacks: boolean;
  /**
   * Pairs of places: source (`parents()`) and target (`items()`) of branches, or data and code of
   * memory accesses. Undefined if nodes are single places or stacks.
   */
  readonly pairs: NodeTable | undefined;
  /** Kind of the nodes. */
  readonly kind: "samples" | "branches" | "accesses";
  /** Other values of samples, if rows are grouped by them. */
  readonly details: SampleDetails | undefined;
  /** Recorded paths of cgroups, by id. */
  readonly cgroups: Map<bigint, string> = new Map();
  /** Socket by CPU, if rows are grouped by sockets and the recording has them. */
  sockets: readonly number[] | undefined;
  /** Times of the first and last sample, if they are kept. */
  readonly span: TimeSpan = new TimeSpan();
  /** Samples with their times, if they are kept. The histogram then has their contexts only. */
  readonly #timed: TimedRows | undefined;
  /** Context switches, if they are kept. */
  readonly switched: CollectedSwitch[] = [];
  /** Receives SWITCH records, if intervals are counted or switches are kept. */
  readonly applied?: (run: Run, i: number) => void;
  #histogram = new SampleHistogram(1 << 14);
  /** The options, with which other threads create collectors like this one. */
  readonly options: CollectOptions;
  readonly #keys: SampleKeys;
  readonly #isLatency: boolean;
  /** Whether the count of running threads is needed. */
  readonly #isParallel: boolean;
  readonly #features = new Map<number, Uint8Array>();
  #intervals: ThreadIntervals | undefined;
  #parallelism: Parallelism | undefined;
  /** Sum of the periods, by event and count of running threads. */
  readonly #byThreads: (number[] | undefined)[] = [];
  /** Rounding error of divided periods, which the next sample compensates. */
  #rest = 0;
  #engine: Engine | undefined;
  #events: readonly PerfEvent[] = [];
  #access: AccessSamples | undefined;
  #accesses = 0;
  #leftOut = 0;
  #reads: SampleReads | undefined;
  #comms: SampleComms | undefined;
  /** Whether the rows were moved to a profile. */
  #isTaken = false;

  /** Starts without samples. */
  constructor(options: CollectOptions = {}) {
    this.options = options;
    const { keys = {}, weight = "period", stacks = false, branches, memory, lines } = options;
    this.#keys = keys;
    this.weight = weight;
    this.stacks = stacks;
    const isTime = isTimeWeight(weight);
    this.kind = branches === true ? "branches" : memory === true ? "accesses" : "samples";
    if (this.kind !== "samples") this.pairs = new NodeTable();
    if (options.timed === true) this.#timed = new TimedRows();
    const { details } = keys;
    if (details !== undefined && details.columns.length > 0) {
      if (this.kind === "branches" || isTime) {
        throw new Error(
          `${details.columns.join()} is of samples, not of ${isTime ? "times" : "branches"}`,
        );
      }
      this.details = new SampleDetails(details);
    }
    this.#isLatency = weight === "latency";
    this.#isParallel = this.#isLatency || options.parallelism !== undefined ||
      this.details?.has("parallelism") === true;
    // The report on times says whether call chains were recorded.
    const isOfStacks = stacks || isTime;
    this.needs = {
      order: isTime || this.#isParallel ? "time" : "any",
      places: true,
      stacks: isOfStacks,
      calls: isOfStacks && lines === true,
      unmapped: options.unmapped !== false,
      branches: branches === true,
      addr: memory === true,
      looksAt: isTime ? (run, i) => this.#intervals?.looksAt(run, i) ?? true : undefined,
      // The sample format of context switches.
      features: isTime || this.#isParallel,
    };
    const keepsSwitches = options.switches === true;
    if (isTime || keepsSwitches) {
      this.applied = (run, i) => {
        if (keepsSwitches) this.#switch(run, i);
        this.#intervals?.applied(run, i);
      };
    }
  }

  /**
   * The engine of the pass.
   *
   * @throws {Error} Before the pass.
   */
  get engine(): Engine {
    if (this.#engine === undefined) throw new Error("nothing was collected yet");
    return this.#engine;
  }

  /** Samples and periods. A node is a place, a stack, a branch or an access. */
  get histogram(): SampleHistogram {
    return this.#histogram;
  }

  /** Intervals and their counts, if times are counted. */
  get intervals(): ThreadIntervals | undefined {
    return this.#intervals;
  }

  /** The events of the recording, or one for times. */
  get events(): readonly ProfileEvent[] {
    if (isTimeWeight(this.weight)) return [{ name: this.weight, unit: "nanoseconds" }];
    const { eventNames, reader } = this.engine;
    return reader.events.all.map((_, number) => {
      const name = eventNames[number] ?? `event ${number}`;
      // The periods of the software clocks are nanoseconds.
      return { name, unit: /^(cpu|task)-clock\b/.test(name) ? "nanoseconds" : "count" };
    });
  }

  /** Counts the running threads, if needed. */
  get parallelism(): Parallelism | undefined {
    return this.#parallelism;
  }

  /** Comms by index; `undefined` before the pass. */
  get comms(): SampleComms | undefined {
    return this.#comms;
  }

  /** Number of chosen samples. */
  get samples(): number {
    return this.totals.reduce((sum, { samples }) => sum + samples, 0);
  }

  /** Samples whose event has data sources, if memory accesses are counted. */
  get accesses(): number {
    return this.#accesses + (this.#access?.count ?? 0);
  }

  /** Samples whose READ values are damaged or of an unknown event. */
  get leftOut(): number {
    return this.#leftOut + (this.#reads?.leftOut ?? 0);
  }

  /** Whether a column of contexts is collected. */
  collects(column: "comm" | "pid" | "tid" | "cpu" | "state" | "branch" | DetailColumn): boolean {
    switch (column) {
      case "comm":
        return true;
      case "branch":
        return (this.#keys.branch ?? 0) !== 0;
      case "state":
        return this.#keys.state === true && isTimeWeight(this.weight);
      case "pid":
      case "tid":
      case "cpu":
        return this.#keys[column] === true;
      default:
        return this.details?.has(column) === true;
    }
  }

  /** Keeps the engine. */
  async start(engine: Engine): Promise<void> {
    this.#engine = engine;
    this.#comms = new SampleComms(engine);
    this.#reads = new SampleReads(engine.reader);
    this.#events = engine.reader.events.all;
    const { littleEndian } = engine.reader;
    this.details?.start(this.#events, littleEndian);
    if (this.kind === "accesses") this.#access = new AccessSamples(this.#events, littleEndian);
    await this.described();
  }

  /**
   * Finds tracepoints of the scheduler and formats of others; in a stream, after they were read.
   */
  async described(): Promise<void> {
    const { details, engine, weight } = this;
    const formats = details?.has("trace") ? await engine.described.formats() : undefined;
    if (details !== undefined && formats !== undefined) {
      const { TracepointText } = await import("@perfdata/format/tracepoint");
      // Addresses stay numbers, since names of functions are known after the last sample only.
      details.tracer = new TracepointText(formats, () => undefined);
    }
    const isTime = isTimeWeight(weight);
    if (!this.#isParallel && !isTime) return;
    const { Parallelism, THREAD_STATE, ThreadIntervals } = await import("./on_demand.ts");
    if (this.#isParallel) this.#parallelism = await Parallelism.open(engine);
    if (!isTime) return;
    const { RUNNING, WAITING, RUNNABLE } = THREAD_STATE;
    const spent = (interval: ThreadInterval): void =>
      this.#spent(interval, RUNNING, interval.from, interval.to);
    const isOfStates = this.collects("state");
    const off = weight === "wall" && isOfStates
      ? (interval: ThreadInterval): void => {
        const { from, runnable, to } = interval;
        this.#spent(interval, WAITING, from, runnable);
        this.#spent(interval, RUNNABLE, runnable, to);
      }
      : spent;
    const listener = weight === "wall"
      ? { off, ran: spent, handled: spent }
      : { off, handled: spent };
    this.#intervals = await ThreadIntervals.open(engine, listener, {
      filter: this.options.filter,
      standIns: isOfStates,
    });
  }

  /** Ends open intervals, and divides the sums. */
  async finish(): Promise<void> {
    this.#intervals?.finish();
    this.#histogram.seal();
    // Whole numbers are summed before they are divided, so that the result does not depend on their
    // order.
    for (const [event, sums] of this.#byThreads.entries()) {
      const total = this.totals[event];
      if (sums === undefined || total === undefined) continue;
      total.latency = sums.reduce((sum, period, threads) => sum + period / threads, 0);
    }
    if (this.#isLatency) {
      this.#histogram.roundPeriods();
      for (const total of this.totals) total.period = Math.round(total.period);
    }
    if (this.#keys.sockets !== true || this.#engine === undefined) return;
    const { recordedCpus } = await import("./on_demand.ts");
    const cpus = await recordedCpus(this.#engine.reader, this.#features);
    this.sockets = cpus.map(({ socket }) => socket);
  }

  /** Number of timed samples that wait for {@linkcode SampleCollector.takeRows}. */
  get waiting(): number {
    return this.#timed?.length ?? 0;
  }

  /**
   * Allows more timed samples after {@linkcode SampleCollector.takeRows}. Removes the contexts of
   * the samples that were taken.
   */
  resume(): void {
    this.#isTaken = false;
    this.#histogram.reset();
  }

  /** Counts the samples of a group of records. */
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
    const leaves = this.options.others === false ? CHOSEN.TOTAL : CHOSEN.NO;
    for (let i = 0; i < count; i++) {
      parallelism?.row(run, i);
      const kind = intAt(type, i);
      if (kind !== PERF_RECORD_SAMPLE) {
        this.#record(run, i, kind, comms);
        continue;
      }
      const choice = byteAt(chosen, i);
      if (choice === CHOSEN.NO || choice === leaves) {
        reads.skip(run, i);
        continue;
      }
      const comm = comms.of(run, i);
      const of = intAt(event, i);
      if (reads.isPlain(of)) {
        this.#count(run, i, of, comm, floatAt(period, i));
        continue;
      }
      const counters = reads.take(run, i);
      for (let k = 0; k < counters; k++) {
        this.#count(run, i, numberAt(reads.event, k), comm, numberAt(reads.period, k));
      }
    }
    this.#histogram.settle();
  }

  /** Reads the names of cgroups, if samples are read in any order. */
  other(batch: RecordBatch, i: number): void {
    if (batch.type(i) !== PERF_RECORD_CGROUP) return;
    const start = batch.start(i);
    const record = batch.bytes.subarray(start, start + batch.size(i));
    addCgroup(this.cgroups, record, batch.littleEndian);
  }

  /** Reads a record that is not a sample. */
  #record(run: Run, i: number, kind: number, comms: SampleComms): void {
    comms.record(run, i);
    if (kind === PERF_RECORD_CGROUP) {
      const record = run.at(i).bytes.subarray(intAt(run.start, i), intAt(run.end, i));
      addCgroup(this.cgroups, record, this.engine.reader.littleEndian);
    } else if (kind === PERF_RECORD_HEADER_FEATURE && this.#keys.sockets === true) {
      const { bytes, view } = run.at(i);
      const [start, end] = [intAt(run.start, i), intAt(run.end, i)];
      const feature = streamFeature(this.engine.reader, bytes, view, start, end);
      if (feature !== undefined) this.#features.set(feature.id, feature.payload.slice());
    }
  }

  /**
   * Returns the rows and removes them here: samples sorted by time, relative to an origin, or sums.
   *
   * @throws {Error} If it is called again.
   */
  takeRows(origin: bigint): TakenRows {
    if (this.#isTaken) throw new Error("the profile of a recording is made once");
    this.#isTaken = true;
    if (this.#timed !== undefined) {
      const rows = this.#timed.inOrder(origin);
      return { ...rows, count: new Uint8Array(rows.node.length).fill(1) };
    }
    const rows = this.#histogram.columns();
    this.#histogram.clear();
    return rows;
  }

  part(): CollectedPart {
    return {
      histogram: this.#histogram.part(),
      timed: (this.#timed ?? new TimedRows()).part(),
      span: this.span.part(),
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

  reuse(before: SampleCollector): void {
    this.#histogram = before.#histogram;
    this.#histogram.reset();
  }

  join(part: CollectedPart, { place, stack }: JoinedNumbers): void {
    const { comms, from, to, details } = part;
    const called = (comm: number): number => this.#comms?.ofPart(comms, comm) ?? 0;
    const { pairs } = this;
    const nodes = this.stacks ? stack : pairs === undefined ? place : from.map((source, i) => {
      const target = intAt(to, i);
      return pairs.node(
        source < 0 ? -1 : intAt(place, source),
        target < 0 ? -1 : intAt(place, target),
      );
    });
    const contexts = this.#histogram.join(
      part.histogram,
      called,
      nodes,
      details && this.details?.join(details),
    );
    this.#timed?.join(part.timed, contexts, nodes);
    this.span.join(part.span);
    this.#accesses += part.accesses;
    this.largest.join(part.largest);
    for (const [event, { samples, period }] of part.totals.entries()) {
      const total = this.totals[event] ??= { samples: 0, period: 0 };
      total.samples += samples;
      total.period += period;
    }
    this.#leftOut += part.leftOut;
  }

  /** The index of a context with the requested columns. */
  #context(
    run: Run,
    i: number,
    event: number,
    comm: number,
    detail: number,
  ): number {
    const { pid, tid, cpu } = this.#keys;
    return this.#histogram.context(
      event,
      comm,
      pid === true ? intAt(run.process, i) : 0,
      tid === true ? intAt(run.tid, i) : 0,
      cpu === true ? intAt(run.cpu, i) : 0,
      detail,
    );
  }

  #spent(interval: ThreadInterval, state: number, from: number, to: number): void {
    const comms = this.#comms;
    const { comm, pid, tid, cpu, stack, place, isStandIn } = interval;
    const period = to - from - interval.interrupted;
    if (comms === undefined || period <= 0) return;
    const total = this.totals[0] ??= { samples: 0, period: 0 };
    total.samples++;
    total.period += period;
    const keys = this.#keys;
    const context = this.#histogram.context(
      0,
      comms.ofThread(comm, tid, pid),
      keys.pid === true ? pid : 0,
      keys.tid === true ? tid : 0,
      keys.cpu === true ? cpu : 0,
      keys.state !== true ? 0 : isStandIn ? state | STAND_IN : state,
    );
    const node = this.stacks ? stack : place;
    const { baseHi: hi, baseLo: lo } = this.#intervals as ThreadIntervals;
    const [beginHi, beginLo] = [hi + Math.floor((lo + from) / 2 ** 32), lo + from | 0];
    if (this.options.span === true) {
      this.span.see(beginHi, beginLo);
      this.span.see(hi + Math.floor((lo + to) / 2 ** 32), lo + to | 0);
    }
    if (this.#timed === undefined) this.#histogram.addLater(context, node, period);
    else this.#timed.push(node, context, cpu, period, beginHi, beginLo);
  }

  #count(run: Run, i: number, event: number, comm: number, period: number): void {
    const { events, span, parallelism: wanted } = this.options;
    if (events !== undefined && !events.has(event)) return;
    const total = this.totals[event] as ProfileTotal;
    const { pairs, details } = this;
    const access = this.#access;
    if (pairs !== undefined && access === undefined) {
      this.#countBranches(pairs, total, run, i, event, comm);
      return;
    }
    if (access !== undefined) period = access.weight(run, i);
    const parallelism = this.#parallelism;
    if (parallelism !== undefined) {
      const { threads } = parallelism;
      if (this.#isLatency) period /= threads;
      else {
        const sums = this.#byThreads[event] ??= [];
        sums[threads] = (sums[threads] ?? 0) + period;
      }
      if (details !== undefined) details.parallelism = threads;
    }
    this.largest.see(event, period);
    total.samples++;
    total.period += period;
    if (run.chosen[i] === CHOSEN.TOTAL) return;
    if (wanted?.has(parallelism?.threads ?? 1) === false) return;
    const context = this.#context(run, i, event, comm, details?.of(run, i) ?? 0);
    const node = pairs !== undefined && access !== undefined
      ? pairs.node(access.data(run, i), intAt(run.place, i))
      : this.stacks
      ? intAt(run.stack, i)
      : intAt(run.place, i);
    if (span === true) this.span.see(intAt(run.timeHi, i), intAt(run.timeLo, i));
    if (this.#timed === undefined) this.#histogram.addLater(context, node, period);
    else this.#keep(this.#timed, run, i, node, context, period);
  }

  /** Adds a sample as a row. Periods are rounded so that their sum is right. */
  #keep(
    timed: TimedRows,
    run: Run,
    i: number,
    node: number,
    context: number,
    period: number,
  ): void {
    if (this.#isLatency) {
      const exact = period + this.#rest;
      period = Math.round(exact);
      this.#rest = exact - period;
    }
    timed.push(
      node,
      context,
      intAt(run.cpu, i),
      period,
      intAt(run.timeHi, i),
      intAt(run.timeLo, i),
    );
  }

  /**
   * Counts the branches of a sample, as `iter_add_next_branch_entry` of tools/perf/util/hist.c
   * does.
   */
  #countBranches(
    nodes: NodeTable,
    total: ProfileTotal,
    run: Run,
    i: number,
    event: number,
    comm: number,
  ): void {
    const { branches, branchFlags } = run;
    const first = intAt(run.branchStart, i);
    const end = intAt(run.branchStart, i + 1);
    total.samples += end - first >> 1;
    total.period += end - first >> 1;
    if (run.chosen[i] === CHOSEN.TOTAL) return;
    const mask = this.#keys.branch ?? 0;
    for (let k = first; k < end; k += 2) {
      const context = this.#context(run, i, event, comm, intAt(branchFlags, k >> 1) & mask);
      const node = nodes.node(intAt(branches, k), intAt(branches, k + 1));
      this.#histogram.addLater(context, node, 1);
    }
  }

  /** Adds a context switch with the thread's present name. */
  #switch(run: Run, i: number): void {
    const type = run.type[i];
    const comms = this.#comms;
    if (comms === undefined) return;
    if (type !== PERF_RECORD_SWITCH && type !== PERF_RECORD_SWITCH_CPU_WIDE) return;
    const { machine } = this.engine;
    const [pid, tid, misc] = [intAt(run.pid, i), intAt(run.tid, i), intAt(run.misc, i)];
    const thread = machine.thread(pid, tid);
    const process = intAt(machine.pids, thread);
    const { pid: byPid, tid: byTid } = this.#keys;
    this.switched.push({
      context: this.#histogram.context(
        SWITCH,
        comms.ofThread(intAt(machine.comms, thread), tid, process),
        byPid === true ? process : 0,
        byTid === true ? tid : 0,
        0,
      ),
      time: run.time(i),
      cpu: intAt(run.cpu, i),
      out: (misc & PERF_RECORD_MISC_SWITCH_OUT) !== 0,
      preempted: (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) !== 0,
    });
  }
}

/** Adds the path of a CGROUP record to paths by id; the first record of an id counts. */
function addCgroup(
  paths: Map<bigint, string>,
  record: Uint8Array<ArrayBuffer>,
  littleEndian: boolean,
): void {
  const view = new DataView(record.buffer, record.byteOffset, record.length);
  const id = view.getBigUint64(CGROUP_ID, littleEndian);
  if (paths.has(id)) return;
  const text = record.subarray(CGROUP_PATH);
  const length = text.indexOf(0);
  paths.set(id, DECODER.decode(text.subarray(0, length < 0 ? undefined : length)));
}
