import type { ByteSink, RandomAccessSink } from "@perfdata/format/bytes";
import {
  encode,
  longestAttr,
  PERF_ATTR_SIZE_VER0,
  PERF_FILE_HEADER_SIZE,
  type PerfDataReader,
  PerfDataWriter,
  perfEventHeader,
  perfFileSection,
  prefixSize,
  RecordCodec,
  recordSize,
  u32,
  u64,
  type WriterEvent,
  type WriterFeature,
} from "@perfdata/format/records";
import {
  featureName,
  HEADER_AUXTRACE,
  HEADER_BUILD_ID,
  HEADER_COMPRESSED,
  HEADER_TRACING_DATA,
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
} from "@perfdata/format/constants";
import { HEADER_ATTR, HEADER_FEATURE } from "@perfdata/user-records/metadata";

/** Contents of a recording outside of its records, or before the first one. */
export interface RecordingHead {
  /** Byte order of the recording. */
  readonly littleEndian: boolean;
  /** The events, in the order of the attr table. */
  readonly events: readonly WriterEvent[];
  /** Size of an attr in the attr table of a file; by default, that of the longest attr. */
  readonly attrSize?: number;
  /** Offset of the data in a file; by default, right after the attrs. */
  readonly dataOffset?: number;
  /** The file that has this head unchanged; its layout is reproduced. */
  readonly like?: PerfDataReader;
}

/** Receives a message about data that the output format cannot represent. */
export type Loss = (message: string) => void;

/**
 * Output of an edited recording: a file or a pipe stream. Its methods are called in this order:
 * `begin`; `features`, if they are known before the records; `write`, `auxtrace` and `payload`;
 * `end`.
 */
export interface RecordingOutput {
  /** Number of bytes written so far: the offset of the next record. */
  readonly position: number;
  /** Writes the head. */
  begin(head: RecordingHead): Promise<void>;
  /** Adds features. A pipe writes them immediately, a file at the end. */
  features(features: readonly WriterFeature[]): Promise<void>;
  /** Appends whole records. */
  write(records: Uint8Array): Promise<void>;
  /** Appends an AUXTRACE record; its payload follows. */
  auxtrace(record: Uint8Array): Promise<void>;
  /** Appends the payload of the last record, or a part of it. */
  payload(bytes: Uint8Array): Promise<void>;
  /** Completes the recording. */
  end(): Promise<void>;
}

/**
 * Writes a file with perf's layout: header, ids, attrs, records, features.
 *
 * The AUXTRACE feature, an index with the offset of each AUXTRACE record, is rebuilt, since these
 * offsets change (`auxtrace_index` of tools/perf/util/auxtrace.h: u64 file_offset, u64 sz per entry).
 */
export class FileOutput implements RecordingOutput {
  readonly #sink: RandomAccessSink;
  #writer: PerfDataWriter | undefined;
  readonly #features = new Map<number, Uint8Array>();
  readonly #auxtraces: bigint[] = [];

  /**
   * Creates the output.
   *
   * @param sink Receives the file.
   */
  constructor(sink: RandomAccessSink) {
    this.#sink = sink;
  }

  get position(): number {
    return this.#writer?.position ?? 0;
  }

  async begin(head: RecordingHead): Promise<void> {
    if (head.like !== undefined) {
      this.#writer = await PerfDataWriter.like(this.#sink, head.like);
      return;
    }
    const { dataOffset, ...given } = head;
    const size = given.attrSize ?? longestAttr(given.events);
    // perf expects the section of the ids right after as many bytes as the attr's `size`.
    const resized = given.attrSize !== undefined ? given : {
      ...given,
      events: given.events.map((event) => ({ ...event, attr: { ...event.attr, size } })),
    };
    const ids = resized.events.reduce((sum, { ids = [] }) => sum + 8 * ids.length, 0);
    const least = PERF_FILE_HEADER_SIZE + ids + resized.events.length *
        (size + prefixSize(perfFileSection));
    this.#writer = await PerfDataWriter.file(this.#sink, {
      ...resized,
      ...(dataOffset !== undefined && dataOffset >= least ? { dataOffset } : {}),
    });
  }

  features(features: readonly WriterFeature[]): Promise<void> {
    for (const { id, bytes } of features) this.#features.set(id, bytes);
    return Promise.resolve();
  }

  /** Appends whole records. */
  async write(records: Uint8Array): Promise<void> {
    await this.#begun.write(records);
  }

  /** Appends an AUXTRACE record and stores its offset for the index. */
  async auxtrace(record: Uint8Array): Promise<void> {
    this.#auxtraces.push(BigInt(this.position), BigInt(record.length));
    await this.write(record);
  }

  /** Appends a payload or a part of it. */
  async payload(bytes: Uint8Array): Promise<void> {
    await this.#begun.write(bytes);
  }

  async end(): Promise<void> {
    const writer = this.#begun;
    this.#features.delete(HEADER_AUXTRACE);
    if (this.#auxtraces.length > 0) {
      const index = new Uint8Array(8 + 8 * this.#auxtraces.length);
      const view = new DataView(index.buffer);
      [BigInt(this.#auxtraces.length / 2), ...this.#auxtraces].forEach((word, i) =>
        view.setBigUint64(8 * i, word, writer.littleEndian)
      );
      this.#features.set(HEADER_AUXTRACE, index);
    }
    await writer.close([...this.#features].map(([id, bytes]) => ({ id, bytes })));
  }

  get #begun(): PerfDataWriter {
    if (this.#writer === undefined) throw new Error("output: begin was not called");
    return this.#writer;
  }
}

/** Maximum size of an attr in a pipe; Linux 6.16 has 144 bytes. */
const MOST_ATTR = 4096;

/** Features that perf does not read from HEADER_FEATURE records. */
const NOT_IN_PIPES: ReadonlySet<number> = new Set([HEADER_AUXTRACE]);

/**
 * Writes a pipe stream: attrs and features are records before all others.
 *
 * Tracing data is a HEADER_TRACING_DATA record with a payload; each build id is a HEADER_BUILD_ID record.
 * In pipes, perf reads them from nowhere else.
 */
export class PipeOutput implements RecordingOutput {
  readonly #sink: ByteSink;
  readonly #loss: Loss;
  #writer: PerfDataWriter | undefined;

  /**
   * Creates the output.
   *
   * @param sink Receives the stream.
   * @param loss receives messages about data that does not fit into a pipe
   */
  constructor(sink: ByteSink, loss: Loss = () => {}) {
    this.#sink = sink;
    this.#loss = loss;
  }

  get position(): number {
    return this.#writer?.position ?? 0;
  }

  async begin({ littleEndian, events, attrSize = MOST_ATTR }: RecordingHead): Promise<void> {
    this.#writer = await PerfDataWriter.pipe(this.#sink, { littleEndian });
    const codec = new RecordCodec([HEADER_ATTR]);
    for (const [i, { attr, ids = [] }] of events.entries()) {
      const { type, name } = HEADER_ATTR;
      // A damaged attr may claim any size. perf expects the ids after this many bytes.
      const size = Math.max(PERF_ATTR_SIZE_VER0, Math.min(attr.size, attrSize, MOST_ATTR));
      const room = Math.floor((0xffff - PERF_EVENT_HEADER_SIZE - size) / 8);
      if (ids.length > room) {
        this.#loss(
          `event ${i}: ${ids.length - room} of ${ids.length} ids do not fit into a record`,
        );
      }
      const body = { attr: { ...attr, size }, id: ids.slice(0, room) };
      await this.write(codec.encode({ type, name, misc: 0, body }, { littleEndian }));
    }
  }

  async features(features: readonly WriterFeature[]): Promise<void> {
    const sorted = features.toSorted((a, b) => a.id - b.id);
    for (const { id, bytes } of sorted) {
      if (NOT_IN_PIPES.has(id)) continue;
      if (id === HEADER_BUILD_ID) await this.#buildIds(bytes);
      else if (id === HEADER_TRACING_DATA) await this.#tracingData(bytes);
      else await this.#feature(id, bytes);
    }
  }

  /** Appends whole records. */
  async write(records: Uint8Array): Promise<void> {
    await this.#begun.write(records);
  }

  /** Appends an AUXTRACE record. */
  async auxtrace(record: Uint8Array): Promise<void> {
    await this.write(record);
  }

  /** Appends a payload or a part of it. */
  async payload(bytes: Uint8Array): Promise<void> {
    await this.#begun.write(bytes);
  }

  end(): Promise<void> {
    return Promise.resolve();
  }

  async #feature(id: number, bytes: Uint8Array): Promise<void> {
    const { littleEndian } = this.#begun;
    const size = prefixSize(HEADER_FEATURE) + bytes.length;
    if (size > 0xffff) {
      this.#loss(`${featureName(id)}: ${bytes.length} bytes do not fit into a record; left out`);
      return;
    }
    await this.write(header(PERF_RECORD_HEADER_FEATURE, 0, size, littleEndian));
    await this.write(encode(u64, BigInt(id), { littleEndian }));
    await this.write(bytes);
  }

  /** Converts the table of build ids, which has records without a type (`struct perf_record_header_build_id`). */
  async #buildIds(bytes: Uint8Array): Promise<void> {
    const { littleEndian } = this.#begun;
    const records = bytes.slice();
    const view = new DataView(records.buffer);
    let at = 0;
    while (at + PERF_EVENT_HEADER_SIZE <= records.length) {
      const size = recordSize(view, at, littleEndian);
      if (size < PERF_EVENT_HEADER_SIZE || at + size > records.length) break;
      view.setUint32(at, PERF_RECORD_HEADER_BUILD_ID, littleEndian);
      at += size;
    }
    if (at < records.length) {
      this.#loss(`BUILD_ID: ${records.length - at} bytes at its end are no records; left out`);
    }
    await this.write(records.subarray(0, at));
  }

  async #tracingData(bytes: Uint8Array): Promise<void> {
    const { littleEndian } = this.#begun;
    await this.write(header(PERF_RECORD_HEADER_TRACING_DATA, 0, 12, littleEndian));
    // perf pads the payload to a multiple of 8; its size includes the padding.
    const padded = bytes.length + 7 & ~7;
    await this.write(encode(u32, padded, { littleEndian }));
    await this.write(bytes);
    await this.write(new Uint8Array(padded - bytes.length));
  }

  get #begun(): PerfDataWriter {
    if (this.#writer === undefined) throw new Error("output: begin was not called");
    return this.#writer;
  }
}

function header(type: number, misc: number, size: number, littleEndian: boolean): Uint8Array {
  return encode(perfEventHeader, { type, misc, size }, { littleEndian });
}

/** Features that describe compression, which do not apply to an uncompressed copy. */
export const OF_COMPRESSION: ReadonlySet<number> = new Set([HEADER_COMPRESSED]);
