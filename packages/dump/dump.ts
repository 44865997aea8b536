import {
  HEADER_AUXTRACE,
  HEADER_BRANCH_STACK,
  HEADER_BUILD_ID,
  HEADER_EVENT_DESC,
  HEADER_TRACING_DATA,
  type Payload,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_AUX,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_TIME,
  type PerfDataReader,
  RecordCodec,
  type SampleFields,
  type SampleLayout,
} from "@perfdata/format";
import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_FORK,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_ID_INDEX,
} from "@perfdata/format/record-types";
import { putAscii } from "@perfdata/format/text-bytes";
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
import { PERF_AUXTRACE_INTEL_PT, USER_RECORDS } from "@perfdata/user-records";
import { putAuxPayload, putAuxSample } from "./aux_payload.ts";
import { BlockPacker, type BlockTarget } from "./block_items.ts";
import { CounterMoves } from "./counter_moves.ts";
import { DumpEvents, type EventState } from "./dump_events.ts";
import { type KernelTextContext, putKernelText } from "./kernel_text.ts";
import { isFiltered, type RecordFilter, RecordId } from "./record_id.ts";
import { RecordHead } from "./record_head.ts";
import { SampleContext } from "./sample_context.ts";
import { SampleText } from "./sample_text.ts";
import { SYMBOLS_ROOM, SymbolText } from "./symbol_text.ts";
import { statsText } from "./stats_text.ts";
import { RECORD_ROOM, TextOut } from "./text_out.ts";
import { ThreadText } from "./thread_text.ts";
import { type UserRecord, userText } from "./user_text.ts";

/** Text is handed on in blocks of at least so many bytes. */
const BLOCK = 1 << 19;
/** More than all formats that a kernel has. */
const MOST_TRACING_DATA = 1 << 26;

/** Which records to dump, and how. */
export interface DumpOptions extends RecordFilter {
  /** What the text calls the file. */
  readonly path: string;
  /** Receives the text. The bytes are valid during the call only. */
  readonly write: (text: Uint8Array) => void;
  /** Order of the records; by time, as perf does, unless `file` is asked for. */
  readonly order?: "time" | "file";
  /** File offset of the first record. What stands before it is not known then. */
  readonly from?: number;
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
 * Whether threads can share a dump: not where symbols are printed, or where a pipe says late what its
 * records mean, or where perf counts branches in place of samples.
 */
export function isShareable(reader: PerfDataReader, options: Omit<DumpOptions, "write">): boolean {
  return !reader.isPipe && options.limit === undefined && options.symbols === undefined &&
    !reader.features.some(({ id }) => id === HEADER_AUXTRACE || id === HEADER_BRANCH_STACK);
}

/** Samples with these fields are written by the thread that goes through the file. */
const NOT_SHARED = PERF_SAMPLE_READ | PERF_SAMPLE_AUX;

/** Writes the text of a file, or fills blocks with what threads write. */
export class Dumper implements RecordSink, KernelTextContext {
  readonly #stats = { printed: 0, unknownEvents: 0, badSamples: 0, undecodedAux: 0 };
  readonly #reader: PerfDataReader;
  readonly #options: DumpOptions;
  readonly #le: boolean;
  readonly #out: TextOut;
  readonly #machine: Machine;
  readonly #symbols: SymbolText | undefined;
  readonly #codec = new RecordCodec(USER_RECORDS);
  readonly #events: DumpEvents;
  readonly #moves = new CounterMoves();
  readonly #counts = new Map<number, number>();
  #samples = 0;
  readonly #head: RecordHead;
  readonly #id: RecordId;
  readonly #threads = new ThreadText();
  readonly #context: SampleContext;
  #packer: BlockPacker | undefined;
  readonly #base: number;
  readonly #filtered: boolean;
  readonly #limit: number;
  readonly #ordered: boolean;
  #auxtraceType = 0;
  #shown = false;
  #event: EventState | undefined;
  #view: DataView = new DataView(new ArrayBuffer(0));

  /**
   * @param blocks Where the text goes, and samples of which others make it, instead of to `write`; only
   *   where {@link isShareable} says so.
   */
  constructor(reader: PerfDataReader, options: DumpOptions, blocks?: BlockTarget) {
    this.#reader = reader;
    this.#options = options;
    this.#le = reader.littleEndian;
    const { symbols } = options;
    this.#symbols = symbols && new SymbolText(symbols, reader.littleEndian);
    const write = (text: Uint8Array): void => {
      if (this.#packer !== undefined) this.#packer.text(text);
      else options.write(text);
    };
    this.#out = new TextOut(BLOCK, write, 2 * RECORD_ROOM + (symbols ? SYMBOLS_ROOM : 0));
    this.#machine = symbols?.machine ?? new Machine(reader.littleEndian);
    this.#events = new DumpEvents(reader, this.#machine);
    this.#context = new SampleContext(this.#machine, this.#threads);
    this.#packer = blocks && new BlockPacker(blocks, this.#context, this.#threads);
    const path = reader.isPipe ? "pipe" : options.path;
    this.#head = new RecordHead(path, options.hex !== false, this.#le);
    this.#id = new RecordId(this.#le);
    // perf counts the bytes of a pipe from the first record on.
    this.#base = reader.isPipe ? reader.headerSize : 0;
    this.#filtered = isFiltered(options);
    this.#limit = options.limit ?? Infinity;
    this.#ordered = isTimeOrdered(reader);
  }

  /** Goes through all records; what is left to write is the statistics. */
  async run(): Promise<DumpStats> {
    const { order, from, symbols } = this.#options;
    this.#machine.arch = this.#reader.arch;
    await symbols?.objects.readFeatures(this.#reader);
    await this.#events.readFeatures();
    this.#head.combinedType = this.#events.combinedType;
    this.#begin();
    const found = await deliverInOrder(this.#reader, this, {
      ...(order === undefined ? {} : { order }),
      ...(from === undefined ? {} : { from }),
    });
    if (this.#packer !== undefined) {
      this.#out.flush();
      this.#packer.close();
      this.#packer = undefined;
    }
    return { ...found, ...this.#stats };
  }

  #begin(): void {
    if (!this.#ordered && this.#options.order !== "file") {
      this.#out.text("WARNING: No sample_id_all support, falling back to unordered processing\n");
    }
    this.#out.text(
      "# To display the perf.data header info, please use --header/--header-only options.\n#\n",
    );
  }

  /** Writes the statistics: to `write`, wherever the text went. */
  finish(): void {
    const { all, hasAuxtrace } = this.#events;
    if (this.#samples > 0) this.#counts.set(PERF_RECORD_SAMPLE, this.#samples);
    const samples = all.map((state) => ({
      name: this.#events.nameOf(state),
      count: state.samples,
    }));
    this.#out.text(statsText({ byType: this.#counts, samples, hasAuxtrace }));
    this.#out.flush();
  }

  done(): boolean {
    return this.#stats.printed >= this.#limit;
  }

  // KernelTextContext: what the text of a record depends on.

  get eventName(): string {
    return this.#events.nameOf(this.#event);
  }

  get id(): bigint {
    const { idAt } = this.#id;
    return idAt < 0 ? 0xffff_ffff_ffff_ffffn : this.#view.getBigUint64(idAt, this.#le);
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

  records(waiting: WaitingRecords, rows: Int32Array, count: number): void {
    const { blocks, block, at, offset, event } = waiting;
    const le = this.#le;
    for (let i = 0; i < count; i++) {
      const row = rows[i] as number;
      const record = blocks[block[row] as number] as RecordBytes;
      const start = at[row] as number;
      const end = start + record.view.getUint16(start + 6, le);
      this.record(record, start, end, offset[row] as number, event[row] as number);
    }
  }

  record(at: RecordBytes, start: number, end: number, offset: number, event: number): void {
    if (this.#stats.printed >= this.#limit) return;
    const { view } = at;
    const type = view.getInt32(start, this.#le);
    this.#out.reserve();
    if (type === PERF_RECORD_SAMPLE) {
      const state = this.#events.all[event];
      if (state !== undefined) this.#sample(state, event, at, start, end, offset);
      else this.#kernelRecord(undefined, at, start, end, offset, type);
      return;
    }
    this.#options.symbols?.objects.record(at.bytes, view, start, end);
    if (type >= PERF_RECORD_USER_TYPE_START || type < 0) {
      this.#userRecord(at, start, end, offset, type);
    } else {
      this.#kernelRecord(this.#events.all[event], at, start, end, offset, type);
    }
  }

  #count(type: number): void {
    this.#stats.printed++;
    if (type === PERF_RECORD_SAMPLE) this.#samples++;
    else this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
  }

  /** Writes the bytes of a record, its moment and its name; what the name is of comes after it. */
  #putHead(at: RecordBytes, start: number, end: number, offset: number): number {
    const { view } = this.#out;
    const { cpu, timeAt } = this.#id;
    const place = offset - this.#base;
    let p = this.#head.putBytes(view, this.#out.p, at, start, end, place);
    p = this.#events.sampleIdAll || at.view.getInt32(start, this.#le) === PERF_RECORD_SAMPLE
      ? this.#head.putMoment(view, p, cpu, at.view, timeAt)
      : putAscii(view, p, "-1 -1 ");
    return this.#head.putName(view, p, at, start, end, place);
  }

  /** A kernel record that is no sample, or one of an event that is not known. */
  #kernelRecord(
    state: EventState | undefined,
    at: RecordBytes,
    start: number,
    end: number,
    offset: number,
    type: number,
  ): void {
    const { bytes, view } = at;
    const machine = this.#machine;
    this.#event = state;
    this.#view = view;
    this.#id.read(state?.event, view, start, end);
    this.#shown = !this.#filtered || this.#id.isWanted(this.#options, view, start, end);
    const isSample = type === PERF_RECORD_SAMPLE;
    if (this.#shown) {
      this.#count(type);
      const out = this.#out;
      const p = this.#putHead(at, start, end, offset);
      if (state === undefined) {
        this.#stats.unknownEvents++;
        out.view.setUint8(p, 0x0a);
        out.p = p + 1;
        return;
      }
      out.p = putKernelText(out.view, p, at, start, end, this.#le, this);
    }
    if (isSample) return;
    machine.apply(bytes, view, start, end);
    if (this.#shown && type === PERF_RECORD_FORK && machine.wrongParent !== undefined) {
      const { pid, tid } = machine.wrongParent;
      this.#out.text(`removing erroneous parent thread ${pid}/${tid}\n`);
    }
  }

  #sample(
    state: EventState,
    event: number,
    at: RecordBytes,
    start: number,
    end: number,
    offset: number,
  ): void {
    const { view } = at;
    const le = this.#le;
    const { layout } = state.event;
    if (this.#filtered) {
      this.#id.read(state.event, view, start, end);
      this.#shown = this.#id.isWanted(this.#options, view, start, end);
      if (!this.#shown) return;
    } else {
      this.#shown = true;
    }
    this.#count(PERF_RECORD_SAMPLE);
    const text = state.text ??= new SampleText(
      state.event,
      le,
      this.#reader.arch,
      this.#head,
      this.#threads,
    );
    const isKnown = this.#events.isKnown(layout);
    if (!isKnown || !text.locate(view, start, end)) {
      this.#bareSample(isKnown, state, at, start, end, offset);
      return;
    }
    const pid = layout.pid < 0 ? -1 : view.getInt32(start + layout.pid, le);
    const tid = layout.pid < 0 ? -1 : view.getInt32(start + layout.pid + 4, le);
    const place = offset - this.#base;
    const out = this.#out;
    if ((layout.sampleType & PERF_SAMPLE_READ) !== 0) {
      let p = this.#head.putSample(out.view, out.p, at, start, end, place, layout);
      p = putAscii(out.view, p, `${pid}/${tid}: `);
      out.p = text.putFields(out.view, p, view, start, this.#chainSymbols(text, view, start));
      this.#moves.each(state, this.#events, view, text.fields.read, le, (event) => {
        // A sample can hold thousands of values, and paths can be long.
        out.reserve();
        this.#putWhere(text, view, start);
        event.samples += this.#samplesOf(text);
      });
    } else {
      const thread = this.#machine.thread(pid, tid);
      const slot = this.#context.slotOf(thread, pid);
      const binary = this.#context.binaryOf(thread, view, start, layout.ip, le);
      state.samples += this.#samplesOf(text);
      if (this.#packer !== undefined && (layout.sampleType & NOT_SHARED) === 0 && start % 4 === 0) {
        out.flush();
        this.#packer.sample(at.words, start >> 2, end - start, event, place, slot, binary);
        return;
      }
      if (this.#symbols === undefined) {
        out.p = text.put(out.view, out.p, at, start, end, place, slot, binary);
      } else {
        let p = this.#head.putSample(out.view, out.p, at, start, end, place, layout);
        p = this.#threads.putIds(out.view, p, slot);
        out.p = text.putFields(out.view, p, view, start, this.#chainSymbols(text, view, start));
        this.#putWhere(text, view, start);
      }
    }
    const { fields } = text;
    if (
      fields.auxSize > 0 && this.#auxtraceType === PERF_AUXTRACE_INTEL_PT &&
      this.#options.aux !== false
    ) putAuxSample(out, at.bytes, fields.aux, fields.auxSize);
  }

  /** What writes the lines of a call chain with symbols, where there are any. */
  #chainSymbols(
    { layout }: SampleText,
    view: DataView,
    start: number,
  ): ((out: DataView, p: number, fields: SampleFields) => number) | undefined {
    const symbols = this.#symbols;
    if (symbols === undefined) return undefined;
    const mode = view.getUint16(start + 4, this.#le) & 7;
    const ip = layout.ip < 0 ? -1 : start + layout.ip;
    return (out, p, fields) =>
      symbols.putChain(out, p, view, fields, this.#threadOf(view, start, layout), mode, ip);
  }

  #threadOf(view: DataView, start: number, { pid }: SampleLayout): number {
    const le = this.#le;
    return pid < 0
      ? this.#machine.thread(-1, -1)
      : this.#machine.thread(view.getInt32(start + pid, le), view.getInt32(start + pid + 4, le));
  }

  /** The thread and the binary of a sample, a line each, and that of its symbol. */
  #putWhere({ layout }: SampleText, view: DataView, start: number): void {
    const le = this.#le;
    const out = this.#out;
    const thread = this.#threadOf(view, start, layout);
    const pid = layout.pid < 0 ? -1 : view.getInt32(start + layout.pid, le);
    const slot = this.#context.slotOf(thread, pid);
    const binary = this.#context.binaryOf(thread, view, start, layout.ip, le);
    let p = this.#threads.putLine(out.view, out.p, slot);
    p = this.#threads.putBinary(out.view, p, binary);
    const ip = layout.ip < 0 ? -1 : start + layout.ip;
    const mode = view.getUint16(start + 4, le) & 7;
    out.p = this.#symbols?.putLine(out.view, p, view, thread, mode, ip) ?? p;
  }

  /** A sample of which nothing is known but its bytes. */
  #bareSample(
    isKnown: boolean,
    { event }: EventState,
    at: RecordBytes,
    start: number,
    end: number,
    offset: number,
  ): void {
    this.#id.read(event, at.view, start, end);
    const out = this.#out;
    out.p = this.#putHead(at, start, end, offset);
    if (!isKnown) return;
    this.#stats.badSamples++;
    out.view.setUint8(out.p++, 0x0a);
  }

  /** As how many a sample counts: one without branches not at all where those are what counts. */
  #samplesOf({ fields }: SampleText): number {
    if (!this.#events.branchMode) return 1;
    return fields.branchStack < 0 ? 0 : fields.branchStackLength;
  }

  /** A record that perf wrote itself. */
  #userRecord(at: RecordBytes, start: number, end: number, offset: number, type: number): void {
    if (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2) {
      if (!this.#filtered) this.#count(type);
      return;
    }
    const bytes = at.bytes.subarray(start, end);
    // Old Chrome OS tools gave the types from ID_INDEX up to FEATURE another meaning.
    const google = this.#reader.isGoogleDialect && type >= PERF_RECORD_ID_INDEX &&
      type <= PERF_RECORD_HEADER_FEATURE;
    const record = this.#codec.decode(bytes, { littleEndian: this.#le, offset });
    const { types, ...others } = this.#options;
    this.#shown = (types === undefined || types.has(type)) && !isFiltered(others);
    if (this.#shown) {
      this.#count(type);
      const out = this.#out;
      const place = offset - this.#base;
      let p = this.#head.putBytes(out.view, out.p, at, start, end, place);
      if (!this.#events.sampleIdAll) {
        p = putAscii(out.view, p, "-1 -1 ");
      } else {
        if (this.#events.combinedType & PERF_SAMPLE_CPU) p = putAscii(out.view, p, "0 ");
        if (this.#events.combinedType & PERF_SAMPLE_TIME) p = putAscii(out.view, p, "0 ");
      }
      out.p = this.#head.putName(out.view, p, at, start, end, place);
      out.text(google ? "\n" : userText(record, this.#ordered));
    }
    if (!google) this.#learn(record, bytes, type);
  }

  /** Takes from a record that perf wrote itself what the text of those after it depends on. */
  #learn(record: UserRecord, bytes: Uint8Array, type: number): void {
    const events = this.#events;
    if (type === PERF_RECORD_HEADER_ATTR) {
      events.takeAttr();
      this.#head.combinedType = events.combinedType;
    } else if (record.name === "AUXTRACE_INFO") {
      this.#auxtraceType = record.body.type;
    } else if (type === PERF_RECORD_EVENT_UPDATE && record.name === "EVENT_UPDATE") {
      const { id, name } = record.body;
      if (name !== undefined) events.rename(Number(id), name);
    } else if (record.name === "HEADER_FEATURE") {
      const id = Number(record.body.feat_id);
      if (id === HEADER_EVENT_DESC) events.takeFeature(id, record.body.data);
    } else if (type === PERF_RECORD_HEADER_BUILD_ID) {
      // The record is an entry of the BUILD_ID feature.
      events.takeFeature(HEADER_BUILD_ID, bytes.slice());
    }
  }

  async payload(payload: Payload): Promise<void> {
    if (
      payload.type === PERF_RECORD_HEADER_TRACING_DATA && payload.size <= MOST_TRACING_DATA
    ) {
      const bytes = new Uint8Array(payload.size);
      let filled = 0;
      for (let got = 1; got > 0 && filled < bytes.length; filled += got) {
        got = await payload.read(bytes.subarray(filled));
      }
      this.#events.takeFeature(HEADER_TRACING_DATA, bytes.subarray(0, filled));
      return;
    }
    const isAux = payload.type === PERF_RECORD_AUXTRACE;
    if (!isAux || !this.#shown || this.#options.aux === false) return;
    // perf has a file's data in memory as it is aligned in the file, and a pipe's at a boundary.
    const at = this.#reader.isPipe ? 0 : payload.offset;
    const isKnown = await putAuxPayload(this.#out, payload, this.#auxtraceType, at);
    if (!isKnown) this.#stats.undecodedAux++;
  }
}
