import {
  decodeFeature,
  eventName,
  HEADER_AUXTRACE,
  HEADER_BRANCH_STACK,
  HEADER_BUILD_ID,
  HEADER_EVENT_DESC,
  HEADER_TRACING_DATA,
  type Payload,
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_TIME,
  PerfDataError,
  type PerfDataReader,
  type PerfEvent,
  RecordCodec,
  type SampleFields,
  type SampleLayout,
  trailerEnd,
  type TrailerLayout,
} from "@perfdata/format";
import { PERF_TEXT_ROOM, PerfText } from "@perfdata/intel-pt/perf-text";
import { Machine } from "@perfdata/session/machine";
import {
  deliverInOrder,
  isTimeOrdered,
  type OrderStats,
  type RecordBytes,
  type RecordSink,
  type WaitingRecords,
} from "@perfdata/session/order";
import type { BundledSymbols } from "@perfdata/session/symbols";
import {
  PERF_AUXTRACE_CS_ETM,
  PERF_AUXTRACE_INTEL_PT,
  PERF_AUXTRACE_NAMES,
  USER_RECORDS,
} from "@perfdata/user-records";
import type { AuxText } from "./aux_text.ts";
import { BlockPacker, type BlockTarget } from "./block_items.ts";
import { type KernelTextContext, putKernelText } from "./kernel_text.ts";
import { arePlain, PlainSamples } from "./plain_samples.ts";
import { putRawEvent } from "./raw_event.ts";
import { dumpRecordName } from "./record_names.ts";
import { SampleContext } from "./sample_context.ts";
import { SampleHead, sizeText } from "./sample_head.ts";
import { SampleText } from "./sample_text.ts";
import { SYMBOLS_ROOM, SymbolText } from "./symbol_text.ts";
import { statsText } from "./stats_text.ts";
import {
  LITTLE_ENDIAN,
  type Piece,
  piece,
  putAscii,
  putBytes,
  putPrefixedHex,
  RECORD_ROOM,
  type TextBytes,
  textBytes,
} from "./text.ts";
import { ThreadText } from "./thread_text.ts";
import { userText } from "./user_text.ts";

const ATTR = 64;
const TRACING_DATA = 66;
const BUILD_ID = 67;
const AUXTRACE = 71;
const EVENT_UPDATE = 78;
const FEATURE = 80;
const COMPRESSED = 81;
const COMPRESSED2 = 83;
/** Old Chrome OS tools gave the types from here up to FEATURE another meaning. */
const ID_INDEX = 69;

/** Text is handed on in blocks of at least so many bytes. */
const BLOCK = 1 << 19;

/** Which records to dump, and how. */
export interface DumpOptions {
  /** What the text calls the file. */
  readonly path: string;
  /** Receives the text. The bytes are valid during the call only. */
  readonly write: (text: Uint8Array) => void;
  /** Order of the records; by time, as perf does, unless `file` is asked for. */
  readonly order?: "time" | "file";
  /** File offset of the first record. What stands before it is not known then. */
  readonly from?: number;
  /** Record types to dump; all by default. */
  readonly types?: ReadonlySet<number>;
  /** CPUs to dump; all by default. Records without a CPU are left out where some are chosen. */
  readonly cpus?: ReadonlySet<number>;
  /** Processes to dump; all by default. */
  readonly pids?: ReadonlySet<number>;
  /** Threads to dump; all by default. */
  readonly tids?: ReadonlySet<number>;
  /** Times in ns between which to dump, both included. Records without a time are left out. */
  readonly time?: readonly [bigint, bigint];
  /** Stop after so many records. */
  readonly limit?: number;
  /** Whether to print the bytes of records; true by default. */
  readonly hex?: boolean;
  /** Whether to print AUX data; true by default. */
  readonly aux?: boolean;
  /** Symbols of the recording, which are printed with the addresses of samples. */
  readonly symbols?: BundledSymbols;
}

/** What a dump found besides what it printed. */
export interface DumpStats extends OrderStats {
  /** Records that were printed. */
  printed: number;
  /** Records of events whose id the file does not name: only their bytes are printed. */
  unknownEvents: number;
  /** Samples whose lengths do not fit: only their bytes are printed. */
  badSamples: number;
  /** AUXTRACE records whose data was not printed since its format is not known here. */
  undecodedAux: number;
}

/**
 * Writes what `perf report -D` prints for a file, byte for byte: each record with its place, its
 * bytes and its fields, in the order of time, and statistics at the end.
 *
 * Where the two differ on purpose is listed in `docs/dump.md`. Memory does not grow with the file.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { dump } from "@perfdata/dump";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * let text = "";
 * await dump(await PerfDataReader.open(bytesSource(pipe)), {
 *   path: "perf.data",
 *   write: (bytes) => void (text += new TextDecoder().decode(bytes)),
 *   hex: false,
 * });
 * assertEquals(text.split("\n").slice(3, 5), [
 *   "0@pipe [0x8]: event: 68",
 *   "-1 -1 0 [0x8]: PERF_RECORD_FINISHED_ROUND",
 * ]);
 * ```
 */
export async function dump(reader: PerfDataReader, options: DumpOptions): Promise<DumpStats> {
  const dumper = new Dumper(reader, options);
  const stats = await dumper.run();
  dumper.finish();
  return stats;
}

/**
 * Whether most of a dump can be text of plain samples, which threads can share: not where records are
 * chosen, or symbols printed, or where a pipe tells late what its records mean.
 */
export function isShareable(reader: PerfDataReader, options: Omit<DumpOptions, "write">): boolean {
  return !reader.isPipe && isPlain(reader, options) &&
    !reader.features.some(({ id }) => id === HEADER_AUXTRACE || id === HEADER_BRANCH_STACK);
}

function isPlain(reader: PerfDataReader, options: Omit<DumpOptions, "write">): boolean {
  const { limit, symbols, hex } = options;
  return reader.littleEndian && LITTLE_ENDIAN && hex !== false && !isFiltered(options) &&
    limit === undefined && symbols === undefined;
}

function isFiltered(options: Omit<DumpOptions, "write">): boolean {
  const { types, cpus, pids, tids, time } = options;
  return [types, cpus, pids, tids, time].some((filter) => filter !== undefined);
}

/** What is known of an event, and how many of its samples were printed. */
interface EventState {
  readonly event: PerfEvent;
  /** Made with the first sample: in a pipe, what it depends on may come after the event. */
  text: SampleText | undefined;
  /** Whether its samples are as most samples are, and what writes those. */
  arePlain: boolean;
  plain: PlainSamples | undefined;
  samples: number;
}

/** The value that a counter had at its last sample. */
interface CounterState {
  hi: number;
  lo: number;
}

/** Writes the text of a file, or fills blocks with what threads write. */
export class Dumper implements RecordSink, KernelTextContext {
  readonly #stats = { printed: 0, unknownEvents: 0, badSamples: 0, undecodedAux: 0 };
  readonly #reader: PerfDataReader;
  readonly #options: DumpOptions;
  readonly #le: boolean;
  readonly #out: TextBytes;
  #p = 0;
  readonly #machine: Machine;
  readonly #symbols: SymbolText | undefined;
  readonly #codec = new RecordCodec(USER_RECORDS);
  readonly #events: EventState[] = [];
  readonly #byId = new Map<number, number>();
  readonly #names: (string | undefined)[] = [];
  readonly #counters = new Map<number, CounterState>();
  readonly #counts = new Map<number, number>();
  readonly #typeCounts = new Float64Array(128);
  readonly #head: SampleHead;
  // Pieces of text that come again and again: by type and size of a record.
  readonly #heads = new Map<number, Piece>();
  readonly #recordNames = new Map<number, Piece>();
  readonly #threads = new ThreadText();
  readonly #context: SampleContext;
  #packer: BlockPacker | undefined;
  readonly #base: number;
  readonly #filtered: boolean;
  readonly #hex: boolean;
  readonly #limit: number;
  readonly #ordered: boolean;
  /** Whether there may be samples that are written without much ado. */
  readonly #isPlain: boolean;
  #attrs = 0;
  #branchMode = false;
  #hasAuxtrace = false;
  #sampleIdAll = false;
  #auxtraceType = 0;
  #shown = false;
  #event: EventState | undefined;
  // The fields of the record's sample id.
  #pid = -1;
  #tid = -1;
  #cpu = -1;
  /** Where its time and its event id are, or -1. */
  #timeAt = -1;
  #idAt = -1;
  #view: DataView = new DataView(new ArrayBuffer(0));

  /**
   * @param blocks Where the text goes, and samples of which others make it, instead of to `write`; only
   *   where {@link isShareable} says so.
   */
  constructor(
    reader: PerfDataReader,
    options: DumpOptions,
    blocks?: BlockTarget,
  ) {
    this.#reader = reader;
    this.#options = options;
    this.#le = reader.littleEndian;
    const { symbols } = options;
    this.#symbols = symbols && new SymbolText(symbols, reader.littleEndian);
    this.#out = textBytes(BLOCK + 2 * RECORD_ROOM + (symbols ? SYMBOLS_ROOM : 0));
    this.#machine = symbols?.machine ?? new Machine(reader.littleEndian);
    this.#context = new SampleContext(this.#machine, this.#threads);
    this.#packer = blocks && new BlockPacker(blocks, this.#context, this.#threads);
    this.#hex = options.hex !== false;
    this.#head = new SampleHead(reader.isPipe ? "pipe" : options.path, this.#hex, this.#le);
    // perf counts the bytes of a pipe from the first record on.
    this.#base = reader.isPipe ? reader.headerSize : 0;
    this.#filtered = isFiltered(options);
    this.#limit = options.limit ?? Infinity;
    this.#ordered = isTimeOrdered(reader);
    this.#isPlain = isPlain(reader, options);
  }

  /** Goes through all records; what is left to write is the statistics. */
  async run(): Promise<DumpStats> {
    await this.#readFeatures();
    this.#begin();
    const { order, from } = this.#options;
    const found = await deliverInOrder(this.#reader, this, {
      ...(order === undefined ? {} : { order }),
      ...(from === undefined ? {} : { from }),
    });
    if (this.#packer !== undefined) {
      this.#flush();
      this.#packer.close();
      this.#packer = undefined;
    }
    this.#typeCounts.forEach((n, type) => n > 0 && this.#counts.set(type, n));
    return { ...found, ...this.#stats };
  }

  /** Takes from the features of a file what the text depends on. */
  async #readFeatures(): Promise<void> {
    const reader = this.#reader;
    this.#machine.arch = reader.arch;
    await this.#options.symbols?.objects.readFeatures(reader);
    const ids = new Set<number>();
    for (const { id, section } of reader.features) {
      ids.add(id);
      if (!USED_FEATURES.has(id)) continue;
      try {
        const bytes = await reader.readSection(
          Number(section.offset),
          Number(section.size),
          "feature",
        );
        this.#takeFeature(id, bytes);
      } catch (error) {
        // Without names the dump is still a dump; the section itself is told of by the reader.
        if (!(error instanceof PerfDataError)) throw error;
      }
    }
    this.#updateEvents();
    this.#hasAuxtrace = ids.has(HEADER_AUXTRACE);
    this.#branchMode = ids.has(HEADER_BRANCH_STACK) &&
      !(this.#head.combinedType & PERF_SAMPLE_STACK_USER);
  }

  #takeFeature(id: number, bytes: Uint8Array): void {
    const feature = decodeFeature(id, bytes, { littleEndian: this.#le });
    if (feature.name === "BUILD_ID") {
      this.#machine.setKnownBinaries(
        feature.value.filter(({ pid }) => pid === undefined || pid === -1),
      );
    } else if (feature.name === "EVENT_DESC") {
      feature.value.events.forEach(({ name }, i) => {
        if (i < this.#reader.events.all.length) this.#names[i] ??= name;
      });
    } else if (feature.name === "TRACING_DATA") {
      const names = tracepointNames(feature.value.systems);
      this.#reader.events.all.forEach(({ attr }, i) => {
        if (attr.type === PERF_TYPE_TRACEPOINT) this.#names[i] ??= names.get(attr.config);
      });
    }
  }

  /**
   * Takes up events. The reader of a pipe is ahead of what is printed: an event counts from its
   * ATTR record on.
   */
  #updateEvents(): void {
    const { all } = this.#reader.events;
    const known = this.#reader.isPipe ? Math.min(this.#attrs, all.length) : all.length;
    for (let i = this.#events.length; i < known; i++) {
      const event = all[i] as PerfEvent;
      this.#events.push({
        event,
        text: undefined,
        arePlain: false,
        plain: undefined,
        samples: 0,
      });
      this.#head.combinedType |= event.layout.sampleType;
      for (const id of event.ids) this.#byId.set(Number(id), i);
    }
    this.#sampleIdAll = this.#events[0]?.event.attr.flags.sample_id_all === true;
    for (const state of this.#events) {
      const { layout } = state.event;
      state.arePlain = this.#isPlain && this.#isKnown(layout) &&
        arePlain(layout, this.#head.combinedType);
      state.plain = undefined;
    }
  }

  /** Whether it is known to which event a sample belongs: without ids not to which of several. */
  #isKnown(layout: SampleLayout): boolean {
    return this.#events.length === 1 || layout.id >= 0 || layout.identifier >= 0 ||
      !this.#sampleIdAll;
  }

  #begin(): void {
    if (!this.#ordered && this.#options.order !== "file") {
      this.#text("WARNING: No sample_id_all support, falling back to unordered processing\n");
    }
    this.#text(
      "# To display the perf.data header info, please use --header/--header-only options.\n#\n",
    );
  }

  /** Writes the statistics: to `write`, wherever the text went. */
  finish(): void {
    const samples = this.#events.map(({ samples }, i) => ({
      name: this.#nameOf(i),
      count: samples,
    }));
    this.#text(statsText({ byType: this.#counts, samples, hasAuxtrace: this.#hasAuxtrace }));
    this.#flush();
  }

  done(): boolean {
    return this.#stats.printed >= this.#limit;
  }

  // KernelTextContext: what the text of a record depends on.

  get eventName(): string {
    const i = this.#event === undefined ? -1 : this.#events.indexOf(this.#event);
    return i < 0 ? "unknown" : this.#nameOf(i);
  }

  get id(): bigint {
    return this.#idAt < 0 ? 0xffff_ffff_ffff_ffffn : this.#view.getBigUint64(this.#idAt, this.#le);
  }

  get readFormat(): number {
    return this.#event?.event.readFormat ?? 0;
  }

  symbol(hi: number, lo: number): string | undefined {
    const found = this.#machine.ksymbol(hi, lo);
    return found === undefined
      ? undefined
      : `${this.#machine.names.text(found.name)}+0x${found.offset.toString(16)}`;
  }

  #nameOf(i: number): string {
    const event = this.#events[i];
    return this.#names[i] ?? (event === undefined ? "unknown" : eventName(event.event.attr));
  }

  #flush(): void {
    if (this.#p > 0) this.#write(this.#out.bytes.subarray(0, this.#p));
    this.#p = 0;
  }

  #write(text: Uint8Array): void {
    if (this.#packer !== undefined) this.#packer.text(text);
    else this.#options.write(text);
  }

  #text(text: string): void {
    const bytes = encoder.encode(text);
    if (this.#p >= BLOCK || bytes.length > RECORD_ROOM) this.#flush();
    if (bytes.length > RECORD_ROOM) this.#write(bytes);
    else this.#p = putBytes(this.#out, this.#p, bytes);
  }

  records(waiting: WaitingRecords, rows: Int32Array, count: number): void {
    const { blocks, block, at, offset, event } = waiting;
    const le = this.#le;
    for (let i = 0; i < count;) {
      if (this.#isPlain && !this.#branchMode) i = this.#plainSamples(waiting, rows, i, count);
      if (i === count) return;
      const row = rows[i++] as number;
      const record = blocks[block[row] as number] as RecordBytes;
      const start = at[row] as number;
      const end = start + record.view.getUint16(start + 6, le);
      this.record(record, start, end, offset[row] as number, event[row] as number);
    }
  }

  /**
   * Writes the samples from row `i` on that are as most are: whose text is of fields in the order of
   * the record, all of it, and nothing else.
   *
   * @returns The first row that is something else, or `count`.
   */
  #plainSamples(waiting: WaitingRecords, rows: Int32Array, i: number, count: number): number {
    const { blocks, block, at, offset, event: eventNumbers } = waiting;
    const out = this.#out;
    const machine = this.#machine;
    const context = this.#context;
    const packer = this.#packer;
    const base = this.#base;
    const from = i;
    if (packer !== undefined) this.#flush();
    let p = this.#p;
    // What the last sample was found to be: nothing changes it here.
    let lastPid = -1;
    let lastTid = -1;
    let thread = -1;
    let slot = 0;
    let lastEvent = -1;
    let state: EventState | undefined;
    let samples = 0;
    for (; i < count; i++) {
      const row = rows[i] as number;
      const record = blocks[block[row] as number] as RecordBytes;
      const { words } = record;
      const start = at[row] as number;
      const first = start >> 2;
      if (words[first] !== PERF_RECORD_SAMPLE || (start & 3) !== 0) break;
      const event = eventNumbers[row] as number;
      if (event !== lastEvent) {
        if (state !== undefined) state.samples += samples;
        samples = 0;
        state = this.#events[event];
        lastEvent = event;
      }
      const plain = state?.plain;
      if (plain === undefined) break;
      const sizeAndMisc = words[first + 1] as number;
      const end = start + (sizeAndMisc >>> 16);
      if (!plain.locate(record, start, end)) break;
      const { layout } = plain;
      const pid = words[first + (layout.pid >> 2)] as number;
      const tid = words[first + (layout.pid >> 2) + 1] as number;
      if (pid !== lastPid || tid !== lastTid || thread < 0) {
        thread = machine.thread(pid, tid);
        lastPid = pid;
        lastTid = tid;
        slot = context.slotOf(thread, pid);
      }
      const ip = first + (layout.ip >> 2);
      const ipHi = words[ip + 1] as number;
      const binary = context.binaryAgain(thread, sizeAndMisc & 7, ipHi, words[ip] as number);
      const place = (offset[row] as number) - base;
      if (packer !== undefined) {
        packer.sample(words, first, end - start, event, place, slot, binary);
      } else {
        if (p >= BLOCK) {
          this.#p = p;
          this.#flush();
          p = 0;
        }
        p = plain.put(out, p, record, start, end, place, slot, binary);
      }
      samples++;
    }
    if (state !== undefined) state.samples += samples;
    this.#stats.printed += i - from;
    this.#typeCounts[PERF_RECORD_SAMPLE] = (this.#typeCounts[PERF_RECORD_SAMPLE] as number) + i -
      from;
    this.#p = p;
    return i;
  }

  record(at: RecordBytes, start: number, end: number, offset: number, event: number): void {
    if (this.#stats.printed >= this.#limit) return;
    const { bytes, view } = at;
    const le = this.#le;
    const type = view.getInt32(start, le);
    this.#context.forget();
    if (this.#p >= BLOCK) this.#flush();
    this.#options.symbols?.objects.record(bytes, view, start, end);
    if (type >= PERF_RECORD_USER_TYPE_START || type < 0) {
      this.#userRecord(at, start, end, offset, type);
      return;
    }
    const state = this.#event = this.#events[event];
    if (type === PERF_RECORD_SAMPLE && state !== undefined) {
      this.#sample(state, at, start, end, offset);
      return;
    }
    this.#readTrailer(
      type === PERF_RECORD_SAMPLE ? undefined : state?.event.layout.trailer,
      view,
      start,
      end,
    );
    this.#shown = !this.#filtered || this.#isWanted(view, start, end, type);
    const machine = this.#machine;
    if (!this.#shown) {
      if (type !== PERF_RECORD_SAMPLE) machine.apply(bytes, view, start, end);
      return;
    }
    this.#count(type);
    const out = this.#out;
    let p = this.#putHead(at, start, end, offset, type);
    p = type !== PERF_RECORD_SAMPLE && !this.#sampleIdAll
      ? putAscii(out, p, "-1 -1 ")
      : this.#putMoment(p, view);
    p = this.#putName(p, end - start, offset, type);
    if (state === undefined) {
      this.#stats.unknownEvents++;
      out.bytes[p] = 0x0a;
      this.#p = p + 1;
      return;
    }
    this.#p = putKernelText(out, p, bytes, view, start, end, le, this);
    machine.apply(bytes, view, start, end);
    if (type === 7 && machine.wrongParent !== undefined) {
      const { pid, tid } = machine.wrongParent;
      this.#text(`removing erroneous parent thread ${pid}/${tid}\n`);
    }
  }

  #putMoment(p: number, view: DataView): number {
    return this.#head.putMoment(this.#out, p, this.#cpu, view, this.#timeAt);
  }

  #count(type: number): void {
    this.#stats.printed++;
    if (type >= 0 && type < 128) {
      this.#typeCounts[type] = (this.#typeCounts[type] as number) + 1;
    } else {
      this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
    }
  }

  /** `0x1a40@perf.data [0x38]: event: 9`, and the record's bytes. */
  #putHead(at: RecordBytes, start: number, end: number, offset: number, type: number): number {
    const out = this.#out;
    const p = this.#head.putPlace(out, this.#p, offset - this.#base);
    const size = end - start;
    const key = type * 2 ** 16 + size;
    const head = this.#heads.get(key) ?? keep(this.#heads, key, this.#head.textOf(type, size));
    const q = head.put(out, p);
    return this.#hex ? putRawEvent(out, q, at.bytes, at.words, start, end) : q;
  }

  /** `0x1a40 [0x38]: PERF_RECORD_MMAP2`. */
  #putName(p: number, size: number, offset: number, type: number): number {
    const out = this.#out;
    const place = offset - this.#base;
    p = putPrefixedHex(out, p, place / 2 ** 32 | 0, place | 0);
    const key = type * 2 ** 16 + size;
    const known = this.#recordNames.get(key) ??
      keep(this.#recordNames, key, `${sizeText(size)}${dumpRecordName(type)}`);
    return known.put(out, p);
  }

  /** Notes what a sample has at constant places. */
  #readSample(layout: SampleLayout, view: DataView, start: number, end: number): void {
    const le = this.#le;
    if (start + layout.fixedSize > end) {
      this.#pid =
        this.#tid =
        this.#cpu =
        this.#timeAt =
          -1;
      return;
    }
    const { pid, time, cpu } = layout;
    this.#pid = pid < 0 ? -1 : view.getInt32(start + pid, le);
    this.#tid = pid < 0 ? -1 : view.getInt32(start + pid + 4, le);
    this.#timeAt = time < 0 ? -1 : start + time;
    this.#cpu = cpu < 0 ? -1 : view.getInt32(start + cpu, le);
  }

  /** Notes what other records have in their trailer. */
  #readTrailer(trailer: TrailerLayout | undefined, view: DataView, start: number, end: number) {
    const le = this.#le;
    this.#view = view;
    this.#pid =
      this.#tid =
      this.#cpu =
      this.#timeAt =
      this.#idAt =
        -1;
    const base = trailerEnd(start, end);
    if (trailer === undefined || base - trailer.size < start + 8) return;
    const { pid, time, cpu } = trailer;
    const id = trailer.id !== 0 ? trailer.id : trailer.identifier;
    if (pid !== 0) {
      this.#pid = view.getInt32(base + pid, le);
      this.#tid = view.getInt32(base + pid + 4, le);
    }
    if (time !== 0) this.#timeAt = base + time;
    if (cpu !== 0) this.#cpu = view.getInt32(base + cpu, le);
    if (id !== 0) this.#idAt = base + id;
  }

  /** Whether the filters let a kernel record through. */
  #isWanted(view: DataView, start: number, end: number, type: number): boolean {
    const { types, cpus, pids, tids, time } = this.#options;
    if (types !== undefined && !types.has(type)) return false;
    if (cpus !== undefined && !cpus.has(this.#cpu)) return false;
    if (time !== undefined) {
      if (this.#timeAt < 0) return false;
      const now = view.getBigUint64(this.#timeAt, this.#le);
      // What perf wrote of its own accord has the time 0.
      if (now === 0n || now < time[0] || now > time[1]) return false;
    }
    if (pids === undefined && tids === undefined) return true;
    let pid = this.#pid;
    let tid = this.#tid;
    // MMAP, COMM, MMAP2, NAMESPACES and so on begin with their thread; EXIT and FORK nearly so.
    if (end - start >= 24 && OWN_THREAD.has(type)) {
      pid = view.getInt32(start + 8, this.#le);
      tid = view.getInt32(start + (type === 4 || type === 7 ? 16 : 12), this.#le);
    }
    return (pids === undefined || pids.has(pid)) && (tids === undefined || tids.has(tid));
  }

  #sample(
    state: EventState,
    at: RecordBytes,
    start: number,
    end: number,
    offset: number,
  ): void {
    const { view } = at;
    const le = this.#le;
    const { layout } = state.event;
    if (this.#filtered) {
      this.#readSample(layout, view, start, end);
      this.#shown = this.#isWanted(view, start, end, PERF_RECORD_SAMPLE);
      if (!this.#shown) return;
    } else {
      this.#shown = true;
    }
    this.#count(PERF_RECORD_SAMPLE);
    const text = state.text ??= new SampleText(state.event, le, this.#reader.arch);
    if (state.arePlain) state.plain ??= new PlainSamples(text, this.#head, this.#threads);
    const isKnown = this.#isKnown(layout);
    if (!isKnown || !text.fields.locate(view, start, end, le)) {
      this.#bareSample(isKnown, layout, at, start, end, offset);
      return;
    }
    const isRead = (layout.sampleType & PERF_SAMPLE_READ) !== 0;
    const pid = layout.pid < 0 ? -1 : view.getInt32(start + layout.pid, le);
    const tid = layout.pid < 0 ? -1 : view.getInt32(start + layout.pid + 4, le);
    const out = this.#out;
    const misc = view.getUint16(start + 4, le);
    const place = offset - this.#base;
    let p = this.#head.put(out, this.#p, at, start, end, place, layout);
    const ip = layout.ip < 0 ? -1 : start + layout.ip;
    const symbols = this.#symbols;
    const putSymbols = symbols &&
      ((out: TextBytes, p: number, fields: SampleFields): number =>
        symbols.putChain(out, p, view, fields, this.#machine.thread(pid, tid), misc & 7, ip));
    if (isRead) {
      p = putAscii(out, p, `${pid}/${tid}: `);
      this.#p = text.put(out, p, view, start, putSymbols);
      this.#deliverRead(state, text, pid, tid, view, start);
    } else {
      const thread = this.#machine.thread(pid, tid);
      const slot = this.#context.slotOf(thread, pid);
      p = text.put(out, this.#threads.putIds(out, p, slot), view, start, putSymbols);
      p = this.#putWhere(out, p, thread, slot, misc, view, ip);
      this.#p = symbols?.putLine(out, p, view, thread, misc & 7, ip) ?? p;
      state.samples += this.#samplesOf(text);
    }
    const { fields } = text;
    if (fields.auxSize > 0 && this.#auxtraceType === PERF_AUXTRACE_INTEL_PT) {
      this.#auxSample(at.bytes, fields.aux, fields.auxSize);
    }
  }

  /** The thread and the binary of a sample, a line each. */
  #putWhere(
    out: TextBytes,
    p: number,
    thread: number,
    slot: number,
    misc: number,
    view: DataView,
    ip: number,
  ): number {
    const binary = this.#context.binaryAt(thread, misc, view, ip);
    return this.#threads.putBinary(out, this.#threads.putLine(out, p, slot), binary);
  }

  /** A sample of which nothing is known but its bytes. */
  #bareSample(
    isKnown: boolean,
    layout: SampleLayout,
    at: RecordBytes,
    start: number,
    end: number,
    offset: number,
  ): void {
    this.#readSample(layout, at.view, start, end);
    const p = this.#putMoment(
      this.#putHead(at, start, end, offset, PERF_RECORD_SAMPLE),
      at.view,
    );
    this.#p = this.#putName(p, end - start, offset, PERF_RECORD_SAMPLE);
    if (!isKnown) return;
    this.#stats.badSamples++;
    this.#out.bytes[this.#p++] = 0x0a;
  }

  /** As how many a sample counts: one without branches not at all where those are what counts. */
  #samplesOf({ fields }: SampleText): number {
    if (!this.#branchMode) return 1;
    return fields.branchStack < 0 ? 0 : fields.branchStackLength;
  }

  /** A sample of counter values counts once for each counter that moved since its last sample. */
  #deliverRead(
    recorded: EventState,
    text: SampleText,
    pid: number,
    tid: number,
    view: DataView,
    start: number,
  ): void {
    const le = this.#le;
    const misc = view.getUint16(start + 4, le);
    const ip = text.layout.ip < 0 ? -1 : start + text.layout.ip;
    const deliver = (event: EventState): void => {
      const thread = this.#machine.thread(pid, tid);
      const slot = this.#context.slotOf(thread, pid);
      const p = this.#putWhere(this.#out, this.#p, thread, slot, misc, view, ip);
      this.#p = this.#symbols?.putLine(this.#out, p, view, thread, misc & 7, ip) ?? p;
      event.samples += this.#samplesOf(text);
    };
    const format = recorded.event.readFormat;
    if (!(format & PERF_FORMAT_ID)) {
      deliver(recorded);
      return;
    }
    const low = le ? 0 : 4;
    const high = 4 - low;
    const group = (format & PERF_FORMAT_GROUP) !== 0;
    const first = text.fields.read;
    const n = group ? view.getUint32(first + low, le) : 1;
    let at = first + 8;
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) at += 8;
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING) at += 8;
    for (let i = 0; i < n; i++) {
      const value = group ? at : first;
      if (group) at += 8;
      const valueHi = view.getUint32(value + high, le);
      const valueLo = view.getUint32(value + low, le);
      const id = view.getUint32(at + high, le) * 2 ** 32 + view.getUint32(at + low, le);
      at += format & PERF_FORMAT_LOST ? 16 : 8;
      const event = this.#events[this.#byId.get(id) ?? -1];
      if (event === undefined) continue;
      let counter = this.#counters.get(id);
      if (counter === undefined) {
        counter = { hi: 0, lo: 0 };
        this.#counters.set(id, counter);
      }
      const moved = counter.hi !== valueHi || counter.lo !== valueLo;
      counter.hi = valueHi;
      counter.lo = valueLo;
      // A sample can hold thousands of values, and paths can be long.
      if (this.#p >= BLOCK) this.#flush();
      if (moved) deliver(event);
    }
  }

  #userRecord(
    at: RecordBytes,
    start: number,
    end: number,
    offset: number,
    type: number,
  ): void {
    if (type === COMPRESSED || type === COMPRESSED2) {
      if (!this.#filtered) this.#count(type);
      return;
    }
    const bytes = at.bytes.subarray(start, end);
    const google = this.#reader.isGoogleDialect && type >= ID_INDEX && type <= FEATURE;
    const record = this.#codec.decode(bytes, { littleEndian: this.#le, offset });
    const { types, cpus, pids, tids, time } = this.#options;
    this.#shown = (types === undefined || types.has(type)) &&
      [cpus, pids, tids, time].every((filter) => filter === undefined);
    if (this.#shown) {
      this.#count(type);
      let p = this.#putHead(at, start, end, offset, type);
      const out = this.#out;
      if (!this.#sampleIdAll) {
        p = putAscii(out, p, "-1 -1 ");
      } else {
        if (this.#head.combinedType & PERF_SAMPLE_CPU) p = putAscii(out, p, "0 ");
        if (this.#head.combinedType & PERF_SAMPLE_TIME) p = putAscii(out, p, "0 ");
      }
      this.#p = this.#putName(p, end - start, offset, type);
      this.#text(google ? "\n" : userText(record, this.#ordered));
    }
    if (google) return;
    if (type === ATTR) {
      this.#attrs++;
      this.#updateEvents();
    }
    if (record.name === "AUXTRACE_INFO") this.#auxtraceType = record.body.type;
    else if (type === EVENT_UPDATE && record.name === "EVENT_UPDATE") {
      const { id, name } = record.body;
      const i = this.#events.length === 1 ? 0 : this.#byId.get(Number(id)) ?? -1;
      if (name !== undefined && i >= 0) this.#names[i] = name;
    } else if (type === FEATURE && end - start > 16) {
      const id = Number(at.view.getBigUint64(start + 8, this.#le));
      if (id === HEADER_EVENT_DESC) this.#takeFeature(id, bytes.slice(16));
    } else if (type === BUILD_ID) {
      // The record is an entry of the BUILD_ID feature.
      this.#takeFeature(HEADER_BUILD_ID, bytes.slice());
    }
  }

  async payload(payload: Payload): Promise<void> {
    if (payload.type === TRACING_DATA && payload.size <= MOST_TRACING_DATA) {
      const bytes = new Uint8Array(payload.size);
      let filled = 0;
      for (let got = 1; got > 0 && filled < bytes.length; filled += got) {
        got = await payload.read(bytes.subarray(filled));
      }
      this.#takeFeature(HEADER_TRACING_DATA, bytes.subarray(0, filled));
      return;
    }
    if (payload.type !== AUXTRACE || !this.#shown || this.#options.aux === false) return;
    const type = this.#auxtraceType;
    if (type === PERF_AUXTRACE_INTEL_PT) {
      this.#text(`.\n. ... Intel Processor Trace data: size ${payload.size} bytes\n`);
      await this.#intelPt(payload);
      return;
    }
    const { auxTextOf } = await import("./aux_text.ts");
    // perf has a file's data in memory as it is aligned in the file, and a pipe's at a boundary.
    const text = auxTextOf(type, this.#reader.isPipe ? 0 : payload.offset);
    if (text !== undefined) {
      await this.#auxLines(payload, text);
      return;
    }
    this.#stats.undecodedAux++;
    this.#text(
      type === PERF_AUXTRACE_CS_ETM
        ? `\n. ... CoreSight ETM Trace data: size 0x${payload.size.toString(16)} bytes\n`
        : `.\n. ... ${PERF_AUXTRACE_NAMES[type] ?? "unknown"} data: size 0x${
          payload.size.toString(16)
        } bytes\n`,
    );
  }

  async #auxLines(payload: Payload, text: AuxText): Promise<void> {
    const input = new Uint8Array(1 << 16);
    let filled = 0;
    let position = 0;
    for (let last = false; !last;) {
      const got = await payload.read(input.subarray(filled));
      filled += got;
      last = got === 0;
      if (!last && filled < text.reach) continue;
      if (position === 0) this.#text(text.heading(payload.size, input));
      let at = 0;
      while (last ? at < filled : filled - at >= text.reach) {
        if (this.#p >= BLOCK) this.#flush();
        this.#p = text.put(this.#out, this.#p, input, at, filled, position);
        at += text.consumed;
        position += text.consumed;
      }
      input.copyWithin(0, at, filled);
      filled -= at;
    }
  }

  async #intelPt(payload: Payload): Promise<void> {
    const text = new PerfText();
    const input = new Uint8Array(1 << 17);
    let filled = 0;
    let last = false;
    while (!last) {
      const got = await payload.read(input.subarray(filled));
      filled += got;
      last = got === 0;
      const used = this.#packets(text, input, 0, filled, last);
      input.copyWithin(0, used, filled);
      filled -= used;
    }
  }

  /** Writes packets; returns how many bytes of input were used. */
  #packets(text: PerfText, input: Uint8Array, from: number, to: number, last: boolean): number {
    const { bytes } = this.#out;
    let at = from;
    for (;;) {
      this.#p = text.write(input, at, to, last, bytes, this.#p);
      at += text.consumed;
      if (bytes.length - this.#p >= PERF_TEXT_ROOM) break;
      this.#flush();
    }
    return at;
  }

  /** The AUX data of a sample. */
  #auxSample(bytes: Uint8Array, from: number, size: number): void {
    if (this.#options.aux === false) return;
    this.#text(`\n. ... Intel Processor Trace data: size ${size} bytes\n`);
    this.#packets(new PerfText(), bytes, from, from + size, true);
  }
}

const USED_FEATURES: ReadonlySet<number> = new Set([
  HEADER_BUILD_ID,
  HEADER_EVENT_DESC,
  HEADER_TRACING_DATA,
]);
const PERF_TYPE_TRACEPOINT = 2;
/** More than all formats that a kernel has. */
const MOST_TRACING_DATA = 1 << 26;

/** The names of tracepoints, `sched:sched_switch`, by their ids. */
function tracepointNames(
  systems: readonly { readonly name: string; readonly formats: readonly string[] }[],
): Map<bigint, string> {
  const names = new Map<bigint, string>();
  for (const { name: system, formats } of systems) {
    for (const format of formats) {
      const name = /^name: (.*)$/m.exec(format)?.[1];
      const id = /^ID: (\d+)$/m.exec(format)?.[1];
      if (name !== undefined && id !== undefined) names.set(BigInt(id), `${system}:${name}`);
    }
  }
  return names;
}

/** Most pieces of a kind that are kept: a file can hold records of any size and type. */
const MOST_PIECES = 1 << 14;

function keep(pieces: Map<number, Piece>, key: number, text: string): Piece {
  if (pieces.size >= MOST_PIECES) pieces.clear();
  const made = piece(text);
  pieces.set(key, made);
  return made;
}

const encoder = new TextEncoder();
/** Record types that begin with the thread they are about. */
const OWN_THREAD: ReadonlySet<number> = new Set([1, 3, 4, 7, 8, 10, 12, 16]);
