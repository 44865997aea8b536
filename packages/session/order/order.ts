import type { BatchOptions, Payload, PerfDataReader, RecordBatch } from "@perfdata/format/records";
import { FutureTimes } from "./future_times.ts";
import { RecordTime } from "./record_time.ts";
import { ReorderBuffer } from "./reorder_buffer.ts";
import { type Run, RunWriter } from "./run.ts";

/**
 * Bytes of data from which on a file is scanned in advance for its times. Records of smaller files
 * are simply held.
 */
const LOOK_AHEAD = 1 << 26;

/** Receives records in groups (`Run`), in the order of their delivery. */
export interface RunSink {
  /** Called for each group of records, with the columns block, start, offset, event and time. */
  run(run: Run): void;
  /** Called for each batch before its records are processed. */
  readonly batch?: ((batch: RecordBatch) => void | Promise<void>) | undefined;
  /** Called after a record with a payload: AUXTRACE, TRACING_DATA. */
  payload?(payload: Payload): Promise<void>;
  /** Returns whether records with a time wait for the end of the input; asked for each batch. */
  waitsForEnd?(): boolean;
  /** Called after the end of the input, before the waiting records are delivered. */
  read?(): Promise<void>;
  /** Called after each batch, after its records that need not wait were delivered. */
  readonly settle?: (() => Promise<void>) | undefined;
  /** Returns whether to stop; asked after each batch. */
  done?(): boolean;
}

/** Options of {@linkcode deliverRuns}. */
export interface OrderOptions extends Pick<BatchOptions, "from" | "to" | "inflate"> {
  /**
   * `time`, the default: by time, as in perf. `file`: in the order of the file, which needs no
   * buffer.
   */
  readonly order?: "time" | "file";
  /**
   * Bytes of data from which on a file is scanned in advance, up to its first FINISHED_ROUND; 64 MB
   * by default.
   */
  readonly lookAhead?: number;
  /**
   * Bytes of waiting records in memory from which on they are moved to a temporary file, if the
   * source has one (`ByteSource.temp`); 128 MB by default.
   */
  readonly hold?: number;
}

/** Counts about the order of a file. */
export interface OrderStats {
  /** Records that went through the re-order buffer. */
  queued: number;
  /** Records that were delivered after a later one. */
  violations: number;
  /** Maximum number of bytes that the re-order buffer held. */
  peakBytes: number;
  /** Bytes that were written to a temporary file. */
  spilledBytes: number;
}

/**
 * Whether the records of a file can be sorted by time. They cannot if the events were recorded
 * without `sample_id_all`, since then only samples have a time. A pipe is always sorted.
 */
export function isTimeOrdered(reader: PerfDataReader): boolean {
  return reader.isPipe || reader.events.all[0]?.attr.flags.sample_id_all === true;
}

/**
 * Delivers the records of a file to `sink`, in groups (`Run`), in the order of `perf`.
 *
 * Kernel records with a time wait in a buffer. A FINISHED_ROUND delivers the waiting records up to
 * the latest time that had been read at the previous FINISHED_ROUND, sorted by time. No older
 * record can follow, because the kernel's buffers were read in turn. Records without a time, and
 * perf's own, are delivered at once. The others are delivered at the end. (`ordered-events.c` of
 * perf.)
 *
 * The buffer holds at most two rounds. A file without any FINISHED_ROUND is scanned in advance, so
 * that a record waits only if an earlier one follows: the order is the same, and the size of the
 * buffer depends on the disorder of the file only.
 *
 * A pipe is read once. If its waiting records exceed `options.hold`, they are sorted into a
 * temporary file, and merged at their delivery. Without a temporary file, more than 2 GB are an
 * error.
 *
 * @throws {PerfDataError} In strict mode, if the file is damaged; if too many records would have to
 * wait.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { deliverRuns } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * const types: number[] = [];
 * const stats = await deliverRuns(await PerfDataReader.open(bytesSource(pipe)), {
 *   run: (run) => void types.push(run.at(0).view.getUint32(run.start[0] ?? 0, true)),
 * });
 * assertEquals([types, stats.queued], [[68], 0]);
 * ```
 */
export async function deliverRuns(
  reader: PerfDataReader,
  sink: RunSink,
  options: OrderOptions = {},
): Promise<OrderStats> {
  const ordered = options.order !== "file" && isTimeOrdered(reader);
  const stats: OrderStats = { queued: 0, violations: 0, peakBytes: 0, spilledBytes: 0 };
  const { from, to, lookAhead = LOOK_AHEAD } = options;
  const span = {
    from,
    to,
    ...(options.inflate === undefined || ordered ? {} : { inflate: options.inflate }),
  };
  const future = ordered && !reader.isPipe && reader.fileSize !== undefined &&
      reader.data.size >= lookAhead
    ? await FutureTimes.read(reader, span)
    : undefined;
  const deliver = (run: Run) => sink.run(run);
  const time = new RecordTime(reader.events);
  if (future?.untimedLater === true) {
    const untimed = new RunWriter(deliver);
    for await (const batch of reader.batches({ ...span, quiet: true })) {
      addUntimed(batch, untimed, time);
      if (batch.payload !== undefined) await sink.payload?.(batch.payload);
      if (sink.done?.()) return stats;
    }
  }
  using buffer = ordered
    ? new ReorderBuffer(deliver, stats, reader, future, options.hold)
    : undefined;
  const inFileOrder = new RunWriter(deliver);
  for await (const batch of reader.batches(span)) {
    if (sink.batch !== undefined) await sink.batch(batch);
    if (buffer === undefined) addAll(batch, inFileOrder, time);
    else {
      buffer.waitsForEnd = sink.waitsForEnd?.() === true;
      buffer.take(batch);
    }
    if (batch.payload !== undefined && future?.untimedLater !== true) {
      await sink.payload?.(batch.payload);
    }
    if (sink.settle !== undefined) await sink.settle();
    if (sink.done?.()) return stats;
  }
  await sink.read?.();
  buffer?.finish();
  return stats;
}

/** Delivers the records of a batch that have no time. */
function addUntimed(batch: RecordBatch, to: RunWriter, time: RecordTime): void {
  to.run.blocks = [batch];
  for (let i = 0; i < batch.count; i++) {
    if (!time.read(batch, i).known) to.add(0, batch.start(i), batch.offsetOf(i), time.event);
  }
  to.flush();
}

/** Delivers all records of a batch in the order of the file. */
function addAll(batch: RecordBatch, to: RunWriter, time: RecordTime): void {
  to.run.blocks = [batch];
  for (let i = 0; i < batch.count; i++) {
    const { known } = time.read(batch, i);
    const { hi, lo, event } = time;
    to.add(0, batch.start(i), batch.offsetOf(i), event, known ? hi : 0, known ? lo : 0);
  }
  to.flush();
}
