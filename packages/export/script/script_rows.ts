import { type PerfEvent, SampleFields } from "@perfdata/format/records";
import { PERF_RECORD_SAMPLE, PERF_TYPE_TRACEPOINT } from "@perfdata/format/constants";
import {
  CHOSEN,
  type Consumer,
  type Engine,
  type Needs,
  PLACE_FRAME,
  type Run,
  SampleReads,
} from "@perfdata/session";
import { enlarge } from "@perfdata/format/bytes";
import type { RowNeeds } from "./script_fields.ts";
import { ScriptTraces } from "./script_traces.ts";

/** Rows per block. */
const ROWS = 1 << 15;

/** Numbers per row of {@linkcode RowBlock}. */
export const ROW_WORDS = 19;

/**
 * Bytes before a record in {@linkcode RowBlock.records}: the index of its event, little-endian.
 */
export const EVENT_BYTES = 8;

/** Columns of a row. */
export const ROW = {
  EVENT: 0,
  PID: 1,
  TID: 2,
  CPU: 3,
  TIME_HI: 4,
  TIME_LO: 5,
  COMM: 6,
  MISC: 7,
  PLACE: 8,
  FRAMES: 9,
  IP_HI: 10,
  IP_LO: 11,
  ADDR_HI: 12,
  ADDR_LO: 13,
  ADDR_PLACE: 14,
  BRANCHES: 15,
  RECORD: 16,
  PERIOD_HI: 17,
  PERIOD_LO: 18,
} as const;

/** In the column `FRAMES`: the row is a record other than a sample, with its text at `RECORD`. */
export const RECORD_TEXT: number = -2;

/** Records other than samples, printed among the samples. */
export interface ShownRecords {
  /** Types of the records. */
  readonly types: ReadonlySet<number>;
  /** Only records of these CPUs. */
  cpus?: ReadonlySet<number> | undefined;
  /** The text of a record after its time, with a newline; valid until the next call. */
  text(run: Run, row: number, littleEndian: boolean): Uint8Array;
  /** The thread in a record's own fields, if it has some, and the offset of its time or -1. */
  thread(
    run: Run,
    row: number,
    littleEndian: boolean,
  ): { readonly pid: number; readonly tid: number; readonly timeAt: number } | undefined;
}

/** Samples that are stored until names are known. */
export interface RowBlock {
  /** Number of rows. */
  count: number;
  /** {@linkcode ROW_WORDS} numbers per row. */
  readonly words: Int32Array;
  /**
   * Call chains as in `Run.frames`, each after its number of words, at `FRAMES`; -1 for samples of
   * events without call chains.
   */
  frames: Int32Array<ArrayBuffer>;
  /** Used words of {@linkcode RowBlock.frames}. */
  frameWords: number;
  /** Source and target places of branches, at `BRANCHES`. */
  branches: Int32Array<ArrayBuffer>;
  /** Used words of {@linkcode RowBlock.branches}. */
  branchWords: number;
  /**
   * Whole records, for fields that are not in a row, at `RECORD`. Each follows the number of its
   * event, which differs from the row's for other events of a group. For records other than
   * samples: their text after its length.
   */
  records: Uint8Array<ArrayBuffer>;
  /** Used bytes of {@linkcode RowBlock.records}. */
  recordBytes: number;
}

/** Counts of rows, for another thread. */
export interface RowCounts {
  /** Number of samples. */
  readonly count: number;
  /** Number of entries of call chains. */
  readonly frames: number;
  /** Number of entries that are unmapped, and so are no places. */
  readonly unmapped: number;
  /** Number of samples at each place. */
  readonly places: Float64Array<ArrayBuffer>;
  /** Number of samples of each event. */
  readonly events: readonly number[];
}

/** Stores the data of samples that `perf script` prints, until names are known. */
export class ScriptRows implements Consumer {
  readonly needs: Needs;
  /** The samples in order. */
  readonly blocks: RowBlock[] = [];
  /** Number of samples. */
  count: number = 0;
  /** Entries of call chains. */
  frames: number = 0;
  /** Number of entries of call chains that are unmapped, and so are no places. */
  unmapped: number = 0;
  #placeCounts = new Float64Array(1 << 10);
  readonly #eventCounts: number[] = [];
  readonly #needs: RowNeeds;
  readonly #shown: ShownRecords | undefined;
  /** Thread names of printed records, by row of the current `Run`. */
  readonly #shownComms = new Map<number, number>();
  /** Number of records other than samples. */
  shown: number = 0;
  /** Stores the thread name of a record at its time, if records are printed. */
  readonly applied?: (run: Run, row: number) => void;
  /** Blocks that can be reused. */
  readonly #spare: RowBlock[] = [];
  #engine: Engine | undefined;
  #reads: SampleReads | undefined;
  #events: readonly PerfEvent[] = [];
  readonly #fields: (SampleFields | undefined)[] = [];
  readonly #kept: (boolean | undefined)[] = [];
  /** Text of tracepoints, available during and after the pass. */
  traces: ScriptTraces | undefined;

  /**
   * Creates the store.
   *
   * @param unmapped Whether unmapped addresses in call chains are places, which the engine counts.
   * @param shown Records other than samples that are printed.
   */
  constructor(needs: RowNeeds, unmapped: boolean = false, shown?: ShownRecords) {
    this.#needs = needs;
    this.#shown = shown;
    if (shown !== undefined) this.applied = (run, row) => this.#applied(shown, run, row);
    const { stacks: frames, addresses: addr, branches } = needs;
    const samples = shown === undefined;
    this.needs = { samples, places: true, addr, frames, unmapped, branches };
  }

  /** Sets the engine of the pass. */
  async start(engine: Engine): Promise<void> {
    this.#engine = engine;
    this.#reads = new SampleReads(engine.reader);
    this.#events = engine.reader.events.all;
    this.traces = new ScriptTraces(engine);
    await this.traces.learn();
  }

  /** Reads the formats of tracepoints that a stream has sent. */
  async described(): Promise<void> {
    await this.traces?.learn();
  }

  /** Stores the samples of a group of records. */
  rows(run: Run): void {
    const { count, type, chosen } = run;
    const reads = this.#reads as SampleReads;
    for (let i = 0; i < count; i++) {
      const kind = type[i] as number;
      if (this.#shown?.types.has(kind)) this.#addShown(this.#shown, run, i);
      if (kind !== PERF_RECORD_SAMPLE) continue;
      if (chosen[i] === CHOSEN.NO) {
        reads.skip(run, i);
        continue;
      }
      const values = reads.take(run, i);
      if (chosen[i] !== CHOSEN.YES) continue;
      for (let k = 0; k < values; k++) {
        this.#add(
          run,
          i,
          reads.event[k] as number,
          reads.periodHi[k] as number,
          reads.periodLo[k] as number,
        );
      }
    }
    this.#shownComms.clear();
  }

  #applied(shown: ShownRecords, run: Run, row: number): void {
    if (!shown.types.has(run.type[row] as number)) return;
    const { machine, reader } = this.#engine as Engine;
    const own = shown.thread(run, row, reader.littleEndian);
    const tid = own?.tid ?? run.tid[row] as number;
    if (tid === -1) return;
    const thread = machine.thread(own?.pid ?? run.pid[row] as number, tid);
    const comm = machine.comms[thread] as number;
    // The trailer, which is printed too, may name another thread.
    this.#shownComms.set(row, comm < 0 ? machine.names.internText(`:${tid}`) : comm);
  }

  /**
   * Stores the text of a record other than a sample (`print_event` of tools/perf/builtin-script.c).
   */
  #addShown(shown: ShownRecords, run: Run, i: number): void {
    const event = Math.max(0, run.event[i] as number);
    const of = this.#events[event];
    if (of === undefined) return;
    // Without a trailer, perf prints CPU 0 and the record's own thread.
    const isPlain = of.layout.trailer.size === 0;
    const cpu = isPlain ? 0 : run.cpu[i] as number;
    if (shown.cpus?.has(cpu) === false) return;
    const { littleEndian } = (this.#engine as Engine).reader;
    const own = isPlain ? shown.thread(run, i, littleEndian) : undefined;
    const block = this.#block();
    const at = block.count++ * ROW_WORDS;
    const { words } = block;
    words.fill(-1, at, at + ROW_WORDS);
    words[at + ROW.EVENT] = event;
    words[at + ROW.PID] = own?.pid ?? run.pid[i] as number;
    words[at + ROW.TID] = own?.tid ?? run.tid[i] as number;
    words[at + ROW.CPU] = cpu;
    const timeAt = own?.timeAt ?? -1;
    const { view } = run.at(i);
    const half = (upper: boolean): number =>
      timeAt < 0 ? 0 : view.getInt32(timeAt + (upper === littleEndian ? 4 : 0), littleEndian);
    words[at + ROW.TIME_HI] = isPlain ? half(true) : run.timeHi[i] as number;
    words[at + ROW.TIME_LO] = isPlain ? half(false) : run.timeLo[i] as number;
    words[at + ROW.COMM] = this.#shownComms.get(i) ?? -1;
    words[at + ROW.MISC] = run.misc[i] as number;
    words[at + ROW.IP_LO] = run.type[i] as number;
    words[at + ROW.FRAMES] = RECORD_TEXT;
    const text = shown.text(run, i, littleEndian);
    const offset = this.#reserve(block, text.length);
    for (let k = 0; k < 4; k++) block.records[offset - EVENT_BYTES + k] = text.length >>> 8 * k;
    block.records.set(text, offset);
    words[at + ROW.RECORD] = offset;
    this.shown++;
  }

  /** Reads the formats of tracepoints, which come last in a file that is read as a stream. */
  async finish(): Promise<void> {
    await this.traces?.learn();
  }

  /** Clears the blocks for reuse. */
  clear(): void {
    for (const block of this.blocks.splice(0)) {
      block.count = 0;
      block.frameWords = 0;
      block.branchWords = 0;
      block.recordBytes = 0;
      this.#spare.push(block);
    }
  }

  /** The counts, for another thread. */
  part(): RowCounts {
    const { count, frames, unmapped } = this;
    return { count, frames, unmapped, places: this.samples(), events: this.#eventCounts };
  }

  /**
   * Adds the counts of another thread.
   *
   * @param places This thread's number of each of its places.
   */
  join(part: RowCounts, places: Int32Array): void {
    this.count += part.count;
    this.frames += part.frames;
    this.unmapped += part.unmapped;
    for (const [event, count] of part.events.entries()) this.#count(event, -1, count);
    for (const [place, count] of part.places.entries()) {
      if (count > 0) this.#countPlace(places[place] as number, count);
    }
  }

  /** The engine of the pass. There is none before the pass. */
  get engine(): Engine {
    return this.#engine as Engine;
  }

  /** Number of samples at each place. */
  samples(): Float64Array<ArrayBuffer> {
    const counts = new Float64Array(this.engine.places.count);
    counts.set(this.#placeCounts.subarray(0, counts.length));
    return counts;
  }

  /** Number of samples of the events that `which` accepts. */
  countOf(which: (event: number) => boolean): number {
    let sum = 0;
    for (const [event, count] of this.#eventCounts.entries()) if (which(event)) sum += count;
    return sum;
  }

  #count(event: number, place: number, count: number): void {
    while (event >= this.#eventCounts.length) this.#eventCounts.push(0);
    (this.#eventCounts[event] as number) += count;
    if (place >= 0) this.#countPlace(place, count);
  }

  #countPlace(place: number, count: number): void {
    if (place >= this.#placeCounts.length) {
      this.#placeCounts = enlarge(this.#placeCounts, place + 1);
    }
    (this.#placeCounts[place] as number) += count;
  }

  #block(): RowBlock {
    let block = this.blocks.at(-1);
    if (block === undefined || block.count === ROWS) {
      block = this.#spare.pop() ?? {
        count: 0,
        words: new Int32Array(ROWS * ROW_WORDS),
        // The size of the previous block and a quarter more.
        frames: new Int32Array((block?.frameWords ?? 0) * 1.25 | 0),
        frameWords: 0,
        branches: new Int32Array(0),
        branchWords: 0,
        records: new Uint8Array(0),
        recordBytes: 0,
      };
      this.blocks.push(block);
    }
    return block;
  }

  #add(run: Run, i: number, event: number, periodHi: number, periodLo: number): void {
    const block = this.#block();
    this.count++;
    this.#count(event, run.place[i] as number, 1);
    const row = block.count++;
    const at = row * ROW_WORDS;
    const { words } = block;
    words[at + ROW.PERIOD_HI] = periodHi;
    words[at + ROW.PERIOD_LO] = periodLo;
    words[at + ROW.EVENT] = event;
    words[at + ROW.PID] = run.pid[i] as number;
    words[at + ROW.TID] = run.tid[i] as number;
    words[at + ROW.CPU] = run.cpu[i] as number;
    words[at + ROW.TIME_HI] = run.timeHi[i] as number;
    words[at + ROW.TIME_LO] = run.timeLo[i] as number;
    words[at + ROW.COMM] = run.comm[i] as number;
    words[at + ROW.MISC] = run.misc[i] as number;
    words[at + ROW.PLACE] = run.place[i] as number;
    words[at + ROW.FRAMES] = -1;
    words[at + ROW.BRANCHES] = -1;
    words[at + ROW.RECORD] = -1;
    // The record's own event determines the fields, also for other events of its group.
    const of = this.#events[run.event[i] as number];
    if (of === undefined) return;
    const { view } = run.at(i);
    const le = (this.#engine as Engine).reader.littleEndian;
    const start = run.start[i] as number;
    const ip = of.ipAt(view, start, run.end[i] as number, le);
    if (ip >= 0) {
      words[at + ROW.IP_HI] = view.getInt32(le ? ip + 4 : ip, le);
      words[at + ROW.IP_LO] = view.getInt32(le ? ip : ip + 4, le);
    }
    if (this.#needs.stacks && of.hasChain) {
      words[at + ROW.FRAMES] = this.#addFrames(block, run, i);
    }
    if (this.#needs.addresses && of.layout.addr >= 0) {
      const addr = start + of.layout.addr;
      words[at + ROW.ADDR_HI] = view.getInt32(le ? addr + 4 : addr, le);
      words[at + ROW.ADDR_LO] = view.getInt32(le ? addr : addr + 4, le);
      words[at + ROW.ADDR_PLACE] = run.addr[i] as number;
    }
    if (this.#needs.branches) this.#addBranches(block, at, run, i);
    const number = run.event[i] as number;
    const isKept = this.#kept[number] ??= this.#needs.records(of);
    if (isKept) this.#addRecord(block, at, run, i, of);
  }

  /** Copies the call chain of a row. Returns its position. */
  #addFrames(block: RowBlock, run: Run, i: number): number {
    const from = run.frameStart[i] as number;
    const to = run.frameStart[i + 1] as number;
    const start = block.frameWords;
    const end = block.frameWords = start + 1 + to - from;
    if (end > block.frames.length) block.frames = enlarge(block.frames, Math.max(1 << 16, end));
    const { frames } = block;
    frames[start] = to - from;
    let unmapped = 0;
    for (let k = from, at = start + 1; k < to; k += 2, at += 2) {
      const first = run.frames[k] as number;
      if (first !== PLACE_FRAME) unmapped++;
      frames[at] = first;
      frames[at + 1] = run.frames[k + 1] as number;
    }
    this.frames += (to - from) / 2;
    this.unmapped += unmapped;
    return start;
  }

  #addBranches(block: RowBlock, at: number, run: Run, i: number): void {
    const from = run.branchStart[i] as number;
    const to = run.branchStart[i + 1] as number;
    if (from === to) return;
    const start = block.branchWords;
    if (start + to - from > block.branches.length) {
      block.branches = enlarge(block.branches, start + to - from);
    }
    block.words[at + ROW.BRANCHES] = start;
    block.branches.set(run.branches.subarray(from, to), start);
    block.branchWords = start + to - from;
  }

  /** Makes room for a record. Returns its position. */
  #reserve(block: RowBlock, bytes: number): number {
    // A multiple of a word, which keeps numbers aligned.
    const offset = block.recordBytes + EVENT_BYTES;
    const end = block.recordBytes = offset + (bytes + 7 & ~7);
    if (end > block.records.length) block.records = enlarge(block.records, Math.max(1 << 16, end));
    return offset;
  }

  #addRecord(block: RowBlock, at: number, run: Run, i: number, event: PerfEvent): void {
    const { bytes, view } = run.at(i);
    const start = run.start[i] as number;
    const end = run.end[i] as number;
    const offset = this.#reserve(block, end - start);
    const number = run.event[i] as number;
    for (let k = 0; k < 4; k++) block.records[offset - EVENT_BYTES + k] = number >>> 8 * k;
    block.records.set(bytes.subarray(start, end), offset);
    block.words[at + ROW.RECORD] = offset;
    if (event.attr.type !== PERF_TYPE_TRACEPOINT) return;
    const fields = this.#fields[number] ??= new SampleFields(event.attr);
    const le = (this.#engine as Engine).reader.littleEndian;
    if (!fields.locate(view, start, end, le) || fields.raw < 0) return;
    const { raw, rawSize } = fields;
    this.traces?.collect(event, run.thread[i] as number, bytes, view, raw, raw + rawSize);
  }
}
