import { type PerfEventAttr, perfEventAttr } from "../header/attr.ts";
import { ByteWriter } from "../struct/cursor.ts";
import {
  featureIds,
  PERF_FILE_HEADER_SIZE,
  PERF_PIPE_HEADER_SIZE,
  type PerfFileHeader,
  perfFileHeader,
  type PerfFileSection,
  perfFileSection,
  perfPipeFileHeader,
} from "../header/header.ts";
import type { PerfDataReader } from "../reading/reader.ts";
import type { ByteSink, RandomAccessSink } from "../sources/sink.ts";
import { array, encode, u64 } from "../struct/mod.ts";

/** An event in the form of a file's header. */
export interface WriterEvent {
  /** What is counted and sampled. */
  readonly attr: PerfEventAttr;
  /** The ids that the kernel gave the event. */
  readonly ids?: readonly bigint[];
}

/** A feature section as bytes; see `encodeFeature` for making them. */
export interface WriterFeature {
  /** The feature's bit, `HEADER_*`. */
  readonly id: number;
  /** What the section holds. */
  readonly bytes: Uint8Array;
}

/** How to write a file. */
export interface FileWriterOptions {
  /** Byte order of the file; little-endian where nothing is said. */
  readonly littleEndian?: boolean;
  /** The events, in the order of the attr table. */
  readonly events: readonly WriterEvent[];
  /** Bytes that each attr takes in the table; that of the longest attr if not given. */
  readonly attrSize?: number;
  /** Where the data is to begin; right after the attrs if not given. */
  readonly dataOffset?: number;
}

/**
 * The 8 bytes of `PERFILE2`, as a machine of that byte order writes them.
 */
export function fileMagic(littleEndian: boolean): Uint8Array {
  const text = new TextEncoder().encode("PERFILE2");
  return littleEndian ? text : text.reverse();
}

/** Bytes of the longest attr that is believed; that of Linux 6.16 has 144. */
const MOST_ATTR = 4096;

/** Bytes that the table needs for each attr. One that was read from a damaged file may claim any size. */
export function longestAttr(events: readonly Pick<WriterEvent, "attr">[]): number {
  return events.reduce(
    (most, { attr: { size } }) => size > MOST_ATTR ? most : Math.max(most, size),
    64,
  );
}

/**
 * Writes a `perf.data` file or a pipe stream.
 *
 * A file is laid out as perf lays it out: header, ids, attrs, data, feature table, features. Until
 * {@link PerfDataWriter.close} is called its header says that the data has no bytes, as that of a
 * recording which was killed.
 *
 * @example
 * ```ts
 * import { bytesSource, emptyAttr, KERNEL_RECORDS, memorySink, PerfDataReader, PerfDataWriter,
 *   RecordCodec } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const writer = await PerfDataWriter.file(sink, { events: [{ attr: emptyAttr() }] });
 * const codec = new RecordCodec(KERNEL_RECORDS);
 * await writer.write(codec.encode({
 *   type: 3,
 *   name: "COMM",
 *   misc: 0,
 *   body: { pid: 1, tid: 1, comm: "init" },
 * }));
 * await writer.close();
 *
 * const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
 * assertEquals(reader.data.size, 24);
 * ```
 */
export class PerfDataWriter {
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  readonly #sink: ByteSink;
  readonly #header: PerfFileHeader | undefined;
  /** The file whose layout is kept. */
  readonly #like: PerfDataReader | undefined;
  #position: number;

  private constructor(
    sink: ByteSink,
    littleEndian: boolean,
    header: PerfFileHeader | undefined,
    position: number,
    like?: PerfDataReader,
  ) {
    this.#like = like;
    this.#sink = sink;
    this.littleEndian = littleEndian;
    this.#header = header;
    this.#position = position;
  }

  /** Begins a pipe stream: a header of 16 bytes, then what {@link PerfDataWriter.write} is given. */
  static async pipe(
    sink: ByteSink,
    options: { littleEndian?: boolean } = {},
  ): Promise<PerfDataWriter> {
    const littleEndian = options.littleEndian ?? true;
    await sink.write(encode(perfPipeFileHeader, {
      magic: fileMagic(littleEndian),
      size: BigInt(PERF_PIPE_HEADER_SIZE),
    }, { littleEndian }));
    return new PerfDataWriter(sink, littleEndian, undefined, PERF_PIPE_HEADER_SIZE);
  }

  /**
   * Begins a file: writes header, ids and attrs.
   *
   * @throws {RangeError} If `dataOffset` lies before the end of the attrs.
   */
  static async file(sink: RandomAccessSink, options: FileWriterOptions): Promise<PerfDataWriter> {
    const { events, littleEndian = true } = options;
    const attrSize = options.attrSize ?? longestAttr(events);
    const ids = new ByteWriter({ littleEndian });
    const attrs = new ByteWriter({ littleEndian });
    for (const { attr, ids: own = [] } of events) {
      const section: PerfFileSection = {
        offset: BigInt(PERF_FILE_HEADER_SIZE + ids.length),
        size: BigInt(own.length * 8),
      };
      ids.put(encode(array(u64, "rest"), [...own], { littleEndian }));
      attrs.put(encode(perfEventAttr(attrSize), attr, { littleEndian }));
      attrs.put(encode(perfFileSection, section, { littleEndian }));
    }
    const attrsAt = PERF_FILE_HEADER_SIZE + ids.length;
    const attrsEnd = attrsAt + attrs.length;
    const dataAt = options.dataOffset ?? attrsEnd;
    if (dataAt < attrsEnd) {
      throw new RangeError(`dataOffset: ${dataAt} is before the end of the attrs at ${attrsEnd}`);
    }
    const header: PerfFileHeader = {
      magic: fileMagic(littleEndian),
      size: BigInt(PERF_FILE_HEADER_SIZE),
      attr_size: BigInt(attrSize + 16),
      attrs: { offset: BigInt(attrsAt), size: BigInt(attrs.length) },
      data: { offset: BigInt(dataAt), size: 0n },
      event_types: { offset: 0n, size: 0n },
      adds_features: [0n, 0n, 0n, 0n],
    };
    await sink.write(encode(perfFileHeader, header, { littleEndian }));
    await sink.write(ids.finish());
    await sink.write(attrs.finish());
    if (dataAt > attrsEnd) await sink.write(new Uint8Array(dataAt - attrsEnd));
    return new PerfDataWriter(sink, littleEndian, header, dataAt);
  }

  /**
   * Begins a file that is laid out as another one: its header, ids, attrs and event types, and what lies
   * between them, are taken as they are. With the same records and features it is the same file.
   *
   * @param like A file, which {@link PerfDataWriter.close} reads once more; no pipe.
   * @throws {RangeError} If {@link hasTablesFirst} is false.
   * @throws {PerfDataError} If it cannot be read.
   *
   * @example
   * ```ts
   * import { bytesSource, emptyAttr, memorySink, PerfDataReader, PerfDataWriter } from "@perfdata/format";
   * import { assertEquals } from "@std/assert";
   *
   * const sink = memorySink();
   * const writer = await PerfDataWriter.file(sink, { events: [{ attr: emptyAttr() }], dataOffset: 4096 });
   * const record = Uint8Array.of(68, 0, 0, 0, 0, 0, 8, 0);
   * await writer.write(record);
   * await writer.close();
   * const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
   * const again = memorySink();
   * const copy = await PerfDataWriter.like(again, reader);
   * await copy.write(record);
   * await copy.close();
   * assertEquals(again.bytes(), sink.bytes());
   * ```
   */
  static async like(sink: RandomAccessSink, like: PerfDataReader): Promise<PerfDataWriter> {
    const { header, littleEndian, data } = like;
    if (header === undefined || !hasTablesFirst(like)) {
      throw new RangeError("like: expected a file with all tables before its data");
    }
    await copySections(like, 0, data.offset, sink);
    const unfinished = {
      ...header,
      data: { ...header.data, size: 0n },
      adds_features: NO_FEATURES,
    };
    await sink.writeAt(encode(perfFileHeader, unfinished, { littleEndian }), 0);
    return new PerfDataWriter(sink, littleEndian, header, data.offset, like);
  }

  /**
   * Copies a recording as it is, byte for byte: gaps, event types, damage and all.
   *
   * @param reader A file, or a pipe stream that is in a file.
   * @param progress Called with the bytes that were copied since the call before.
   * @throws {RangeError} If it arrives as a stream.
   */
  static async copy(
    sink: ByteSink,
    reader: PerfDataReader,
    progress?: (bytes: number) => void,
  ): Promise<void> {
    if (reader.fileSize === undefined) throw new RangeError("copy: expected a file, not a stream");
    await copySections(reader, 0, reader.fileSize, sink, progress);
  }

  /** File offset of what is written next. */
  get position(): number {
    return this.#position;
  }

  /** Appends records, or the payload that follows one, as they are. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#sink.write(bytes);
    this.#position += bytes.length;
  }

  /**
   * Ends a file: writes the feature sections and completes the header. A pipe stream needs no end,
   * and its features are HEADER_FEATURE records.
   *
   * @throws {RangeError} If a pipe is given features, or a feature has an impossible id.
   */
  async close(features: readonly WriterFeature[] = []): Promise<void> {
    const header = this.#header;
    if (header === undefined) {
      if (features.length > 0) throw new RangeError("close: a pipe has no feature sections");
      return;
    }
    const { littleEndian } = this;
    if (await this.#closeLike(header, features)) return;
    const sorted = [...features].sort((a, b) => a.id - b.id);
    const words = [0n, 0n, 0n, 0n];
    for (const { id } of sorted) {
      const word = words[id >> 6];
      if (word === undefined) throw new RangeError(`feature ${id}: expected 0 to 255`);
      words[id >> 6] = word | (1n << BigInt(id & 63));
    }
    const data: PerfFileSection = {
      offset: header.data.offset,
      size: BigInt(this.#position) - header.data.offset,
    };
    let at = this.#position + 16 * sorted.length;
    for (const { bytes } of sorted) {
      const section: PerfFileSection = { offset: BigInt(at), size: BigInt(bytes.length) };
      await this.write(encode(perfFileSection, section, { littleEndian }));
      at += bytes.length;
    }
    for (const { bytes } of sorted) await this.write(bytes);
    const whole = encode(perfFileHeader, { ...header, data, adds_features: words }, {
      littleEndian,
    });
    await (this.#sink as RandomAccessSink).writeAt(whole, 0);
  }

  /**
   * Ends a file as the one whose layout it has ends, where it has the same features and each has as many
   * bytes as there; says whether it does.
   */
  async #closeLike(header: PerfFileHeader, features: readonly WriterFeature[]): Promise<boolean> {
    const like = this.#like;
    if (like?.fileSize === undefined) return false;
    const byId = new Map(features.map(({ id, bytes }) => [id, bytes]));
    // A recording that was killed announces features that it has not.
    const announced = featureIds(header, this.littleEndian).length;
    const isSame = announced === features.length && like.features.length === features.length &&
      like.features.every(({ id, section }) => BigInt(byId.get(id)?.length ?? -1) === section.size);
    const { littleEndian } = this;
    const before = like.data.offset + like.data.size;
    const size = 16 * features.length;
    if (!isSame || before + size > like.fileSize) return false;
    const moved = this.#position - before;
    for (const { section } of like.features) {
      const offset = section.offset < before ? section.offset : section.offset + BigInt(moved);
      await this.write(encode(perfFileSection, { ...section, offset }, { littleEndian }));
    }
    await copySections(like, before + size, like.fileSize, this.#sink);
    const to = this.#sink as RandomAccessSink;
    for (const { id, section } of like.features) {
      const offset = Number(section.offset);
      await to.writeAt(byId.get(id) as Uint8Array, offset < before ? offset : offset + moved);
    }
    const dataSize = BigInt(this.#position - size) - header.data.offset;
    const data = { ...header.data, size: dataSize };
    await to.writeAt(encode(perfFileHeader, { ...header, data }, { littleEndian }), 0);
    this.#position += like.fileSize - before - size;
    return true;
  }
}

/**
 * Whether a file, and no stream, has all but features before its records, as what perf writes has: then
 * {@link PerfDataWriter.like} can write one that is laid out as this.
 */
export function hasTablesFirst({ header, fileSize, data, layout }: PerfDataReader): boolean {
  if (header === undefined || fileSize === undefined || layout.conflicts.length > 0) return false;
  const tables = new Set(["header", "attrs", "ids", "event_types"]);
  // The header of a damaged file may say that the data begins beyond its end.
  return data.offset >= PERF_FILE_HEADER_SIZE && header.data.offset === BigInt(data.offset) &&
    layout.regions.every(({ kind, offset }) => !tables.has(kind) || offset < data.offset);
}

const NO_FEATURES: [bigint, bigint, bigint, bigint] = [0n, 0n, 0n, 0n];

/** Copies bytes of a file, whatever they hold. */
async function copySections(
  from: PerfDataReader,
  start: number,
  end: number,
  to: ByteSink,
  progress?: (bytes: number) => void,
): Promise<void> {
  for (let at = start; at < end; at += PIECE) {
    const bytes = await from.readSection(at, Math.min(PIECE, end - at), "copy");
    await to.write(bytes);
    progress?.(bytes.length);
  }
}

/** Bytes that are copied at once. */
const PIECE = 1 << 20;
