import { type Extent, LostRecords, NameTable, streamFeature } from "@perfdata/session";
import {
  COMM,
  FORK,
  layoutOf,
  MMAP,
  MMAP2,
  type PerfDataReader,
  recordMisc,
  SWITCH_CPU_WIDE,
  trailerEnd,
} from "@perfdata/format/records";
import { numberAt } from "@perfdata/format/bytes";
import { buildIdText } from "@perfdata/format/features";
import {
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_MMAP_BUILD_ID,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import { ContentHash, SEED } from "../ids/content_ids.ts";
import type { ColumnValues, RowSink } from "../schema/column_types.ts";
import { allRows, IntegerColumn, textValues, WordColumn, wordsOf } from "../schema/growing.ts";

// Offsets of the fields of records.
const MAP = layoutOf(MMAP);
const MAP2 = layoutOf(MMAP2);
const NAME = layoutOf(COMM);
const TASK = layoutOf(FORK);
const SWITCH_WIDE = layoutOf(SWITCH_CPU_WIDE);

/** Number of rows written at a time. */
const GROUP = 1 << 20;

/**
 * Collects rows of mappings, threads and switches from the records that are not samples, counts
 * lost records, and computes the id of the recording.
 */
export class RecordRows {
  /** Features that arrived as records of a pipe. */
  readonly features: Map<number, Uint8Array> = new Map();
  throttled: number = 0;
  /** Number of kernel records. */
  count: number = 0;

  readonly #reader: PerfDataReader;
  readonly #lost: LostRecords;
  readonly #names = new NameTable();
  readonly #hash = new ContentHash();
  #sumLo = 0;
  #sumHi = 0;
  readonly #maps = {
    ts: new WordColumn(),
    pid: new IntegerColumn(),
    tid: new IntegerColumn(),
    start: new WordColumn(),
    end: new WordColumn(),
    pgoff: new WordColumn(),
    object: new IntegerColumn(),
    buildId: new IntegerColumn(),
  };
  readonly #buildIds: string[] = [];
  readonly #buildIdNumbers = new Map<string, number>();
  readonly #tasks = {
    ts: new WordColumn(),
    type: new IntegerColumn(),
    pid: new IntegerColumn(),
    tid: new IntegerColumn(),
    /** Parent process of a FORK or EXIT; name of a COMM. */
    more: new IntegerColumn(),
  };
  readonly #switches = {
    ts: new WordColumn(),
    cpu: new IntegerColumn(),
    pid: new IntegerColumn(),
    tid: new IntegerColumn(),
    otherPid: new IntegerColumn(),
    otherTid: new IntegerColumn(),
    out: new IntegerColumn(),
    preempted: new IntegerColumn(),
  };

  /** Number of records lost because buffers were full, and of samples lost by the hardware. */
  get lost(): number {
    return this.#lost.total;
  }

  constructor(reader: PerfDataReader) {
    this.#reader = reader;
    this.#lost = new LostRecords(reader);
  }

  /** Adds a record. `hi` and `lo` are the halves of its time, both 0 without a time. */
  take(
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
    hi: number,
    lo: number,
  ): void {
    const le = this.#reader.littleEndian;
    const type = view.getUint32(start, le);
    if (type >= PERF_RECORD_USER_TYPE_START) {
      const feature = streamFeature(this.#reader, bytes, view, start, end);
      if (feature !== undefined) this.features.set(feature.id, feature.payload.slice());
      return;
    }
    this.identify(bytes, start, end);
    switch (type) {
      case PERF_RECORD_MMAP:
      case PERF_RECORD_MMAP2:
        return this.#map(bytes, view, start, end, hi, lo);
      case PERF_RECORD_COMM:
      case PERF_RECORD_FORK:
      case PERF_RECORD_EXIT:
        return this.#task(bytes, view, start, end, hi, lo);
      case PERF_RECORD_SWITCH:
      case PERF_RECORD_SWITCH_CPU_WIDE:
        return this.#switch(view, start, end, hi, lo, type);
      case PERF_RECORD_LOST:
      case PERF_RECORD_LOST_SAMPLES:
        this.#lost.add(view, start, end, hi, lo);
        return;
      case PERF_RECORD_THROTTLE:
        this.throttled++;
    }
  }

  /** Adds a record to the hash of the recording, which does not depend on their order. */
  identify(bytes: Uint8Array, start: number, end: number): void {
    const hash = this.#hash;
    hash.bytes(bytes, start, end, SEED.RECORDING);
    const lo = (this.#sumLo >>> 0) + (hash.lo >>> 0);
    this.#sumHi = this.#sumHi + hash.hi + (lo > 0xffff_ffff ? 1 : 0) | 0;
    this.#sumLo = lo | 0;
    this.count++;
  }

  /**
   * Returns the words of the recording's id: a hash of its events, its kernel records, its number of samples and its
   * last time. The latter two distinguish recordings of the same running program, and parts of one
   * recording, whose kernel records may be equal.
   */
  recordingId({ samples, youngest }: Extent): Int32Array<ArrayBuffer> {
    const hash = this.#hash;
    const events = this.#reader.events.all.map(({ attr }) =>
      [attr.type, attr.config, attr.sample_period, attr.sample_type, attr.read_format].join(" ")
    );
    hash.text(events.join("\n"), SEED.RECORDING);
    hash.block(hash.lo, hash.hi, this.#sumLo, this.#sumHi, SEED.RECORDING);
    const [lo = 0, hi = 0] = wordsOf(youngest);
    hash.block(hash.lo, hash.hi, lo, hi, SEED.RECORDING);
    hash.block(hash.lo, hash.hi, samples, 0, SEED.RECORDING);
    return Int32Array.of(hash.lo, hash.hi);
  }

  #map(
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
    hi: number,
    lo: number,
  ): void {
    const le = this.#reader.littleEndian;
    const isSecond = view.getUint32(start, le) === PERF_RECORD_MMAP2;
    const at = isSecond ? MAP2 : MAP;
    if (end - start < at.filename) return;
    const misc = recordMisc(view, start, le);
    const isKernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) === PERF_RECORD_MISC_KERNEL;
    const maps = this.#maps;
    putTime(maps.ts, hi, lo);
    maps.pid.push(isKernel ? -1 : view.getInt32(start + at.pid, le));
    maps.tid.push(isKernel ? -1 : view.getInt32(start + at.tid, le));
    const [high, low] = le ? [4, 0] : [0, 4];
    const fromHi = view.getInt32(start + at.addr + high, le);
    const fromLo = view.getInt32(start + at.addr + low, le);
    maps.start.push(fromLo, fromHi);
    const endLo = (fromLo >>> 0) + view.getUint32(start + at.len + low, le);
    const carry = endLo > 0xffff_ffff ? 1 : 0;
    maps.end.push(endLo | 0, fromHi + view.getInt32(start + at.len + high, le) + carry | 0);
    maps.pgoff.push(
      view.getInt32(start + at.pgoff + low, le),
      view.getInt32(start + at.pgoff + high, le),
    );
    maps.object.push(this.#names.internUntilNul(bytes, start + at.filename, end));
    let build = -1;
    if (isSecond && (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) !== 0) {
      const size = Math.min(20, view.getUint8(start + MAP2.build_id_size));
      const text = buildIdText({
        build_id: bytes.subarray(start + MAP2.build_id, start + MAP2.build_id + size),
        build_id_size: size,
      });
      build = this.#buildIdNumbers.get(text) ?? -1;
      if (build < 0 && text !== "") {
        this.#buildIdNumbers.set(text, build = this.#buildIds.push(text) - 1);
      }
    }
    maps.buildId.push(build);
  }

  #task(
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
    hi: number,
    lo: number,
  ): void {
    const le = this.#reader.littleEndian;
    const type = view.getUint32(start, le);
    const isName = type === PERF_RECORD_COMM;
    const at = isName ? NAME : TASK;
    if (end - start < (isName ? NAME.comm : TASK.ptid + 4)) return;
    const tasks = this.#tasks;
    putTime(tasks.ts, hi, lo);
    tasks.type.push(type);
    tasks.pid.push(view.getInt32(start + at.pid, le));
    tasks.tid.push(view.getInt32(start + at.tid, le));
    tasks.more.push(
      isName
        ? this.#names.internUntilNul(bytes, start + NAME.comm, end)
        : view.getInt32(start + TASK.ppid, le),
    );
  }

  #switch(
    view: DataView,
    start: number,
    end: number,
    hi: number,
    lo: number,
    type: number,
  ): void {
    const { littleEndian: le, events } = this.#reader;
    const misc = recordMisc(view, start, le);
    const trailer = events.eventOf(view, start, end, type, le)?.layout.trailer;
    const last = trailerEnd(start, end);
    // A record that is shorter than its trailer has no trailer.
    const field = (offset = 0): number =>
      offset === 0 || last + offset < start + PERF_EVENT_HEADER_SIZE
        ? -1
        : view.getInt32(last + offset, le);
    const pid = trailer?.pid ?? 0;
    const switches = this.#switches;
    putTime(switches.ts, hi, lo);
    switches.cpu.push(field(trailer?.cpu));
    switches.pid.push(field(pid));
    switches.tid.push(pid === 0 ? -1 : field(pid + 4));
    const hasOther = type === PERF_RECORD_SWITCH_CPU_WIDE &&
      end - start >= SWITCH_WIDE.next_prev_tid + 4;
    switches.otherPid.push(hasOther ? view.getInt32(start + SWITCH_WIDE.next_prev_pid, le) : -1);
    switches.otherTid.push(hasOther ? view.getInt32(start + SWITCH_WIDE.next_prev_tid, le) : -1);
    switches.out.push((misc & PERF_RECORD_MISC_SWITCH_OUT) === 0 ? 0 : 1);
    switches.preempted.push((misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) === 0 ? 0 : 1);
  }

  mappings(to: RowSink, recording: (count: number) => ColumnValues): void {
    const { ts, pid, tid, start, end, pgoff, object, buildId } = this.#maps;
    for (const rows of groups(ts.length)) {
      to.rows(rows.length, {
        recording_id: recording(rows.length),
        ts: ts.values(rows),
        pid: pid.values(rows),
        tid: tid.values(rows),
        start: start.values(rows),
        end: end.values(rows),
        pgoff: pgoff.values(rows),
        object: object.texts(rows, (number) => this.#names.text(number)),
        build_id: buildId.texts(rows, (number) => this.#buildIds[number] as string),
      });
    }
  }

  /** Writes the rows of switches, in file order. */
  switches(to: RowSink, recording: (count: number) => ColumnValues): void {
    const { ts, cpu, pid, tid, otherPid, otherTid, out, preempted } = this.#switches;
    for (const rows of groups(ts.length)) {
      to.rows(rows.length, {
        recording_id: recording(rows.length),
        ts: ts.values(rows),
        cpu: cpu.values(rows, -1),
        pid: pid.values(rows, -1),
        tid: tid.values(rows, -1),
        other_pid: otherPid.values(rows, -1),
        other_tid: otherTid.values(rows, -1),
        is_out: out.values(rows),
        is_preempted: preempted.values(rows),
      });
    }
  }

  threads(to: RowSink, recording: (count: number) => ColumnValues): void {
    const { ts, type, pid, tid, more } = this.#tasks;
    // Threads from before the recording have no time and come first.
    const order = allRows(ts.length).sort((a, b) =>
      (ts.hi(a) >>> 0) - (ts.hi(b) >>> 0) || (ts.lo(a) >>> 0) - (ts.lo(b) >>> 0) || a - b
    );
    const found = {
      pid: new IntegerColumn(),
      tid: new IntegerColumn(),
      ppid: [] as number[],
      comm: [] as number[],
      start: new WordColumn(),
      end: [] as number[],
    };
    const alive = new Map<number, number>();
    const begin = (row: number, isFork: boolean): number => {
      const number = found.pid.length;
      found.pid.push(pid.at(row));
      found.tid.push(tid.at(row));
      found.ppid.push(-1);
      found.comm.push(-1);
      found.end.push(-1);
      if (isFork && ts.has(row)) found.start.push(ts.lo(row), ts.hi(row));
      else found.start.skip();
      alive.set(tid.at(row), number);
      return number;
    };
    for (const row of order) {
      const id = tid.at(row);
      if (type.at(row) === PERF_RECORD_FORK) {
        // A thread has its parent's name until its own COMM.
        const parent = alive.get(more.at(row));
        const number = begin(row, true);
        found.ppid[number] = more.at(row);
        found.comm[number] = parent === undefined ? -1 : numberAt(found.comm, parent);
        continue;
      }
      const number = alive.get(id) ?? begin(row, false);
      if (type.at(row) === PERF_RECORD_COMM) found.comm[number] = more.at(row);
      else {
        found.end[number] = row;
        if (numberAt(found.ppid, number) < 0) found.ppid[number] = more.at(row);
        alive.delete(id);
      }
    }
    const end = new WordColumn();
    for (const row of found.end) {
      if (row >= 0 && ts.has(row)) end.push(ts.lo(row), ts.hi(row));
      else end.skip();
    }
    for (const rows of groups(found.pid.length)) {
      to.rows(rows.length, {
        recording_id: recording(rows.length),
        pid: found.pid.values(rows),
        tid: found.tid.values(rows),
        ppid: integers(found.ppid, rows, -1),
        comm: textValues(Array.from(rows, (row) => {
          const comm = numberAt(found.comm, row);
          return comm < 0 ? undefined : this.#names.text(comm);
        })),
        start_ts: found.start.values(rows),
        end_ts: end.values(rows),
      });
    }
  }
}

function integers(values: readonly number[], rows: Int32Array, none: number): ColumnValues {
  const column = new IntegerColumn();
  for (const value of values) column.push(value);
  return column.values(rows, none);
}

function putTime(column: WordColumn, hi: number, lo: number): void {
  if ((hi | lo) === 0) column.skip();
  else column.push(lo, hi);
}

function* groups(count: number): Generator<Int32Array, void, void> {
  for (let from = 0; from < count; from += GROUP) {
    const length = Math.min(GROUP, count - from);
    yield Int32Array.from({ length }, (_, i) => from + i);
  }
}
