import {
  type InflaterState,
  type PerfDataReader,
  type PerfEvent,
  type ReaderStats,
  type RecordBatch,
  recordSize,
  trailerEnd,
} from "@perfdata/format/records";
import {
  PERF_RECORD_COMM,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_EXIT,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_FORK,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_TEXT_POKE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import { isKnownTime } from "../order/record_time.ts";
import { isTimeOrdered } from "../order/order.ts";
import { KeptRecords, type KeptRecordsPart } from "./kept_records.ts";
import { Rounds, type RoundsPart } from "./rounds.ts";
import { SeenThreads, type SeenThreadsPart } from "./seen_threads.ts";

/**
 * The part of an index from which the past of the machine is made, in the form for sending it to
 * another thread.
 */
export interface HistoryPart {
  /** Whether records can be brought into an order of time. */
  readonly isTimed: boolean;
  /** FINISHED_ROUND records. */
  readonly rounds: RoundsPart;
  /** The records that change the machine. */
  readonly records: KeptRecordsPart;
  /** The threads of samples. */
  readonly seen: SeenThreadsPart;
}

/** Called for each record that is neither a sample nor a FINISHED_ROUND, with its time or two 0. */
type OtherRecords = (batch: RecordBatch, i: number, hi: number, lo: number) => void;

/** Bytes of a block, about. */
const BLOCK_BYTES = 1 << 20;

/**
 * Inflated bytes of a block are at least this many times those that it takes to begin it, and a part of
 * all that came before: what is kept of blocks grows with the window, and hardly with the recording.
 */
const SPARSE = 16;
/** With a larger window, as of the highest levels of compression, all that is compressed is one block. */
const MOST_HISTORY = 1 << 23;

/** Records that the history of a machine is made of: 1 for their types. */
const HISTORY = new Uint8Array(256);
for (
  const type of [
    PERF_RECORD_MMAP,
    PERF_RECORD_MMAP2,
    PERF_RECORD_COMM,
    PERF_RECORD_FORK,
    PERF_RECORD_EXIT,
    PERF_RECORD_NAMESPACES,
    PERF_RECORD_KSYMBOL,
    PERF_RECORD_TEXT_POKE,
    PERF_RECORD_HEADER_BUILD_ID,
    PERF_RECORD_EVENT_UPDATE,
  ]
) HISTORY[type] = 1;

/** A range of records that can be read for itself. */
export interface IndexBlock {
  /** File offset of the first record. */
  readonly from: number;
  /** File offset after the last one. */
  readonly to: number;
  /** Number of the first record among those of the file. */
  readonly first: number;
  /** FINISHED_ROUND records before it. */
  readonly round: number;
  /** What it takes to begin with it where records are compressed. */
  readonly resume?: InflaterState | undefined;
  /** Number of records. */
  readonly records: number;
  /** Number of samples. */
  readonly samples: number;
  /** Number of records with a time. */
  readonly timed: number;
  /** The oldest time in it, in ns; all ones where no record has a time. */
  readonly oldest: bigint;
  /** The youngest; 0 if no record has a time. */
  readonly youngest: bigint;
}

/** Inputs for reading a block, in a form that can be sent to another thread. */
export type BlockRange = Pick<IndexBlock, "from" | "to" | "first" | "round" | "resume">;

/** The memory that a block has for itself alone: handed over to another thread, it need not be copied. */
export function* memoryOf({ resume }: BlockRange): Generator<ArrayBuffer, void, void> {
  if (resume?.stream !== undefined) yield resume.stream.history.buffer;
}

/** A block that is being looked through. */
class OpenBlock implements IndexBlock {
  readonly from: number;
  to: number;
  readonly first: number;
  readonly round: number;
  readonly resume: InflaterState | undefined;
  /** Inflated bytes of the recording before it. */
  readonly inflated: number;
  records = 0;
  samples = 0;
  timed = 0;
  #oldestHi = 0xffff_ffff;
  #oldestLo = 0xffff_ffff;
  #youngestHi = 0;
  #youngestLo = 0;

  constructor(
    { from, first, round, resume }: Omit<BlockRange, "to">,
    inflated: number,
  ) {
    this.from = this.to = from;
    this.first = first;
    this.round = round;
    this.resume = resume;
    this.inflated = inflated;
  }

  see(hi: number, lo: number): void {
    hi >>>= 0;
    lo >>>= 0;
    this.timed++;
    if (hi > this.#youngestHi || (hi === this.#youngestHi && lo > this.#youngestLo)) {
      this.#youngestHi = hi;
      this.#youngestLo = lo;
    }
    if (hi < this.#oldestHi || (hi === this.#oldestHi && lo < this.#oldestLo)) {
      this.#oldestHi = hi;
      this.#oldestLo = lo;
    }
  }

  get oldest(): bigint {
    return BigInt(this.#oldestHi) << 32n | BigInt(this.#oldestLo);
  }

  get youngest(): bigint {
    return BigInt(this.#youngestHi) << 32n | BigInt(this.#youngestLo);
  }
}

/** Offset of what a sample does not have. */
const NOWHERE = { time: -1, pid: -1 } as const;

/** Where samples have their time and thread, and other records the time, by number of the event. */
class TimeOffsets {
  readonly sample: readonly { readonly time: number; readonly pid: number }[];
  readonly trailer: readonly number[];
  /** Whether all samples have them in the same place. */
  readonly isUniform: boolean;

  constructor(events: readonly PerfEvent[]) {
    this.sample = events.map(({ layout: { time, pid } }) => ({ time, pid }));
    this.trailer = events.map(({ layout: { trailer } }) => trailer.time);
    const [first] = this.sample;
    this.isUniform = first !== undefined &&
      this.sample.every(({ time, pid }) => time === first.time && pid === first.pid);
  }
}

/**
 * What one look through a file finds: blocks that can be read in any order, and the records that the past
 * of the machine is made of.
 *
 * ```text
 * file:    | MMAP COMM | sample sample … | FORK | sample … ROUND | …
 * blocks:  |<------------ 1 MB ------------>|<------- 1 MB ------>| …    from, to, times, samples
 * records: MMAP COMM FORK …   with when they happen (see Moments)
 * seen:    the threads of samples, with the first of each
 * ```
 *
 * Headers of records are read, and of samples the time and the thread: nothing is decoded. A file whose
 * records are compressed is inflated. Its blocks are larger, and have with them what it takes to begin there:
 * the last bytes that came before, which matches refer to, and tables of the compression.
 *
 * @example
 * ```ts
 * import { openSource } from "@perfdata/format/files";
 * import { PerfDataReader } from "@perfdata/format";
 * import { RecordingIndex } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const file = "fixtures/recorded/callchain.perf.data";
 * const reader = await PerfDataReader.open(openSource(file));
 * const index = await RecordingIndex.read(reader);
 * assertEquals(index.blocks.length, 1);
 * assertEquals(index.blocks[0]?.samples, index.types.get(9));
 * ```
 */
export class RecordingIndex {
  /** Whether records can be brought into an order of time; otherwise they happen as the file has them. */
  readonly isTimed: boolean;
  /** The blocks, in the order of the file. */
  readonly blocks: IndexBlock[] = [];
  /** FINISHED_ROUND records. */
  readonly rounds: Rounds = new Rounds();
  /** The records that the past of the machine is made of. */
  readonly records: KeptRecords = new KeptRecords();
  /** The threads of samples. */
  readonly seen: SeenThreads;
  /** How many records of each type there are. */
  readonly types: Map<number, number> = new Map();
  /** What the reader counted. */
  stats: ReaderStats;
  /** Whether records came out of COMPRESSED ones. */
  isCompressed: boolean = false;
  readonly #reader: PerfDataReader;
  readonly #other: OtherRecords | undefined;
  #columns: TimeOffsets;

  private constructor(reader: PerfDataReader, isTimed: boolean, other: OtherRecords | undefined) {
    this.#reader = reader;
    this.#other = other;
    this.isTimed = isTimed;
    this.seen = new SeenThreads(this.rounds, isTimed);
    this.stats = reader.stats;
    this.#columns = new TimeOffsets(reader.events.all);
  }

  /**
   * Looks through a file.
   *
   * @param reader The file; a stream cannot be read again.
   * @param blockBytes Bytes of a block, about; 1 MB by default.
   * @throws {PerfDataError} In strict mode, if the file is damaged; a tolerant reader reports it.
   */
  static async read(
    reader: PerfDataReader,
    { blockBytes = BLOCK_BYTES, order, from, quiet = false, progress, other }: {
      readonly blockBytes?: number;
      /** `file`: records happen as the file has them, whether they have times or not. */
      readonly order?: "time" | "file" | undefined;
      /** File offset of the first record. */
      readonly from?: number | undefined;
      /** Whether damage is not reported, since there is a pass that does so; false by default. */
      readonly quiet?: boolean;
      readonly progress?: ((bytes: number) => void) | undefined;
      /** Called for each record that is neither a sample nor a FINISHED_ROUND, with its time or two 0. */
      readonly other?: OtherRecords | undefined;
    } = {},
  ): Promise<RecordingIndex> {
    const index = new RecordingIndex(reader, order !== "file" && isTimeOrdered(reader), other);
    let block: OpenBlock | undefined;
    let before = 0;
    const span = from === undefined ? {} : { from };
    for await (const batch of reader.batches({ ...span, quiet })) {
      if (batch.count === 0) continue;
      if (batch.inflatedFrom >= 0) index.isCompressed = true;
      block = index.#take(batch, block, blockBytes);
      const last = batch.count - 1;
      block.to = batch.offsetOf(last) + batch.size(last);
      if (progress !== undefined) {
        const { recordBytes, payloadBytes } = reader.stats;
        progress(recordBytes + payloadBytes - before);
        before = recordBytes + payloadBytes;
      }
    }
    // What comes after the last record is a payload, or damage that was reported.
    const { offset, size } = reader.data;
    if (block !== undefined && Number.isFinite(size)) block.to = offset + size;
    if (Number.isFinite(size)) progress?.(size - before);
    index.stats = reader.stats;
    index.records.moments.settle(index.rounds, index.isTimed);
    index.seen.moments.settle(index.rounds, index.isTimed);
    return index;
  }

  /** What the past of the machine is made of, to be sent to another thread. */
  historyPart(): HistoryPart {
    return {
      isTimed: this.isTimed,
      rounds: this.rounds.part(),
      records: this.records.part(),
      seen: this.seen.part(),
    };
  }

  /** Begins a block with record `i` of a batch, where the one before ends. */
  #begin(
    batch: RecordBatch,
    i: number,
    before: OpenBlock | undefined,
    resume?: InflaterState,
  ): OpenBlock {
    const from = batch.offsetOf(i);
    if (before !== undefined) before.to = from;
    const block = new OpenBlock({
      from,
      first: batch.firstIndex + i,
      round: this.rounds.count,
      resume,
    }, this.#reader.stats.inflatedBytes);
    this.blocks.push(block);
    return block;
  }

  /**
   * Begins a block with a batch after COMPRESSED records, where the one before has enough of them and what
   * it takes to begin there is known.
   */
  #resumed(batch: RecordBatch, before: OpenBlock, asked: number): OpenBlock {
    const { inflatedBytes } = this.#reader.stats;
    const history = before.resume?.stream?.history.length ?? 0;
    const bytes = inflatedBytes - before.inflated + batch.offsetOf(0) - before.from;
    const least = Math.max(asked, SPARSE * history, inflatedBytes / SPARSE);
    if (bytes < least || history > MOST_HISTORY) return before;
    const resume = this.#reader.inflaterState();
    return resume === undefined ? before : this.#begin(batch, 0, before, resume);
  }

  /** Takes the records of a batch; returns the block that the last one is in. */
  #take(batch: RecordBatch, before: OpenBlock | undefined, blockBytes: number): OpenBlock {
    let block = before ?? this.#begin(batch, 0, undefined);
    const isInflated = this.#reader.stats.inflatedBytes > 0;
    // What came out of a COMPRESSED record is read with it.
    if (isInflated && batch.inflatedFrom < 0) block = this.#resumed(batch, block, blockBytes);
    let limit = isInflated ? Infinity : block.from + blockBytes - batch.offset;
    const { view, starts, count, littleEndian: le, firstIndex } = batch;
    const { rounds, seen, types } = this;
    const { events } = this.#reader;
    // In a pipe they come with the records.
    if (events.all.length > this.#columns.trailer.length) {
      this.#columns = new TimeOffsets(events.all);
    }
    const offsets = this.#columns;
    const { isUniform } = offsets;
    const hasOffCpu = events.all.some(({ isOffCpu }) => isOffCpu);
    let { time, pid } = offsets.sample[0] ?? NOWHERE;
    const highAt = le ? 4 : 0;
    const lowAt = 4 - highAt;
    let samples = 0;
    for (let i = 0; i < count; i++) {
      const start = starts[i] as number;
      const type = view.getUint32(start, le);
      if (start >= limit) {
        block = this.#begin(batch, i, block);
        limit = start + blockBytes;
      }
      block.records++;
      if (type !== PERF_RECORD_SAMPLE) {
        this.#takeOther(batch, i, type, block);
        continue;
      }
      const end = start + recordSize(view, start, le);
      samples++;
      block.samples++;
      if (!isUniform) {
        const of = events.indexOf(view, start, end, type, le);
        ({ time, pid } = offsets.sample[of] ?? NOWHERE);
      }
      let hi = 0;
      let lo = 0;
      if (time >= 8 && start + time + 8 <= end) {
        hi = view.getInt32(start + time + highAt, le);
        lo = view.getInt32(start + time + lowAt, le);
        if (isKnownTime(hi, lo)) {
          rounds.see(hi, lo);
          block.see(hi, lo);
        } else hi = lo = 0;
      }
      const of = hasOffCpu ? events.all[events.indexOf(view, start, end, type, le)] : undefined;
      if (of?.isOffCpu === true) {
        const meant = of.offCpu(view, start, end, le);
        if (meant !== undefined) seen.see(meant.pid, meant.tid, hi, lo, firstIndex + i);
      } else if (pid >= 8 && start + pid + 8 <= end) {
        const process = view.getInt32(start + pid, le);
        seen.see(process, view.getInt32(start + pid + 4, le), hi, lo, firstIndex + i);
      }
    }
    if (samples > 0) types.set(PERF_RECORD_SAMPLE, (types.get(PERF_RECORD_SAMPLE) ?? 0) + samples);
    return block;
  }

  /** Takes record `i` of a batch, which is no sample. */
  #takeOther(batch: RecordBatch, i: number, type: number, block: OpenBlock): void {
    const { rounds, types } = this;
    types.set(type, (types.get(type) ?? 0) + 1);
    if (type === PERF_RECORD_FINISHED_ROUND) {
      rounds.finish();
      return;
    }
    if (type >= PERF_RECORD_USER_TYPE_START && HISTORY[type] !== 1) {
      if (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2) {
        this.isCompressed = true;
      }
      this.#other?.(batch, i, 0, 0);
      return;
    }
    const { bytes, view, littleEndian: le } = batch;
    const start = batch.start(i);
    const end = start + recordSize(view, start, le);
    let hi = 0;
    let lo = 0;
    if (type < PERF_RECORD_USER_TYPE_START) {
      const of = this.#reader.events.indexOf(view, start, end, type, le);
      const trailer = this.#columns.trailer[of] ?? 0;
      const at = trailer === 0 ? -1 : trailerEnd(start, end) + trailer;
      if (at >= start + 8 && at + 8 <= end) {
        hi = view.getInt32(le ? at + 4 : at, le);
        lo = view.getInt32(le ? at : at + 4, le);
        if (isKnownTime(hi, lo)) {
          rounds.see(hi, lo);
          block.see(hi, lo);
        } else hi = lo = 0;
      }
    }
    this.#other?.(batch, i, hi, lo);
    if (HISTORY[type] === 1) {
      this.records.add(bytes.subarray(start, end), rounds.count, hi, lo, batch.firstIndex + i);
    }
  }
}
