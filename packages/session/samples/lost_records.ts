import {
  LOST,
  LOST_SAMPLES,
  type PerfDataReader,
  prefixSize,
  recordMisc,
} from "@perfdata/format/records";
import {
  PERF_FORMAT_LOST,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
} from "@perfdata/format/constants";

const LOST_SIZE = prefixSize(LOST);
const LOST_SAMPLES_SIZE = prefixSize(LOST_SAMPLES);
/**
 * `PERF_RECORD_MISC_LOST_SAMPLES_BPF` of perf 6.11: a BPF filter dropped the samples on purpose.
 */
const DROPPED_BY_BPF = 1 << 15;

/**
 * Counts records and samples that were lost.
 *
 * The kernel writes LOST as soon as a full buffer has room again. Since kernel 6.0 each event counts its
 * losses (`PERF_FORMAT_LOST`), and perf 6.1 and later write these counts as LOST_SAMPLES records without a
 * time at the end: the same losses, with those after which no LOST was written. LOST_SAMPLES with a time are
 * samples that the hardware lost.
 *
 * @example
 * ```ts
 * import { bytesSource, memorySink, PerfDataReader, PerfDataWriter } from "@perfdata/format";
 * import { LostRecords } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * await (await PerfDataWriter.file(sink, { events: [] })).close();
 * const lost = new LostRecords(await PerfDataReader.open(bytesSource(sink.bytes())));
 * const record = new DataView(Uint32Array.of(2, 24 << 16, 1, 0, 5, 0).buffer);
 * assertEquals([lost.add(record, 0, 24, 0, 0), lost.total], [5, 5]);
 * ```
 */
export class LostRecords {
  readonly #reader: PerfDataReader;
  /** Sum of LOST records. */
  #inBuffers = 0;
  /** Sum of the counts of events. */
  #ofEvents = 0;
  /** Sum of the losses of the hardware. */
  #inHardware = 0;

  /**
   * Starts without losses.
   *
   * @param reader The recording.
   */
  constructor(reader: PerfDataReader) {
    this.#reader = reader;
  }

  /** All lost records and samples, each counted once. */
  get total(): number {
    return Math.max(this.#inBuffers, this.#ofEvents) + this.#inHardware;
  }

  /**
   * Adds a LOST or LOST_SAMPLES record. Ignores records of other types, and records that are too
   * short.
   *
   * @param timeHi Upper half of the record's time; both halves are 0 if it has none.
   * @param timeLo Lower half.
   * @returns The increase of the total.
   */
  add(view: DataView, start: number, end: number, timeHi: number, timeLo: number): number {
    const before = this.total;
    const le = this.#reader.littleEndian;
    const type = view.getUint32(start, le);
    if (type === PERF_RECORD_LOST && end - start >= LOST_SIZE) {
      this.#inBuffers += u64(view, start + LOST_SIZE - 8, le);
    } else if (type === PERF_RECORD_LOST_SAMPLES && end - start >= LOST_SAMPLES_SIZE) {
      const lost = lostSamples(this.#reader, view, start, end, timeHi, timeLo);
      if (lost.isSum) this.#ofEvents += lost.count;
      else this.#inHardware += lost.count;
    }
    return this.total - before;
  }
}

/** The count of a LOST_SAMPLES record. */
export interface LostSamplesCount {
  /** Samples that were lost; 0 if a BPF program dropped them. */
  readonly count: number;
  /** Whether the count is the event's sum, which includes losses of LOST records. */
  readonly isSum: boolean;
}

/** Decodes a LOST_SAMPLES record; parameters are those of {@linkcode LostRecords.add}. */
export function lostSamples(
  { littleEndian: le, events }: PerfDataReader,
  view: DataView,
  start: number,
  end: number,
  timeHi: number,
  timeLo: number,
): LostSamplesCount {
  const misc = recordMisc(view, start, le);
  const isDropped = (misc & DROPPED_BY_BPF) !== 0;
  const event = events.all[events.indexOf(view, start, end, PERF_RECORD_LOST_SAMPLES, le)];
  const isSum = (timeHi | timeLo) === 0 &&
    ((event?.readFormat ?? PERF_FORMAT_LOST) & PERF_FORMAT_LOST) !== 0;
  return { count: isDropped ? 0 : u64(view, start + LOST_SAMPLES_SIZE - 8, le), isSum };
}

function u64(view: DataView, at: number, le: boolean): number {
  const low = view.getUint32(le ? at : at + 4, le);
  const high = view.getUint32(le ? at + 4 : at, le);
  // deno-lint-ignore perfdata/halves -- a number of losses, which is added up
  return high * 2 ** 32 + low;
}
