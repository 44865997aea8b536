import {
  PERF_RECORD_COMM,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MISC_MMAP_DATA,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_SAMPLE_CALLCHAIN,
  PERF_TYPE_SOFTWARE,
} from "@perfdata/format/constants";
import {
  ByteText,
  inLine,
  type Piece,
  piece,
  restOfSeconds,
  TextPool,
  wholeSeconds,
} from "@perfdata/format/bytes";
import type { PerfEvent } from "@perfdata/format/records";
import type { Engine } from "@perfdata/session";
import type { ObjectCodeReader } from "@perfdata/session/code";
import type { TimeOrigin } from "@perfdata/pt/decode";
import { addressFromHalves } from "@perfdata/symbols/resolver";
import { type BranchCounters, countersLegend, countersText } from "./branch_counters.ts";
import { cpuText, secondsText, threadText } from "./row_start.ts";
import { BranchBlocks, recordedPlaces } from "./script_blocks.ts";
import { ScriptExtras } from "./script_extras.ts";
import { FrameLines } from "./script_frames.ts";
import type { ScriptField } from "./script_fields.ts";
import type { ScriptPlaces } from "./script_places.ts";
import { EVENT_BYTES, RECORD_TEXT, ROW, ROW_WORDS, type RowBlock } from "./script_rows.ts";
import type { ScriptTraces } from "./script_traces.ts";
import { type ClockTimes, timeOfDay } from "./time_of_day.ts";

/** Options of {@linkcode script}. */
export interface ScriptOptions {
  /** Fields by index of the event. */
  readonly fields: readonly ReadonlySet<ScriptField>[];
  /** Whether to print a sample, by its command and place (-1 without a place). */
  readonly keep?: (comm: string, place: number) => boolean;
  /** `false` prints no call chains (`-G`). */
  readonly chains?: boolean;
  /** Whether times have nanoseconds (`--ns`). */
  readonly nanoseconds?: boolean;
  /** Columns of event names, if more than these events need. */
  readonly nameWidth?: number;
  /** Text of tracepoints. */
  readonly traces?: ScriptTraces | undefined;
  /** Converts times to times of day (`tod`), if the recording has the data. */
  readonly clock?: ClockTimes | undefined;
  /** Reads the code between branches, if it is printed. */
  readonly code?: ObjectCodeReader | undefined;
  /** Layout of the branch counters, if they are printed. */
  readonly counters?: BranchCounters;
  /** Text added to samples, by their number: {@linkcode ScriptWriter.until}. */
  readonly added?: AddedText | undefined;
}

/** Counts of pieces of code. */
export interface CodePieces {
  /** All pieces. */
  readonly wanted: number;
  /** Pieces that are unreadable, and so not printed. */
  readonly missing: number;
}

/** Writes call chains and branch stacks that an Intel PT trace gives to samples. */
export interface AddedText {
  /** Writes the callers of a sample, one line each. Returns their count. */
  readonly callers?: ((text: ByteText, sample: number) => number) | undefined;
  /** Writes the sample's branch stack, if that is a field. */
  readonly branches?: ((text: ByteText, sample: number) => void) | undefined;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** perf's text for a sample without a time: all ones. */
const NO_TIME = "18446744073.709551: ";
const NO_TIME_NS = "18446744073.709551615: ";
const AFTER_TIME = piece(": ");
const NEWLINE = 0x0a;

/** Output properties of an event's samples. */
interface EventShape {
  readonly fields: ReadonlySet<ScriptField>;
  readonly has: Readonly<Partial<Record<ScriptField, boolean>>>;
  readonly chain: boolean;
  /** Writes call chains. */
  readonly lines: FrameLines;
  readonly isTimed: boolean;
  readonly name: Piece;
  /** Writes fields that are not in a row. */
  readonly extras: ScriptExtras;
  /** Whether `addr` is an address with a symbol (`sample_addr_correlates_sym`). */
  readonly isDataAddress: boolean;
  /** The thread of the last sample, with the index of its text. */
  tid: number;
  comm: number;
  pid: number;
  thread: number;
}

interface ThreadText {
  readonly comm: number;
  readonly pid: number;
  /** The fields in the text, and whether the command is padded. */
  readonly form: number;
  readonly number: number;
}

/**
 * Writes samples in the format of `perf script` 6.1 (tools/perf/builtin-script.c,
 * util/evsel_fprintf.c).
 */
export class ScriptWriter {
  /** Text that was not written out yet. */
  readonly text: ByteText = new ByteText();
  /** Number of printed samples. */
  printed: number = 0;
  /** Position at which {@linkcode ScriptWriter.until} continues. */
  #nextBlock = 0;
  #nextRow = 0;
  #nextSample = 0;
  readonly #added: AddedText | undefined;
  readonly #keep: ScriptOptions["keep"];
  readonly #engine: Engine;
  readonly #places: ScriptPlaces;
  readonly #shapes: EventShape[];
  readonly #nanoseconds: boolean;
  readonly #comms = new Map<number, Uint8Array>();
  readonly #cpus = new Map<number, Piece>();
  readonly #threads = new TextPool();
  /** Last text of each thread. */
  readonly #threadTexts = new Map<number, ThreadText>();
  readonly #scratch = new ByteText();
  readonly #lines = new Map<string, FrameLines>();
  readonly #clock: ClockTimes | undefined;
  /** Text before each sample with branch counters. */
  readonly #legend: string;
  /** Writes the code between branches. */
  readonly #blocks: BranchBlocks | undefined;
  /** The records of the current block. */
  #records: Uint8Array = new Uint8Array(0);
  #recordView: DataView = new DataView(new ArrayBuffer(0));
  #seconds = -1;
  #secondsText: Piece = piece("");

  /**
   * Creates the writer.
   *
   * @param engine The pass with the rows.
   * @param places Names of its places, or of the same places in an earlier pass.
   */
  constructor(engine: Engine, places: ScriptPlaces, options: ScriptOptions) {
    this.#engine = engine;
    this.#places = places;
    this.#nanoseconds = options.nanoseconds === true;
    this.#keep = options.keep;
    this.#added = options.added;
    const { eventNames } = engine;
    const width = Math.max(options.nameWidth ?? 0, ...eventNames.map((name) => name.length));
    this.#clock = options.clock;
    if (options.traces !== undefined) options.traces.names = places;
    const { arch, littleEndian } = engine.reader;
    this.#blocks = options.code &&
      new BranchBlocks(recordedPlaces(engine, places), options.code, engine.reader.arch);
    const { counters } = options;
    this.#legend = counters === undefined ? "" : countersLegend(counters, eventNames);
    const events = engine.reader.events.all;
    const machine = {
      arch,
      littleEndian,
      widths: { dataSource: 0 },
      blocks: this.#blocks,
      counters: counters &&
        ((event: PerfEvent, value: bigint) => countersText(counters, events.indexOf(event), value)),
    };
    this.#shapes = engine.reader.events.all.map((event, number) => {
      const { attr, layout } = event;
      const fields = options.fields[number] ?? new Set();
      const has = Object.fromEntries([...fields].map((field) => [field, true]));
      const name = eventNames[number] ?? "[unknown]";
      return {
        fields,
        has: has as EventShape["has"],
        chain: options.chains !== false && (event.meansOffCpu ||
          (layout.sampleType & PERF_SAMPLE_CALLCHAIN) !== 0 ||
          options.added?.callers !== undefined),
        lines: this.#linesOf(has),
        isTimed: layout.time >= 0,
        name: piece(`${name.padStart(width)}: `),
        extras: new ScriptExtras(event, fields, places, options.traces, machine),
        tid: NaN,
        comm: NaN,
        pid: NaN,
        thread: 0,
        // Page faults; PERF_TYPE_BREAKPOINT.
        isDataAddress: (attr.type === PERF_TYPE_SOFTWARE && [2n, 5n, 6n].includes(attr.config)) ||
          attr.type === 5,
      };
    });
  }

  /** The writer of call chains with these fields. */
  #linesOf(has: EventShape["has"]): FrameLines {
    const key = [has.sym, has.symoff, has.dso, has.srcline].join();
    let lines = this.#lines.get(key);
    if (lines === undefined) {
      lines = new FrameLines(this.#places, has);
      this.#lines.set(key, lines);
    }
    return lines;
  }

  /** Counts of pieces of code between branches, if they are printed. */
  get code(): CodePieces | undefined {
    return this.#blocks;
  }

  /** Writes the samples of a block, and passes on full chunks. */
  block(block: RowBlock, out: (bytes: Uint8Array) => void): void {
    this.#enter(block);
    for (let row = 0; row < block.count; row++) {
      this.#row(block, row);
      if (this.text.isFull) out(this.text.lend());
    }
  }

  #enter({ records }: RowBlock): void {
    if (records === this.#records) return;
    this.#records = records;
    this.#recordView = new DataView(records.buffer);
  }

  /**
   * Writes samples of `blocks` up to a time, continuing after the last call.
   *
   * @param ns The time since `origin`.
   * @returns Time of the next sample in ns; Infinity after the last.
   */
  until(
    blocks: readonly RowBlock[],
    ns: number,
    origin: TimeOrigin,
    out: (bytes: Uint8Array) => void,
  ): number {
    for (;;) {
      const block = blocks[this.#nextBlock];
      if (block === undefined) return Infinity;
      if (this.#nextRow >= block.count) {
        this.#nextBlock++;
        this.#nextRow = 0;
        continue;
      }
      const at = this.#nextRow * ROW_WORDS;
      const time = origin.sinceHalves(
        block.words[at + ROW.TIME_HI] as number,
        block.words[at + ROW.TIME_LO] as number,
      );
      if (time > ns) return time;
      this.#enter(block);
      this.#row(block, this.#nextRow++, this.#nextSample++);
      if (this.text.isFull) out(this.text.lend());
    }
  }

  #row(block: RowBlock, row: number, sample = -1): void {
    const { words } = block;
    const at = row * ROW_WORDS;
    const shape = this.#shapes[words[at + ROW.EVENT] as number];
    if (words[at + ROW.FRAMES] === RECORD_TEXT) {
      if (shape !== undefined) this.#start(block, at, shape);
      const record = words[at + ROW.RECORD] as number;
      const size = this.#recordView.getUint32(record - EVENT_BYTES, true);
      this.text.bytes(this.#records.subarray(record, record + size));
      return;
    }
    if (shape === undefined || shape.fields.size === 0) return;
    if (this.#keep !== undefined) {
      const comm = this.#comm(words[at + ROW.COMM] as number, words[at + ROW.TID] as number);
      if (!this.#keep(decoder.decode(comm), words[at + ROW.PLACE] as number)) return;
    }
    this.printed++;
    const { text } = this;
    const { has } = shape;
    if (has.brcntr) text.string(this.#legend);
    this.#start(block, at, shape);
    if (has.period) {
      text.padded64(words[at + ROW.PERIOD_HI] as number, words[at + ROW.PERIOD_LO] as number, 10);
      text.byte(0x20);
    }
    if (has.event) text.piece(shape.name);
    if (has.flags) text.string("                        ");
    const extras = this.#extras(words[at + ROW.RECORD] as number, shape);
    extras?.trace(text);
    if (has.addr) this.#address(words, at, shape);
    extras?.beforeIp(text);
    if (has.ip) this.#ip(block, at, shape, sample);
    extras?.afterIp(text, block.branches, words[at + ROW.BRANCHES] as number, {
      ip: addressFromHalves(words[at + ROW.IP_HI] as number, words[at + ROW.IP_LO] as number),
      place: words[at + ROW.PLACE] as number,
    });
    this.#added?.branches?.(text, sample);
    text.byte(NEWLINE);
  }

  /** The writer of a stored record's fields. The record's event can differ from the row's. */
  #extras(record: number, shape: EventShape): ScriptExtras | undefined {
    if (record < 0) return undefined;
    const event = this.#recordView.getUint32(record - EVENT_BYTES, true);
    const { extras } = this.#shapes[event] ?? shape;
    return extras.take(this.#records, this.#recordView, record) ? extras : undefined;
  }

  /** Writes all fields up to the time. */
  #start({ words }: RowBlock, at: number, shape: EventShape): void {
    const { text } = this;
    const { has, isTimed } = shape;
    const tid = words[at + ROW.TID] as number;
    const comm = words[at + ROW.COMM] as number;
    const pid = has.pid ? words[at + ROW.PID] as number : 0;
    // Samples of a thread mostly follow each other.
    if (tid !== shape.tid || comm !== shape.comm || pid !== shape.pid) {
      shape.tid = tid;
      shape.comm = comm;
      shape.pid = pid;
      shape.thread = this.#threadText(shape);
    }
    text.pooled(this.#threads, shape.thread);
    if (has.cpu) text.piece(this.#cpu(words[at + ROW.CPU] as number));
    if (has.misc) {
      const isRecord = words[at + ROW.FRAMES] === RECORD_TEXT;
      const type = isRecord ? words[at + ROW.IP_LO] as number : PERF_RECORD_SAMPLE;
      text.string(miscText(words[at + ROW.MISC] as number, type));
    }
    if (has.tod) this.#timeOfDay(words, at, isTimed);
    if (has.time) {
      if (isTimed) this.#time(words[at + ROW.TIME_HI] as number, words[at + ROW.TIME_LO] as number);
      else text.string(this.#nanoseconds ? NO_TIME_NS : NO_TIME);
    }
  }

  #timeOfDay(words: Int32Array, at: number, isTimed: boolean): void {
    const hi = isTimed ? words[at + ROW.TIME_HI] as number : -1;
    const lo = isTimed ? words[at + ROW.TIME_LO] as number : -1;
    const time = BigInt(hi >>> 0) << 32n | BigInt(lo >>> 0);
    this.text.string(`${timeOfDay(time, this.#clock, this.#nanoseconds)} `);
  }

  /** Index of the text of comm, pid and tid. */
  #threadText({ has, chain, comm, pid, tid }: EventShape): number {
    const isShort = has.ip === true && chain;
    const known = this.#threadTexts.get(tid);
    const form = Number(isShort) | (has.comm ? 2 : 0) | (has.pid ? 4 : 0) | (has.tid ? 8 : 0);
    if (known?.comm === comm && known.pid === pid && known.form === form) {
      return known.number;
    }
    const text = this.#scratch;
    if (has.comm) {
      const bytes = this.#comm(comm, tid);
      if (!isShort) { for (let i = bytes.length; i < 16; i++) text.byte(0x20); }
      text.bytes(bytes);
      text.byte(0x20);
    }
    text.string(threadText(has, pid, tid));
    const number = this.#threads.add(text.lend());
    this.#threadTexts.set(tid, { comm, pid, form, number });
    return number;
  }

  #cpu(cpu: number): Piece {
    let text = this.#cpus.get(cpu);
    if (text === undefined) this.#cpus.set(cpu, text = piece(cpuText(cpu)));
    return text;
  }

  #comm(comm: number, tid: number): Uint8Array {
    if (comm < 0) return encoder.encode(tid < 0 ? ":-1" : `:${tid}`);
    let bytes = this.#comms.get(comm);
    if (bytes === undefined) {
      bytes = inLine(this.#engine.names.get(comm).slice());
      this.#comms.set(comm, bytes);
    }
    return bytes;
  }

  #time(hi: number, lo: number): void {
    const { text } = this;
    const seconds = wholeSeconds(hi, lo);
    if (seconds !== this.#seconds) {
      this.#seconds = seconds;
      this.#secondsText = piece(secondsText(seconds));
    }
    text.piece(this.#secondsText);
    const rest = restOfSeconds(lo, seconds);
    if (this.#nanoseconds) text.zeros(rest, 9);
    else text.zeros(rest / 1000 | 0, 6);
    text.piece(AFTER_TIME);
  }

  #address(words: Int32Array, at: number, { has, isDataAddress }: EventShape): void {
    const { text } = this;
    text.hex16(words[at + ROW.ADDR_HI] as number, words[at + ROW.ADDR_LO] as number);
    if (!isDataAddress) return;
    const place = words[at + ROW.ADDR_PLACE] as number;
    if (has.sym) {
      text.byte(0x20);
      this.#places.putSymbol(text, place, has.symoff === true);
    }
    if (has.dso) this.#places.putDso(text, place);
  }

  #ip({ words, frames }: RowBlock, at: number, shape: EventShape, sample: number): void {
    const { text } = this;
    const chain = words[at + ROW.FRAMES] as number;
    if (shape.chain && chain >= 0) {
      text.byte(NEWLINE);
      shape.lines.put(text, frames, chain);
      return;
    }
    const place = words[at + ROW.PLACE] as number;
    if (shape.chain) {
      text.byte(NEWLINE);
      if ((this.#added?.callers?.(text, sample) ?? 0) > 0) return;
      text.byte(0x09);
      if (place >= 0) this.#places.putChainAddress(text, place);
      else text.hex16(words[at + ROW.IP_HI] as number, words[at + ROW.IP_LO] as number);
      this.#places.putAfterAddress(text, place, shape.has);
      text.byte(NEWLINE);
      return;
    }
    text.byte(0x20);
    text.hex16(words[at + ROW.IP_HI] as number, words[at + ROW.IP_LO] as number);
    this.#places.putAfterAddress(text, place, shape.has);
  }
}

/** Formats a record's `PERF_RECORD_MISC_*` bits as letters. */
function miscText(misc: number, type: number): string {
  const mode = misc & 7;
  const text = (["", "K", "U", "H", "G", "g"][mode] ?? "") + miscLetters(misc, type);
  return text + " ".repeat(Math.max(1, 6 - text.length));
}

function miscLetters(misc: number, type: number): string {
  switch (type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
      return misc & PERF_RECORD_MISC_MMAP_DATA ? "M" : "";
    case PERF_RECORD_COMM:
      return misc & PERF_RECORD_MISC_COMM_EXEC ? "E" : "";
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
      if ((misc & PERF_RECORD_MISC_SWITCH_OUT) === 0) return "";
      return misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? "Sp" : "S";
    default:
      return "";
  }
}
