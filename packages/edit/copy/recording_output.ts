import {
  type ByteSink,
  type PerfDataReader,
  PerfDataWriter,
  type RandomAccessSink,
  RecordCodec,
  type WriterEvent,
  type WriterFeature,
} from "@perfdata/format";
import { encode, prefixSize, u32, u64 } from "@perfdata/format/struct";
import {
  featureName,
  HEADER_AUXTRACE,
  HEADER_BUILD_ID,
  HEADER_COMPRESSED,
  HEADER_TRACING_DATA,
} from "@perfdata/format/feature-names";
import { longestAttr } from "@perfdata/format/writer";
import { PERF_ATTR_SIZE_VER0 } from "@perfdata/format/attr";
import {
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
} from "@perfdata/format/record-types";
import { PERF_FILE_HEADER_SIZE, perfFileSection } from "@perfdata/format/header";
import { perfEventHeader, recordSize } from "@perfdata/format/record-header";
import { HEADER_ATTR } from "@perfdata/user-records/header-attr";
import { HEADER_FEATURE } from "@perfdata/user-records/header-feature";

/** Contents of a recording outside its records, or before the first one. */
export interface RecordingHead {
  /** Byte order of the recording. */
  readonly littleEndian: boolean;
  /** The events, in the order of the attr table. */
  readonly events: readonly WriterEvent[];
  /** Bytes that each attr takes in the table of a file; that of the longest attr if not given. */
  readonly attrSize?: number;
  /** Where the data of a file began; right after the attrs if not given. */
  readonly dataOffset?: number;
  /** The file, where all of this is as it is there: a file is laid out as that. */
  readonly like?: PerfDataReader;
}

/** Receives a message about data that could not be written in the requested form. */
export type Loss = (message: string) => void;

/**
 * Where an edited recording goes: a file or a pipe stream. Both take the same calls, in this order:
 * `begin`, `features` if they are known before the records, `write`, `auxtrace` and `payload`,
 * `end`.
 */
export interface RecordingOutput {
  /** Bytes written so far: the position of the next record. */
  readonly position: number;
  /** Writes what comes before the records. */
  begin(head: RecordingHead): Promise<void>;
  /** Takes features; a pipe writes them at once, a file at the end. */
  features(features: readonly WriterFeature[]): Promise<void>;
  /** Appends whole records. */
  write(records: Uint8Array): Promise<void>;
  /** Appends an AUXTRACE record; its payload comes next. */
  auxtrace(record: Uint8Array): Promise<void>;
  /** Appends the payload that follows the last record, or a part of it. */
  payload(bytes: Uint8Array): Promise<void>;
  /** Completes the recording. */
  end(): Promise<void>;
}

/**
 * Writes a file: header, ids, attrs, records, features, as perf lays it out.
 *
 * The AUXTRACE feature, an index with the place of each AUXTRACE record, is rebuilt, since those
 * places change (`auxtrace_index` of tools/perf/util/auxtrace.h: u64 file_offset, u64 sz an entry).
 */
export class FileOutput implements RecordingOutput {
  readonly #sink: RandomAccessSink;
  #writer: PerfDataWriter | undefined;
  readonly #features = new Map<number, Uint8Array>();
  readonly #auxtraces: bigint[] = [];

  /**
   * Writes nothing yet.
   *
   * @param sink Where the file goes.
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
    // perf expects the place of the ids right after as many bytes as the attr says that it has.
    const rest = given.attrSize !== undefined ? given : {
      ...given,
      events: given.events.map((event) => ({ ...event, attr: { ...event.attr, size } })),
    };
    const ids = rest.events.reduce((sum, { ids = [] }) => sum + 8 * ids.length, 0);
    const least = PERF_FILE_HEADER_SIZE + ids + rest.events.length *
        (size + prefixSize(perfFileSection));
    this.#writer = await PerfDataWriter.file(this.#sink, {
      ...rest,
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

  /** Appends an AUXTRACE record and notes its place. */
  async auxtrace(record: Uint8Array): Promise<void> {
    this.#auxtraces.push(BigInt(this.position), BigInt(record.length));
    await this.write(record);
  }

  /** Appends (part of) a payload. */
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

/** Bytes of the longest attr that is written to a pipe; that of Linux 6.16 has 144. */
const MOST_ATTR = 4096;

/** Features of a file that perf does not read from a HEADER_FEATURE record. */
const NOT_IN_PIPES: ReadonlySet<number> = new Set([HEADER_AUXTRACE]);

/**
 * Writes a pipe stream: attrs and features are records before all others.
 *
 * Tracing data is a HEADER_TRACING_DATA record with a payload, a build id a HEADER_BUILD_ID record of
 * its own; perf takes them from nowhere else in a pipe.
 */
export class PipeOutput implements RecordingOutput {
  readonly #sink: ByteSink;
  readonly #loss: Loss;
  #writer: PerfDataWriter | undefined;

  /**
   * Writes nothing yet.
   *
   * @param sink Where the stream goes.
   * @param loss receives what does not fit into a pipe.
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
      // A damaged attr may claim any size. perf looks for the ids after this many bytes.
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

  /** Appends (part of) a payload. */
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

  /** The table of build ids holds records without a type (`struct perf_record_header_build_id`). */
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
    // perf pads the payload to a multiple of 8, and gives its size with the padding.
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

/** Features that say something about a compressed recording which is not true of a plain one. */
export const OF_COMPRESSION: ReadonlySet<number> = new Set([HEADER_COMPRESSED]);
