import {
  HEADER_BUILD_ID,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_FORK,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_ID_INDEX,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_TEXT_POKE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import {
  type Payload,
  type PerfDataReader,
  type PerfEvent,
  RecordCodec,
  trailerEnd,
} from "@perfdata/format/records";
import { floatAt, intAt, putAscii } from "@perfdata/format/bytes";
import { decodeFeature } from "@perfdata/format/features";
import {
  type Applied,
  type Engine,
  isTimeOrdered,
  type Machine,
  type Needs,
  type Run,
} from "@perfdata/session";
import type { TextConsumer, WriteText } from "@perfdata/session/workers";
import { PERF_AUXTRACE_INTEL_PT, USER_RECORDS } from "@perfdata/user-records";
import { putAuxPayload, putAuxSample } from "./aux_text/aux_payload.ts";
import { CounterMoves } from "./text/counter_moves.ts";
import type { DumpOptions } from "./dump.ts";
import { DumpEvents, type EventState } from "./dump_events.ts";
import type { KernelTextContext } from "./text/kernel_templates.ts";
import { kernelField, putKernelText } from "./text/kernel_text.ts";
import { isFiltered, isWanted } from "./records/record_filter.ts";
import { type PrintedRecord, RecordHead } from "./text/record_head.ts";
import { IbsText } from "./text/ibs_text.ts";
import { SampleText } from "./text/sample_text.ts";
import { statsText } from "./text/stats_text.ts";
import { SYMBOLS_ROOM, SymbolText } from "./text/symbol_text.ts";
import { RECORD_ROOM, TextOut } from "./text/text_out.ts";
import { ThreadText } from "./text/thread_text.ts";
import { userText } from "./text/user_text.ts";

/** Smallest block of text that is written. */
const BLOCK = 1 << 17;
export interface DumpPart {
  /** Counts for `DumpStats`. */
  readonly stats: Record<string, number>;
  /** Number of printed records by type, without samples. */
  readonly counts: ReadonlyMap<number, number>;
  readonly samples: number;
  /** Number of printed samples by event. */
  readonly bySample: readonly number[];
}

/** The options that can be sent to another thread. */
export type DumpAbout = Omit<DumpOptions, "write" | "symbols" | "progress" | "diagnostics">;

/** Creates the writer of windows' text. */
export function makeDump(
  reader: PerfDataReader,
  about: DumpAbout,
  write: WriteText,
): TextConsumer {
  return new DumpConsumer(reader, { ...about, write }, true);
}

/** Writes the text of records. */
export class DumpConsumer implements TextConsumer<DumpPart>, KernelTextContext {
  readonly needs: Needs;
  /** Counts for `DumpStats`. */
  readonly stats = {
    printed: 0,
    unknownEvents: 0,
    badSamples: 0,
    undecodedAux: 0,
    untimedAux: 0,
  };
  /** Format of AUX data in the last AUXTRACE_INFO record. */
  auxtraceType = 0;
  readonly #reader: PerfDataReader;
  readonly #options: DumpOptions;
  readonly #le: boolean;
  readonly #out: TextOut;
  readonly #symbols: SymbolText | undefined;
  readonly #codec = new RecordCodec(USER_RECORDS);
  readonly #events: DumpEvents;
  readonly #moves = new CounterMoves();
  readonly #counts = new Map<number, number>();
  readonly #head: RecordHead;
  /** State at the moment of a record, by row of the `Run`. */
  readonly #notes = new Map<number, string>();
  /** Notes by the position of their record, if the file is dumped in windows of time. */
  readonly #pastNotes = new Map<number, string>();
  readonly #isPart: boolean;
  #engine: Engine | undefined;
  #threads: ThreadText | undefined;
  #ibs: IbsText | undefined;
  readonly #base: number;
  readonly #filtered: boolean;
  readonly #limit: number;
  readonly #ordered: boolean;
  #samples = 0;
  #shown = false;
  // The record that is being written.
  #event: EventState | undefined;
  #note: string | undefined;
  #idAt = -1;
  #view: DataView = new DataView(new ArrayBuffer(0));
  /** Bytes and position of the record, set by `#at`. */
  readonly #record: PrintedRecord;

  /** @param isPart Whether it writes windows, without the start of the text. */
  constructor(reader: PerfDataReader, options: DumpOptions, isPart = false) {
    this.#reader = reader;
    this.#options = options;
    this.#le = reader.littleEndian;
    this.#isPart = isPart;
    const { symbols } = options;
    this.needs = { maps: true, places: symbols !== undefined, chains: symbols !== undefined };
    this.#symbols = symbols && new SymbolText(symbols, reader.littleEndian);
    this.#out = new TextOut(BLOCK, options.write, 2 * RECORD_ROOM + (symbols ? SYMBOLS_ROOM : 0));
    this.#events = new DumpEvents(reader);
    const path = reader.isPipe ? "pipe" : options.path;
    this.#head = new RecordHead(path, options.hex !== false, this.#le);
    // perf counts a pipe's bytes from the first record.
    this.#base = reader.isPipe ? reader.headerSize : 0;
    this.#filtered = isFiltered(options);
    this.#limit = options.limit ?? Infinity;
    this.#ordered = isTimeOrdered(reader);
    const bytes = new Uint8Array(0);
    const source = { bytes, view: this.#view, words: new Int32Array(0) };
    this.#record = { source, start: 0, end: 0, place: 0 };
  }

  async start(engine: Engine): Promise<void> {
    this.#engine = engine;
    this.#ibs = await IbsText.open(this.#reader);
    this.#options.symbols?.start(engine);
    this.#threads = new ThreadText(engine.view);
    this.#events.begin();
    this.#head.combinedType = this.#events.combinedType;
    if (!this.#isPart) this.begin();
  }

  /** Writes the text before the first record. */
  begin(): void {
    if (!this.#ordered && this.#options.order !== "file") {
      this.#out.text("WARNING: No sample_id_all support, falling back to unordered processing\n");
    }
    this.#out.text(
      "# To display the perf.data header info, please use --header/--header-only options.\n#\n",
    );
  }

  flush(): void {
    this.#out.flush();
  }

  part(): DumpPart {
    const bySample = this.#events.all.map(({ samples }) => samples);
    return { stats: this.stats, counts: this.#counts, samples: this.#samples, bySample };
  }

  join({ stats, counts, samples, bySample }: DumpPart): void {
    for (const name of Object.keys(this.stats) as (keyof typeof this.stats)[]) {
      this.stats[name] += stats[name] ?? 0;
    }
    for (const [type, count] of counts) {
      this.#counts.set(type, (this.#counts.get(type) ?? 0) + count);
    }
    this.#samples += samples;
    this.#events.all.forEach((event, i) => event.samples += bySample[i] ?? 0);
  }

  /** Writes the statistics to `write`. */
  statistics(eventNames: readonly string[]): void {
    const { all, hasAuxtrace } = this.#events;
    if (this.#samples > 0) this.#counts.set(PERF_RECORD_SAMPLE, this.#samples);
    const samples = all.map(({ samples }, i) => ({
      name: this.#events.nameOf(i, eventNames) ?? "unknown",
      count: samples,
    }));
    this.#out.text(statsText({ byType: this.#counts, samples, hasAuxtrace }));
    this.#out.flush();
  }

  done(): boolean {
    return this.stats.printed >= this.#limit;
  }

  // KernelTextContext for the current record.

  get eventName(): string {
    const names = this.#engine?.eventNames ?? [];
    return this.#events.nameOf(this.#event?.index ?? -1, names) ?? "unknown";
  }

  get id(): bigint {
    return this.#idAt < 0 ? 0xffff_ffff_ffff_ffffn : this.#view.getBigUint64(this.#idAt, this.#le);
  }

  get readFormat(): number {
    return this.#event?.event.readFormat ?? 0;
  }

  get symbol(): string | undefined {
    return this.#note;
  }

  applied(run: Run, row: number): void {
    const machine = this.#engine?.machine;
    if (machine === undefined) return;
    const type = intAt(run.type, row);
    const start = intAt(run.start, row);
    const end = intAt(run.end, row);
    const { bytes, view } = run.at(row);
    if (type === PERF_RECORD_HEADER_BUILD_ID && !this.#reader.isGoogleDialect) {
      // The record is an entry of the BUILD_ID feature.
      const feature = decodeFeature(HEADER_BUILD_ID, bytes.slice(start, end), {
        littleEndian: this.#le,
      });
      if (feature.name === "BUILD_ID") machine.setKnownBinaries(feature.value);
      return;
    }
    const note = this.#noteOf(machine, type, view, start, end);
    if (note !== undefined) this.#notes.set(row, note);
  }

  /** Stores the state for all records before the first window is written. */
  readonly happened: Applied = (machine, _, view, start, end, position): void => {
    const note = this.#noteOf(machine, view.getUint32(start, this.#le), view, start, end);
    if (note !== undefined) this.#pastNotes.set(position, note);
  };

  /**
   * Text that depends on the machine's state when a record is applied; `undefined` without such
   * text.
   */
  #noteOf(
    machine: Machine,
    type: number,
    view: DataView,
    start: number,
    end: number,
  ): string | undefined {
    const le = this.#le;
    if (type === PERF_RECORD_FORK && machine.wrongParent !== undefined) {
      const { pid, tid } = machine.wrongParent;
      return `removing erroneous parent thread ${pid}/${tid}\n`;
    }
    if (type !== PERF_RECORD_TEXT_POKE) return undefined;
    const at = start + kernelField(type, "addr").offset;
    if (at + 8 > end) return undefined;
    const hi = view.getUint32(le ? at + 4 : at, le);
    const found = machine.ksymbol(hi, view.getUint32(le ? at : at + 4, le));
    return found && `${machine.names.text(found.name)}+0x${found.offset.toString(16)}`;
  }

  rows(run: Run): void {
    const { count, type, event } = run;
    const events = this.#events;
    for (let row = 0; row < count && this.stats.printed < this.#limit; row++) {
      this.#out.reserve();
      const kind = intAt(type, row);
      if (kind >= PERF_RECORD_USER_TYPE_START || kind < 0) {
        this.#userRecord(run, row);
        continue;
      }
      const state = events.all[intAt(event, row)];
      if (kind === PERF_RECORD_SAMPLE && state !== undefined) this.#sample(state, run, row);
      else this.#kernelRecord(state, run, row);
    }
    this.#notes.clear();
  }

  #count(type: number): void {
    this.stats.printed++;
    if (type === PERF_RECORD_SAMPLE) this.#samples++;
    else this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
  }

  /** Sets `#record` to that of a row. */
  #setRecord(run: Run, row: number): PrintedRecord {
    const record = this.#record;
    record.source = run.at(row);
    record.start = intAt(run.start, row);
    record.end = intAt(run.end, row);
    record.place = floatAt(run.offset, row) - this.#base;
    return record;
  }

  /** Writes a kernel record's bytes, time and name. */
  #putHead(event: PerfEvent | undefined, run: Run, row: number): void {
    const record = this.#setRecord(run, row);
    const { source, start, end } = record;
    const isSample = run.type[row] === PERF_RECORD_SAMPLE;
    let timeAt = -1;
    this.#idAt = -1;
    this.#view = source.view;
    if (event !== undefined && isSample) {
      const { time, fixedSize } = event.layout;
      if (time >= 0 && start + fixedSize <= end) timeAt = start + time;
    } else if (event !== undefined) {
      const { size, time, id, identifier } = event.layout.trailer;
      const last = trailerEnd(start, end);
      const isThere = last - size >= start + 8;
      if (isThere && time !== 0) timeAt = last + time;
      if (isThere && (id || identifier) !== 0) this.#idAt = last + (id || identifier);
    }
    const out = this.#out;
    const head = this.#head;
    let p = head.putBytes(out.view, out.p, record);
    p = this.#events.sampleIdAll || isSample
      ? head.putMoment(out.view, p, intAt(run.cpu, row), source.view, timeAt)
      : putAscii(out.view, p, "-1 -1 ");
    out.p = head.putName(out.view, p, record);
  }

  /** Writes a kernel record that is not a sample, or has an unknown event. */
  #kernelRecord(state: EventState | undefined, run: Run, row: number): void {
    this.#shown = !this.#filtered || isWanted(this.#options, run, row, this.#le);
    if (!this.#shown) return;
    this.#count(intAt(run.type, row));
    this.#putHead(state?.event, run, row);
    const out = this.#out;
    if (state === undefined) {
      this.stats.unknownEvents++;
      out.view.setUint8(out.p++, 0x0a);
      return;
    }
    this.#event = state;
    this.#note = this.#engine?.past === undefined
      ? this.#notes.get(row)
      : this.#pastNotes.get(floatAt(run.position, row));
    out.p = putKernelText(out.view, out.p, this.#record, this.#le, this);
    if (run.type[row] === PERF_RECORD_FORK && this.#note !== undefined) out.text(this.#note);
  }

  #sample(state: EventState, run: Run, row: number): void {
    this.#shown = !this.#filtered || isWanted(this.#options, run, row, this.#le);
    const threads = this.#threads;
    if (!this.#shown || threads === undefined) return;
    this.#count(PERF_RECORD_SAMPLE);
    const le = this.#le;
    const record = this.#setRecord(run, row);
    const { source, start, end } = record;
    const { view } = source;
    const { layout } = state.event;
    const text = state.text ??= this.#textOf(state.event, threads);
    const isKnown = this.#events.isKnown(layout);
    if (!isKnown || !text.locate(view, start, end)) {
      this.#bareSample(isKnown, state, run, row);
      return;
    }
    const out = this.#out;
    const isRead = (layout.sampleType & PERF_SAMPLE_READ) !== 0;
    const slot = threads.slotOf(run, row);
    const binary = threads.binaryOf(run, row);
    if (!isRead) state.samples += this.#samplesOf(text);
    const { raw, rawSize } = text.fields;
    const explained = raw < 0 || this.#ibs === undefined
      ? ""
      : this.#ibs.text(state.event.attr.type, view, raw, rawSize, le);
    if (!isRead && this.#symbols === undefined) {
      out.p = text.put(out.view, out.p, record, slot, binary, explained);
    } else {
      const p = this.#head.putSample(out.view, out.p, record, layout, explained);
      out.p = isRead
        ? putAscii(out.view, p, `${run.pid[row]}/${run.tid[row]}: `)
        : threads.putIds(out.view, p, slot);
      this.#symbols?.select(run, row);
      out.p = text.putFields(out.view, out.p, view, start, end, this.#symbols?.putChain);
      const putWhere = (event: EventState): void => {
        // A sample can have thousands of values, and paths can be long.
        out.reserve();
        let p = threads.putLine(out.view, out.p, slot);
        p = threads.putBinary(out.view, p, binary);
        out.p = this.#symbols?.putLine(out.view, p) ?? p;
        if (isRead) event.samples += this.#samplesOf(text);
      };
      const { read } = text.fields;
      const [pid, tid] = [intAt(run.pid, row), intAt(run.tid, row)];
      if (isRead) this.#moves.each(state, this.#events, view, read, le, pid, tid, putWhere);
      else putWhere(state);
    }
    const { fields } = text;
    if (
      fields.auxSize > 0 && this.auxtraceType === PERF_AUXTRACE_INTEL_PT &&
      this.#options.aux !== false
    ) putAuxSample(out, source.bytes, fields.aux, fields.auxSize);
  }

  #textOf(event: PerfEvent, threads: ThreadText): SampleText {
    return new SampleText(event, this.#le, this.#reader.arch, this.#head, threads);
  }

  /** Writes a sample whose fields cannot be read. */
  #bareSample(isKnown: boolean, { event }: EventState, run: Run, row: number): void {
    this.#putHead(event, run, row);
    if (!isKnown) return;
    this.stats.badSamples++;
    this.#out.view.setUint8(this.#out.p++, 0x0a);
  }

  /** Number by which a sample counts. In branch mode, a sample counts its branches. */
  #samplesOf({ fields }: SampleText): number {
    if (!this.#events.branchMode) return 1;
    return fields.branchStack < 0 ? 0 : fields.branchStackLength;
  }

  /** Writes a record of a type that perf itself adds. */
  #userRecord(run: Run, row: number): void {
    const type = intAt(run.type, row);
    if (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2) {
      if (!this.#filtered) this.#count(type);
      return;
    }
    const printed = this.#setRecord(run, row);
    const { source, start, end } = printed;
    const offset = floatAt(run.offset, row);
    // Old Chrome OS tools used the types from ID_INDEX to FEATURE for other records.
    const google = this.#reader.isGoogleDialect && type >= PERF_RECORD_ID_INDEX &&
      type <= PERF_RECORD_HEADER_FEATURE;
    const bytes = source.bytes.subarray(start, end);
    const record = this.#codec.decode(bytes, { littleEndian: this.#le, offset });
    const events = this.#events;
    this.#shown = !this.#filtered || isWanted(this.#options, run, row, this.#le);
    if (!this.#shown && type === PERF_RECORD_AUXTRACE && this.#options.time !== undefined) {
      const { time: _, ...rest } = this.#options;
      if (isWanted(rest, run, row, this.#le)) this.stats.untimedAux++;
    }
    if (this.#shown) {
      this.#count(type);
      const out = this.#out;
      let p = this.#head.putBytes(out.view, out.p, printed);
      if (!events.sampleIdAll) {
        p = putAscii(out.view, p, "-1 -1 ");
      } else {
        if (events.combinedType & PERF_SAMPLE_CPU) p = putAscii(out.view, p, "0 ");
        if (events.combinedType & PERF_SAMPLE_TIME) p = putAscii(out.view, p, "0 ");
      }
      out.p = this.#head.putName(out.view, p, printed);
      out.text(google ? "\n" : userText(record, this.#ordered));
    }
    if (google) return;
    if (type === PERF_RECORD_HEADER_ATTR) {
      events.takeAttr();
      this.#head.combinedType = events.combinedType;
    } else if (record.name === "AUXTRACE_INFO") {
      this.auxtraceType = record.body.type;
    } else if (record.name === "EVENT_UPDATE" && record.body.name !== undefined) {
      events.rename(record.body.id, record.body.name);
    }
  }

  async payload(payload: Payload): Promise<void> {
    if (payload.type !== PERF_RECORD_AUXTRACE || !this.#shown || this.#options.aux === false) {
      return;
    }
    // In perf's memory a file's data has its alignment in the file, a pipe's data is aligned.
    const at = this.#reader.isPipe ? 0 : payload.offset;
    const first = this.#options.fileOffsets === true ? payload.offset : 0;
    const isKnown = await putAuxPayload(this.#out, payload, this.auxtraceType, at, first);
    if (!isKnown) this.stats.undecodedAux++;
  }
}
