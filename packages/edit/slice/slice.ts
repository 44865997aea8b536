import {
  encode,
  layoutOf,
  type Payload,
  type PerfDataReader,
  prefixSize,
  type RecordBatch,
  type SampleLayout,
  trailerEnd,
  u64,
  type WriterFeature,
} from "@perfdata/format/records";
import {
  HEADER_SAMPLE_TIME,
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import type { SampleFilter } from "@perfdata/session";
import { AUXTRACE } from "@perfdata/user-records";
import { type AuxPlan, auxtraceOf, type PayloadPart } from "../copy/aux_cut.ts";
import { DROP, type Edit, KEEP, type Verdict } from "../copy/copy.ts";

const AUXTRACE_AT = layoutOf(AUXTRACE);
const AUXTRACE_SIZE = prefixSize(AUXTRACE);

/** Conditions on the samples of a slice. A missing condition holds for all samples. */
export interface SliceFilter extends SampleFilter {
  /** Keeps every n-th of the samples that meet the other conditions, beginning with the first. */
  readonly sampleEvery?: number;
  /** Parts of AUX data to keep; without it, AUX data is kept as a whole. See `planAuxCut`. */
  readonly aux?: AuxPlan;
}

/** Counts of a slice. */
export interface SliceStats {
  /** Samples in the recording. */
  samples: number;
  /** Samples kept. */
  kept: number;
  /** Other kernel records that were dropped, because they are later than the slice. */
  laterRecords: number;
  /** AUXTRACE records that were kept as a whole, although a range of time was requested. */
  wholeAux: number;
}

/**
 * Keeps some samples of a recording, and all records that they depend on.
 *
 * Records about the machine (MMAP2, COMM, FORK, KSYMBOL, …) are kept up to the end of the slice,
 * so that each sample has the same thread and object as in the whole recording. So are
 * perf's own records. Records later than the slice are dropped. AUX data of other CPUs is dropped, and AUX data of
 * other threads if it was recorded per thread. By time, it is cut as `aux` plans; kernel records are then kept
 * as long as a decoder needs them.
 *
 * The SAMPLE_TIME feature is recomputed: u64 time of the first and of the last sample
 * (`write_sample_time` of tools/perf/util/header.c).
 */
export class Slice implements Edit {
  /** Counts so far. */
  readonly stats: SliceStats = { samples: 0, kept: 0, laterRecords: 0, wholeAux: 0 };
  readonly #filter: SliceFilter;
  readonly #littleEndian: boolean;
  #passed = 0;
  readonly #from: Halves | undefined;
  readonly #to: Halves | undefined;
  /** First and last time of the kept samples. */
  readonly #span = {
    first: { high: Infinity, low: 0 },
    last: { high: -1, low: 0 },
  };
  #hadSampleTime = false;

  /**
   * Creates the edit.
   *
   * @param reader The recording.
   * @param filter Conditions on samples.
   */
  constructor(reader: Pick<PerfDataReader, "littleEndian">, filter: SliceFilter) {
    this.#filter = filter;
    this.#littleEndian = reader.littleEndian;
    this.#from = filter.time && halves(filter.time[0]);
    this.#to = filter.time && halves(filter.time[1]);
  }

  /** Decides about record `i` of a batch. */
  record(batch: RecordBatch, i: number): Verdict {
    const type = batch.type(i);
    if (type === PERF_RECORD_SAMPLE) return this.#sample(batch, i);
    const { time, aux } = this.#filter;
    if (type === PERF_RECORD_AUXTRACE) return this.#auxtrace(batch, i);
    if (type >= PERF_RECORD_USER_TYPE_START || time === undefined) return KEEP;
    const event = batch.eventOf(i) ?? batch.events.all[0];
    const at = event?.layout.trailer.time ?? 0;
    if (at === 0) return KEEP;
    const last = aux === undefined ? time[1] : aux.until;
    const start = batch.start(i);
    const from = trailerEnd(start, start + batch.size(i)) + at;
    // A record that is shorter than its trailer has no time.
    if (last === undefined || from < start + PERF_EVENT_HEADER_SIZE) return KEEP;
    if (batch.view.getBigUint64(from, this.#littleEndian) <= last) return KEEP;
    this.stats.laterRecords++;
    return DROP;
  }

  #auxtrace(batch: RecordBatch, i: number): Verdict {
    const { cpus, tids, time, aux } = this.#filter;
    if (batch.size(i) >= AUXTRACE_SIZE) {
      const word = (at: number) => batch.view.getInt32(batch.start(i) + at, this.#littleEndian);
      const cpu = word(AUXTRACE_AT.cpu);
      const tid = word(AUXTRACE_AT.tid);
      if (cpus !== undefined && cpu >= 0 && !cpus.has(cpu)) return DROP;
      if (tids !== undefined && cpu < 0 && tid >= 0 && !tids.has(tid)) return DROP;
    }
    if (time === undefined || batch.payload === undefined) return KEEP;
    if (aux === undefined) {
      this.stats.wholeAux++;
      return KEEP;
    }
    const part = aux.parts.get(batch.payload.offset);
    return part === undefined ? DROP : auxtraceOf(batch, i, part);
  }

  /** Returns the part of a payload to keep. */
  part(payload: Payload): PayloadPart | undefined {
    return payload.type === PERF_RECORD_AUXTRACE
      ? this.#filter.aux?.parts.get(payload.offset)
      : undefined;
  }

  #sample(batch: RecordBatch, i: number): Verdict {
    this.stats.samples++;
    const { view } = batch;
    const le = this.#littleEndian;
    const start = batch.start(i);
    const { pids, tids, cpus, events, records, sampleEvery } = this.#filter;
    const number = batch.events.indexOf(view, start, start + batch.size(i), PERF_RECORD_SAMPLE, le);
    const layout: SampleLayout | undefined = batch.events.all[number]?.layout;
    // A sample that cannot be decoded meets no condition.
    if (layout === undefined || layout.fixedSize > batch.size(i)) {
      return Object.values(this.#filter).some((part) => part !== undefined) ? DROP : this.#keep();
    }
    if (events !== undefined && !events.has(number)) return DROP;
    const at = layout.time;
    // Halves instead of a bigint, since there may be millions of samples.
    const high = at < 0 ? -1 : view.getUint32(start + at + (le ? 4 : 0), le);
    const low = at < 0 ? 0 : view.getUint32(start + at + (le ? 0 : 4), le);
    if (
      (this.#from !== undefined && (at < 0 || isBefore(high, low, this.#from))) ||
      (this.#to !== undefined && isAfter(high, low, this.#to))
    ) return DROP;
    if (pids !== undefined || tids !== undefined) {
      const event = batch.events.at(number);
      const isOffCpu = event?.isOffCpu === true;
      const meant = isOffCpu ? event.offCpu(view, start, start + batch.size(i), le) : undefined;
      const own = layout.tid < 0 ? -1 : view.getInt32(start + layout.tid, le);
      const tid = isOffCpu ? meant?.tid ?? -1 : own;
      if (tids !== undefined && !tids.has(tid)) return DROP;
      // The idle thread belongs to process 0, whatever the sample says.
      const process = layout.pid < 0 ? -1 : view.getInt32(start + layout.pid, le);
      const pid = tid === 0 ? 0 : isOffCpu ? meant?.pid ?? -1 : process;
      if (pids !== undefined && !pids.has(pid)) return DROP;
    }
    if (cpus !== undefined) {
      if (!cpus.has(layout.cpu < 0 ? -1 : view.getInt32(start + layout.cpu, le))) return DROP;
    }
    if (records !== undefined && !records.has(batch.offsetOf(i))) return DROP;
    if (sampleEvery !== undefined && this.#passed++ % sampleEvery !== 0) return DROP;
    if (at >= 0) {
      const { first, last } = this.#span;
      if (isBefore(high, low, first)) [first.high, first.low] = [high, low];
      if (isAfter(high, low, last)) [last.high, last.low] = [high, low];
    }
    return this.#keep();
  }

  #keep(): Verdict {
    this.stats.kept++;
    return KEEP;
  }

  /** Removes features that are recomputed. */
  feature(id: number, bytes: Uint8Array): Uint8Array | undefined {
    if (id !== HEADER_SAMPLE_TIME) return bytes;
    this.#hadSampleTime = true;
    return undefined;
  }

  /** Returns SAMPLE_TIME with the times of the kept samples. */
  newFeatures(): readonly WriterFeature[] {
    const { first, last } = this.#span;
    if (!this.#hadSampleTime || last.high < 0) return [];
    const options = { littleEndian: this.#littleEndian };
    const whole = ({ high, low }: Halves) => BigInt(high) << 32n | BigInt(low);
    const bytes = new Uint8Array(16);
    bytes.set(encode(u64, whole(first), options));
    bytes.set(encode(u64, whole(last), options), 8);
    return [{ id: HEADER_SAMPLE_TIME, bytes }];
  }
}

/** A 64-bit number in two halves. */
interface Halves {
  high: number;
  low: number;
}

function halves(value: bigint): Halves {
  return { high: Number(value >> 32n), low: Number(value & 0xffff_ffffn) };
}

function isBefore(high: number, low: number, other: Halves): boolean {
  return high < other.high || (high === other.high && low < other.low);
}

function isAfter(high: number, low: number, other: Halves): boolean {
  return high > other.high || (high === other.high && low > other.low);
}
