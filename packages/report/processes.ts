import {
  KERNEL_RECORDS,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  type PerfDataReader,
  type PerfEvent,
  RecordCodec,
  trailerEnd,
} from "@perfdata/format";
import type { RecordBytes } from "@perfdata/session";
import { GOOGLE_RECORDS, USER_RECORDS } from "@perfdata/user-records";
import { type Aggregate, aggregate, type AggregateOptions } from "./aggregate.ts";

const MMAP = 1;
const COMM = 3;
const EXIT = 4;
const FORK = 7;
const MMAP2 = 10;

const CODEC = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
/** That of the dialect in which types 69 to 81 are features. */
const GOOGLE_CODEC = new RecordCodec([...KERNEL_RECORDS, ...GOOGLE_RECORDS]);

/** A record as a line of the overview. */
export interface OverviewRow {
  /** Its number in the order of time, from 0. */
  readonly nr: number;
  /** Its type by name: `SAMPLE`, `MMAP2`. */
  readonly type: string;
  /** Process, or -1 where the record does not say. */
  readonly pid: number;
  /** Thread, or -1 where the record does not say. */
  readonly tid: number;
  /** Time in ns, or `undefined` where the record does not say. */
  readonly time: bigint | number | undefined;
  /** What else matters, in a few words. */
  readonly info: string;
}

/** A process as the recording shows it. */
export interface ProcessRow {
  /** Process id. */
  readonly pid: number;
  /** Its last command; `:pid` where none was recorded. */
  name: string;
  /** How often something was mapped into it. */
  mmaps: number;
  /** Time of its fork in ns, where that was recorded. */
  readonly forkTime: bigint | undefined;
  /** Time of its exit in ns, where that was recorded. */
  exitTime: bigint | undefined;
  /** Samples by number of event. */
  readonly samples: number[];
  /** Sums of their periods by number of event. */
  readonly periods: number[];
}

/** How many records there are of a type. */
export interface TypeCount {
  /** Type by name. */
  readonly type: string;
  /** Records. */
  count: number;
  /** Their bytes. */
  bytes: number;
}

/** What {@link readOverview} found. */
export interface Overview {
  /** Records by type, the most frequent first. */
  readonly types: readonly TypeCount[];
  /** Processes, in the order in which they appear. */
  readonly processes: readonly ProcessRow[];
  /** First and last time in ns, where records have times. */
  readonly time: readonly [bigint, bigint] | undefined;
  /** Samples by event, command, object and address. */
  readonly samples: Aggregate;
}

/**
 * Reads a whole recording in the order of time: counts records, follows processes, and hands on
 * each record as a row.
 *
 * Memory depends on the number of processes and of distinct addresses, and on how far the file is
 * out of order; not on its size.
 *
 * @param row Called for each record in the order of time.
 * @throws {PerfDataError} In strict mode, where the file is damaged.
 *
 * @example
 * ```ts
 * import { bytesSource, emptyAttr, KERNEL_RECORDS, memorySink, PerfDataReader, PerfDataWriter,
 *   RecordCodec } from "@perfdata/format";
 * import { readOverview } from "@perfdata/report";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const writer = await PerfDataWriter.file(sink, { events: [{ attr: emptyAttr() }] });
 * const body = { pid: 7, tid: 7, comm: "true" };
 * await writer.write(new RecordCodec(KERNEL_RECORDS).encode({ type: 3, name: "COMM", misc: 0, body }));
 * await writer.close();
 * const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
 * const rows: string[] = [];
 * const { processes } = await readOverview(reader, (row) => rows.push(`${row.type} ${row.info}`));
 * assertEquals([rows, processes[0]?.name], [["COMM true"], "true"]);
 * ```
 */
export async function readOverview(
  reader: PerfDataReader,
  row: ((row: OverviewRow) => void) | undefined,
  options: AggregateOptions = {},
): Promise<Overview> {
  const overview = new OverviewReader(reader, row);
  const samples = await aggregate(reader, {
    ...options,
    record: (at, start, end, offset, event) => {
      options.record?.(at, start, end, offset, event);
      overview.record(at, start, end, offset, event);
    },
  });
  return { ...overview.finish(), samples };
}

class OverviewReader {
  readonly #row: ((row: OverviewRow) => void) | undefined;
  readonly #reader: PerfDataReader;
  readonly #le: boolean;
  readonly #events: readonly PerfEvent[];
  readonly #types = new Map<number, TypeCount>();
  readonly #live = new Map<number, ProcessRow>();
  readonly #processes: ProcessRow[] = [];
  #nr = 0;
  #first: bigint | undefined;
  #last = 0n;

  constructor(reader: PerfDataReader, row: ((row: OverviewRow) => void) | undefined) {
    this.#row = row;
    this.#reader = reader;
    this.#le = reader.littleEndian;
    this.#events = reader.events.all;
  }

  record(at: RecordBytes, start: number, end: number, offset: number, index: number): void {
    const { view } = at;
    const le = this.#le;
    const type = view.getUint32(start, le);
    // Known before the first record that it makes a difference for.
    const codec = this.#reader.isGoogleDialect ? GOOGLE_CODEC : CODEC;
    let count = this.#types.get(type);
    if (count === undefined) {
      count = { type: codec.name(type), count: 0, bytes: 0 };
      this.#types.set(type, count);
    }
    count.count++;
    count.bytes += end - start;
    const event = type < PERF_RECORD_USER_TYPE_START ? this.#events[index] : undefined;
    let pid = -1;
    let tid = -1;
    let time: bigint | undefined;
    if (event !== undefined) {
      const { layout } = event;
      const sample = type === PERF_RECORD_SAMPLE;
      const trailer = trailerEnd(start, end);
      const timeAt = sample
        ? (layout.time < 0 ? -1 : start + layout.time)
        : (layout.trailer.time === 0 ? -1 : trailer + layout.trailer.time);
      const pidAt = sample
        ? (layout.pid < 0 ? -1 : start + layout.pid)
        : (layout.trailer.pid === 0 ? -1 : trailer + layout.trailer.pid);
      if (timeAt >= start + 8 && timeAt + 8 <= end) time = view.getBigUint64(timeAt, le);
      if (pidAt >= start + 8 && pidAt + 8 <= end) {
        pid = view.getInt32(pidAt, le);
        tid = view.getInt32(pidAt + 4, le);
      }
      if (time !== undefined && time > 0n && time !== 0xffff_ffff_ffff_ffffn) {
        if (this.#first === undefined || time < this.#first) this.#first = time;
        if (time > this.#last) this.#last = time;
      } else time = undefined;
    }
    let info = "";
    if (type === PERF_RECORD_SAMPLE) {
      if (event !== undefined && start + event.layout.fixedSize <= end) {
        info = this.#sample(view, start, event, index, pid);
      }
    } else {
      const body = type === MMAP || type === MMAP2 || type === COMM || type === FORK ||
          type === EXIT || this.#row !== undefined
        ? codec.decode(at.bytes.subarray(start, end), { littleEndian: le, event, offset })
        : undefined;
      if (body !== undefined && body.name !== "RAW") {
        const fields = body.body as unknown as Record<string, unknown>;
        if (typeof fields["pid"] === "number") pid = fields["pid"] | 0;
        if (typeof fields["tid"] === "number") tid = fields["tid"] | 0;
        if (type === FORK || type === EXIT) time ??= fields["time"] as bigint;
        info = this.#apply(type, pid, tid, time, fields);
      }
    }
    this.#row?.({ nr: this.#nr++, type: count.type, pid, tid, time, info });
  }

  #sample(view: DataView, start: number, event: PerfEvent, index: number, pid: number): string {
    const { layout, attr } = event;
    const le = this.#le;
    const period = layout.period < 0
      ? Number(attr.sample_period)
      : Number(view.getBigUint64(start + layout.period, le));
    const process = this.#process(pid);
    process.samples[index] = (process.samples[index] ?? 0) + 1;
    process.periods[index] = (process.periods[index] ?? 0) + period;
    if (this.#row === undefined) return "";
    const ip = layout.ip < 0 ? 0n : view.getBigUint64(start + layout.ip, le);
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
      case MMAP:
      case MMAP2: {
        if (pid !== -1) this.#process(pid).mmaps++;
        const { addr, len, pgoff, filename } = fields as Record<string, bigint>;
        return `${filename} at 0x${addr?.toString(16)} size 0x${len?.toString(16)} ` +
          `offset 0x${pgoff?.toString(16)}`;
      }
      case COMM: {
        const process = this.#process(pid);
        // A thread may go by another name than its process.
        if (pid === tid || process.name === `:${pid}`) process.name = String(fields["comm"]);
        return String(fields["comm"]);
      }
      case FORK:
        if (fields["ppid"] !== fields["pid"]) {
          const parent = this.#live.get(Number(fields["ppid"]));
          const process = newProcess(pid, parent?.name ?? `:${pid}`, time);
          this.#live.set(pid, process);
          this.#processes.push(process);
        }
        return `parent ${fields["ppid"]}:${fields["ptid"]}`;
      case EXIT:
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
      process = newProcess(pid, pid === 0 ? "swapper" : `:${pid}`, undefined);
      this.#live.set(pid, process);
      this.#processes.push(process);
    }
    return process;
  }

  finish(): Omit<Overview, "samples"> {
    return {
      types: [...this.#types.values()].sort((a, b) =>
        b.count - a.count || (a.type < b.type ? -1 : 1)
      ),
      processes: this.#processes,
      time: this.#first === undefined ? undefined : [this.#first, this.#last],
    };
  }
}

function newProcess(pid: number, name: string, forkTime: bigint | undefined): ProcessRow {
  return { pid, name, mmaps: 0, forkTime, exitTime: undefined, samples: [], periods: [] };
}
