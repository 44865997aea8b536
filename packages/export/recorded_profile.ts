import {
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
} from "@perfdata/format/perf-event";
import {
  PERF_RECORD_SAMPLE,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
} from "@perfdata/format/record-types";
import type { Consumer, Engine, Needs } from "@perfdata/session/engine";
import { CHOSEN, type Run } from "@perfdata/session/run";
import { SampleReads } from "@perfdata/session/sample-reads";
import { shortName } from "@perfdata/session/short-name";
import type { SymbolTrust } from "@perfdata/session/symbolize";
import { percent } from "@perfdata/session/unwind-text";
import type { SymbolResolver } from "@perfdata/symbols";
import { FloatColumn, IntColumn } from "./columns.ts";
import { NodeTable } from "./node_table.ts";
import { namePlaces } from "./place_names.ts";
import type {
  Profile,
  ProfileEvent,
  ProfileSwitch,
  ProfileThread,
  SampleColumns,
} from "./profile.ts";

/** What {@linkcode ProfileConsumer} keeps. */
export interface ProfileOptions {
  /** Whether each sample is kept with its time and CPU, instead of sums of those that are alike. */
  readonly timed?: boolean;
  /** Whether context switches are kept; only together with times. */
  readonly switches?: boolean;
  /**
   * Whether each address where nothing is mapped is a place of its own, and counted as one in what is
   * said of trust; otherwise they are one place, which takes much less time and memory.
   */
  readonly unmapped?: boolean;
}

/** How a {@linkcode ProfileConsumer} is given names. */
export interface ProfileNames {
  /** Finds symbols. */
  readonly resolver: SymbolResolver;
  /** What was recorded. */
  readonly title: string;
}

/** Collects the samples of a recording, and makes a {@linkcode Profile} of them. */
export class ProfileConsumer implements Consumer {
  /** Stacks. */
  readonly needs: Needs;
  readonly #timed: boolean;
  readonly #switches: boolean;
  #first = -1;
  #last = -1;
  #engine: Engine | undefined;
  #reads: SampleReads | undefined;
  readonly #processThreads = new NodeTable();
  readonly #threads = new NodeTable();
  readonly #kinds = new NodeTable();
  readonly #rows = new NodeTable();
  readonly #columns = {
    stack: new IntColumn(),
    event: new IntColumn(),
    thread: new IntColumn(),
    count: new FloatColumn(),
    period: new FloatColumn(),
  };
  readonly #timedColumns = {
    stack: new IntColumn(),
    event: new IntColumn(),
    thread: new IntColumn(),
    cpu: new IntColumn(),
    period: new FloatColumn(),
    time: new FloatColumn(),
  };
  readonly #switched: ProfileSwitch[] = [];
  /** Samples that count. */
  samples: number = 0;
  /** Those of them that have a stack of more than one place. */
  withCallers: number = 0;

  /** Collects what the options say. */
  constructor({ timed = false, switches = false, unmapped = false }: ProfileOptions = {}) {
    this.needs = { stacks: true, unmapped };
    this.#timed = timed;
    this.#switches = timed && switches;
  }

  /** Remembers the engine. */
  start(engine: Engine): void {
    this.#engine = engine;
    this.#reads = new SampleReads(engine.reader);
  }

  /** Takes a run. */
  rows(run: Run): void {
    const { count, chosen, type } = run;
    const { parent } = (this.#engine as Engine).stacks;
    const reads = this.#reads as SampleReads;
    for (let i = 0; i < count; i++) {
      if (type[i] !== PERF_RECORD_SAMPLE) {
        if (this.#switches) this.#switch(run, i);
        continue;
      }
      if (chosen[i] === CHOSEN.NO) continue;
      const values = reads.take(run, i);
      if (chosen[i] !== CHOSEN.YES) continue;
      const stack = run.stack[i] as number;
      const thread = this.#thread(
        run.process[i] as number,
        run.tid[i] as number,
        run.comm[i] as number,
      );
      for (let k = 0; k < values; k++) {
        this.samples++;
        if (stack >= 0 && (parent[stack] as number) >= 0) this.withCallers++;
        this.#add(run, i, thread, reads.event[k] as number, reads.period[k] as number);
      }
    }
  }

  #add(run: Run, i: number, thread: number, event: number, period: number): void {
    const columns = this.#columns;
    const stack = run.stack[i] as number;
    const time = (run.timeHi[i] as number) * 4294967296 + ((run.timeLo[i] as number) >>> 0);
    if (time > 0) {
      if (this.#first < 0) this.#first = time;
      this.#last = time;
    }
    if (this.#timed) {
      const timed = this.#timedColumns;
      timed.stack.push(stack);
      timed.event.push(event);
      timed.thread.push(thread);
      timed.period.push(period);
      timed.time.push(time);
      timed.cpu.push(run.cpu[i] as number);
      return;
    }
    const row = this.#rows.node(this.#kinds.node(thread, event), stack);
    if (row === columns.count.length) {
      columns.stack.push(stack);
      columns.event.push(event);
      columns.thread.push(thread);
      columns.count.push(0);
      columns.period.push(0);
    }
    columns.count.add(row, 1);
    columns.period.add(row, period);
  }

  #thread(pid: number, tid: number, comm: number): number {
    return this.#threads.node(this.#processThreads.node(pid, tid), comm);
  }

  #switch(run: Run, i: number): void {
    const type = run.type[i];
    if (type !== PERF_RECORD_SWITCH && type !== PERF_RECORD_SWITCH_CPU_WIDE) return;
    const { machine } = this.#engine as Engine;
    const [pid, tid, misc] = [run.pid[i] as number, run.tid[i] as number, run.misc[i] as number];
    const thread = machine.thread(pid, tid);
    this.#switched.push({
      thread: this.#thread(machine.pids[thread] as number, tid, machine.comms[thread] as number),
      time: (run.timeHi[i] as number) * 4294967296 + ((run.timeLo[i] as number) >>> 0),
      cpu: run.cpu[i] as number,
      out: (misc & PERF_RECORD_MISC_SWITCH_OUT) !== 0,
      preempted: (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) !== 0,
    });
  }

  /**
   * Names what was collected; to be called after the run.
   *
   * @returns The profile, and how far its names can be trusted.
   */
  async profile(names: ProfileNames): Promise<{ profile: Profile; trust: SymbolTrust }> {
    const engine = this.#engine as Engine;
    const { stacks } = engine;
    const samples = this.#timed ? this.#timedSamples() : this.#sums();
    const columns = {
      parent: stacks.parent.subarray(0, stacks.count),
      place: stacks.place.subarray(0, stacks.count),
    };
    const { trust, ...named } = await namePlaces(engine, columns, samples, names.resolver);
    const profile: Profile = {
      ...named,
      title: names.title,
      trust: this.#trustLine(trust),
      events: events(engine),
      threads: this.#threadRows(engine),
      objects: engine.places.objects.map(({ path, buildId }, number) => ({
        name: shortName(engine.places.mapped[number] ?? { name: path, kernel: false }),
        path,
        ...(buildId === undefined ? {} : { buildId }),
      })),
      stacks: columns,
      samples,
      ...(this.#first < 0 ? {} : { span: [this.#first, this.#last] as const }),
      switches: this.#switched,
    };
    return { profile, trust };
  }

  #timedSamples(): SampleColumns {
    const { stack, event, thread, cpu, period, time } = this.#timedColumns;
    const { length } = stack;
    return {
      length,
      stack: stack.array(),
      event: event.array(),
      thread: thread.array(),
      count: new Uint8Array(length).fill(1),
      period: period.array(),
      time: time.array(),
      cpu: cpu.array(),
    };
  }

  #sums(): SampleColumns {
    const { stack, event, thread, count, period } = this.#columns;
    return {
      length: stack.length,
      stack: stack.array(),
      event: event.array(),
      thread: thread.array(),
      count: count.array(),
      period: period.array(),
    };
  }

  #threadRows({ names }: Engine): ProfileThread[] {
    const of = this.#threads.parents();
    const comms = this.#threads.items();
    const pids = this.#processThreads.parents();
    const tids = this.#processThreads.items();
    return Array.from(comms, (comm, number) => {
      const tid = tids[of[number] as number] as number;
      return {
        pid: pids[of[number] as number] as number,
        tid,
        comm: comm < 0 ? `:${tid}` : names.text(comm),
      };
    });
  }

  /** One line: how many samples have a function and a stack, and why the others have none. */
  #trustLine({ all, resolved, unresolved, unverified }: SymbolTrust): string {
    const causes = [...unresolved].filter(([, { samples }]) => samples > 0)
      .sort(([, a], [, b]) => b.samples - a.samples)
      .map(([cause, { samples }]) => `${cause} ${percent(samples, all.samples)}`);
    const parts = [
      `${percent(resolved.samples, all.samples)} of samples have a function` +
      (causes.length > 0 ? ` (without: ${causes.join(", ")})` : ""),
      this.withCallers === 0
        ? "no call chains were recorded"
        : `${percent(this.withCallers, this.samples)} have callers`,
    ];
    if (unverified.samples > 0) {
      parts.push(`${percent(unverified.samples, all.samples)} by files of no known build id`);
    }
    const leftOut = (this.#engine as Engine).leftOut + (this.#reads as SampleReads).leftOut;
    if (leftOut > 0) parts.push(`${leftOut} samples are damaged or of no known event`);
    return parts.join("; ");
  }
}

/** The events, with the units of their periods. */
function events({ eventNames, reader }: Engine): ProfileEvent[] {
  return reader.events.all.map((_, number) => {
    const name = eventNames[number] ?? `event ${number}`;
    // The periods of the software clocks are nanoseconds.
    return { name, unit: /^(cpu|task)-clock\b/.test(name) ? "nanoseconds" : "count" };
  });
}
