import type { BatchOptions, Payload, PerfDataReader, RecordBatch } from "@perfdata/format";
import { PERF_RECORD_SAMPLE, PERF_RECORD_USER_TYPE_START } from "@perfdata/format/perf-event";
import { FutureTimes } from "./future_times.ts";
import { enlarge } from "./machine_names.ts";
import { FINISHED_ROUND, RecordTime } from "./record_time.ts";

/**
 * Rows that are handled in one call: what loops over hundreds of thousands of them in one call, and
 * in few calls, is compiled while the loop runs, and again whenever it meets something new.
 */
const CHUNK = 256;

/**
 * Bytes of records from which on it is looked ahead for the times to come where nothing else bounds
 * what has to wait. Less is held as it is.
 */
const LOOK_AHEAD = 1 << 26;

/** Fewest rows that are worth a look at which of them may go. */
const FEW = 1 << 15;

/** Bytes that hold records: those of a batch, or those of the re-order buffer. */
export interface RecordBytes {
  /** The bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The bytes, for reads in either byte order. */
  readonly view: DataView;
  /** The bytes as 32-bit words of the machine's byte order. */
  readonly words: Int32Array;
}

/** Receives records in the order of their delivery. */
export interface RecordSink {
  /**
   * Called for each record. The bytes are valid during the call only.
   *
   * @param at Bytes that hold the record, in `[start, end)`.
   * @param offset File offset of the record, as `RecordBatch.offsetOf` gives it.
   * @param event Number of the event it belongs to, or -1 where its id is not known.
   */
  record(at: RecordBytes, start: number, end: number, offset: number, event: number): void;
  /** Called in place of `record`, where it is there, for records that waited: several in turn. */
  records?(waiting: WaitingRecords, rows: Int32Array, count: number): void;
  /** Called after a record that a payload follows: AUXTRACE, TRACING_DATA. */
  payload?(payload: Payload): Promise<void>;
  /** Says whether to go on; asked after each batch. */
  done?(): boolean;
}

/** Records that waited for their turn: a row each, which is valid during the call only. */
export interface WaitingRecords {
  /** Bytes that hold records. */
  readonly blocks: readonly RecordBytes[];
  /** The number of the bytes that hold the record of each row. */
  readonly block: Int32Array;
  /** Where in them it starts; its size is that of its header. */
  readonly at: Uint32Array;
  /** Its file offset, as `RecordBatch.offsetOf` gives it. */
  readonly offset: Float64Array;
  /** Number of the event it belongs to, or -1 where its id is not known. */
  readonly event: Int32Array;
}

/** How to deliver records. */
export interface OrderOptions extends Pick<BatchOptions, "from" | "to"> {
  /**
   * `time`, the default: by time, as perf does. `file`: as they stand in the file, which needs no
   * buffer.
   */
  readonly order?: "time" | "file";
  /**
   * Bytes of records from which on a file is read once before, up to its first FINISHED_ROUND; 64 MB
   * by default.
   */
  readonly lookAhead?: number;
}

/** What was found about the order of a file. */
export interface OrderStats {
  /** Records that went through the re-order buffer. */
  queued: number;
  /** Records that were older than one that had been delivered before them. */
  violations: number;
  /** Most bytes that the re-order buffer held. */
  peakBytes: number;
}

/**
 * Whether the records of a file can be brought into an order of time: not where the events were
 * recorded without `sample_id_all`, since then only samples have a time. A pipe is always ordered.
 */
export function isTimeOrdered(reader: PerfDataReader): boolean {
  return reader.isPipe || reader.events.all[0]?.attr.flags.sample_id_all === true;
}

/**
 * Delivers the records of a file to `sink` as `perf` orders them.
 *
 * Kernel records with a time wait in a buffer. At a FINISHED_ROUND all those are delivered, by
 * time, that are not younger than the youngest was at the FINISHED_ROUND before: the kernel's
 * buffers were read in turn, so that nothing older can come any more. What has no time, and perf's
 * own records, are delivered at once. At the end the rest follows. (`ordered-events.c` of perf.)
 *
 * The buffer holds the bytes of at most two rounds. A file without any FINISHED_ROUND is looked
 * through before, so that what is not younger than all that follows need not wait: the order is the
 * same, and the buffer holds no more than the disorder of the file asks for. (A pipe is read once: it
 * is held as a whole then.)
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { deliverInOrder } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * const types: number[] = [];
 * const stats = await deliverInOrder(await PerfDataReader.open(bytesSource(pipe)), {
 *   record: (at, start) => void types.push(at.view.getUint32(start, true)),
 * });
 * assertEquals([types, stats.queued], [[68], 0]);
 * ```
 */
export async function deliverInOrder(
  reader: PerfDataReader,
  sink: RecordSink,
  options: OrderOptions = {},
): Promise<OrderStats> {
  const ordered = options.order !== "file" && isTimeOrdered(reader);
  const stats: OrderStats = { queued: 0, violations: 0, peakBytes: 0 };
  const { from, to, lookAhead = LOOK_AHEAD } = options;
  const span = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  const future = ordered && !reader.isPipe && reader.fileSize !== undefined &&
      reader.data.size >= lookAhead
    ? await FutureTimes.read(reader, span)
    : undefined;
  if (future?.untimedLater === true) {
    const time = new RecordTime(reader.events.all);
    for await (const batch of reader.batches({ ...span, quiet: true })) {
      deliverUntimed(batch, sink, time);
      if (batch.payload !== undefined) await sink.payload?.(batch.payload);
      if (sink.done?.()) return stats;
    }
  }
  const queue = ordered ? new ReorderBuffer(sink, stats, reader.littleEndian, future) : undefined;
  for await (const batch of reader.batches(span)) {
    if (queue === undefined) deliverBatch(batch, sink);
    else queue.take(batch);
    if (batch.payload !== undefined && future?.untimedLater !== true) {
      await sink.payload?.(batch.payload);
    }
    if (sink.done?.()) return stats;
  }
  queue?.finish();
  return stats;
}

/** Delivers what does not wait. */
function deliverUntimed(batch: RecordBatch, sink: RecordSink, time: RecordTime): void {
  for (let i = 0; i < batch.count; i++) {
    const isKernel = batch.type(i) < PERF_RECORD_USER_TYPE_START;
    if (isKernel && time.read(batch, i).known) continue;
    const start = batch.start(i);
    const event = isKernel ? time.event : 0;
    sink.record(batch, start, start + batch.size(i), batch.offsetOf(i), event);
  }
}

function deliverBatch(batch: RecordBatch, sink: RecordSink): void {
  const { view, littleEndian, events } = batch;
  const single = events.all.length <= 1;
  for (let i = 0; i < batch.count; i++) {
    const start = batch.start(i);
    const end = start + batch.size(i);
    const event = single
      ? events.all.length - 1
      : events.indexOf(view, start, end, batch.type(i), littleEndian);
    sink.record(batch, start, end, batch.offsetOf(i), event);
  }
}

/** The next FINISHED_ROUND from record `i` on, or the end of the batch. */
function nextRound(batch: RecordBatch, i: number): number {
  const { view, littleEndian, starts, count } = batch;
  while (i < count && view.getInt32(starts[i] as number, littleEndian) !== FINISHED_ROUND) i++;
  return i;
}

/** Room for those of most rounds: what is not used of it takes no memory. */
const FIRST_ROWS = 1 << 16;

/** Bytes of a block of the re-order buffer; batches are shorter. */
const BLOCK = 1 << 20;

/** Bytes that records are copied into. */
class Block implements RecordBytes {
  readonly bytes = new Uint8Array(BLOCK);
  readonly view = new DataView(this.bytes.buffer);
  readonly words = new Int32Array(this.bytes.buffer);
  used = 0;

  /** Whether so many bytes can be appended. */
  hasRoom(size: number): boolean {
    return this.used + 7 + size <= this.bytes.length;
  }

  /** Copies `bytes[from, to)`, so that its alignment stays; returns how far it moved. */
  append(bytes: Uint8Array, from: number, to: number): number {
    const at = this.used + ((from - this.used) & 7);
    this.used = at + to - from;
    this.bytes.set(bytes.subarray(from, to), at);
    return at - from;
  }
}

/**
 * Added to both halves of a time, so that signed words are in the order of unsigned ones: V8 takes it
 * that a number stays below 2^31 where it has always been, and compiles anew once it does not.
 */
const BIAS = 1 << 31;

/** The records that wait: a row each. */
class Waiting implements WaitingRecords {
  readonly blocks: Block[] = [];
  /** The upper half of its time, biased. */
  timeHi = new Int32Array(FIRST_ROWS);
  /** The lower half, biased. */
  timeLo = new Int32Array(FIRST_ROWS);
  /** Where the record is in its block. */
  at = new Uint32Array(FIRST_ROWS);
  /** The number of its block. */
  block = new Int32Array(FIRST_ROWS);
  /** Its file offset. */
  offset = new Float64Array(FIRST_ROWS);
  event = new Int32Array(FIRST_ROWS);

  /** Makes room for so many rows; those that are there stay. */
  reserve(rows: number): void {
    if (rows <= this.at.length) return;
    this.timeHi = enlarge(this.timeHi, rows);
    this.timeLo = enlarge(this.timeLo, rows);
    this.at = enlarge(this.at, rows);
    this.block = enlarge(this.block, rows);
    this.offset = enlarge(this.offset, rows);
    this.event = enlarge(this.event, rows);
  }

  /** Moves the rows in `[from, to)` to `into` and the rows after it. */
  move(into: number, from: number, to: number): void {
    this.timeHi.copyWithin(into, from, to);
    this.timeLo.copyWithin(into, from, to);
    this.at.copyWithin(into, from, to);
    this.block.copyWithin(into, from, to);
    this.offset.copyWithin(into, from, to);
    this.event.copyWithin(into, from, to);
  }
}

/**
 * Holds the records of the round that is being read and those left of the round before.
 *
 * The kernel wrote a buffer for each CPU, so that the records are in runs of rising times. They
 * are delivered from the heads of the runs:
 *
 * ```text
 *  left of the round before:  | run | run |
 *  this round:                            | run | run | run | ...
 *  at FINISHED_ROUND:         each run up to the limit goes; the blocks of the round before hold
 *                             nothing any more, and are used for the next round
 * ```
 */
class ReorderBuffer {
  readonly #sink: RecordSink;
  readonly #stats: OrderStats;
  readonly #littleEndian: boolean;
  readonly #future: FutureTimes | undefined;
  /** How many rows may wait until it is looked which may go. */
  #enough = FEW;
  // Numbers of blocks: those of the round before, those of this round, and those that are free.
  #before: number[] = [];
  #current: number[] = [];
  #free: number[] = [];
  #bytes = 0;
  #count = 0;
  readonly #waiting = new Waiting();
  /** Rows that are delivered next. */
  readonly #next = new Int32Array(CHUNK);
  /** Where each run of rising times starts. */
  #runs: number[] = [];
  // Biased times: that up to which the next round delivers, and that which was delivered last.
  #limitHi = BIAS;
  #limitLo = BIAS;
  #flushedHi = BIAS;
  #flushedLo = BIAS;

  /** @param future The times that are to come, where no FINISHED_ROUND tells of them. */
  constructor(
    sink: RecordSink,
    stats: OrderStats,
    littleEndian: boolean,
    future: FutureTimes | undefined,
  ) {
    this.#sink = sink;
    this.#stats = stats;
    this.#littleEndian = littleEndian;
    this.#future = future;
  }

  take(batch: RecordBatch): void {
    for (let i = 0; i < batch.count;) {
      let stop = nextRound(batch, i);
      if (stop > i) this.#takeRun(batch, i, stop);
      if (stop < batch.count) {
        const start = batch.start(stop);
        this.#sink.record(batch, start, start + batch.size(stop), batch.offsetOf(stop), 0);
        this.#finishRound();
        stop++;
      }
      i = stop;
    }
    if (this.#future !== undefined && this.#count >= this.#enough) {
      const [hi, lo] = this.#future.boundAfter(this.#stats.queued);
      this.#flush(hi ^ BIAS, lo ^ BIAS);
      this.#freeBlocks();
      // Each look goes through all that waits: not before it has doubled.
      this.#enough = Math.max(FEW, 2 * this.#count);
    }
  }

  /** Takes back the blocks in which nothing waits. */
  #freeBlocks(): void {
    const waiting = new Set(this.#waiting.block.subarray(0, this.#count));
    const [kept, free] = [true, false].map((used) =>
      this.#current.filter((number) => waiting.has(number) === used)
    ) as [number[], number[]];
    this.#current = kept;
    this.#free.push(...free);
    for (const number of free) {
      const block = this.#waiting.blocks[number] as Block;
      this.#bytes -= block.used;
      block.used = 0;
    }
  }

  finish(): void {
    this.#flush(~BIAS, ~BIAS);
  }

  #takeRun(batch: RecordBatch, from: number, to: number): void {
    const last = to - 1;
    // One copy for the whole run, records that do not wait included.
    const moved = this.#copy(batch.bytes, batch.start(from), batch.start(last) + batch.size(last));
    this.#waiting.reserve(this.#count + to - from);
    const before = this.#count;
    for (let i = from; i < to; i += CHUNK) {
      this.#takeSome(batch, i, i + CHUNK < to ? i + CHUNK : to, moved);
    }
    this.#stats.queued += this.#count - before;
    if (this.#bytes > this.#stats.peakBytes) this.#stats.peakBytes = this.#bytes;
  }

  /** Puts records into the buffer whose bytes are in a block, or delivers those without a time. */
  #takeSome(batch: RecordBatch, from: number, to: number, moved: number): void {
    const { view, littleEndian: le, events, starts, inflatedFrom, offset: batchOffset } = batch;
    const lowAt = le ? 0 : 4;
    const highAt = 4 - lowAt;
    const { timeHi, timeLo, at: positions, block: blocks, offset: offsets, event: eventNumbers } =
      this.#waiting;
    const block = this.#current.at(-1) as number;
    let n = this.#count;
    let beforeHi = n > 0 ? timeHi[n - 1] as number : BIAS;
    let beforeLo = n > 0 ? timeLo[n - 1] as number : BIAS;
    const flushedHi = this.#flushedHi;
    const flushedLo = this.#flushedLo;
    let violations = 0;
    const all = events.all;
    const single = all.length === 1 ? all[0] : undefined;
    const untimedDone = this.#future?.untimedLater === true;
    for (let i = from; i < to; i++) {
      const start = starts[i] as number;
      const type = view.getInt32(start, le);
      const end = start + view.getUint16(start + 6, le);
      let hi = 0;
      let lo = 0;
      let event = 0;
      if (type < PERF_RECORD_USER_TYPE_START) {
        event = single !== undefined ? 0 : events.indexOf(view, start, end, type, le);
        const layout = event < 0 ? undefined : all[event]?.layout;
        if (layout !== undefined) {
          // The trailer ends with the last whole word of the record.
          const at = type === PERF_RECORD_SAMPLE
            ? (layout.time < 0 ? -1 : start + layout.time)
            : (layout.trailer.time === 0 ? -1 : end - (end - start & 7) + layout.trailer.time);
          if (at >= start + 8 && at + 8 <= end) {
            lo = view.getInt32(at + lowAt, le);
            hi = view.getInt32(at + highAt, le);
          }
        }
      }
      if ((hi | lo) === 0 || (hi & lo) === -1) {
        if (!untimedDone) this.#sink.record(batch, start, end, batch.offsetOf(i), event);
        continue;
      }
      hi ^= BIAS;
      lo ^= BIAS;
      if (hi < flushedHi || (hi === flushedHi && lo < flushedLo)) violations++;
      if (n === 0 || hi < beforeHi || (hi === beforeHi && lo < beforeLo)) this.#runs.push(n);
      timeHi[n] = beforeHi = hi;
      timeLo[n] = beforeLo = lo;
      positions[n] = start + moved;
      blocks[n] = block;
      offsets[n] = inflatedFrom >= 0 ? inflatedFrom : batchOffset + start;
      eventNumbers[n] = event;
      n++;
    }
    this.#stats.violations += violations;
    this.#count = n;
  }

  /** Copies bytes into the last of the current blocks; returns how far they moved. */
  #copy(bytes: Uint8Array, from: number, to: number): number {
    let block = this.#waiting.blocks[this.#current.at(-1) ?? -1];
    if (block === undefined || !block.hasRoom(to - from)) {
      const number = this.#free.pop() ?? this.#waiting.blocks.push(new Block()) - 1;
      this.#current.push(number);
      block = this.#waiting.blocks[number] as Block;
    }
    this.#bytes -= block.used;
    const moved = block.append(bytes, from, to);
    this.#bytes += block.used;
    return moved;
  }

  #finishRound(): void {
    if (this.#count === 0) return;
    const [hi, lo] = this.#youngest();
    this.#flush(this.#limitHi, this.#limitLo);
    this.#limitHi = hi;
    this.#limitLo = lo;
    // Nothing is left of the round before this one.
    for (const number of this.#before) {
      const block = this.#waiting.blocks[number] as Block;
      this.#bytes -= block.used;
      block.used = 0;
      this.#free.push(number);
    }
    this.#before = this.#current;
    this.#current = [];
  }

  /** The highest time that waits: each run ends with its own. */
  #youngest(): [number, number] {
    let hi = BIAS;
    let lo = BIAS;
    for (let run = 0; run < this.#runs.length; run++) {
      const last = this.#endOf(run) - 1;
      const h = this.#waiting.timeHi[last] as number;
      const l = this.#waiting.timeLo[last] as number;
      if (h > hi || (h === hi && l > lo)) {
        hi = h;
        lo = l;
      }
    }
    return [hi, lo];
  }

  /** Delivers what is not younger than the limit: what came first comes first at equal times. */
  #flush(limitHi: number, limitLo: number): void {
    if ((limitHi === BIAS && limitLo === BIAS) || this.#count === 0) return;
    const runs = new RunHeap(this.#runs, this.#waiting.timeHi, this.#waiting.timeLo);
    for (let count = 1; count > 0;) {
      count = runs.size === 2
        ? this.#takeFromTwo(runs, limitHi, limitLo)
        : this.#takeFromAll(runs, limitHi, limitLo);
      if (count > 0) this.#deliver(count);
    }
    this.#keep(runs.heads);
  }

  /**
   * Takes rows of all runs as the next ones, as many as fit, or until two runs are left.
   *
   * @returns How many: none where all runs are at the limit.
   */
  #takeFromAll(runs: RunHeap, limitHi: number, limitLo: number): number {
    const { timeHi, timeLo } = this.#waiting;
    let next = 0;
    for (let run = runs.first; run >= 0 && runs.size !== 2 && next < CHUNK; run = runs.first) {
      const row = runs.heads[run] as number;
      if (isLater(timeHi[row], timeLo[row], limitHi, limitLo)) break;
      // Up to the head of the next run, which comes first at the same time if it came first.
      const other = runs.second;
      const head = other < 0 ? -1 : runs.heads[other] as number;
      const isBounded = head >= 0 && !isLater(timeHi[head], timeLo[head], limitHi, limitLo);
      const boundHi = isBounded ? timeHi[head] as number : limitHi;
      const boundLo = isBounded ? timeLo[head] as number : limitLo;
      const isFirst = !isBounded || run < other;
      const end = this.#endOf(run);
      const to = row + CHUNK - next < end ? row + CHUNK - next : end;
      const stop = this.#takeNext(row, to, boundHi, boundLo, isFirst, next);
      next += stop - row;
      runs.advance(stop, end);
    }
    return next;
  }

  /**
   * Takes the row `from` and those after it that are not younger than a bound as the next ones.
   *
   * @param isFirst Whether those as old as the bound are taken.
   * @param n How many were taken before.
   * @returns The first row that is not taken.
   */
  #takeNext(
    from: number,
    to: number,
    boundHi: number,
    boundLo: number,
    isFirst: boolean,
    n: number,
  ): number {
    const { timeHi, timeLo } = this.#waiting;
    const next = this.#next;
    let i = from;
    do {
      next[n++] = i++;
    } while (
      i < to &&
      ((timeHi[i] as number) < boundHi || ((timeHi[i] as number) === boundHi &&
        (isFirst ? (timeLo[i] as number) <= boundLo : (timeLo[i] as number) < boundLo)))
    );
    return i;
  }

  /**
   * Takes rows of the last two runs as the next ones, up to where one of them ends: where two CPUs
   * were busy each row may be of the other run.
   *
   * @returns How many: fewer than fit where a run has ended, none where both are at the limit.
   */
  #takeFromTwo(runs: RunHeap, limitHi: number, limitLo: number): number {
    const { timeHi, timeLo } = this.#waiting;
    const next = this.#next;
    const { heads } = runs;
    const second = runs.second;
    const a = runs.first < second ? runs.first : second;
    const b = runs.first < second ? second : runs.first;
    let i = heads[a] as number;
    let j = heads[b] as number;
    const endA = this.#endOf(a);
    const endB = this.#endOf(b);
    let n = 0;
    while (n < CHUNK && i < endA && j < endB) {
      const hiA = timeHi[i] as number;
      const hiB = timeHi[j] as number;
      // At the same time that which came first comes first.
      if (hiA < hiB || (hiA === hiB && (timeLo[i] as number) <= (timeLo[j] as number))) {
        if (hiA > limitHi || (hiA === limitHi && (timeLo[i] as number) > limitLo)) break;
        next[n++] = i++;
      } else {
        if (hiB > limitHi || (hiB === limitHi && (timeLo[j] as number) > limitLo)) break;
        next[n++] = j++;
      }
    }
    runs.set(a, i, endA, b, j, endB);
    return n;
  }

  /** Delivers the first `count` of the next rows. */
  #deliver(count: number): void {
    const sink = this.#sink;
    const next = this.#next;
    const waiting = this.#waiting;
    if (sink.records !== undefined) {
      sink.records(waiting, next, count);
    } else {
      const le = this.#littleEndian;
      const { at, block: numbers, offset, event, blocks } = waiting;
      for (let i = 0; i < count; i++) {
        const row = next[i] as number;
        const block = blocks[numbers[row] as number] as Block;
        const start = at[row] as number;
        const end = start + block.view.getUint16(start + 6, le);
        sink.record(block, start, end, offset[row] as number, event[row] as number);
      }
    }
    const last = next[count - 1] as number;
    this.#flushedHi = waiting.timeHi[last] as number;
    this.#flushedLo = waiting.timeLo[last] as number;
  }

  /** The row behind the last one of a run. */
  #endOf(run: number): number {
    const runs = this.#runs;
    return run + 1 < runs.length ? runs[run + 1] as number : this.#count;
  }

  /** Keeps the runs from their heads on. */
  #keep(heads: Int32Array): void {
    const runs = this.#runs;
    const kept: number[] = [];
    let count = 0;
    for (let run = 0; run < runs.length; run++) {
      const from = heads[run] as number;
      const to = this.#endOf(run);
      if (from === to) continue;
      kept.push(count);
      this.#waiting.move(count, from, to);
      count += to - from;
    }
    this.#runs = kept;
    this.#count = count;
  }
}

function isLater(
  hi: number | undefined,
  lo: number | undefined,
  limitHi: number,
  limitLo: number,
): boolean {
  return (hi as number) > limitHi || (hi === limitHi && (lo as number) > limitLo);
}

/** The runs that are not at their ends, as a binary heap: by the time of their heads. */
class RunHeap {
  /** The next row of each run. */
  readonly heads: Int32Array;
  readonly #timeHi: Int32Array;
  readonly #timeLo: Int32Array;
  readonly #heap: Int32Array;
  /** How many runs are not at their ends. */
  size: number;

  constructor(starts: readonly number[], timeHi: Int32Array, timeLo: Int32Array) {
    this.heads = Int32Array.from(starts);
    this.#timeHi = timeHi;
    this.#timeLo = timeLo;
    this.size = starts.length;
    this.#heap = Int32Array.from(starts, (_, run) => run);
    for (let i = (this.size >> 1) - 1; i >= 0; i--) this.#sink(i);
  }

  /** The run with the earliest head, or -1. */
  get first(): number {
    return this.size > 0 ? this.#heap[0] as number : -1;
  }

  /** The run with the next one, or -1. */
  get second(): number {
    if (this.size < 2) return -1;
    const left = this.#heap[1] as number;
    if (this.size === 2) return left;
    const right = this.#heap[2] as number;
    return this.#isBefore(right, left) ? right : left;
  }

  /** Says that the next row of the first run is `row`; the run ends before `end`. */
  advance(row: number, end: number): void {
    const heap = this.#heap;
    this.heads[heap[0] as number] = row;
    if (row === end) heap[0] = heap[--this.size] as number;
    this.#sink(0);
  }

  /** Says where the last two runs are; not both of them are at their ends. */
  set(a: number, headA: number, endA: number, b: number, headB: number, endB: number): void {
    const heap = this.#heap;
    this.heads[a] = headA;
    this.heads[b] = headB;
    if (headA === endA || headB === endB) {
      heap[0] = headA === endA ? b : a;
      this.size = 1;
      return;
    }
    const isFirst = this.#isBefore(a, b);
    heap[0] = isFirst ? a : b;
    heap[1] = isFirst ? b : a;
  }

  #isBefore(a: number, b: number): boolean {
    const i = this.heads[a] as number;
    const j = this.heads[b] as number;
    const hi = this.#timeHi[i] as number;
    const lo = this.#timeLo[i] as number;
    const otherHi = this.#timeHi[j] as number;
    const otherLo = this.#timeLo[j] as number;
    return hi < otherHi || (hi === otherHi && (lo < otherLo || (lo === otherLo && a < b)));
  }

  #sink(from: number): void {
    const heap = this.#heap;
    const size = this.size;
    for (let i = from, child = 2 * i + 1; child < size; child = 2 * i + 1) {
      if (child + 1 < size && this.#isBefore(heap[child + 1] as number, heap[child] as number)) {
        child++;
      }
      const run = heap[i] as number;
      if (!this.#isBefore(heap[child] as number, run)) break;
      heap[i] = heap[child] as number;
      heap[child] = run;
      i = child;
    }
  }
}
