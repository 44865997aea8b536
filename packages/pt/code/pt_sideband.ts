import {
  PERF_RECORD_AUX_OUTPUT_HW_ID,
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_ITRACE_START,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_FORK_EXEC,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_RECORD_TEXT_POKE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import {
  AUX_OUTPUT_HW_ID,
  COMM,
  FORK,
  ITRACE_START,
  layoutOf,
  prefixSize,
  SWITCH_CPU_WIDE,
  TEXT_POKE,
} from "@perfdata/format/records";
import {
  changesMachine,
  type Consumer,
  type Engine,
  isGuestMode,
  isKnownTime,
  KeptRecords,
  MAP,
  mmapSize,
  RecordedObjects,
  Rounds,
  type Run,
  SeenThreads,
  Tracepoints,
} from "@perfdata/session";
import { enlarge, intAt } from "@perfdata/format/bytes";
import type { AuxTrace } from "@perfdata/session/auxtrace";
import { PtClock } from "../decode/pt_clock.ts";
import { PtThreads } from "./pt_threads.ts";
import type { TimeOrigin } from "../decode/pt_time.ts";
import type { TextPoke } from "@perfdata/session/code";

// Offsets of the fields of records.
const COUNTER = layoutOf(AUX_OUTPUT_HW_ID);
const NAME = layoutOf(COMM);
const TASK = layoutOf(FORK);
const STARTED = layoutOf(ITRACE_START);
const NEXT = layoutOf(SWITCH_CPU_WIDE);
const POKE = layoutOf(TEXT_POKE);
// Minimum sizes of records.
const COMM_SIZE = prefixSize(COMM);
const FORK_SIZE = prefixSize(FORK);
const HW_ID_SIZE = prefixSize(AUX_OUTPUT_HW_ID);
const ITRACE_START_SIZE = prefixSize(ITRACE_START);
const SWITCH_CPU_WIDE_SIZE = prefixSize(SWITCH_CPU_WIDE);

/** The event of a processor's counter from a time on: AUX_OUTPUT_HW_ID. */
export interface CounterEvent {
  /** Time in ns. */
  readonly time: number;
  /** The CPU, or -1 if the record has none. */
  readonly cpu: number;
  /** The thread that ran. */
  readonly tid: number;
  /** The counter, from 0 to 63. */
  readonly counter: number;
  /** Index of the event. */
  readonly event: number;
}

/** The threads that ran on a CPU: columns in order of time. */
export class Switches {
  /** Thread before the first row; -1 if unknown. */
  first: number = -1;
  /** Number of rows. */
  count = 0;
  /** Time of each row in ns. */
  time: Float64Array = new Float64Array(64);
  /** Thread that runs from then on; 0 is the idle task, -1 unknown. */
  tid: Int32Array = new Int32Array(64);

  /** Adds a row; of rows with the same time, the last one counts. */
  add(time: number, tid: number): void {
    const last = this.count - 1;
    if (last >= 0 && this.tid[last] === tid) return;
    if (this.count === this.time.length) {
      this.time = enlarge(this.time, this.count + 1);
      this.tid = enlarge(this.tid, this.count + 1);
    }
    this.time[this.count] = time;
    this.tid[this.count++] = tid;
  }
}

/**
 * Data that Intel PT packets lack, from other records: running threads by CPU, mappings, and
 * changes of the kernel's code, all with times.
 *
 * Memory grows with the number of those records.
 */
export class PtSideband implements Consumer {
  /**
   * Records in order of time. The machine is not needed, because the history is made at the end.
   */
  readonly needs = { machine: false } as const;
  /** Running threads, by CPU. */
  readonly switches: Map<number, Switches> = new Map();
  /** Changes of the kernel's code, in order of time. */
  readonly pokes: TextPoke[] = [];
  /** Counters of the events whose samples are in the trace, in order of time. */
  readonly counters: CounterEvent[] = [];
  /** The first thread in an ITRACE_START record, by CPU; -1 for a record without a CPU. */
  readonly started: Map<number, number> = new Map();
  /** Times in ns at which maps changed, sorted. */
  readonly mapTimes: number[] = [];
  /**
   * Times in ns at which processes started another program, sorted: when the first file of it was
   * mapped.
   */
  readonly execs: { readonly time: number; readonly pid: number }[] = [];
  /** Objects of the recording. */
  recorded: RecordedObjects | undefined;
  /** Origin of times, the same as for the trace. */
  readonly origin: TimeOrigin;

  #littleEndian = true;
  /** The records that change the machine. */
  readonly #records = new KeptRecords();
  readonly #rounds = new Rounds();
  /** The threads of context switches. */
  readonly #seen = new SeenThreads(this.#rounds, true);
  /** Number of rows so far. */
  #row = 0;
  /** Processes that started another program, before its first file is mapped. */
  readonly #executing = new Set<number>();
  #threads: PtThreads | undefined;

  /** Samples of sched_switch, with which older versions of perf recorded context switches. */
  #tracepoints: Tracepoints | undefined;
  #hasSwitches = false;
  #engine: Engine | undefined;

  /** Prepares for the records of a trace. */
  constructor(trace: AuxTrace) {
    this.origin = new PtClock(trace).origin;
  }

  /** Prepares for a recording. */
  async start(engine: Engine): Promise<void> {
    this.#engine = engine;
    const { reader, recorded } = engine;
    this.recorded = recorded;
    this.#littleEndian = reader.littleEndian;
    await this.described();
  }

  /** In a stream, finds the fields of sched_switch after its format was read. */
  async described(): Promise<void> {
    if (this.#engine === undefined) return;
    this.#tracepoints = await Tracepoints.open(this.#engine, {
      "sched:sched_switch": ["next_pid"],
    });
  }

  /** Names of context switch tracepoints that cannot be read, because their format is missing. */
  get undescribed(): readonly string[] {
    return this.#tracepoints?.undescribed ?? [];
  }

  /**
   * The first thread in a CPU's trace; -1 if unknown.
   *
   * @param otherwise The process in the AUXTRACE record, for recordings without other information.
   * perf writes the process that it started or attached to into the AUXTRACE records of all CPUs,
   * whatever ran there.
   */
  firstThread(cpu: number, otherwise = -1): number {
    const switches = this.switches.get(cpu);
    const started = this.started.get(cpu) ?? this.started.get(-1);
    if (started !== undefined) return started;
    if (switches !== undefined) {
      return switches.first >= 0 ? switches.first : switches.tid[0] as number;
    }
    return this.#hasSwitches ? -1 : otherwise;
  }

  /** Threads and mappings at any time, after all records were read. */
  get threads(): PtThreads {
    if (this.#threads === undefined) throw new TypeError("PtSideband: not read");
    return this.#threads;
  }

  /** Makes the history of the threads. */
  finish(): void {
    if (this.#engine === undefined) return;
    const { reader: { littleEndian, arch = "x86_64" }, recorded: { known } } = this.#engine;
    const [records, seen, rounds] = [this.#records, this.#seen, this.#rounds];
    records.moments.settle(rounds, true);
    seen.moments.settle(rounds, true);
    const index = { isTimed: true, rounds, records, seen };
    this.#threads = new PtThreads(index, { littleEndian, arch, known }, this.origin);
  }

  /** Processes the records of a run. */
  rows(run: Run): void {
    const { count, type, start, end, timeHi, timeLo } = run;
    for (let i = 0; i < count; i++) {
      const kind = type[i] as number;
      if (kind === PERF_RECORD_SAMPLE) {
        this.#sample(run, i);
        continue;
      }
      const { bytes, view } = run.at(i);
      const from = start[i] as number;
      const to = end[i] as number;
      this.recorded?.record(bytes, view, from, to);
      if (kind >= PERF_RECORD_USER_TYPE_START) continue;
      const time = this.origin.sinceHalves(timeHi[i] as number, timeLo[i] as number);
      if (changesMachine(kind)) this.#change(run, i, time);
      if (kind === PERF_RECORD_SWITCH || kind === PERF_RECORD_SWITCH_CPU_WIDE) {
        this.#switch(run, i, view, time);
      } else if (kind === PERF_RECORD_ITRACE_START && to - from >= ITRACE_START_SIZE) {
        const cpu = run.cpu[i] as number;
        const tid = view.getInt32(from + STARTED.tid, this.#littleEndian);
        if (!this.started.has(cpu)) this.started.set(cpu, tid);
        if (cpu >= 0) this.#switchesOf(cpu).add(time, tid);
      } else if (kind === PERF_RECORD_AUX_OUTPUT_HW_ID && to - from >= HW_ID_SIZE) {
        this.#counter(run, i, view, from, time);
      } else if (kind === PERF_RECORD_TEXT_POKE) this.#poke(bytes, view, from, to, time);
    }
  }

  /** Keeps a record that changes the machine, and notes changes of maps and programs. */
  #change(run: Run, i: number, time: number): void {
    const le = this.#littleEndian;
    const { bytes, view } = run.at(i);
    const { [i]: type = 0 } = run.type;
    const { [i]: start = 0 } = run.start;
    const { [i]: end = 0 } = run.end;
    const { [i]: misc = 0 } = run.misc;
    const [hi, lo] = halvesOf(run, i);
    this.#records.add(bytes.subarray(start, end), 0, hi, lo, this.#row++);
    if (type === PERF_RECORD_COMM && end - start >= COMM_SIZE) {
      if ((misc & PERF_RECORD_MISC_COMM_EXEC) !== 0) {
        this.#executing.add(view.getInt32(start + NAME.pid, le));
      }
    } else if (type === PERF_RECORD_FORK && end - start >= FORK_SIZE) {
      // A thread shares the maps of its process. perf also writes the FORK of a process that
      // existed before.
      const pid = view.getInt32(start + TASK.pid, le);
      if (
        pid !== view.getInt32(start + TASK.ppid, le) && (misc & PERF_RECORD_MISC_FORK_EXEC) === 0
      ) this.mapTimes.push(time);
    } else if (
      (type === PERF_RECORD_MMAP || type === PERF_RECORD_MMAP2) && end - start >= mmapSize(type) &&
      !isGuestMode(misc & PERF_RECORD_MISC_CPUMODE_MASK)
    ) {
      this.mapTimes.push(time);
      if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) === PERF_RECORD_MISC_KERNEL) return;
      const pid = view.getInt32(start + MAP.pid, le);
      if (this.#executing.delete(pid)) this.execs.push({ time, pid });
    }
  }

  #switchesOf(cpu: number): Switches {
    let switches = this.switches.get(cpu);
    if (switches === undefined) this.switches.set(cpu, switches = new Switches());
    return switches;
  }

  #switch(run: Run, i: number, view: DataView, time: number): void {
    const cpu = run.cpu[i] as number;
    if (cpu < 0) return;
    const out = ((run.misc[i] as number) & PERF_RECORD_MISC_SWITCH_OUT) !== 0;
    const from = run.start[i] as number;
    const tid = run.tid[i] as number;
    const isWide = run.type[i] === PERF_RECORD_SWITCH_CPU_WIDE &&
      (run.end[i] as number) - from >= SWITCH_CPU_WIDE_SIZE;
    const other = isWide ? view.getInt32(from + NEXT.next_prev_tid, this.#littleEndian) : -1;
    if (tid > 0) {
      const [hi, lo] = halvesOf(run, i);
      this.#seen.see(intAt(run.pid, i), tid, hi, lo, this.#row++);
    }
    this.#hasSwitches = true;
    const switches = this.#switchesOf(cpu);
    if (switches.count === 0) switches.first = out ? tid : other;
    if (!out) switches.add(time, tid);
    // A SWITCH record has no other thread. The trace is then of the workload alone, and its last
    // packets may seem to be later.
    else if (isWide) switches.add(time, other);
  }

  #sample(run: Run, i: number): void {
    const cpu = run.cpu[i] as number;
    const source = cpu < 0 ? undefined : this.#tracepoints?.of(run, i);
    const [nextPid] = source?.places ?? [];
    if (source === undefined || nextPid === undefined) return;
    this.#hasSwitches = true;
    const time = this.origin.sinceHalves(run.timeHi[i] as number, run.timeLo[i] as number);
    const tid = run.at(i).view.getInt32(source.fields.raw + nextPid.offset, this.#littleEndian);
    this.#switchesOf(cpu).add(time, tid);
  }

  #counter(run: Run, i: number, view: DataView, from: number, time: number): void {
    const le = this.#littleEndian;
    const at = from + COUNTER.hw_id;
    const counter = view.getUint32(le ? at : at + 4, le);
    const { [i]: event = -1 } = run.event;
    // PEBS records have a bit mask of 64 counters.
    if (view.getUint32(le ? at + 4 : at, le) !== 0 || counter > 63 || event < 0) return;
    const { [i]: cpu = -1 } = run.cpu;
    const { [i]: tid = -1 } = run.tid;
    this.counters.push({ time, cpu, tid, counter, event });
  }

  #poke(bytes: Uint8Array, view: DataView, from: number, to: number, time: number): void {
    if (to - from < POKE.old_bytes) return;
    const le = this.#littleEndian;
    const before = view.getUint16(from + POKE.old_len, le);
    const after = view.getUint16(from + POKE.new_len, le);
    const at = from + POKE.old_bytes + before;
    // Without old bytes, memory was allocated; without new bytes, it was freed.
    if (at + after > to || after === 0) return;
    this.pokes.push({
      time,
      low: view.getInt32(from + POKE.addr + (le ? 0 : 4), le),
      high: view.getInt32(from + POKE.addr + (le ? 4 : 0), le),
      bytes: bytes.slice(at, at + after),
    });
  }
}

/** The time of a row in halves, as `KeptRecords.add` takes it. */
function halvesOf({ timeHi, timeLo }: Run, i: number): readonly [hi: number, lo: number] {
  const [hi, lo] = [intAt(timeHi, i), intAt(timeLo, i)];
  return isKnownTime(hi, lo) ? [hi, lo] : [0, 0];
}
