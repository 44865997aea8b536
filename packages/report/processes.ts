import { checkMemory, floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import {
  KERNEL_RECORDS,
  type PerfDataReader,
  type PerfEvent,
  RecordCodec,
} from "@perfdata/format/records";
import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import { CHOSEN, type Consumer, type Engine, type Run, SampleReads } from "@perfdata/session";
import { GOOGLE_RECORDS, USER_RECORDS } from "@perfdata/user-records";

const CODEC = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
/** The dialect in which types 69 to 81 are features. */
const GOOGLE_CODEC = new RecordCodec([...KERNEL_RECORDS, ...GOOGLE_RECORDS]);

/** Records whose fields are always read. */
const TASKS: ReadonlySet<number> = new Set([
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_EXIT,
]);

/** A record as a line of the overview. */
export interface OverviewRow {
  /** Index in order of time, from 0. */
  readonly nr: number;
  /** Name of the type: `SAMPLE`, `MMAP2`. */
  readonly type: string;
  /** Process, or -1 if it is not recorded. */
  readonly pid: number;
  /** Thread, or -1 if it is not recorded. */
  readonly tid: number;
  /** Time in ns; `undefined` if it is not recorded. */
  readonly time: bigint | number | undefined;
  /** Other fields in short. */
  readonly info: string;
}

/** A process in a recording. */
export interface ProcessRow {
  /** Process id. */
  readonly pid: number;
  /** Last command; `:pid` if none was recorded. */
  name: string;
  /** Number of mappings. */
  mmaps: number;
  /** Time of the fork in ns, if recorded. */
  readonly forkTime: bigint | undefined;
  /** Time of the exit in ns, if recorded. */
  exitTime: bigint | undefined;
  /** Number of samples of each event. */
  readonly samples: number[];
  /** Sum of periods of each event. */
  readonly periods: number[];
}

/** Number of records of a type. */
export interface TypeCount {
  /** Type by name. */
  readonly type: string;
  /** Records. */
  count: number;
  /** Size of the records in bytes. */
  bytes: number;
}

/**
 * Counts records by type, follows processes, and passes on each record as a row in time order: a
 * consumer of the engine. Memory depends on the number of processes, not on that of records.
 *
 * @example
 * ```ts
 * import {
 *   bytesSource,
 *   emptyAttr,
 *   KERNEL_RECORDS,
 *   memorySink,
 *   PerfDataReader,
 *   PerfDataWriter,
 *   RecordCodec,
 * } from "@perfdata/format";
 * import { Overview } from "@perfdata/report/figures";
 * import { runEngine } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const writer = await PerfDataWriter.file(sink, { events: [{ attr: emptyAttr() }] });
 * const body = { pid: 7, tid: 7, comm: "true" };
 * await writer.write(new RecordCodec(KERNEL_RECORDS).encode({ type: 3, name: "COMM", misc: 0, body }));
 * await writer.close();
 * const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
 * const rows: string[] = [];
 * const overview = new Overview((row) => rows.push(`${row.type} ${row.info}`));
 * await runEngine(reader, [overview]);
 * assertEquals([rows, overview.processes[0]?.name], [["COMM true"], "true"]);
 * ```
 */
export class Overview implements Consumer {
  /** The state of threads is needed only if samples are filtered by names. */
  readonly needs: { readonly machine: boolean };
  /** Processes, in the order of their first record. */
  readonly processes: ProcessRow[] = [];
  readonly #row: ((row: OverviewRow) => void) | undefined;
  readonly #types = new Map<number, TypeCount>();
  readonly #live = new Map<number, ProcessRow>();
  #reader: PerfDataReader | undefined;
  #events: readonly PerfEvent[] = [];
  #reads: SampleReads | undefined;
  #nr = 0;
  #first: bigint | undefined;
  #last = 0n;

  /**
   * Creates an empty overview.
   *
   * @param row Called for each record in time order.
   * @param filtered Whether samples that the engine's filter excludes, or that have an unknown
   * event, are dropped.
   */
  constructor(row?: (row: OverviewRow) => void, filtered = false) {
    this.#row = row;
    this.needs = { machine: filtered };
  }

  /** Record types, the most frequent first. */
  get types(): readonly TypeCount[] {
    return [...this.#types.values()].sort((a, b) =>
      b.count - a.count || (a.type < b.type ? -1 : 1)
    );
  }

  /** First and last time in ns, if records have times. */
  get time(): readonly [bigint, bigint] | undefined {
    return this.#first === undefined ? undefined : [this.#first, this.#last];
  }

  /** Sets the engine of the pass. */
  start({ reader }: Engine): void {
    this.#reader = reader;
    this.#events = reader.events.all;
    this.#reads = new SampleReads(reader);
  }

  /** Counts the records of a group. */
  rows(run: Run): void {
    const filtered = this.needs.machine;
    for (let i = 0; i < run.count; i++) {
      if (filtered && run.type[i] === PERF_RECORD_SAMPLE && run.chosen[i] !== CHOSEN.YES) {
        this.#reads?.skip(run, i);
        continue;
      }
      this.#record(run, i);
    }
  }

  #record(run: Run, i: number): void {
    const type = intAt(run.type, i) >>> 0;
    const start = intAt(run.start, i);
    const end = intAt(run.end, i);
    // Known before the first record that depends on it.
    const codec = this.#reader?.isGoogleDialect ? GOOGLE_CODEC : CODEC;
    let count = this.#types.get(type);
    if (count === undefined) {
      count = { type: codec.name(type), count: 0, bytes: 0 };
      this.#types.set(type, count);
    }
    count.count++;
    count.bytes += end - start;
    const index = intAt(run.event, i);
    const event = type < PERF_RECORD_USER_TYPE_START ? this.#events[index] : undefined;
    let pid = intAt(run.pid, i);
    let tid = intAt(run.tid, i);
    let time: bigint | undefined = run.time(i);
    if (time === 0n) time = undefined;
    else {
      if (this.#first === undefined || time < this.#first) this.#first = time;
      if (time > this.#last) this.#last = time;
    }
    let info = "";
    const { bytes, view } = run.at(i);
    if (type === PERF_RECORD_SAMPLE) {
      if (event !== undefined && start + event.layout.fixedSize <= end) {
        this.#count(run, i, pid);
        if (this.#row !== undefined) info = this.#sampleText(view, start, end, event, index);
      }
    } else if (TASKS.has(type) || this.#row !== undefined) {
      const body = codec.decode(bytes.subarray(start, end), {
        littleEndian: this.#reader?.littleEndian === true,
        event,
        offset: floatAt(run.offset, i),
      });
      if (body.name !== "RAW") {
        const fields = body.body as unknown as Record<string, unknown>;
        if (typeof fields["pid"] === "number") pid = fields["pid"] | 0;
        if (typeof fields["tid"] === "number") tid = fields["tid"] | 0;
        if (type === PERF_RECORD_FORK || type === PERF_RECORD_EXIT) {
          time ??= fields["time"] as bigint;
        }
        info = this.#apply(type, pid, tid, time, fields);
      }
    }
    this.#row?.({ nr: this.#nr++, type: count.type, pid, tid, time, info });
  }

  /** Counts a sample for its process: for its event, or for the events of its group read. */
  #count(run: Run, i: number, pid: number): void {
    const reads = this.#reads;
    if (reads === undefined) return;
    const { samples, periods } = this.#process(pid);
    const count = reads.take(run, i);
    for (let k = 0; k < count; k++) {
      const event = numberAt(reads.event, k);
      samples[event] = (samples[event] ?? 0) + 1;
      periods[event] = (periods[event] ?? 0) + numberAt(reads.period, k);
    }
  }

  #sampleText(
    view: DataView,
    start: number,
    end: number,
    event: PerfEvent,
    index: number,
  ): string {
    const le = this.#reader?.littleEndian === true;
    const periodAt = event.periodAt(view, start, end, le);
    const period = periodAt < 0 ? event.attr.sample_period : view.getBigUint64(periodAt, le);
    const ipAt = event.ipAt(view, start, end, le);
    const ip = ipAt < 0 ? 0n : view.getBigUint64(ipAt, le);
    return `ip 0x${ip.toString(16)} period ${period}${
      this.#events.length > 1 ? ` event ${index}` : ""
    }`;
  }

  #apply(
    type: number,
    pid: number,
    tid: number,
    time: bigint | undefined,
    fields: Readonly<Record<string, unknown>>,
  ): string {
    switch (type) {
      case PERF_RECORD_MMAP:
      case PERF_RECORD_MMAP2: {
        if (pid !== -1) this.#process(pid).mmaps++;
        const { addr, len, pgoff, filename } = fields as Record<string, bigint>;
        return `${filename} at 0x${addr?.toString(16)} size 0x${len?.toString(16)} ` +
          `offset 0x${pgoff?.toString(16)}`;
      }
      case PERF_RECORD_COMM: {
        const process = this.#process(pid);
        // A thread may have another name than its process.
        if (pid === tid || process.name === `:${pid}`) process.name = String(fields["comm"]);
        return String(fields["comm"]);
      }
      case PERF_RECORD_FORK:
        if (fields["ppid"] !== fields["pid"]) {
          const parent = this.#live.get(Number(fields["ppid"]));
          const process = newProcess(pid, parent?.name ?? `:${pid}`, time);
          this.#live.set(pid, process);
          this.processes.push(process);
        }
        return `parent ${fields["ppid"]}:${fields["ptid"]}`;
      case PERF_RECORD_EXIT:
        // The last thread's exit is the process's.
        this.#process(pid).exitTime = time;
        return `parent ${fields["ppid"]}:${fields["ptid"]}`;
    }
    return Object.entries(fields)
      .filter(([name, value]) =>
        (typeof value === "number" || typeof value === "bigint" || typeof value === "string") &&
        name !== "pid" && name !== "tid" && name !== "time" && !name.startsWith("__")
      )
      .map(([name, value]) => `${name} ${value}`)
      .join(" ");
  }

  #process(pid: number): ProcessRow {
    let process = this.#live.get(pid);
    if (process === undefined) {
      if ((this.processes.length & 0xfff) === 0xfff) checkMemory();
      process = newProcess(pid, pid === 0 ? "swapper" : `:${pid}`, undefined);
      this.#live.set(pid, process);
      this.processes.push(process);
    }
    return process;
  }
}

function newProcess(pid: number, name: string, forkTime: bigint | undefined): ProcessRow {
  return { pid, name, mmaps: 0, forkTime, exitTime: undefined, samples: [], periods: [] };
}
