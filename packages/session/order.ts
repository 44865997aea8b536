import {
  type BatchOptions,
  type Payload,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  type PerfDataReader,
  type RecordBatch,
} from "@perfdata/format";
import { enlarge } from "./machine_names.ts";

const FINISHED_ROUND = 68;

/**
 * Rows that are handled in one call: what loops over hundreds of thousands of them in one call, and
 * in few calls, is compiled while the loop runs, and again whenever it meets something new.
 */
const CHUNK = 256;

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
  /** Called after a record that a payload follows: AUXTRACE, TRACING_DATA. */
  payload?(payload: Payload): Promise<void>;
  /** Says whether to go on; asked after each batch. */
  done?(): boolean;
}

/** How to deliver records. */
export interface OrderOptions extends Pick<BatchOptions, "from" | "to"> {
  /**
   * `time`, the default: by time, as perf does. `file`: as they stand in the file, which needs no
   * buffer.
   */
  readonly order?: "time" | "file";
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
 * The buffer holds the bytes of at most two rounds.
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
  const queue = ordered ? new ReorderBuffer(sink, stats, reader.littleEndian) : undefined;
  for await (const batch of reader.batches(options)) {
    if (queue === undefined) deliverBatch(batch, sink);
    else queue.take(batch);
    if (batch.payload !== undefined) await sink.payload?.(batch.payload);
    if (sink.done?.()) return stats;
  }
  queue?.finish();
  return stats;
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

/** A run of bytes that records are copied into. */
class Arena implements RecordBytes {
  bytes = new Uint8Array(1 << 20);
  view = new DataView(this.bytes.buffer);
  words = new Int32Array(this.bytes.buffer);
  used = 0;

  /** Copies `bytes[from, to)`, so that its alignment stays; returns how far it moved. */
  append(bytes: Uint8Array, from: number, to: number): number {
    const at = this.used + ((from - this.used) & 7);
    this.used = at + to - from;
    if (this.used > this.bytes.length) {
      const larger = new Uint8Array(Math.max(this.bytes.length * 2, this.used + 8 & ~7));
      larger.set(this.bytes.subarray(0, at));
      this.bytes = larger;
      this.view = new DataView(larger.buffer);
      this.words = new Int32Array(larger.buffer);
    }
    this.bytes.set(bytes.subarray(from, to), at);
    return at - from;
  }
}

/** The records that wait: a row each. */
class Waiting {
  timeHi = new Uint32Array(1 << 12);
  timeLo = new Uint32Array(1 << 12);
  /** Where the record is in its arena. */
  at = new Uint32Array(1 << 12);
  /** Which of the two arenas holds it. */
  arena = new Uint8Array(1 << 12);
  /** Its file offset. */
  offset = new Float64Array(1 << 12);
  event = new Int32Array(1 << 12);

  /** Makes room for so many rows; those that are there stay. */
  reserve(rows: number): void {
    if (rows <= this.at.length) return;
    this.timeHi = enlarge(this.timeHi, rows);
    this.timeLo = enlarge(this.timeLo, rows);
    this.at = enlarge(this.at, rows);
    this.arena = enlarge(this.arena, rows);
    this.offset = enlarge(this.offset, rows);
    this.event = enlarge(this.event, rows);
  }

  /** Takes rows `[first, last)`: those of `from` that `sorted` has from `skip` on. */
  copy(from: Waiting, sorted: Int32Array, skip: number, first: number, last: number): void {
    const { timeHi, timeLo, at, arena, offset, event } = from;
    for (let k = first; k < last; k++) {
      const i = sorted[skip + k] as number;
      this.timeHi[k] = timeHi[i] as number;
      this.timeLo[k] = timeLo[i] as number;
      this.at[k] = at[i] as number;
      this.arena[k] = arena[i] as number;
      this.offset[k] = offset[i] as number;
      this.event[k] = event[i] as number;
    }
  }
}

/**
 * Holds the records of the round that is being read and those left of the round before.
 *
 * ```text
 *  arena of the round before:  | ..... left, sorted ..... |
 *  arena of this round:        | run | run | run | ...
 *  at FINISHED_ROUND:          merge runs; deliver up to the limit; the arena of the round
 *                              before is empty then, and takes the next round
 * ```
 */
class ReorderBuffer {
  readonly #sink: RecordSink;
  readonly #stats: OrderStats;
  readonly #littleEndian: boolean;
  readonly #arenas: [Arena, Arena] = [new Arena(), new Arena()];
  #current = 0;
  #count = 0;
  #waiting = new Waiting();
  #spare = new Waiting();
  #sorted = new Int32Array(1 << 12);
  #scratch = new Int32Array(1 << 12);
  /** Where each run of rising times starts. */
  #runs: number[] = [];
  /** How far the two runs that are being merged are taken. */
  #left = 0;
  #right = 0;
  #limitHi = 0;
  #limitLo = 0;
  #flushedHi = 0;
  #flushedLo = 0;

  constructor(sink: RecordSink, stats: OrderStats, littleEndian: boolean) {
    this.#sink = sink;
    this.#stats = stats;
    this.#littleEndian = littleEndian;
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
  }

  finish(): void {
    this.#flush(0xffff_ffff, 0xffff_ffff);
  }

  #takeRun(batch: RecordBatch, from: number, to: number): void {
    const first = batch.start(from);
    const last = batch.start(to - 1);
    const arena = this.#arenas[this.#current] as Arena;
    // One copy for the whole run, records that do not wait included.
    const moved = arena.append(batch.bytes, first, last + batch.size(to - 1));
    this.#waiting.reserve(this.#count + to - from);
    const before = this.#count;
    for (let i = from; i < to; i += CHUNK) {
      this.#takeSome(batch, i, i + CHUNK < to ? i + CHUNK : to, moved);
    }
    this.#stats.queued += this.#count - before;
    const bytes = this.#arenas[0].used + this.#arenas[1].used;
    if (bytes > this.#stats.peakBytes) this.#stats.peakBytes = bytes;
  }

  /** Puts records into the buffer whose bytes are in the arena, or delivers those without a time. */
  #takeSome(batch: RecordBatch, from: number, to: number, moved: number): void {
    const { view, littleEndian: le, events, starts, inflatedFrom, offset: batchOffset } = batch;
    const current = this.#current;
    const lowAt = le ? 0 : 4;
    const highAt = 4 - lowAt;
    const { timeHi, timeLo, at: positions, arena: arenas, offset: offsets, event: eventNumbers } =
      this.#waiting;
    let n = this.#count;
    let beforeHi = n > 0 ? timeHi[n - 1] as number : 0;
    let beforeLo = n > 0 ? timeLo[n - 1] as number : 0;
    const flushedHi = this.#flushedHi;
    const flushedLo = this.#flushedLo;
    let violations = 0;
    const all = events.all;
    const single = all.length === 1 ? all[0] : undefined;
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
            lo = view.getUint32(at + lowAt, le);
            hi = view.getUint32(at + highAt, le);
          }
        }
      }
      if ((hi | lo) === 0 || (hi & lo) === -1) {
        this.#sink.record(batch, start, end, batch.offsetOf(i), event);
        continue;
      }
      if (hi < flushedHi || (hi === flushedHi && lo < flushedLo)) violations++;
      if (n === 0 || hi < beforeHi || (hi === beforeHi && lo < beforeLo)) this.#runs.push(n);
      timeHi[n] = beforeHi = hi;
      timeLo[n] = beforeLo = lo;
      positions[n] = start + moved;
      arenas[n] = current;
      offsets[n] = inflatedFrom >= 0 ? inflatedFrom : batchOffset + start;
      eventNumbers[n] = event;
      n++;
    }
    this.#stats.violations += violations;
    this.#count = n;
  }

  #finishRound(): void {
    if (this.#count === 0) return;
    const [hi, lo] = this.#youngest();
    this.#flush(this.#limitHi, this.#limitLo);
    this.#limitHi = hi;
    this.#limitLo = lo;
    // Nothing is left of the round before this one.
    this.#current ^= 1;
    (this.#arenas[this.#current] as Arena).used = 0;
  }

  /** The highest time that waits: each run ends with its own. */
  #youngest(): [number, number] {
    let hi = 0;
    let lo = 0;
    for (let run = 0; run < this.#runs.length; run++) {
      const last = (this.#runs[run + 1] ?? this.#count) - 1;
      const h = this.#waiting.timeHi[last] as number;
      const l = this.#waiting.timeLo[last] as number;
      if (h > hi || (h === hi && l > lo)) {
        hi = h;
        lo = l;
      }
    }
    return [hi, lo];
  }

  /** Delivers what is not younger than the limit, and keeps the rest as one sorted run. */
  #flush(limitHi: number, limitLo: number): void {
    if ((limitHi | limitLo) === 0) return;
    const sorted = this.#merge();
    const n = this.#count;
    let k = 0;
    for (let stop = 0; k === stop && k < n;) {
      stop = k + CHUNK < n ? k + CHUNK : n;
      k = this.#deliverSome(sorted, k, stop, limitHi, limitLo);
    }
    if (k > 0) {
      const last = sorted[k - 1] as number;
      this.#flushedHi = this.#waiting.timeHi[last] as number;
      this.#flushedLo = this.#waiting.timeLo[last] as number;
    }
    this.#keep(sorted, k);
  }

  /** Delivers what is not younger than the limit; returns where that ends. */
  #deliverSome(
    sorted: Int32Array,
    from: number,
    to: number,
    limitHi: number,
    limitLo: number,
  ): number {
    const sink = this.#sink;
    const { timeHi, timeLo, at: positions, arena: arenas, offset: offsets, event: events } =
      this.#waiting;
    const le = this.#littleEndian;
    const [even, odd] = this.#arenas;
    for (let k = from; k < to; k++) {
      const i = sorted[k] as number;
      const hi = timeHi[i] as number;
      if (hi > limitHi || (hi === limitHi && (timeLo[i] as number) > limitLo)) return k;
      const arena = arenas[i] === 0 ? even : odd;
      const start = positions[i] as number;
      const size = arena.view.getUint16(start + 6, le);
      sink.record(arena, start, start + size, offsets[i] as number, events[i] as number);
    }
    return to;
  }

  /** Keeps what `sorted` has from `first` on: the spare rows take it, and change places. */
  #keep(sorted: Int32Array, first: number): void {
    const left = this.#count - first;
    const from = this.#waiting;
    const to = this.#spare;
    to.reserve(left);
    for (let k = 0; k < left; k += CHUNK) {
      to.copy(from, sorted, first, k, k + CHUNK < left ? k + CHUNK : left);
    }
    this.#waiting = to;
    this.#spare = from;
    this.#count = left;
    this.#runs = left > 0 ? [0] : [];
  }

  /** Merges the runs, pairs of neighbours first: what came first stays first at equal times. */
  #merge(): Int32Array {
    const n = this.#count;
    if (this.#sorted.length < n) {
      this.#sorted = new Int32Array(2 * n);
      this.#scratch = new Int32Array(2 * n);
    }
    let from = this.#sorted;
    let to = this.#scratch;
    for (let i = 0; i < n; i++) from[i] = i;
    let runs = [...this.#runs, n];
    while (runs.length > 2) {
      const merged: number[] = [];
      for (let r = 0; r + 1 < runs.length; r += 2) {
        const start = runs[r] as number;
        const middle = runs[r + 1] as number;
        const end = runs[r + 2] ?? middle;
        merged.push(start);
        this.#left = start;
        this.#right = middle;
        for (let out = start; out < end; out += CHUNK) {
          this.#mergeSome(from, to, middle, end, out, out + CHUNK < end ? out + CHUNK : end);
        }
      }
      merged.push(n);
      runs = merged;
      [from, to] = [to, from];
    }
    return from;
  }

  /**
   * Writes `to[out, stop)` from two runs of `from`, the first of which ends at `middle`, the second at
   * `end`.
   */
  #mergeSome(
    from: Int32Array,
    to: Int32Array,
    middle: number,
    end: number,
    out: number,
    stop: number,
  ): void {
    const { timeHi, timeLo } = this.#waiting;
    let a = this.#left;
    let b = this.#right;
    while (out < stop) {
      if (a === middle) {
        to[out++] = from[b++] as number;
      } else if (b === end) {
        to[out++] = from[a++] as number;
      } else {
        const x = from[a] as number;
        const y = from[b] as number;
        const xh = timeHi[x] as number;
        const yh = timeHi[y] as number;
        if (yh < xh || (yh === xh && (timeLo[y] as number) < (timeLo[x] as number))) {
          to[out++] = y;
          b++;
        } else {
          to[out++] = x;
          a++;
        }
      }
    }
    this.#left = a;
    this.#right = b;
  }
}
