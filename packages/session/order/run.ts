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

/** Maximum number of rows of a {@link Run}. They fit into a CPU's second-level cache. */
export const RUN_ROWS = 1024;

/** Bytes with records: a batch of the file, or a memory block of the re-order buffer. */
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
  /** It is damaged, of an unknown event, or excluded by a filter. */
  NO: 0,
  /** The sample counts. */
  YES: 1,
  /**
   * It counts for totals only: perf includes samples of other processes and threads in the total of
   * percentages (`hists__filter_by_thread` of tools/perf/util/hist.c).
   */
  TOTAL: 2,
} as const;

/**
 * Bits of {@link Run.branchFlags}: the first fields of `struct perf_branch_entry`, up to
 * `new_type`, in the layout of a little-endian machine.
 */
export const BRANCH = {
  /** The branch was mispredicted. */
  MISPREDICTED: 1,
  /** It was predicted. If neither bit is set, the processor does not report predictions. */
  PREDICTED: 2,
  /** In a transaction. */
  IN_TX: 4,
  /** The branch aborted a transaction. */
  ABORT: 8,
  /** Cycles since the previous branch, from bit {@link BRANCH.CYCLES_AT} on; 0 if unknown. */
  CYCLES: 0xffff0,
  /** The first bit of {@link BRANCH.CYCLES}. */
  CYCLES_AT: 4,
} as const;

/** Value in {@link Run.frames} before the index of a place; no address there has it as its upper half. */
export const PLACE_FRAME: number = -(2 ** 31);

/**
 * A group of consecutive records, as it is passed to consumers: one row for each record, one typed
 * array for each field. At most {@link RUN_ROWS} rows.
 *
 * A `Run` and its bytes are valid only during the call that receives them: the next group of
 * records overwrites them.
 */
export class Run {
  /** The count of rows that are filled. */
  count: number = 0;
  /** Byte arrays that contain the records of the rows. */
  blocks: readonly RecordBytes[] = [];
  /** Index in `blocks` of the array that contains the record. */
  readonly block: Int32Array = new Int32Array(RUN_ROWS);
  /** Offset of the record in its element of `blocks`. */
  readonly start: Int32Array = new Int32Array(RUN_ROWS);
  /** Offset after the record. */
  readonly end: Int32Array = new Int32Array(RUN_ROWS);
  /** File offset of the record, as of `RecordBatch.offsetOf`. */
  readonly offset: Float64Array = new Float64Array(RUN_ROWS);
  /** `type` of the header. */
  readonly type: Int32Array = new Int32Array(RUN_ROWS);
  /** `misc` of the header. For an off-CPU sample, with the mode of the off-CPU address. */
  readonly misc: Int32Array = new Int32Array(RUN_ROWS);
  /**
   * Index of the record's event in `PerfDataReader.events`; -1 if the event id is unknown, 0 for
   * perf's own records.
   */
  readonly event: Int32Array = new Int32Array(RUN_ROWS);
  /** Upper half of its time in ns; both halves are 0 if it has no time. */
  readonly timeHi: Int32Array = new Int32Array(RUN_ROWS);
  /** Lower half. */
  readonly timeLo: Int32Array = new Int32Array(RUN_ROWS);
  /** Index of the record in the file, if records are read by blocks. */
  readonly position: Float64Array = new Float64Array(RUN_ROWS);
  /** The count of FINISHED_ROUND records before it in the file, if records are read by blocks. */
  readonly round: Int32Array = new Int32Array(RUN_ROWS);
  /** Process id in the sample or `sample_id`; -1 if it is not recorded. */
  readonly pid: Int32Array = new Int32Array(RUN_ROWS);
  /** Thread id in the sample or `sample_id`; -1 if it is not recorded. */
  readonly tid: Int32Array = new Int32Array(RUN_ROWS);
  /** CPU in the sample or `sample_id`; -1 if it is not recorded. */
  readonly cpu: Int32Array = new Int32Array(RUN_ROWS);
  /** Whether a sample counts: {@link CHOSEN}; 0 for other records. */
  readonly chosen: Uint8Array = new Uint8Array(RUN_ROWS);
  /** Index of a sample's thread in the machine. */
  readonly thread: Int32Array = new Int32Array(RUN_ROWS);
  /** Process of a sample's thread in the machine; -1 if unknown. */
  readonly process: Int32Array = new Int32Array(RUN_ROWS);
  /**
   * Name of a sample's thread at that time: an index in the machine's names; -1 without a name.
   */
  readonly comm: Int32Array = new Int32Array(RUN_ROWS);
  /** Place of a sample's address, if places are needed; -1 if the sample has no address. */
  readonly place: Int32Array = new Int32Array(RUN_ROWS);
  /**
   * Place of the data that a sample accessed (`PERF_SAMPLE_ADDR`), if needed; -1 if it is not
   * recorded.
   */
  readonly addr: Int32Array = new Int32Array(RUN_ROWS);
  /**
   * Path or name of the mapping at a sample's address, if maps are needed: an index in the
   * machine's names; -1 for unmapped addresses, and for addresses of guests and hypervisors.
   */
  readonly map: Int32Array = new Int32Array(RUN_ROWS);
  /** Innermost node of a sample's stack, if stacks are needed; -1 without a stack. */
  readonly stack: Int32Array = new Int32Array(RUN_ROWS);
  /** The count of events that a sample stands for, exact up to 2^53. */
  readonly period: Float64Array = new Float64Array(RUN_ROWS);
  /** Index of each row's first branch in {@link Run.branches}, if branches are needed. */
  readonly branchStart: Int32Array = new Int32Array(RUN_ROWS + 1);
  /** Source and target places of branches, alternating; -1 for address 0. */
  branches: Int32Array<ArrayBuffer> = new Int32Array(256);
  /** Flags of each branch: see {@link BRANCH}. */
  branchFlags: Int32Array<ArrayBuffer> = new Int32Array(128);

  /** Index of each row's first entry in {@link Run.chains}, if chains are needed. */
  readonly chainStart: Int32Array = new Int32Array(RUN_ROWS + 1);
  /** Places of the entries of recorded call chains; -1 for context markers. */
  chains: Int32Array<ArrayBuffer> = new Int32Array(256);
  /**
   * Halves of the addresses of {@link Run.chains}, the lower one first, if whole stacks are needed.
   */
  chainWords: Int32Array<ArrayBuffer> = new Int32Array(512);
  /**
   * Index in {@link Run.chains} from which on entries of the row are addresses in calls, not return
   * addresses, because they were unwound or recorded as branches. Filled if whole stacks are
   * needed.
   */
  readonly chainExact: Int32Array = new Int32Array(RUN_ROWS);
  /** Index of each row's first frame in {@link Run.frames}, if frames are needed. */
  readonly frameStart: Int32Array = new Int32Array(RUN_ROWS + 1);
  /**
   * Frames of call chains, innermost first. Each has two elements: {@link PLACE_FRAME} and a place,
   * or the halves of an unmapped address, the upper one first.
   */
  frames: Int32Array<ArrayBuffer> = new Int32Array(512);

  /** The bytes of a row, with its record in `[start, end)`. */
  at(row: number): RecordBytes {
    return this.blocks[this.block[row] as number] as RecordBytes;
  }

  /** The time of a row in ns; 0 if it has no time. */
  time(row: number): bigint {
    return BigInt((this.timeHi[row] as number) >>> 0) << 32n |
      BigInt((this.timeLo[row] as number) >>> 0);
  }
}

/** Offsets of the common fields of records, by index of the event; 0 if the event lacks them. */
class EventColumns {
  samplePid: number[] = [];
  sampleCpu: number[] = [];
  trailerPid: number[] = [];
  trailerCpu: number[] = [];

  /** Adds the events that were read since the last call. */
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

/** Fills the columns that depend on a record's bytes alone: all up to {@link Run.cpu}. */
export class RunColumns {
  readonly #events: readonly PerfEvent[];
  readonly #le: boolean;
  readonly #columns = new EventColumns();

  /** Prepares to fill the columns for records of one file. */
  constructor(reader: PerfDataReader) {
    this.#events = reader.events.all;
    this.#le = reader.littleEndian;
  }

  /** Fills the other columns, after block, start, offset, event and time are filled. */
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

/** Appends rows to a {@link Run}, and delivers it when it is full. */
export class RunWriter {
  /** The rows that are not delivered yet. */
  readonly run: Run = new Run();
  readonly #deliver: (run: Run) => void;

  /**
   * Starts without rows.
   *
   * @param deliver Receives the rows, with the columns block, start, offset, event and time.
   */
  constructor(deliver: (run: Run) => void) {
    this.#deliver = deliver;
  }

  /** Appends a record. The time is omitted for records without a time. */
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

  /** Delivers the rows; returns 0, the count of rows that are left. */
  flush(): 0 {
    const { run } = this;
    if (run.count > 0) this.#deliver(run);
    run.count = 0;
    return 0;
  }
}
