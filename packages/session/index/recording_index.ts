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
 * The part of an index that the history of the machine is made from, in the form for sending it to
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

/**
 * Called for each record that is neither a sample nor a FINISHED_ROUND. Both halves of the time are
 * 0 if it has none.
 */
type OtherRecords = (batch: RecordBatch, i: number, hi: number, lo: number) => void;

/** Approximate bytes of a block. */
const BLOCK_BYTES = 1 << 20;

/**
 * Inflated bytes of a block are at least this many times the bytes of its resume state, and at
 * least 1/16 of all bytes before. So the memory for resume states grows with the window, and hardly
 * with the recording.
 */
const SPARSE = 16;
/**
 * With a larger window, as of the highest compression levels, all compressed records are one block.
 */
const MOST_HISTORY = 1 << 23;

/** 1 for types of records that change the machine. */
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

/** Whether records of a type change the machine. */
export function changesMachine(type: number): boolean {
  return HISTORY[type] === 1;
}

/**
 * A block of the file: consecutive records, about 1 MB, that can be read without the records before
 * them.
 */
export interface IndexBlock {
  /** File offset of the first record. */
  readonly from: number;
  /** File offset after the last one. */
  readonly to: number;
  /** Index of the first record among those of the file. */
  readonly first: number;
  /** FINISHED_ROUND records before it. */
  readonly round: number;
  /** State of the decompressor at its start, if records are compressed. */
  readonly resume?: InflaterState | undefined;
  /** The count of its records. */
  readonly records: number;
  /** The count of its samples. */
  readonly samples: number;
  /** The count of its records with a time. */
  readonly timed: number;
  /** The oldest time in it, in ns; all bits set if no record has a time. */
  readonly oldest: bigint;
  /** The latest time; 0 if no record has a time. */
  readonly youngest: bigint;
}

/** The location of a block in the file, in a form that can be sent to another thread. */
export type BlockRange = Pick<IndexBlock, "from" | "to" | "first" | "round" | "resume">;

/**
 * Memory that only this block uses, so that it can be transferred to another thread without a copy.
 */
export function* memoryOf({ resume }: BlockRange): Generator<ArrayBuffer, void, void> {
  if (resume?.stream !== undefined) yield resume.stream.history.buffer;
}

/** The block that the scan is in. */
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

/** Offsets for a sample without these fields. */
const NOWHERE = { time: -1, pid: -1 } as const;

/** Offsets of time and pid in samples, and of the time in other records, by index of the event. */
class TimeOffsets {
  readonly sample: readonly { readonly time: number; readonly pid: number }[];
  readonly trailer: readonly number[];
  /** Whether the offsets are the same in all samples. */
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
 * The result of one scan over a file: blocks that can be read in any order, and the records from
 * which the history of the machine is made.
 *
 * ```text
 * file:    | MMAP COMM | sample sample … | FORK | sample … ROUND | …
 * blocks:  |<------------ 1 MB ------------>|<------- 1 MB ------>| …    from, to, times, samples
 * records: MMAP COMM FORK …   with their moments (see Moments)
 * seen:    the threads of samples, with the first of each
 * ```
 *
 * The scan reads headers of records, and the time and thread of samples. It decodes nothing, but
 * inflates compressed records. Blocks of compressed records are larger and have a resume state: the
 * last bytes before the block, which matches refer to, and tables of the compression.
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
  /** Whether records can be sorted by time; otherwise the order of the file counts. */
  readonly isTimed: boolean;
  /** The blocks, in the order of the file. */
  readonly blocks: IndexBlock[] = [];
  /** FINISHED_ROUND records. */
  readonly rounds: Rounds = new Rounds();
  /** The records that change the machine. */
  readonly records: KeptRecords = new KeptRecords();
  /** The threads of samples. */
  readonly seen: SeenThreads;
  /** Number of records by type. */
  readonly types: Map<number, number> = new Map();
  /** Counts of the reader. */
  stats: ReaderStats;
  /** Whether records came from COMPRESSED records. */
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
   * Scans a file.
   *
   * @param reader The file; a stream cannot be read again.
   * @param blockBytes Approximate bytes of a block; 1 MB by default.
   * @throws {PerfDataError} In strict mode, if the file is damaged; a tolerant reader reports it.
   */
  static async read(
    reader: PerfDataReader,
    { blockBytes = BLOCK_BYTES, order, from, quiet = false, progress, other }: {
      readonly blockBytes?: number;
      /** `file`: the order of the file counts, even if records have times. */
      readonly order?: "time" | "file" | undefined;
      /** File offset of the first record. */
      readonly from?: number | undefined;
      /** Whether damage is not reported, because a later pass reports it; false by default. */
      readonly quiet?: boolean;
      readonly progress?: ((bytes: number) => void) | undefined;
      /**
       * Called for each record that is neither a sample nor a FINISHED_ROUND. Both halves of the
       * time are 0 if it has none.
       */
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
    // The last block also covers a payload or damage after the last record.
    const { offset, size } = reader.data;
    if (block !== undefined && Number.isFinite(size)) block.to = offset + size;
    if (Number.isFinite(size)) progress?.(size - before);
    index.stats = reader.stats;
    index.records.moments.settle(index.rounds, index.isTimed);
    index.seen.moments.settle(index.rounds, index.isTimed);
    return index;
  }

  /** The inputs of the history, in the form for sending them to another thread. */
  historyPart(): HistoryPart {
    return {
      isTimed: this.isTimed,
      rounds: this.rounds.part(),
      records: this.records.part(),
      seen: this.seen.part(),
    };
  }

  /** Begins a block with record `i` of a batch, where the previous block ends. */
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
   * Begins a block with a batch after COMPRESSED records, if the previous block is large enough and
   * the reader has a resume state.
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

  /** Adds the records of a batch; returns the block of the last one. */
  #take(batch: RecordBatch, before: OpenBlock | undefined, blockBytes: number): OpenBlock {
    let block = before ?? this.#begin(batch, 0, undefined);
    const isInflated = this.#reader.stats.inflatedBytes > 0;
    // Records of one COMPRESSED record stay in one block.
    if (isInflated && batch.inflatedFrom < 0) block = this.#resumed(batch, block, blockBytes);
    let limit = isInflated ? Infinity : block.from + blockBytes - batch.offset;
    const { view, starts, count, littleEndian: le, firstIndex } = batch;
    const { rounds, seen, types } = this;
    const { events } = this.#reader;
    // In a pipe, events come with the records.
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

  /** Adds record `i` of a batch, which is not a sample. */
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
