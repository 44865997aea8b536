import {
  type BatchOptions,
  encode,
  hasTablesFirst,
  layoutOf,
  type Payload,
  payloadBytes,
  type PerfDataReader,
  type RecordBatch,
  u64,
  type WriterFeature,
} from "@perfdata/format/records";
import { type Diagnostics, joinBytes, PerfDataError } from "@perfdata/format/bytes";
import {
  featureName,
  HEADER_BUILD_ID,
  HEADER_DIR_FORMAT,
  HEADER_FEAT_BITS,
  HEADER_TRACING_DATA,
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import { streamFeature } from "@perfdata/session";
import { AUXTRACE, googleFeatureId } from "@perfdata/user-records";
import type { PayloadPart } from "./aux_cut.ts";
import { Pieces } from "./pieces.ts";
import { OF_COMPRESSION, type RecordingHead, type RecordingOutput } from "./recording_output.ts";

/** Keeps the record unchanged. */
export const KEEP = 0;
/** Drops the record and its payload. */
export const DROP = 1;

/** Decision about a record: keep it, drop it, or replace it with a copy of these bytes. */
export type Verdict = typeof KEEP | typeof DROP | Uint8Array;

/**
 * A change to a recording. All members are optional; a missing member changes nothing.
 *
 * `record` is called for each record in file order. Replacing bytes may be longer or
 * shorter than the record, or several records.
 */
export interface Edit {
  /** Changes events and their layout. */
  head?(head: RecordingHead): RecordingHead;
  /** Decides about record `i` of a batch. The batch is valid during the call only. */
  record?(batch: RecordBatch, i: number): Verdict;
  /** Returns the part of the payload after an AUXTRACE record to keep, if `record` kept it; by default, all of it. */
  part?(payload: Payload): PayloadPart | undefined;
  /** Returns records to replace an AUXTRACE record that `record` dropped, made from its payload. */
  instead?(payload: Payload): AsyncIterable<Uint8Array>;
  /** Returns records to be written before the first one of the recording. */
  before?(): Uint8Array;
  /** Writes records after the last one. */
  after?(write: (records: Uint8Array) => Promise<void>): Promise<void>;
  /** Changes a feature; `undefined` drops it. */
  feature?(id: number, bytes: Uint8Array): Uint8Array | undefined;
  /** Returns features that the recording does not have; called at the end. */
  newFeatures?(): readonly WriterFeature[];
}

/** Counts of a copy. */
export interface CopyStats {
  /** Records read, including inflated ones. */
  read: number;
  /** Records kept. */
  kept: number;
  /** Records dropped by the edit. */
  dropped: number;
  /** Records replaced by the edit. */
  replaced: number;
  /** Bytes written of payloads after AUXTRACE records. */
  payloadBytes: number;
}

/** Options of {@link copyRecording}. */
export interface CopyOptions {
  /** Change to apply. */
  readonly edit?: Edit;
  /** Whether to keep COMPRESSED records. `edit.record` then receives these instead of their contents. */
  readonly keepCompressed?: boolean;
  /** Source of the records; the reader by default. */
  readonly batches?: (options: BatchOptions) => AsyncIterable<RecordBatch>;
  /** Receives errors of unreadable features, which are dropped. Without it, the first such error is thrown. */
  readonly lostFeature?: Diagnostics | undefined;
  /** Called with the number of records so far after a batch was written; the copy waits for the promise. */
  readonly settled?: (records: number) => Promise<void>;
  /** Called with the number of bytes read since the last call. */
  readonly progress?: (bytes: number) => void;
}

/** Number of bytes of a payload that are copied at once. */
const CHUNK = 1 << 18;

/**
 * Copies a recording to a file or a pipe stream, and changes it on the way.
 *
 * Records keep their order in the file. Data that has different forms in files and pipes is
 * converted: attrs, features, tracing data and build ids are records at the start of a pipe, and
 * tables of a file. A directory becomes one recording. Memory is bounded for any size.
 *
 * @param reader The recording. Its diagnostics receive damage; without diagnostics, damage throws.
 * @param output Receives the recording.
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 *
 * @example
 * ```ts
 * import { bytesSource, memorySink, PerfDataReader } from "@perfdata/format";
 * import { copyRecording, PipeOutput } from "@perfdata/edit";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * const sink = memorySink();
 * const reader = await PerfDataReader.open(bytesSource(pipe));
 * const { kept } = await copyRecording(reader, new PipeOutput(sink));
 * assertEquals([kept, sink.bytes()], [1, pipe]);
 * ```
 */
export async function copyRecording(
  reader: PerfDataReader,
  output: RecordingOutput,
  options: CopyOptions = {},
): Promise<CopyStats> {
  return await new Copy(reader, output, options).run();
}

class Copy {
  readonly #stats: CopyStats = { read: 0, kept: 0, dropped: 0, replaced: 0, payloadBytes: 0 };
  readonly #reader: PerfDataReader;
  readonly #output: RecordingOutput;
  readonly #options: CopyOptions;
  readonly #edit: Edit;
  /** Features from records of a pipe, for a file. */
  readonly #features: WriterFeature[] = [];
  readonly #buildIds: Uint8Array[] = [];
  readonly #pieces: Pieces;
  /** Whether the recording consists of several files. */
  readonly #isJoined: boolean;
  #begun = false;
  /** Whether records after the head of a pipe were seen. */
  #pastHead = false;
  #reportedBytes = 0;
  /** Byte order of the output. */
  #littleEndian = true;

  constructor(reader: PerfDataReader, output: RecordingOutput, options: CopyOptions) {
    this.#reader = reader;
    this.#output = output;
    this.#options = options;
    this.#edit = options.edit ?? {};
    this.#isJoined = (reader.seams?.length ?? 0) > 0;
    this.#pieces = new Pieces((records) => output.write(records));
  }

  async run(): Promise<CopyStats> {
    const reader = this.#reader;
    const output = this.#output;
    const { keepCompressed = false, progress, settled } = this.#options;
    if (!reader.isPipe) {
      await this.#beginOutput();
      if (reader.fileSize !== undefined) await this.#fileFeatures();
    }
    const read = this.#options.batches ?? ((how: BatchOptions) => reader.batches(how));
    for await (const batch of read({ inflate: !keepCompressed })) {
      const records = batch.firstIndex + batch.count;
      await this.#batch(batch);
      if (settled !== undefined) {
        await this.#pieces.flush();
        await settled(records);
      }
      const { recordBytes, payloadBytes } = reader.stats;
      progress?.(recordBytes + payloadBytes - this.#reportedBytes);
      this.#reportedBytes = recordBytes + payloadBytes;
    }
    if (!this.#begun) await this.#beginOutput();
    await this.#pieces.flush();
    await this.#edit.after?.((records) => output.write(records));
    if (!reader.isPipe && reader.fileSize === undefined) await this.#fileFeatures();
    await this.#pipeFeatures();
    if (this.#buildIds.length > 0) {
      await this.#oneFeature(HEADER_BUILD_ID, joinBytes(this.#buildIds));
    }
    await output.features(this.#edit.newFeatures?.() ?? []);
    await output.end();
    return this.#stats;
  }

  async #beginOutput(): Promise<void> {
    this.#begun = true;
    const { events, littleEndian, header, data, seams } = this.#reader;
    const isSame = changesNothing(this.#edit) && this.#options.batches === undefined &&
      seams === undefined && hasTablesFirst(this.#reader);
    const head: RecordingHead = {
      littleEndian,
      ...(isSame && header !== undefined ? { like: this.#reader } : {}),
      events: events.all.map(({ attr, ids }) => ({ attr, ids })),
      ...(header === undefined ? {} : {
        attrSize: Math.max(64, Number(header.attr_size) - 16),
        dataOffset: data.offset,
      }),
    };
    const edited = this.#edit.head?.(head) ?? head;
    this.#littleEndian = edited.littleEndian;
    await this.#output.begin(edited);
    await this.#pipeFeatures();
    if (this.#edit.before !== undefined) await this.#output.write(this.#edit.before());
  }

  /** Writes the features of a pipe that arrived since the last call. */
  async #pipeFeatures(): Promise<void> {
    await this.#output.features(this.#features.splice(0));
  }

  /** Passes the features of a file through the edit. */
  async #fileFeatures(): Promise<void> {
    for (const { id, section } of this.#reader.listedFeatures) {
      const name = featureName(id);
      let bytes: Uint8Array;
      try {
        bytes = await this.#reader.readSection(Number(section.offset), Number(section.size), name);
      } catch (error) {
        const { lostFeature } = this.#options;
        if (!(error instanceof PerfDataError) || lostFeature === undefined) throw error;
        lostFeature(error);
        continue;
      }
      await this.#oneFeature(id, bytes);
    }
  }

  async #oneFeature(id: number, bytes: Uint8Array): Promise<void> {
    const edited = this.#editFeature(id, bytes);
    if (edited !== undefined) await this.#output.features([{ id, bytes: edited }]);
  }

  #editFeature(id: number, bytes: Uint8Array): Uint8Array | undefined {
    if (OF_COMPRESSION.has(id) && this.#options.keepCompressed !== true) return undefined;
    // perf rejects DIR_FORMAT in a single file.
    if (id === HEADER_DIR_FORMAT && this.#reader.seams !== undefined) return undefined;
    return this.#edit.feature === undefined ? bytes : this.#edit.feature(id, bytes);
  }

  /** Writes the kept records of a batch: adjacent ones together, small ones collected. */
  async #batch(batch: RecordBatch): Promise<void> {
    const stats = this.#stats;
    const { edit } = this.#options;
    const pieces = this.#pieces;
    const last = batch.count - 1;
    let from = -1;
    let to = -1;
    let payloadKept = batch.payload !== undefined;
    for (let i = 0; i <= last; i++) {
      stats.read++;
      const start = batch.start(i);
      let isHead = false;
      if (batch.type(i) < PERF_RECORD_USER_TYPE_START) this.#pastHead = true;
      else isHead = this.#takeHead(batch, i);
      if (!this.#begun && this.#pastHead) await this.#beginOutput();
      const verdict = isHead ? DROP : edit?.record?.(batch, i) ?? KEEP;
      if (i === last) payloadKept &&= verdict !== DROP;
      // The AUXTRACE index of a file needs the offset of each AUXTRACE record.
      const isPlaced = verdict !== DROP && batch.type(i) === PERF_RECORD_AUXTRACE;
      if (verdict === KEEP) {
        stats.kept++;
        if (!isPlaced) {
          if (from < 0) from = start;
          to = start + batch.size(i);
          continue;
        }
      }
      // Creates a promise only if there is something to write.
      let full = from < 0 ? undefined : pieces.put(batch.bytes.subarray(from, to));
      if (full !== undefined) await full;
      from = -1;
      if (isHead) continue;
      if (verdict === DROP) {
        stats.dropped++;
        continue;
      }
      const bytes = verdict === KEEP ? batch.recordBytes(i) : verdict;
      if (verdict !== KEEP) stats.replaced++;
      if (isPlaced) {
        await pieces.flush();
        await this.#output.auxtrace(this.#announced(bytes, batch.payload));
      } else {
        full = pieces.put(bytes);
        if (full !== undefined) await full;
      }
    }
    if (from >= 0) await pieces.put(batch.bytes.subarray(from, to));
    if (batch.payload !== undefined) await this.#payload(batch.payload, payloadKept);
  }

  /** Returns an AUXTRACE record that announces at most the available bytes, since the file may have been cut. */
  #announced(record: Uint8Array, payload: Payload | undefined): Uint8Array {
    const { data, fileSize } = this.#reader;
    if (payload === undefined || fileSize === undefined) return record;
    const left = Math.max(0, data.offset + data.size - payload.offset);
    if (left >= payload.size || this.#edit.part?.(payload) !== undefined) return record;
    const cut = record.slice();
    const size = encode(u64, BigInt(left), { littleEndian: this.#littleEndian });
    cut.set(size, layoutOf(AUXTRACE).size);
    return cut;
  }

  /**
   * Handles a record that the other form stores elsewhere, and returns whether it is one: the head of a pipe,
   * COMPRESSED records, and FINISHED_ROUND records of a directory's file. The latter do not hold for the other
   * files, so readers have to sort by time without them.
   */
  #takeHead(batch: RecordBatch, i: number): boolean {
    const type = batch.type(i);
    const google = this.#reader.isGoogleDialect ? googleFeatureId(type) : undefined;
    if (google !== undefined) {
      const bytes = batch.recordBytes(i).slice(PERF_EVENT_HEADER_SIZE);
      const edited = this.#editFeature(google, bytes);
      if (edited !== undefined) this.#features.push({ id: google, bytes: edited });
      return true;
    }
    if (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2) {
      this.#pastHead = true;
      return this.#options.keepCompressed !== true;
    }
    if (type === PERF_RECORD_FINISHED_ROUND && this.#isJoined) {
      this.#pastHead = true;
      return true;
    }
    if (this.#reader.isPipe) {
      switch (type) {
        case PERF_RECORD_HEADER_ATTR:
        case PERF_RECORD_HEADER_TRACING_DATA:
          return true;
        case PERF_RECORD_HEADER_FEATURE:
          this.#takeFeature(batch, i);
          return true;
        case PERF_RECORD_HEADER_BUILD_ID: {
          const record = batch.recordBytes(i).slice();
          new DataView(record.buffer).setUint32(0, 0, batch.littleEndian);
          this.#buildIds.push(record);
          return true;
        }
      }
    }
    this.#pastHead = true;
    return false;
  }

  #takeFeature(batch: RecordBatch, i: number): void {
    const { bytes: buffer, view } = batch;
    const start = batch.start(i);
    const feature = streamFeature(this.#reader, buffer, view, start, start + batch.size(i));
    if (feature === undefined) return;
    const { id, payload } = feature;
    if (id >= HEADER_FEAT_BITS) {
      const { lostFeature } = this.#options;
      const error = new PerfDataError(`feature ${id}: expected 0 to ${HEADER_FEAT_BITS - 1}`, {
        offset: batch.offsetOf(i) + PERF_EVENT_HEADER_SIZE,
      });
      if (lostFeature === undefined) throw error;
      lostFeature(error);
      return;
    }
    const bytes = this.#editFeature(id, payload.slice());
    if (bytes !== undefined) this.#features.push({ id, bytes });
  }

  async #payload(payload: Payload, kept: boolean): Promise<void> {
    if (payload.type === PERF_RECORD_HEADER_TRACING_DATA && this.#reader.isPipe) {
      const bytes = await payloadBytes(payload, payload.size);
      // The reader has reported the cut. perf crashes on partial tracing data.
      if (bytes.length < payload.size) return;
      const edited = this.#editFeature(HEADER_TRACING_DATA, bytes);
      if (edited !== undefined) this.#features.push({ id: HEADER_TRACING_DATA, bytes: edited });
      return;
    }
    await this.#pieces.flush();
    if (!kept) {
      if (payload.type !== PERF_RECORD_AUXTRACE) return;
      for await (const records of this.#edit.instead?.(payload) ?? []) {
        await this.#output.write(records);
      }
      return;
    }
    const chunk = new Uint8Array(Math.min(CHUNK, payload.size));
    const put = async (bytes: Uint8Array) => {
      this.#stats.payloadBytes += bytes.length;
      if (bytes.length > 0) await this.#output.payload(bytes);
    };
    const part = this.#edit.part?.(payload);
    const { from, to } = part ?? { from: 0, to: Infinity };
    await put(new Uint8Array(part?.before ?? 0));
    for (let at = 0; at < to;) {
      const n = await payload.read(chunk);
      if (n === 0) break;
      await put(chunk.subarray(Math.max(0, Math.min(n, from - at)), Math.min(n, to - at)));
      at += n;
    }
    await put(new Uint8Array(part?.after ?? 0));
  }
}

/** Whether an edit has no member that changes records or features, in the object or its class. */
function changesNothing(edit: Edit): boolean {
  const { head, record, part, before, after, feature, newFeatures } = edit;
  return [head, record, part, before, after, feature, newFeatures].every((f) => f === undefined);
}
