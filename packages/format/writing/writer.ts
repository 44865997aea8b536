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

/** An event for a file's header. */
export interface WriterEvent {
  /** Definition of the event and its samples. */
  readonly attr: PerfEventAttr;
  /** Ids that the kernel assigned to the event. */
  readonly ids?: readonly bigint[];
}

/** A feature section as bytes; `encodeFeature` encodes them. */
export interface WriterFeature {
  /** The feature's bit, `HEADER_*`. */
  readonly id: number;
  /** Contents of the section. */
  readonly bytes: Uint8Array;
}

/** Options of {@link PerfDataWriter.file}. */
export interface FileWriterOptions {
  /** Byte order of the file; little-endian by default. */
  readonly littleEndian?: boolean;
  /** The events, in the order of the attr table. */
  readonly events: readonly WriterEvent[];
  /** Size of an attr in the attr table; by default, that of the longest attr. */
  readonly attrSize?: number;
  /** Offset of the data; by default, right after the attrs. */
  readonly dataOffset?: number;
}

/** Returns the 8 bytes of `PERFILE2` in the given byte order. */
export function fileMagic(littleEndian: boolean): Uint8Array {
  const text = new TextEncoder().encode("PERFILE2");
  return littleEndian ? text : text.reverse();
}

/** Longest accepted attr, in bytes; Linux 6.16 has 144. */
const MOST_ATTR = 4096;

/** Returns the size of an attr in the table that fits all events. An attr of a damaged file may claim any size. */
export function longestAttr(events: readonly Pick<WriterEvent, "attr">[]): number {
  return events.reduce(
    (most, { attr: { size } }) => size > MOST_ATTR ? most : Math.max(most, size),
    64,
  );
}

/**
 * Writes a `perf.data` file or a pipe stream.
 *
 * A file has the layout that perf writes: header, ids, attrs, data, feature table, features. Before
 * {@link PerfDataWriter.close}, the size of the data is 0 in its header, as in a
 * recording that was killed.
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
  /** The file whose layout is reproduced. */
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

  /** Begins a pipe stream with its header of 16 bytes; {@link PerfDataWriter.write} appends the records. */
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
   * @throws {RangeError} If `dataOffset` is before the end of the attrs.
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
   * Begins a file with the layout of another one: copies its header, ids, attrs, event types, and the bytes
   * between them. With the same records and features, the result is identical.
   *
   * @param like A file, not a pipe; {@link PerfDataWriter.close} reads it again.
   * @throws {RangeError} If {@link hasTablesFirst} is false.
   * @throws {PerfDataError} If the file cannot be read.
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
   * Copies a recording byte for byte, including gaps, event types and damage.
   *
   * @param reader A file, or a pipe stream stored in a file.
   * @param progress Receives the number of bytes copied since the last call.
   * @throws {RangeError} If the recording arrives as a stream.
   */
  static async copy(
    sink: ByteSink,
    reader: PerfDataReader,
    progress?: (bytes: number) => void,
  ): Promise<void> {
    if (reader.fileSize === undefined) throw new RangeError("copy: expected a file, not a stream");
    await copySections(reader, 0, reader.fileSize, sink, progress);
  }

  /** File offset of the next write. */
  get position(): number {
    return this.#position;
  }

  /** Appends records, or the payload after a record. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#sink.write(bytes);
    this.#position += bytes.length;
  }

  /**
   * Ends a file: writes the feature sections and completes the header. A pipe stream needs no end,
   * since its features are HEADER_FEATURE records.
   *
   * @throws {RangeError} If a pipe gets features, or a feature has an impossible id.
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
   * Ends a file like the one whose layout it reproduces, if it has the same features with sections of the same
   * sizes; returns whether it does.
   */
  async #closeLike(header: PerfFileHeader, features: readonly WriterFeature[]): Promise<boolean> {
    const like = this.#like;
    if (like?.fileSize === undefined) return false;
    const byId = new Map(features.map(({ id, bytes }) => [id, bytes]));
    // A killed recording announces features without having them.
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
 * Whether this is a file, not a stream, in which only features follow the records, as perf writes it. Then
 * {@link PerfDataWriter.like} can reproduce its layout.
 */
export function hasTablesFirst({ header, fileSize, data, layout }: PerfDataReader): boolean {
  if (header === undefined || fileSize === undefined || layout.conflicts.length > 0) return false;
  const tables = new Set(["header", "attrs", "ids", "event_types"]);
  // The header of a damaged file may have a data offset beyond the end of the file.
  return data.offset >= PERF_FILE_HEADER_SIZE && header.data.offset === BigInt(data.offset) &&
    layout.regions.every(({ kind, offset }) => !tables.has(kind) || offset < data.offset);
}

const NO_FEATURES: [bigint, bigint, bigint, bigint] = [0n, 0n, 0n, 0n];

/** Copies a range of bytes of a file. */
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

/** Size of a copied piece in bytes. */
const PIECE = 1 << 20;
