import type { PerfEvent } from "@perfdata/format";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/record-types";
import type { Consumer, Engine, EngineOptions, Needs } from "@perfdata/session/engine";
import { type ThreadInterval, ThreadIntervals } from "@perfdata/session/intervals";
import { NodeTable } from "@perfdata/profile/node-table";
import { CHOSEN, type Run } from "@perfdata/session/run";
import { SampleComms } from "@perfdata/session/sample-comms";
import { SampleReads } from "@perfdata/session/sample-reads";
import { type HistogramPart, SampleHistogram } from "@perfdata/session/sample-histogram";
import type { JoinedNumbers, Shareable } from "@perfdata/session/workers";

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
}

/** How to count. */
export interface CountOptions {
  /** What samples are grouped by. */
  readonly keys?: SampleKeys | undefined;
  /** Whether nodes are stacks; places otherwise. */
  readonly stacks?: boolean | undefined;
  /** Whether nodes are branches: each entry of branch stacks counts as a sample with a period of 1. */
  readonly branches?: boolean | undefined;
  /** Whether lines or inlined functions are wanted: callers in stacks are then at their calls. */
  readonly lines?: boolean | undefined;
  /**
   * What counts: samples with their periods (the default), times that threads had no CPU, or these and those
   * that they had one; then all is of event 0.
   */
  readonly weight?: "period" | "off-cpu" | "wall" | undefined;
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
}

/** What one thread counted. */
export interface CountsPart {
  /** Samples and periods. */
  readonly histogram: HistogramPart;
  /** Threads without a name: `SampleComms.part`. */
  readonly comms: Int32Array<ArrayBuffer>;
  /** Places that branches lead from, where these are counted. */
  readonly from: Int32Array<ArrayBuffer>;
  /** Places that they lead to. */
  readonly to: Int32Array<ArrayBuffer>;
  /** Totals by number of event. */
  readonly totals: readonly EventTotal[];
  /** Samples whose READ values are damaged or of no known event. */
  readonly leftOut: number;
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
  /** Samples and periods; a node is a place, a stack or a branch. */
  readonly histogram: SampleHistogram = new SampleHistogram(1 << 14);
  /** Totals by number of event. */
  readonly totals: EventTotal[] = [];
  /** Whether nodes are stacks. */
  readonly stacks: boolean;
  /** Where nodes are branches: the places that these lead from (`parents()`) and to (`items()`). */
  readonly branches: NodeTable | undefined;
  readonly #options: CountOptions;
  /** Takes what records of switches are of, where intervals are counted. */
  readonly applied?: (run: Run, i: number) => void;
  #intervals: ThreadIntervals | undefined;
  #engine: Engine | undefined;
  #events: readonly PerfEvent[] = [];
  #leftOut = 0;
  #reads: SampleReads | undefined;
  #comms: SampleComms | undefined;

  /** Counts nothing yet. */
  constructor(options: CountOptions = {}) {
    this.#options = options;
    this.stacks = options.stacks === true;
    if (options.branches === true) this.branches = new NodeTable();
    const isTime = (options.weight ?? "period") !== "period";
    const order = isTime ? "time" : "any";
    // Whether call chains were recorded is said of times.
    this.needs = this.stacks || isTime
      ? { order, stacks: true, calls: options.lines === true }
      : { order, places: true, branches: options.branches === true };
    if (isTime) this.applied = (run, i) => this.#intervals?.applied(run, i);
  }

  /** What is known of intervals, where they are counted. */
  get intervals(): ThreadIntervals | undefined {
    return this.#intervals;
  }

  /** Comms by number; there are none before the pass. */
  get comms(): SampleComms | undefined {
    return this.#comms;
  }

  /** Whether a part of contexts is collected. */
  collects(column: "comm" | "pid" | "tid" | "cpu" | "branch"): boolean {
    if (column === "branch") return (this.#options.keys?.branch ?? 0) !== 0;
    return column === "comm" || this.#options.keys?.[column] === true;
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
    await this.described();
  }

  /** Finds the tracepoints of the scheduler, of a stream when they have come. */
  async described(): Promise<void> {
    const { weight = "period", filter } = this.#options;
    if (weight === "period") return;
    const take = (interval: ThreadInterval): void => this.#spent(interval);
    const listener = weight === "wall" ? { off: take, ran: take } : { off: take };
    this.#intervals = await ThreadIntervals.open(this.#engine as Engine, listener, { filter });
  }

  /** Ends what is under way. */
  finish(): void {
    this.#intervals?.finish();
    this.histogram.settle();
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
      this.histogram.settle();
      return;
    }
    for (let i = 0; i < count; i++) {
      const kind = type[i] as number;
      if (kind === PERF_RECORD_SAMPLE) {
        if (chosen[i] === CHOSEN.NO) continue;
        const called = comms.of(run, i);
        const of = event[i] as number;
        if (reads.isPlain(of)) {
          this.#count(run, i, of, called, period[i] as number);
          continue;
        }
        const counters = reads.take(run, i);
        for (let k = 0; k < counters; k++) {
          this.#count(run, i, reads.event[k] as number, called, reads.period[k] as number);
        }
      } else comms.record(run, i);
    }
    this.histogram.settle();
  }

  part(): CountsPart {
    return {
      histogram: this.histogram.part(),
      comms: this.#comms?.part() ?? new Int32Array(0),
      from: this.branches?.parents().slice() ?? new Int32Array(0),
      to: this.branches?.items().slice() ?? new Int32Array(0),
      totals: this.totals,
      leftOut: this.leftOut,
    };
  }

  join(
    { histogram, comms, from, to, totals, leftOut }: CountsPart,
    { place, stack }: JoinedNumbers,
  ): void {
    const called = (comm: number): number => this.#comms?.ofPart(comms, comm) ?? 0;
    const { branches } = this;
    const nodes = this.stacks ? stack : branches === undefined ? place : from.map((source, i) => {
      const target = to[i] as number;
      return branches.node(
        source < 0 ? -1 : place[source] as number,
        target < 0 ? -1 : place[target] as number,
      );
    });
    this.histogram.join(histogram, called, nodes);
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
    const context = this.histogram.context(
      0,
      comms.ofThread(comm, tid),
      keys?.pid ? pid : 0,
      keys?.tid ? tid : 0,
      keys?.cpu ? cpu : 0,
    );
    this.histogram.addLater(context, this.stacks ? stack : place, to - from);
  }

  #count(run: Run, i: number, event: number, comm: number, period: number): void {
    const { events, keys } = this.#options;
    if (events !== undefined && !events.has(event)) return;
    const total = this.totals[event] as EventTotal;
    if (this.branches !== undefined) {
      this.#countBranches(this.branches, total, run, i, event, comm);
      return;
    }
    total.samples++;
    total.period += period;
    if (run.chosen[i] === CHOSEN.TOTAL) return;
    const context = this.histogram.context(
      event,
      comm,
      keys?.pid ? run.process[i] as number : 0,
      keys?.tid ? run.tid[i] as number : 0,
      keys?.cpu ? run.cpu[i] as number : 0,
    );
    const node = this.stacks ? run.stack[i] as number : run.place[i] as number;
    this.histogram.addLater(context, node, period);
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
    const first = run.branchStart[i] as number;
    const end = run.branchStart[i + 1] as number;
    total.samples += end - first >> 1;
    total.period += end - first >> 1;
    if (run.chosen[i] === CHOSEN.TOTAL) return;
    const mask = keys?.branch ?? 0;
    for (let k = first; k < end; k += 2) {
      const context = this.histogram.context(
        event,
        comm,
        keys?.pid ? run.process[i] as number : 0,
        keys?.tid ? run.tid[i] as number : 0,
        keys?.cpu ? run.cpu[i] as number : 0,
        (branchFlags[k >> 1] as number) & mask,
      );
      this.histogram.addLater(
        context,
        nodes.node(branches[k] as number, branches[k + 1] as number),
        1,
      );
    }
  }
}
