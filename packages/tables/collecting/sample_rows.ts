import { BRANCH_ENTRY, type PerfEvent, type SampleFields } from "@perfdata/format/records";
import { intAt } from "@perfdata/format/bytes";
import {
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CGROUP,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_WEIGHT,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from "@perfdata/format/constants";
import { type Engine, isGuestMode, machineName, type Run } from "@perfdata/session";
import type { PlaceIds } from "../ids/place_ids.ts";
import type { ColumnValues, RowColumns, RowSink } from "../schema/column_types.ts";
import { allRows, IntegerColumn, WordColumn } from "../schema/growing.ts";
import type { DayClock } from "./day_clock.ts";

/** CPU modes by their numbers. */
const MODES = ["unknown", "kernel", "user", "hypervisor", "guest_kernel", "guest_user"];

/** Sample fields that follow a field of variable length. */
const BEHIND = PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_SRC |
  PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT;

/** Offsets of the fields of an event's samples. */
interface Source {
  readonly ip: number;
  readonly addr: number;
  readonly isOffCpu: boolean;
  readonly fields: SampleFields | undefined;
  readonly weightBytes: number;
}

/** Collects samples, and writes them as rows sorted by event, stack and time. */
export class SampleRows {
  /** Number of collected rows. */
  length: number = 0;
  readonly #engine: Engine;
  readonly #le: boolean;
  readonly #sources: (Source | undefined)[] = [];
  readonly #ts = new WordColumn();
  readonly #event = new IntegerColumn();
  readonly #period = new WordColumn();
  readonly #mode = new IntegerColumn();
  /** For guests, the process id of the hypervisor plus one, or 0 if unknown; -1 for the host. */
  readonly #machine = new IntegerColumn();
  readonly #cpu = new IntegerColumn();
  readonly #pid = new IntegerColumn();
  readonly #tid = new IntegerColumn();
  readonly #comm = new IntegerColumn();
  readonly #stack = new IntegerColumn();
  readonly #place = new IntegerColumn();
  readonly #ip = new WordColumn();
  readonly #addr = new WordColumn();
  readonly #dataSrc = new WordColumn();
  readonly #weight = new WordColumn();
  readonly #offCpu = new WordColumn();
  readonly #cgroup = new WordColumn();
  /** For each row, the start and number of its branches in the next two columns. */
  readonly #branchStart = new IntegerColumn();
  readonly #branchCount = new IntegerColumn();
  readonly #branchPlaces = new IntegerColumn();
  readonly #branchFlags = new WordColumn();
  #hasBranches = false;

  /** Creates a collector for samples of one recording. */
  constructor(engine: Engine) {
    this.#engine = engine;
    this.#le = engine.reader.littleEndian;
  }

  add(run: Run, i: number, event: number, periodLo: number, periodHi: number): void {
    const { stacks } = this.#engine;
    const stack = intAt(run.stack, i);
    const [hi, lo] = [intAt(run.timeHi, i), intAt(run.timeLo, i)];
    if ((hi | lo) === 0) this.#ts.skip();
    else this.#ts.push(lo, hi);
    this.#event.push(event);
    this.#period.push(periodLo, periodHi);
    const mode = intAt(run.misc, i) & PERF_RECORD_MISC_CPUMODE_MASK;
    this.#mode.push(Math.min(mode, MODES.length - 1));
    this.#machine.push(isGuestMode(mode) ? intAt(run.pid, i) + 1 : -1);
    this.#cpu.push(intAt(run.cpu, i));
    this.#pid.push(intAt(run.pid, i));
    this.#tid.push(intAt(run.tid, i));
    this.#comm.push(intAt(run.comm, i));
    this.#stack.push(stack);
    this.#place.push(stack < 0 ? intAt(run.place, i) : intAt(stacks.place, stack));
    this.length++;
    this.#fields(run, i, periodLo, periodHi);
  }

  #source(event: number): Source | undefined {
    const known = this.#engine.reader.events.all[event];
    if (known === undefined) return undefined;
    const { layout } = known as PerfEvent;
    const hasMore = (layout.sampleType & BEHIND) !== 0 || known.isOffCpu;
    return this.#sources[event] ??= {
      ip: layout.ip,
      addr: layout.addr,
      isOffCpu: known.isOffCpu,
      fields: hasMore ? known.sampleFields() : undefined,
      weightBytes: (layout.sampleType & PERF_SAMPLE_WEIGHT_STRUCT) !== 0 ? 4 : 8,
    };
  }

  #fields(run: Run, i: number, periodLo: number, periodHi: number): void {
    const { view } = run.at(i);
    const le = this.#le;
    const start = intAt(run.start, i);
    const source = this.#source(intAt(run.event, i));
    const put = (to: WordColumn, at: number): void => {
      if (at < 0) to.skip();
      else to.push(view.getInt32(le ? at : at + 4, le), view.getInt32(le ? at + 4 : at, le));
    };
    const fields = source?.fields?.locate(view, start, intAt(run.end, i), le)
      ? source.fields
      : undefined;
    const isOffCpu = source?.isOffCpu === true;
    put(
      this.#ip,
      isOffCpu
        ? this.#offCpuIp(run, i)
        : source === undefined || source.ip < 0
        ? -1
        : start + source.ip,
    );
    put(this.#addr, source === undefined || source.addr < 0 ? -1 : start + source.addr);
    put(this.#dataSrc, fields?.dataSrc ?? -1);
    put(this.#cgroup, fields?.cgroup ?? -1);
    const weight = fields?.weight ?? -1;
    if (weight < 0) this.#weight.skip();
    else if (source?.weightBytes === 4) {
      this.#weight.push(view.getInt32(le ? weight : weight + 4, le), 0);
    } else put(this.#weight, weight);
    if (isOffCpu) this.#offCpu.push(periodLo, periodHi);
    else this.#offCpu.skip();
    this.#branches(run, i, view, fields);
  }

  #offCpuIp(run: Run, i: number): number {
    const event = this.#engine.reader.events.all[intAt(run.event, i)] as PerfEvent;
    const { view } = run.at(i);
    return event.offCpu(view, intAt(run.start, i), intAt(run.end, i), this.#le)?.ip ?? -1;
  }

  #branches(run: Run, i: number, view: DataView, fields: SampleFields | undefined): void {
    const places = this.#branchPlaces;
    this.#branchStart.push(this.#branchFlags.length);
    const count = fields?.branchStackLength ?? 0;
    this.#branchCount.push(count);
    if (count === 0 || fields === undefined) return;
    this.#hasBranches = true;
    const le = this.#le;
    const from = intAt(run.branchStart, i);
    for (let k = 0; k < count; k++) {
      places.push(intAt(run.branches, from + 2 * k));
      places.push(intAt(run.branches, from + 2 * k + 1));
      const at = fields.branchStack + BRANCH_ENTRY.size * k + BRANCH_ENTRY.flags;
      this.#branchFlags.push(
        view.getInt32(le ? at : at + 4, le),
        view.getInt32(le ? at + 4 : at, le),
      );
    }
  }

  /** Writes all collected rows, in groups of about `most` rows. */
  handOn(
    to: RowSink,
    ids: PlaceIds,
    recording: (count: number) => ColumnValues,
    clock: DayClock | undefined,
    most: number,
  ): void {
    const groups = Math.max(1, Math.round(this.length / most));
    const size = Math.ceil(this.length / groups);
    for (let from = 0; from < this.length; from += size) {
      const rows = this.#sorted(from, Math.min(this.length, from + size));
      to.rows(rows.length, this.#columns(rows, ids, recording, clock));
    }
    this.#clear();
  }

  /** Returns rows sorted by event, stack, time, and order of arrival. */
  #sorted(from: number, to: number): Int32Array {
    const { stacks } = this.#engine;
    const byStack = countingSort(
      Int32Array.from({ length: to - from }, (_, i) => from + i),
      stacks.count + 1,
      (row) => this.#stack.at(row) + 1,
    );
    let events = 0;
    for (const row of byStack) events = Math.max(events, this.#event.at(row));
    const rows = countingSort(byStack, events + 1, (row) => this.#event.at(row));
    for (let start = 0; start < rows.length;) {
      const row = intAt(rows, start);
      let end = start + 1;
      let inOrder = true;
      while (
        end < rows.length && this.#stack.at(intAt(rows, end)) === this.#stack.at(row) &&
        this.#event.at(intAt(rows, end)) === this.#event.at(row)
      ) {
        inOrder &&= this.#compareTimes(intAt(rows, end - 1), intAt(rows, end)) <= 0;
        end++;
      }
      if (!inOrder) {
        rows.subarray(start, end).sort((a, b) => this.#compareTimes(a, b) || a - b);
      }
      start = end;
    }
    return rows;
  }

  #compareTimes(a: number, b: number): number {
    const ts = this.#ts;
    return (ts.hi(a) >>> 0) - (ts.hi(b) >>> 0) || (ts.lo(a) >>> 0) - (ts.lo(b) >>> 0);
  }

  #columns(
    rows: Int32Array,
    ids: PlaceIds,
    recording: (count: number) => ColumnValues,
    clock: DayClock | undefined,
  ): RowColumns {
    const { eventNames, names } = this.#engine;
    return {
      recording_id: () => recording(rows.length),
      ts: () => this.#ts.values(rows),
      time: () => clock === undefined ? { kind: "none" } : this.#times(rows, clock),
      event: () => this.#event.texts(rows, (event) => eventNames[event] ?? `event ${event}`),
      period: () => this.#period.values(rows),
      mode: () => this.#mode.texts(rows, (mode) => MODES[mode] as string),
      machine: () =>
        this.#machine.texts(rows, (guest) => machineName(PERF_RECORD_MISC_GUEST_KERNEL, guest - 1)),
      cpu: () => this.#cpu.values(rows, -1),
      pid: () => this.#pid.values(rows, -1),
      tid: () => this.#tid.values(rows, -1),
      comm: () => this.#comm.texts(rows, (comm) => names.text(comm)),
      stack_id: () => hashes(this.#stack.picked(rows), ids.stacks),
      frame_id: () => this.#frames(rows, ids),
      ip: () => this.#ip.values(rows),
      addr: () => this.#addr.values(rows),
      data_src: () => this.#dataSrc.values(rows),
      weight: () => this.#weight.values(rows),
      off_cpu_ns: () => this.#offCpu.values(rows),
      cgroup: () => this.#cgroup.values(rows),
      ...(this.#hasBranches ? this.#branchLists(rows, ids) : {}),
    };
  }

  #frames(rows: Int32Array, ids: PlaceIds): ColumnValues {
    const places = this.#place.picked(rows);
    for (const place of places) if (place >= 0) ids.use(place);
    return hashes(places, ids.frames);
  }

  #times(rows: Int32Array, clock: DayClock): ColumnValues {
    const times = new WordColumn();
    for (const row of rows) {
      if (!this.#ts.has(row)) {
        times.skip();
        continue;
      }
      clock.at(this.#ts.lo(row), this.#ts.hi(row));
      times.push(clock.lo, clock.hi);
    }
    return times.values(allRows(rows.length));
  }

  #branchLists(rows: Int32Array, ids: PlaceIds): Record<string, ColumnValues> {
    const starts = new Int32Array(rows.length + 1);
    for (let i = 0; i < rows.length; i++) {
      starts[i + 1] = intAt(starts, i) + this.#branchCount.at(intAt(rows, i));
    }
    const total = intAt(starts, rows.length);
    const [from, to, flags] = [0, 1, 2].map(() => new Int32Array(2 * total));
    if (from === undefined || to === undefined || flags === undefined) return {};
    let at = 0;
    for (const row of rows) {
      const first = this.#branchStart.at(row);
      const end = first + this.#branchCount.at(row);
      for (let k = first; k < end; k++, at += 2) {
        const left = this.#branchPlaces.at(2 * k);
        const went = this.#branchPlaces.at(2 * k + 1);
        // Address 0 is in no frame: its id is 0.
        if (left >= 0) putFrame(from, at, ids, left);
        if (went >= 0) putFrame(to, at, ids, went);
        flags[at] = this.#branchFlags.lo(k);
        flags[at + 1] = this.#branchFlags.hi(k);
      }
    }
    return {
      branch_from: { kind: "lists", starts, words: from },
      branch_to: { kind: "lists", starts, words: to },
      branch_flags: { kind: "lists", starts, words: flags },
    };
  }

  #clear(): void {
    this.length = 0;
    for (
      const column of [
        ...[this.#ts, this.#period, this.#ip, this.#addr, this.#dataSrc, this.#weight],
        ...[this.#offCpu, this.#cgroup, this.#branchFlags, this.#event, this.#mode, this.#cpu],
        this.#machine,
        ...[this.#pid, this.#tid, this.#comm, this.#stack, this.#place, this.#branchStart],
        ...[this.#branchCount, this.#branchPlaces],
      ]
    ) column.clear();
  }
}

function putFrame(to: Int32Array, at: number, ids: PlaceIds, place: number): void {
  ids.use(place);
  to[at] = intAt(ids.frames, 2 * place);
  to[at + 1] = intAt(ids.frames, 2 * place + 1);
}

/** Sorts rows by a small number; rows with the same number keep their order. */
function countingSort(
  rows: Int32Array,
  most: number,
  key: (row: number) => number,
): Int32Array<ArrayBuffer> {
  const starts = new Int32Array(most + 1);
  for (const row of rows) starts[key(row) + 1] = intAt(starts, key(row) + 1) + 1;
  for (let i = 0; i < most; i++) starts[i + 1] = intAt(starts, i + 1) + intAt(starts, i);
  const sorted = new Int32Array(rows.length);
  for (const row of rows) {
    const k = key(row);
    const at = intAt(starts, k);
    starts[k] = at + 1;
    sorted[at] = row;
  }
  return sorted;
}

/** Returns hashes by index; number -1 has no hash. */
function hashes(numbers: Int32Array, words: Int32Array): ColumnValues {
  const column = new WordColumn();
  for (const number of numbers) {
    if (number < 0) column.skip();
    else column.push(intAt(words, 2 * number), intAt(words, 2 * number + 1));
  }
  return column.values(allRows(numbers.length));
}
