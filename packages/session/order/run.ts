import {
  type PerfDataReader,
  type PerfEvent,
  recordMisc,
  recordSize,
  trailerEnd,
} from "@perfdata/format/records";
import {
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";

/** Maximum number of rows of a {@link Run}: as many as fit in a CPU's second-level cache. */
export const RUN_ROWS = 1024;

/** Bytes that hold records: those of a batch, or those of the re-order buffer. */
export interface RecordBytes {
  /** The bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The bytes, for reads in either byte order. */
  readonly view: DataView;
  /** The bytes as 32-bit words of the machine's byte order. */
  readonly words: Int32Array;
}

/** Whether a row counts: see {@link Run.chosen}. */
export const CHOSEN = {
  /** It is damaged, of no known event, or a filter dropped it. */
  NO: 0,
  /** It counts. */
  YES: 1,
  /**
   * It is in totals only: perf keeps samples of other processes and threads in what
   * percentages are of (`hists__filter_by_thread` of tools/perf/util/hist.c).
   */
  TOTAL: 2,
} as const;

/**
 * Bits of {@link Run.branchFlags}: the first fields of `struct perf_branch_entry`, up to `new_type`, as
 * a little-endian machine has them.
 */
export const BRANCH = {
  /** It was mispredicted. */
  MISPREDICTED: 1,
  /** It was predicted; where neither is set, the processor does not say. */
  PREDICTED: 2,
  /** In a transaction. */
  IN_TX: 4,
  /** It aborted a transaction. */
  ABORT: 8,
  /** Cycles since the branch before, from bit {@link BRANCH.CYCLES_AT} on; 0 if they are not known. */
  CYCLES: 0xffff0,
  /** The first bit of {@link BRANCH.CYCLES}. */
  CYCLES_AT: 4,
} as const;

/** What stands before a place in {@link Run.frames}: no upper half that an address there has. */
export const PLACE_FRAME: number = -(2 ** 31);

/**
 * Records in the order of their delivery: a row each, as dense columns.
 *
 * A run and the bytes that it names are valid during the call that it is handed to; the next run
 * overwrites it.
 */
export class Run {
  /** Number of rows. */
  count: number = 0;
  /** Bytes that hold records. */
  blocks: readonly RecordBytes[] = [];
  /** The number of the bytes that hold the record. */
  readonly block: Int32Array = new Int32Array(RUN_ROWS);
  /** Where in them it starts. */
  readonly start: Int32Array = new Int32Array(RUN_ROWS);
  /** Where in them it ends. */
  readonly end: Int32Array = new Int32Array(RUN_ROWS);
  /** Its file offset, as `RecordBatch.offsetOf` gives it. */
  readonly offset: Float64Array = new Float64Array(RUN_ROWS);
  /** `type` of the header. */
  readonly type: Int32Array = new Int32Array(RUN_ROWS);
  /** `misc` of the header; of an off-CPU sample with the mode of the address that is meant. */
  readonly misc: Int32Array = new Int32Array(RUN_ROWS);
  /** Number of the event it belongs to, or -1 if its id is not known; 0 for perf's own records. */
  readonly event: Int32Array = new Int32Array(RUN_ROWS);
  /** Upper half of its time in ns; both halves are 0 where it has none. */
  readonly timeHi: Int32Array = new Int32Array(RUN_ROWS);
  /** Lower half. */
  readonly timeLo: Int32Array = new Int32Array(RUN_ROWS);
  /** Where records are read by blocks: its number among the records of the file. */
  readonly position: Float64Array = new Float64Array(RUN_ROWS);
  /** Where records are read by blocks: how many FINISHED_ROUND records stand before it. */
  readonly round: Int32Array = new Int32Array(RUN_ROWS);
  /** Process, as a sample or a `sample_id` says; -1 if it does not. */
  readonly pid: Int32Array = new Int32Array(RUN_ROWS);
  /** Thread, likewise. */
  readonly tid: Int32Array = new Int32Array(RUN_ROWS);
  /** CPU, likewise. */
  readonly cpu: Int32Array = new Int32Array(RUN_ROWS);
  /** Whether it counts: {@link CHOSEN}; 0 for all but samples. */
  readonly chosen: Uint8Array = new Uint8Array(RUN_ROWS);
  /** Of a sample: the thread, a number of the machine. */
  readonly thread: Int32Array = new Int32Array(RUN_ROWS);
  /** Of a sample: its process, as the machine knows it; -1 if it does not. */
  readonly process: Int32Array = new Int32Array(RUN_ROWS);
  /** Of a sample: the thread's name at that time, a number of the machine's names; -1 for none. */
  readonly comm: Int32Array = new Int32Array(RUN_ROWS);
  /** Of a sample, where places are needed: what was executed; -1 if it does not say. */
  readonly place: Int32Array = new Int32Array(RUN_ROWS);
  /**
   * Of a sample, where that is needed: the place of the data that it accessed (`PERF_SAMPLE_ADDR`); -1
   * where it does not say.
   */
  readonly addr: Int32Array = new Int32Array(RUN_ROWS);
  /**
   * Of a sample, where maps are needed: path or name of what is mapped at its address, a number of the
   * machine's names; -1 if nothing is, and for addresses of guests and hypervisors.
   */
  readonly map: Int32Array = new Int32Array(RUN_ROWS);
  /** Of a sample, where stacks are needed: the innermost node of its stack; -1 for none. */
  readonly stack: Int32Array = new Int32Array(RUN_ROWS);
  /** Of a sample: the events it stands for, exact up to 2^53. */
  readonly period: Float64Array = new Float64Array(RUN_ROWS);
  /** Where branches are needed: where those of each row begin in {@link Run.branches}. */
  readonly branchStart: Int32Array = new Int32Array(RUN_ROWS + 1);
  /** Places that branches lead from and to, in turn; -1 for address 0. */
  branches: Int32Array<ArrayBuffer> = new Int32Array(256);
  /** What is known of each of these branches: see {@link BRANCH}. */
  branchFlags: Int32Array<ArrayBuffer> = new Int32Array(128);

  /** Where chains are needed: where that of each row begins in {@link Run.chains}. */
  readonly chainStart: Int32Array = new Int32Array(RUN_ROWS + 1);
  /** Places of the entries of call chains as they were recorded; -1 for context markers. */
  chains: Int32Array<ArrayBuffer> = new Int32Array(256);
  /**
   * Where whole stacks are needed: halves of the addresses of {@link Run.chains}, the lower one first.
   */
  chainWords: Int32Array<ArrayBuffer> = new Int32Array(512);
  /**
   * Where whole stacks are needed: from which index of {@link Run.chains} on those of each row are no
   * return addresses, but in the call itself, since they were unwound or recorded as branches.
   */
  readonly chainExact: Int32Array = new Int32Array(RUN_ROWS);
  /** Where frames are needed: where those of each row begin in {@link Run.frames}. */
  readonly frameStart: Int32Array = new Int32Array(RUN_ROWS + 1);
  /**
   * Frames of call chains, the innermost first, two numbers each: {@link PLACE_FRAME} and a place, or
   * the halves of an address at which nothing is mapped, the upper one first.
   */
  frames: Int32Array<ArrayBuffer> = new Int32Array(512);

  /** The bytes of a row: its record is in `[start, end)` of them. */
  at(row: number): RecordBytes {
    return this.blocks[this.block[row] as number] as RecordBytes;
  }

  /** The time of a row in ns; 0 if it has none. */
  time(row: number): bigint {
    return BigInt((this.timeHi[row] as number) >>> 0) << 32n |
      BigInt((this.timeLo[row] as number) >>> 0);
  }
}

/** Where the fields that all records share lie, by number of the event: 0 if they have none. */
class EventColumns {
  samplePid: number[] = [];
  sampleCpu: number[] = [];
  trailerPid: number[] = [];
  trailerCpu: number[] = [];

  /** Takes the events that came since. */
  learn(events: readonly PerfEvent[]): void {
    for (let i = this.samplePid.length; i < events.length; i++) {
      const { pid, cpu, trailer } = (events[i] as PerfEvent).layout;
      this.samplePid.push(Math.max(pid, 0));
      this.sampleCpu.push(Math.max(cpu, 0));
      this.trailerPid.push(trailer.pid);
      this.trailerCpu.push(trailer.cpu);
    }
  }
}

/** Fills the columns of runs that a record's bytes alone decide: all up to {@link Run.cpu}. */
export class RunColumns {
  readonly #events: readonly PerfEvent[];
  readonly #le: boolean;
  readonly #columns = new EventColumns();

  /** Fills runs of one file. */
  constructor(reader: PerfDataReader) {
    this.#events = reader.events.all;
    this.#le = reader.littleEndian;
  }

  /** Fills the columns of a run that has block, start, offset, event and time. */
  fill(run: Run): void {
    const le = this.#le;
    const columns = this.#columns;
    if (columns.samplePid.length < this.#events.length) columns.learn(this.#events);
    const { count, blocks, block, start, end, type, misc, event, pid, tid, cpu } = run;
    for (let i = 0; i < count; i++) {
      const { view } = blocks[block[i] as number] as RecordBytes;
      const at = start[i] as number;
      const kind = view.getInt32(at, le);
      const stop = at + recordSize(view, at, le);
      type[i] = kind;
      misc[i] = recordMisc(view, at, le);
      end[i] = stop;
      let pidAt = 0;
      let cpuAt = 0;
      const of = event[i] as number;
      if (kind === PERF_RECORD_SAMPLE) {
        if (of >= 0) {
          pidAt = columns.samplePid[of] as number;
          cpuAt = columns.sampleCpu[of] as number;
          if (pidAt > 0) pidAt += at;
          if (cpuAt > 0) cpuAt += at;
        }
      } else if (kind < PERF_RECORD_USER_TYPE_START && of >= 0) {
        const last = trailerEnd(at, stop);
        pidAt = columns.trailerPid[of] as number;
        cpuAt = columns.trailerCpu[of] as number;
        if (pidAt < 0) pidAt += last;
        if (cpuAt < 0) cpuAt += last;
      }
      const hasPid = pidAt >= at + 8 && pidAt + 8 <= stop;
      pid[i] = hasPid ? view.getInt32(pidAt, le) : -1;
      tid[i] = hasPid ? view.getInt32(pidAt + 4, le) : -1;
      const known = kind === PERF_RECORD_SAMPLE ? this.#events[of] : undefined;
      if (known?.isOffCpu === true) {
        const meant = known.offCpu(view, at, stop, le);
        pid[i] = meant?.pid ?? -1;
        tid[i] = meant?.tid ?? -1;
        if (meant?.isMeant === true) {
          misc[i] = (misc[i] as number) & ~PERF_RECORD_MISC_CPUMODE_MASK | PERF_RECORD_MISC_USER;
        }
      }
      cpu[i] = cpuAt >= at + 8 && cpuAt + 8 <= stop ? view.getInt32(cpuAt, le) : -1;
    }
  }
}

/** Appends rows to a run, and hands it on when it is full. */
export class RunWriter {
  /** The run. */
  readonly run: Run = new Run();
  readonly #deliver: (run: Run) => void;

  /**
   * Begins a run.
   *
   * @param deliver Gets runs, of which block to time are filled.
   */
  constructor(deliver: (run: Run) => void) {
    this.#deliver = deliver;
  }

  /** Appends a record; without a time it does not wait. */
  add(
    block: number,
    start: number,
    offset: number,
    event: number,
    timeHi: number = 0,
    timeLo: number = 0,
  ): void {
    const { run } = this;
    const to = run.count === RUN_ROWS ? this.flush() : run.count;
    run.block[to] = block;
    run.start[to] = start;
    run.offset[to] = offset;
    run.event[to] = event;
    run.timeHi[to] = timeHi;
    run.timeLo[to] = timeLo;
    run.count = to + 1;
  }

  /** Hands on what there is; returns the number of rows that are left: none. */
  flush(): 0 {
    const { run } = this;
    if (run.count > 0) this.#deliver(run);
    run.count = 0;
    return 0;
  }
}
