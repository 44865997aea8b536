import { PerfDataReader } from "@perfdata/format/records";
import { intAt, type RandomAccessSource } from "@perfdata/format/bytes";
import { FloatColumn, IntColumn } from "@perfdata/profile";
import {
  type Consumer,
  type ContextSwitch,
  type Engine,
  type Run,
  runEngine,
  SchedulerEvents,
  type SchedulerListener,
} from "@perfdata/session";
import type { Switched } from "../data/switched.ts";

/** Collects context switches from scheduler events. */
class Collector implements Consumer, SchedulerListener {
  readonly needs = { machine: true };
  readonly #most: number;
  readonly #start: bigint;
  #events: SchedulerEvents | undefined;
  #count = 0;
  readonly #time = new FloatColumn();
  readonly #pid = new IntColumn();
  readonly #tid = new IntColumn();
  readonly #cpu = new IntColumn();
  readonly #out = new IntColumn();

  constructor(start: bigint, most: number) {
    this.#start = start;
    this.#most = most;
  }

  async start(engine: Engine): Promise<void> {
    this.#events = await SchedulerEvents.open(engine);
  }

  rows(run: Run): void {
    for (let i = 0; i < run.count; i++) this.#events?.row(run, i, this);
  }

  done(): boolean {
    return this.#count > this.#most;
  }

  switched({ time, cpu, from, to }: ContextSwitch, run: Run, i: number): void {
    if (this.#count++ >= this.#most) return;
    this.#push(time, intAt(run.pid, i), from, cpu, 1);
    // The process is known only when the thread leaves the CPU.
    this.#push(time, -1, to, cpu, 0);
  }

  woken(): void {}
  ran(): void {}

  #push(time: number, pid: number, tid: number, cpu: number, out: number): void {
    this.#time.push(time);
    this.#pid.push(pid);
    this.#tid.push(tid);
    this.#cpu.push(cpu);
    this.#out.push(out);
  }

  found(): Switched {
    const by = Number((this.#events?.base ?? 0n) - this.#start);
    return {
      time: this.#time.array().map((time) => time + by),
      pid: this.#pid.array().slice(),
      tid: this.#tid.array().slice(),
      cpu: this.#cpu.array().slice(),
      out: Uint8Array.from(this.#out.array()),
      more: this.#count > this.#most,
    };
  }
}

/**
 * Returns context switches from `sched:sched_switch`. This has to read the samples, which the index skips.
 *
 * @param start Time 0 of the result, in ns.
 * @param most Maximum number of switches, each with the leaving and the arriving thread.
 */
export async function scheduledSwitches(
  source: RandomAccessSource,
  start: bigint,
  most: number,
): Promise<Switched> {
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  const collector = new Collector(start, most);
  await runEngine(reader, [collector]);
  return collector.found();
}
