import { type PerfEvent, SampleFields } from "@perfdata/format/records";
import {
  DATA_SOURCE_BITS,
  type DataSourcePart,
  NO_DATA_SOURCE,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_SAMPLE_CGROUP,
  PERF_SAMPLE_CODE_PAGE_SIZE,
  PERF_SAMPLE_DATA_PAGE_SIZE,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_TRANSACTION,
  PERF_SAMPLE_WEIGHT,
  PERF_SAMPLE_WEIGHT_STRUCT,
  PERF_TYPE_TRACEPOINT,
} from "@perfdata/format/constants";
import { enlarge, intAt, uintAt } from "@perfdata/format/bytes";
import { isGuestMode, type Run } from "@perfdata/session";

/** 64-bit columns that few recordings have, and that rows are rarely grouped by. */
export type DetailColumn =
  | "data_src"
  | "weight"
  | "ins_lat"
  | "retire_lat"
  | "phys_addr"
  | "data_page_size"
  | "code_page_size"
  | "cgroup"
  | "transaction"
  | "ip"
  | "time"
  | "trace"
  | "parallelism"
  | "machine"
  | "pmu";

/** All detail columns. */
export const DETAIL_COLUMNS: readonly DetailColumn[] = [
  ...["data_src", "weight", "ins_lat", "retire_lat", "phys_addr"] as const,
  ...["data_page_size", "code_page_size", "cgroup", "transaction", "ip", "time", "trace"] as const,
  ...["parallelism", "machine", "pmu"] as const,
];

/** Detail columns that only some samples have. The others are known for every sample. */
export type RecordedColumn = Exclude<DetailColumn, "parallelism" | "machine" | "pmu">;

/** For each column, the bits of `sample_type` that record it, and the option of perf record. */
export const DETAIL_SOURCES: Readonly<
  Record<RecordedColumn, { readonly types: number; readonly recordedBy: string }>
> = {
  data_src: { types: PERF_SAMPLE_DATA_SRC, recordedBy: "-d" },
  weight: { types: PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, recordedBy: "--weight" },
  ins_lat: { types: PERF_SAMPLE_WEIGHT_STRUCT, recordedBy: "--weight" },
  retire_lat: { types: PERF_SAMPLE_WEIGHT_STRUCT, recordedBy: "--weight" },
  phys_addr: { types: PERF_SAMPLE_PHYS_ADDR, recordedBy: "--phys-data" },
  data_page_size: { types: PERF_SAMPLE_DATA_PAGE_SIZE, recordedBy: "--data-page-size" },
  code_page_size: { types: PERF_SAMPLE_CODE_PAGE_SIZE, recordedBy: "--code-page-size" },
  cgroup: { types: PERF_SAMPLE_CGROUP, recordedBy: "--all-cgroups" },
  transaction: { types: PERF_SAMPLE_TRANSACTION, recordedBy: "--transaction" },
  ip: { types: PERF_SAMPLE_IP, recordedBy: "-e cycles" },
  time: { types: PERF_SAMPLE_TIME, recordedBy: "-T" },
  trace: { types: PERF_SAMPLE_RAW, recordedBy: "-R -e TRACEPOINT" },
};

/** Details by which rows are grouped, as plain data for threads. */
export interface DetailKeys {
  /** The columns. */
  readonly columns: readonly DetailColumn[];
  /** Parts of data sources, if they are among the columns. */
  readonly parts: readonly DataSourcePart[];
  /** Length of a time slice in ns, if times are among the columns; default 100 ms. */
  readonly quantum?: number;
}

/** perf's default length of a time slice in ns. */
const QUANTUM = 100_000_000;
const DECODER = new TextDecoder();

/** Formats raw data of tracepoints by recorded formats. */
export interface TraceTexts {
  /** Whether a tracepoint's format is known. */
  has(id: number): boolean;
  /** The text that describes a sample's raw data, in UTF-8. It is valid until the next call. */
  text(id: number, bytes: Uint8Array, view: DataView, start: number, end: number): Uint8Array;
}

/** Columns collected by one thread. */
export interface DetailsPart {
  /** Values by index, two words each. */
  readonly words: Int32Array<ArrayBuffer>;
  /** Texts of tracepoints by index. */
  readonly traces: readonly string[];
}

/** Low words of `perf_sample_weight`: `var1_dw`, `var2_w`, `var3_w`. */
const LOW_16 = 0xffff;

/**
 * Combinations of samples' details by index. Finding an index does not allocate, except when a
 * table grows.
 */
export class SampleDetails {
  /** The count of combinations. */
  count = 0;
  /** The count of running threads at the next sample, if that is a column. */
  parallelism = 1;
  readonly #columns: readonly DetailColumn[];
  /** Words per combination: two for each column, the lower one first. */
  readonly #size: number;
  readonly #masks: Int32Array;
  #words: Int32Array<ArrayBuffer>;
  #slots = new Int32Array(1 << 10).fill(-1);
  readonly #now: Int32Array<ArrayBuffer>;
  readonly #fields: (SampleFields | undefined)[] = [];
  #le = true;
  readonly #quantum: bigint;
  /** Texts of tracepoints, whose values are their indices plus one. */
  readonly #traces: string[] = [];
  readonly #traceNumbers = new Map<string, number>();
  /** Formats tracepoints, once formats are known. */
  tracer: TraceTexts | undefined;
  /** Time slice of the last sample: words of its first and last ns. */
  readonly #stretch = new Uint32Array(4);
  #hasStretch = false;
  #events: readonly PerfEvent[] = [];

  /** Creates an empty table. */
  constructor({ columns, parts, quantum = QUANTUM }: DetailKeys) {
    this.#columns = columns;
    this.#quantum = BigInt(quantum);
    this.#size = 2 * columns.length;
    this.#now = new Int32Array(this.#size);
    this.#words = new Int32Array(this.#size << 6);
    let source = 0n;
    for (const part of parts) source |= DATA_SOURCE_BITS[part];
    this.#masks = Int32Array.from(columns.flatMap((column) => {
      const mask = column === "data_src" ? source : -1n;
      return [Number(BigInt.asIntN(32, mask)), Number(BigInt.asIntN(32, mask >> 32n))];
    }));
  }

  /** Whether a column is collected. */
  has(column: DetailColumn): boolean {
    return this.#columns.includes(column);
  }

  /** Sets the events of a recording. The array may grow later. */
  start(events: readonly PerfEvent[], littleEndian: boolean): void {
    this.#events = events;
    this.#le = littleEndian;
  }

  /** Index of a sample's combination. */
  of(run: Run, i: number): number {
    const number = intAt(run.event, i);
    const event = this.#events[number] as PerfEvent;
    const fields = this.#fields[number] ??= new SampleFields(event.attr);
    const { bytes, view } = run.at(i);
    const le = this.#le;
    const found = fields.locate(view, intAt(run.start, i), intAt(run.end, i), le);
    const isStruct = (event.layout.sampleType & PERF_SAMPLE_WEIGHT_STRUCT) !== 0;
    for (let k = 0; k < this.#columns.length; k++) {
      const column = this.#columns[k] as DetailColumn;
      if (column === "trace") {
        this.#now[2 * k] = found ? this.#trace(event, fields, bytes, view) : 0;
        this.#now[2 * k + 1] = 0;
        continue;
      }
      const fixed = column === "ip"
        ? event.layout.ip
        : column === "time"
        ? event.layout.time
        : undefined;
      const at = fixed !== undefined
        ? fixed < 0 ? -1 : intAt(run.start, i) + fixed
        : found
        ? positionOf(fields, column as Exclude<DetailColumn, "ip" | "time" | "trace">)
        : -1;
      let lo = at < 0 ? 0 : view.getInt32(le ? at : at + 4, le);
      let hi = at < 0 ? 0 : view.getInt32(le ? at + 4 : at, le);
      if (column === "weight") {
        if (isStruct) hi = 0;
      } else if (column === "ins_lat" || column === "retire_lat") {
        lo = isStruct ? column === "ins_lat" ? hi & LOW_16 : hi >>> 16 : 0;
        hi = 0;
      } else if (column === "time" && at >= 0) {
        this.#divide(lo >>> 0, hi >>> 0);
        lo = uintAt(this.#stretch, 0);
        hi = uintAt(this.#stretch, 1);
      } else if (column === "parallelism") {
        lo = this.parallelism;
        hi = 0;
      } else if (column === "pmu") {
        // The event has the name of the PMU.
        lo = number;
        hi = 0;
      } else if (column === "machine") {
        lo = intAt(run.process, i);
        hi = intAt(run.misc, i) & PERF_RECORD_MISC_CPUMODE_MASK;
        // One row for the host, and one for each guest.
        if (isGuestMode(hi)) hi = PERF_RECORD_MISC_GUEST_KERNEL;
        else lo = hi = 0;
      } else if (column === "data_src" && at < 0) {
        lo = Number(NO_DATA_SOURCE);
      }
      this.#now[2 * k] = lo & intAt(this.#masks, 2 * k);
      this.#now[2 * k + 1] = hi & intAt(this.#masks, 2 * k + 1);
    }
    return this.#intern(this.#now, 0);
  }

  /** Sets the time slice of a time, which is usually that of the previous sample. */
  #divide(lo: number, hi: number): void {
    const stretch = this.#stretch;
    const [firstLo = 0, firstHi = 0, lastLo = 0, lastHi = 0] = stretch;
    const isBefore = hi < firstHi || (hi === firstHi && lo < firstLo);
    const isAfter = hi > lastHi || (hi === lastHi && lo > lastLo);
    if (this.#hasStretch && !isBefore && !isAfter) return;
    this.#hasStretch = true;
    const time = BigInt(hi) << 32n | BigInt(lo);
    const first = time - time % this.#quantum;
    const last = first + this.#quantum - 1n;
    [first, first >> 32n, last, last >> 32n].forEach((word, k) => {
      stretch[k] = Number(word & 0xffffffffn);
    });
  }

  /**
   * Value of a column in a combination. For data sources, only the parts by which rows are grouped.
   */
  value(number: number, column: DetailColumn): bigint {
    const at = number * this.#size + 2 * this.#columns.indexOf(column);
    const half = (word: number) => BigInt(intAt(this.#words, word) >>> 0);
    return half(at + 1) << 32n | half(at);
  }

  /** Text of a tracepoint by its value; `undefined` for other samples. */
  trace(value: bigint): string | undefined {
    return this.#traces[Number(value) - 1];
  }

  #trace({ attr }: PerfEvent, fields: SampleFields, bytes: Uint8Array, view: DataView): number {
    const { tracer } = this;
    const { raw, rawSize } = fields;
    const id = Number(attr.config);
    if (attr.type !== PERF_TYPE_TRACEPOINT || raw < 0 || tracer?.has(id) !== true) return 0;
    return this.#traceNumber(DECODER.decode(tracer.text(id, bytes, view, raw, raw + rawSize)));
  }

  #traceNumber(text: string): number {
    let number = this.#traceNumbers.get(text);
    if (number === undefined) {
      number = this.#traces.push(text);
      this.#traceNumbers.set(text, number);
    }
    return number;
  }

  /** All combinations, for another thread. */
  part(): DetailsPart {
    return { words: this.#words.slice(0, this.count * this.#size), traces: this.#traces };
  }

  /** Adds a part. Returns this table's indices of its combinations. */
  join({ words: part, traces }: DetailsPart): Int32Array {
    const words = part.slice();
    const at = 2 * this.#columns.indexOf("trace");
    const numbers = new Int32Array(words.length / this.#size);
    for (let i = 0; i < numbers.length; i++) {
      const from = i * this.#size;
      const trace = at < 0 ? 0 : intAt(words, from + at);
      if (trace > 0) words[from + at] = this.#traceNumber(traces[trace - 1] ?? "");
      numbers[i] = this.#intern(words, from);
    }
    return numbers;
  }

  #intern(words: Int32Array, at: number): number {
    const size = this.#size;
    const mask = this.#slots.length - 1;
    let slot = hash(words, at, size) & mask;
    for (;;) {
      const found = intAt(this.#slots, slot);
      if (found < 0) break;
      let k = 0;
      while (k < size && this.#words[found * size + k] === words[at + k]) k++;
      if (k === size) return found;
      slot = slot + 1 & mask;
    }
    const added = this.count++;
    if (this.count * size > this.#words.length) {
      this.#words = enlarge(this.#words, this.count * size);
    }
    for (let k = 0; k < size; k++) this.#words[added * size + k] = intAt(words, at + k);
    this.#slots[slot] = added;
    if (this.count * 2 > mask) this.#rehash();
    return added;
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2).fill(-1);
    const mask = slots.length - 1;
    for (let i = 0; i < this.count; i++) {
      let slot = hash(this.#words, i * this.#size, this.#size) & mask;
      while (intAt(slots, slot) >= 0) slot = slot + 1 & mask;
      slots[slot] = i;
    }
    this.#slots = slots;
  }
}

function positionOf(
  fields: SampleFields,
  column: Exclude<DetailColumn, "ip" | "time" | "trace">,
): number {
  switch (column) {
    case "data_src":
      return fields.dataSrc;
    case "weight":
    case "ins_lat":
    case "retire_lat":
      return fields.weight;
    case "phys_addr":
      return fields.physAddr;
    case "data_page_size":
      return fields.dataPageSize;
    case "code_page_size":
      return fields.codePageSize;
    case "cgroup":
      return fields.cgroup;
    case "transaction":
      return fields.transaction;
    case "parallelism":
    case "machine":
    case "pmu":
      return -1;
  }
}

function hash(words: Int32Array, at: number, size: number): number {
  let h = 0;
  for (let k = 0; k < size; k++) {
    h = Math.imul(h ^ intAt(words, at + k), 0x9e3779b1);
    h ^= h >>> 15;
  }
  h = Math.imul(h, 0x2c1b3c6d);
  return h ^ h >>> 13;
}
