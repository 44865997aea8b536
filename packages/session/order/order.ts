import type { BatchOptions, Payload, PerfDataReader, RecordBatch } from "@perfdata/format/records";
import { FutureTimes } from "./future_times.ts";
import { RecordTime } from "./record_time.ts";
import { ReorderBuffer } from "./reorder_buffer.ts";
import { type Run, RunWriter } from "./run.ts";

/**
 * If nothing else bounds the records that have to wait, times are looked up ahead from this many bytes
 * of records on. Fewer are simply held.
 */
const LOOK_AHEAD = 1 << 26;

/** Receives runs of records in the order of their delivery. */
export interface RunSink {
  /** Called for each run, of which block, start, offset, event and time are filled. */
  run(run: Run): void;
  /** Called for each batch before its records are taken. */
  readonly batch?: ((batch: RecordBatch) => void | Promise<void>) | undefined;
  /** Called after a record that a payload follows: AUXTRACE, TRACING_DATA. */
  payload?(payload: Payload): Promise<void>;
  /** Says whether what has a time is to wait for the end; asked for each batch. */
  waitsForEnd?(): boolean;
  /** Called when all is read, before what waits is delivered. */
  read?(): Promise<void>;
  /** Called after each batch, when what may go of it is delivered. */
  readonly settle?: (() => Promise<void>) | undefined;
  /** Says whether to go on; asked after each batch. */
  done?(): boolean;
}

/** How to deliver records. */
export interface OrderOptions extends Pick<BatchOptions, "from" | "to" | "inflate"> {
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
  /**
   * Bytes of records that wait in memory before they are sorted into a temporary file, if the source
   * has one (`ByteSource.temp`); 128 MB by default.
   */
  readonly hold?: number;
}

/** Counts about the order of a file. */
export interface OrderStats {
  /** Records that went through the re-order buffer. */
  queued: number;
  /** Records that were older than one that had been delivered before them. */
  violations: number;
  /** Maximum number of bytes that the re-order buffer held. */
  peakBytes: number;
  /** Bytes that were written to a temporary file. */
  spilledBytes: number;
}

/**
 * Whether the records of a file can be brought into an order of time: not where the events were
 * recorded without `sample_id_all`, since then only samples have a time. A pipe is always ordered.
 */
export function isTimeOrdered(reader: PerfDataReader): boolean {
  return reader.isPipe || reader.events.all[0]?.attr.flags.sample_id_all === true;
}

/**
 * Delivers the records of a file to `sink`, in runs, as `perf` orders them.
 *
 * Kernel records with a time wait in a buffer. At a FINISHED_ROUND all those are delivered, by
 * time, that are not younger than the youngest was at the FINISHED_ROUND before: the kernel's
 * buffers were read in turn, so that nothing older can come any more. What has no time, and perf's
 * own records, are delivered at once. At the end the rest follows. (`ordered-events.c` of perf.)
 *
 * The buffer holds the bytes of at most two rounds. A file without any FINISHED_ROUND is looked
 * through before, so that what is not younger than all that follows need not wait: the order is the
 * same, and the buffer holds no more than the disorder of the file asks for.
 *
 * A pipe is read once. What waits there is sorted into runs in a temporary file when it is more than
 * `options.hold`, and merged when it may go: where the source has no temporary file, more than 2 GB are
 * refused.
 *
 * @throws {PerfDataError} In strict mode, if the file is damaged; where too much would have to be held.
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

/** Delivers what does not wait. */
function addUntimed(batch: RecordBatch, to: RunWriter, time: RecordTime): void {
  to.run.blocks = [batch];
  for (let i = 0; i < batch.count; i++) {
    if (!time.read(batch, i).known) to.add(0, batch.start(i), batch.offsetOf(i), time.event);
  }
  to.flush();
}

/** Delivers all records of a batch as they stand in the file. */
function addAll(batch: RecordBatch, to: RunWriter, time: RecordTime): void {
  to.run.blocks = [batch];
  for (let i = 0; i < batch.count; i++) {
    const { known } = time.read(batch, i);
    const { hi, lo, event } = time;
    to.add(0, batch.start(i), batch.offsetOf(i), event, known ? hi : 0, known ? lo : 0);
  }
  to.flush();
}
