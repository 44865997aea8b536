import { joinBytes } from "../columns/enlarge.ts";
import { perfEventAttr } from "../header/attr.ts";
import { RecordBatch } from "./batch.ts";
import { type Diagnostics, type ErrorPlace, PerfDataError } from "../error.ts";
import { EventTable, PerfEvent } from "../header/events.ts";
import { HEADER_ARCH } from "../features/names.ts";
import {
  dataRange,
  type FeatureSection,
  hexOffset,
  readAttrs,
  readFeatureTable,
} from "./file_tables.ts";
import {
  BLOCK,
  BufferedPayload,
  CAPACITY,
  FIRST_BLOCK,
  frame,
  isIdIndex,
  payloadSize,
  type Stop,
} from "./framing.ts";
import { KIND_BYTES } from "../header/file_kind.ts";
import {
  decodeFileHeader,
  featureIds,
  headerSize,
  parseMagic,
  type PerfFileHeader,
  type PerfFileSection,
  perfFileSection,
} from "../header/header.ts";
import { Inflater, type InflaterState } from "./inflater.ts";
import { type FileLayout, fileLayout, type FileSections, sectionRange } from "./regions.ts";
import {
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_ID_INDEX,
} from "../records/record_types.ts";
import { checkMemory } from "../sources/memory.ts";
import {
  type ByteSource,
  ForwardReader,
  isRandomAccess,
  type TempFile,
} from "../sources/source.ts";
import { array, decode, headerString, u64 } from "../struct/mod.ts";
import { type ZstdState, type ZstdStream, zstdStream } from "../zstd/zstd.ts";
import { recordSize } from "../records/record_header.ts";

export type { FeatureSection } from "./file_tables.ts";

/** Maximum bytes of header, attrs and ids that are read into memory from a stream. */
const MAX_PROLOGUE = 1 << 28;
/** Maximum bytes of features that are kept of a stream. */
const MAX_EPILOGUE = 1 << 28;

/** Options of {@link PerfDataReader.open}. */
export interface ReaderOptions {
  /** Makes the reader tolerant: damage is reported here and skipped. Without it, the first damage throws. */
  readonly diagnostics?: Diagnostics;
  /**
   * Creates the decompressor of COMPRESSED records; plain JavaScript by default. It receives a state to continue
   * from only if earlier streams provided one.
   */
  readonly zstd?: (from?: ZstdState) => ZstdStream;
}

/** Counts of a pass over the records. */
export interface ReaderStats {
  /** Number of records, including COMPRESSED ones and their contents. */
  records: number;
  /** Bytes of records in the file. */
  recordBytes: number;
  /** Bytes of payloads that follow records. */
  payloadBytes: number;
  /** Bytes of the data section outside of whole records. */
  skippedBytes: number;
  /** Bytes inflated from COMPRESSED records. */
  inflatedBytes: number;
  /** Number of damaged places, reported or not. */
  damages: number;
}

/** Options of {@link PerfDataReader.batches}. */
export interface BatchOptions {
  /** File offset of the first record; the start of the data by default. */
  readonly from?: number;
  /** File offset at which to stop; the end of the data by default. */
  readonly to?: number;
  /** Whether to inflate COMPRESSED records; true by default. */
  readonly inflate?: boolean;
  /** State of the inflater at `from`: see {@link PerfDataReader.inflaterState}. */
  readonly resume?: InflaterState | undefined;
  /**
   * Whether a tolerant reader skips damage without a report; false by default. For a look-ahead pass before
   * the pass that reports damage.
   */
  readonly quiet?: boolean;
}

/**
 * Reads a `perf.data` file or pipe stream of any size in bounded memory.
 *
 * Reading headers and records is one class, because a pipe stream delivers events, architecture and
 * compression as records among the others.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * // A pipe stream of one FINISHED_ROUND record.
 * const pipe = new Uint8Array(24);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * const reader = await PerfDataReader.open(bytesSource(pipe));
 * const types: number[] = [];
 * for await (const batch of reader.batches()) {
 *   for (let i = 0; i < batch.count; i++) types.push(batch.type(i));
 * }
 * assertEquals([reader.isPipe, types], [true, [68]]);
 * ```
 */
// One class: files, streams and inflated records share the buffer and the read position.
export class PerfDataReader {
  /** 1: `PERFFILE`, 2: `PERFILE2`. */
  readonly version: 1 | 2;
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  /** Whether this is a pipe stream: a 16-byte header followed by records only. */
  readonly isPipe: boolean;
  /** Size of the file header in bytes. */
  readonly headerSize: number;
  /** The header of a file; a pipe stream has none. */
  readonly header: PerfFileHeader | undefined;
  /** Size of the file, if it is known. */
  readonly fileSize: number | undefined;
  /** The events. A pipe stream adds them while records are read. */
  readonly events: EventTable = new EventTable();
  /** The recorded machine, as `uname -m` prints it, if the file states it. */
  arch: string | undefined;
  /** Counts of the last pass over the records. */
  stats: ReaderStats = emptyStats();

  readonly #source: ByteSource;
  readonly #options: ReaderOptions;
  readonly #prologue: Uint8Array;
  #data: { offset: number; size: number } = { offset: 0, size: 0 };
  #features: readonly FeatureSection[] = [];
  #listed: readonly FeatureSection[] = [];
  #ids: PerfFileSection[] = [];
  #epilogue: { offset: number; bytes: Uint8Array } | undefined;
  #streamUsed = false;
  /** Batch of the last pass, to be reused. */
  #spare: RecordBatch | undefined;
  /** Offsets of the HEADER_ATTR records of a pipe stream that were already read. */
  readonly #attrsTaken = new Set<number>();
  #googleDialect = false;
  #quiet = false;
  #inflater: Inflater | undefined;

  private constructor(
    source: ByteSource,
    options: ReaderOptions,
    prologue: Uint8Array,
    isPipe: boolean,
  ) {
    const { magic, size } = headerSize(prologue);
    this.#source = source;
    this.#options = options;
    this.#prologue = prologue;
    this.version = magic.version;
    this.littleEndian = magic.littleEndian;
    this.isPipe = isPipe;
    this.headerSize = size;
    this.fileSize = isRandomAccess(source) ? source.size : undefined;
    this.header = isPipe
      ? undefined
      : decodeFileHeader(prologue.subarray(0, size), magic.littleEndian);
  }

  /**
   * Reads the headers of a file, or of a stream.
   *
   * A file that arrives as a stream is read forward: its attrs come before the data, as perf writes
   * them, and its features are available after the last batch.
   *
   * @throws {PerfDataError} If this is not a perf.data file, or its headers cannot be read.
   */
  static async open(source: ByteSource, options: ReaderOptions = {}): Promise<PerfDataReader> {
    const forward = new ForwardReader(source);
    const start = new Uint8Array(16);
    const count = await forward.readFull(start);
    if (parseMagic(start.subarray(0, count)) === undefined) {
      const more = new Uint8Array(KIND_BYTES);
      more.set(start);
      headerSize(more.subarray(0, count + await forward.readFull(more.subarray(count))));
    }
    const { size, magic } = headerSize(start.subarray(0, count));
    if (size === 16) {
      const reader = new PerfDataReader(source, options, start, true);
      reader.#data = { offset: 16, size: Infinity };
      if (reader.fileSize !== undefined) reader.#data.size = reader.fileSize - 16;
      return reader;
    }
    const head = new Uint8Array(size);
    head.set(start);
    const got = 16 + await forward.readFull(head.subarray(16));
    if (got < size) {
      throw new PerfDataError(`file header: ${got} bytes, expected ${size}`, {
        offset: got,
        code: "cut",
      });
    }
    let prologue = head;
    if (!isRandomAccess(source)) {
      const { offset } = sectionRange(decodeFileHeader(head, magic.littleEndian).data);
      if (offset > MAX_PROLOGUE) {
        throw new PerfDataError(`file header: data at ${offset}, too far to read from a stream`, {
          offset: 40,
        });
      }
      prologue = new Uint8Array(Math.max(offset, size));
      prologue.set(head);
      const rest = prologue.subarray(size);
      if (await forward.readFull(rest) < rest.length) {
        throw new PerfDataError("file header: the stream ends before the data", { code: "cut" });
      }
    }
    const reader = new PerfDataReader(source, options, prologue, false);
    await reader.#readTables(reader.header as PerfFileHeader);
    return reader;
  }

  /** Offset and size of the data section; the size is `Infinity` for a stream. */
  get data(): { readonly offset: number; readonly size: number } {
    return this.#data;
  }

  /**
   * The feature sections that lie within the file, in the order of the feature table. For a file
   * that arrives as a stream, they are available after the last batch. Pipe streams have HEADER_FEATURE records
   * instead.
   */
  get features(): readonly FeatureSection[] {
    return this.#features;
  }

  /** All sections of the feature table, including those beyond the end of a cut file. */
  get listedFeatures(): readonly FeatureSection[] {
    return this.#listed;
  }

  /** The regions of the file by kind. A pipe stream has a header and data. */
  get layout(): FileLayout {
    if (this.fileSize === undefined) return { regions: [], conflicts: [] };
    if (this.header === undefined) {
      return {
        regions: [
          { kind: "header", offset: 0, size: this.headerSize },
          { kind: "data", offset: this.headerSize, size: this.fileSize - this.headerSize },
        ],
        conflicts: [],
      };
    }
    const sections: FileSections = {
      header: this.header,
      headerSize: this.headerSize,
      ids: this.#ids,
      data: this.#data,
      features: this.#listed,
    };
    return fileLayout(sections, this.fileSize);
  }

  /** Offsets at which the files of a directory were joined; `undefined` for a single file. */
  get seams(): readonly number[] | undefined {
    return isRandomAccess(this.#source) ? this.#source.seams : undefined;
  }

  /** Creates a temporary file; `undefined` if the source does not support that. */
  get temp(): (() => TempFile) | undefined {
    return this.#source.temp;
  }

  /**
   * Returns the state of the inflater before the current batch, which must not come from a
   * COMPRESSED record. With this state, records from here on can be read independently.
   *
   * @returns `undefined` if the stream does not support that.
   */
  inflaterState(): InflaterState | undefined {
    return this.#inflater?.state();
  }

  /** @ignore Throws in strict mode; reports in tolerant mode. */
  reportDamage(message: string, place: ErrorPlace): void {
    const error = new PerfDataError(message, place);
    if (this.#options.diagnostics === undefined) throw error;
    this.stats.damages++;
    if (!this.#quiet) this.#options.diagnostics(error);
  }

  /**
   * Reads a range of bytes outside of the data section.
   *
   * @throws {PerfDataError} If the file, or the rest of the stream, is too short.
   */
  async readSection(offset: number, size: number, what: string): Promise<Uint8Array<ArrayBuffer>> {
    if (this.fileSize !== undefined && offset + size > this.fileSize) {
      throw new PerfDataError(
        `${what}: ${size} bytes at ${
          hexOffset(offset)
        } end beyond the file's ${this.fileSize} bytes`,
        { offset, code: "cut" },
      );
    }
    if (isRandomAccess(this.#source)) {
      const bytes = new Uint8Array(size);
      const got = await this.#source.readAt(bytes, offset);
      if (got < size) {
        throw new PerfDataError(`${what}: ${got} bytes, expected ${size}`, { offset, code: "cut" });
      }
      return bytes;
    }
    for (const part of [{ offset: 0, bytes: this.#prologue }, this.#epilogue]) {
      if (part === undefined || offset < part.offset) continue;
      const at = offset - part.offset;
      if (at + size <= part.bytes.length) return part.bytes.slice(at, at + size);
    }
    throw new PerfDataError(`${what}: not in the part of the stream that was kept`, { offset });
  }

  async #readTables(header: PerfFileHeader): Promise<void> {
    try {
      const idBytes = this.fileSize ?? this.#prologue.length;
      await readAttrs(this, header, idBytes, () => this.arch, (event, ids) => {
        this.events.add(event);
        this.#ids.push(ids);
      });
    } catch (error) {
      if (!(error instanceof PerfDataError)) throw error;
      this.reportDamage(error.message, error);
    }
    const { offset, size, whole } = await dataRange(this, header);
    this.#data = { offset, size };
    if (whole && isRandomAccess(this.#source)) await this.#readFeatureTable(header);
  }

  async #readFeatureTable(header: PerfFileHeader): Promise<void> {
    const offset = this.#data.offset + this.#data.size;
    const take = (bytes: Uint8Array) => this.#setArch(bytes);
    const { listed, whole } = await readFeatureTable(this, header, offset, take);
    this.#listed = listed;
    this.#features = whole;
  }

  #setArch(bytes: Uint8Array): void {
    try {
      this.arch = decode(headerString, bytes, { littleEndian: this.littleEndian }).value;
    } catch (error) {
      // Only names of registers depend on ARCH. Its damage is reported when the feature itself is read.
      if (!(error instanceof PerfDataError)) throw error;
    }
  }

  /**
   * Reads the records in file order, in batches of whole records.
   *
   * A batch ends after a record with a payload and after a COMPRESSED record. The inflated records follow
   * in the next batches.
   *
   * A stream can be read once. The batch is overwritten when the next one is requested.
   *
   * @throws {PerfDataError} In strict mode, if the data is damaged.
   */
  async *batches(options: BatchOptions = {}): AsyncGenerator<RecordBatch, void, void> {
    const random = isRandomAccess(this.#source);
    if (!random) {
      if (this.#streamUsed) throw new PerfDataError("records: a stream can be read once only");
      this.#streamUsed = true;
    }
    const from = random ? options.from ?? this.#data.offset : this.#data.offset;
    const to = Math.min(options.to ?? Infinity, this.#data.offset + this.#data.size);
    this.stats = emptyStats();
    this.#quiet = options.quiet === true;
    // Reusing the buffer of the last pass is faster than filling new memory.
    const batch = this.#spare ?? new RecordBatch(CAPACITY, this.littleEndian, this.events);
    this.#spare = undefined;
    batch.aligned = true;
    batch.inflatedFrom = -1;
    const seams = random ? this.#source.seams?.filter((at) => at > from && at < to) ?? [] : [];
    let start = from;
    try {
      for (const end of [...seams, to]) {
        const resume = start === from ? options.resume : undefined;
        yield* this.#run(batch, start, end, { ...options, resume });
        start = end;
      }
    } finally {
      if (random) this.#spare = batch;
    }
  }

  /** Reads the records in `[from, to)`; a record starts at `from`. */
  async *#run(
    batch: RecordBatch,
    from: number,
    to: number,
    options: BatchOptions,
  ): AsyncGenerator<RecordBatch, void, void> {
    const forward = new ForwardReader(this.#source, from);
    const { stats } = this;
    const { zstd = zstdStream } = this.#options;
    const inflater = new Inflater(this, batch.littleEndian, zstd, options.resume);
    this.#inflater = inflater;
    let len = 0;
    let block = BLOCK;
    for (let reads = 0;; reads++) {
      if ((reads & 15) === 15) checkMemory();
      batch.offset = forward.position - len;
      const room = Math.min(block, CAPACITY - len, to - forward.position);
      block = Math.min(block * 4, BLOCK);
      const got = room > 0 ? await forward.read(batch.bytes.subarray(len, len + room)) : 0;
      len += got;
      let pos = 0;
      let stop: Stop = "again";
      while (stop === "again" && pos < len) {
        batch.firstIndex = stats.records;
        batch.payload = undefined;
        stop = frame(batch, pos, len, !this.#googleDialect);
        if (batch.count === 0) break;
        const last = batch.count - 1;
        const next = batch.start(last) + batch.size(last);
        stats.records += batch.count;
        stats.recordBytes += next - pos;
        pos = next;
        if (this.isPipe) this.#takeMeta(batch);
        const type = batch.type(last);
        const size = stop === "again" ? payloadSize(batch, last) : 0;
        const inflates = options.inflate !== false &&
          (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2);
        const record = inflates ? batch.recordBytes(last).slice() : undefined;
        const offset = batch.offsetOf(last);
        if (size > 0) {
          const payload = new BufferedPayload(batch, next, len, forward, size, to);
          // The inflater reads the payload of a COMPRESSED2 record itself.
          batch.payload = inflates ? undefined : payload;
          yield batch;
          const rest = inflates ? await payload.all() : undefined;
          pos = await payload.finish();
          stats.payloadBytes += payload.taken;
          // If the payload went beyond the buffer, nothing of the buffer is left.
          if (pos === len) block = FIRST_BLOCK;
          if (payload.taken < size) {
            this.reportDamage(
              `payload: ${payload.taken} bytes left of the data, expected ${size}`,
              { offset: payload.offset, record: { type, index: stats.records - 1 } },
            );
          }
          if (record !== undefined && rest !== undefined) {
            yield* inflater.inflate(joinBytes([record, rest]), offset);
          }
        } else {
          yield batch;
          if (record !== undefined) yield* inflater.inflate(record, offset);
        }
      }
      if (stop === "bad") {
        const size = recordSize(batch.view, pos, this.littleEndian);
        const type = batch.view.getUint32(pos, this.littleEndian);
        const skipped = len - pos +
          await forward.skip(Math.min(to - forward.position, Number.MAX_SAFE_INTEGER));
        stats.skippedBytes += skipped;
        this.reportDamage(
          `record header: size is ${size}, expected at least 8; ` +
            `the rest of the data, ${skipped} bytes, is skipped`,
          { offset: batch.offset + pos, record: { type, index: stats.records } },
        );
        break;
      }
      batch.bytes.copyWithin(0, pos, len);
      len -= pos;
      if (got === 0) {
        if (len > 0) this.#reportLeft(batch, forward.position - len, len);
        if (Number.isFinite(to)) this.#reportMissing(forward.position, to);
        break;
      }
    }
    // If reading stops before the end of the data, an incomplete record may continue there.
    if (to !== options.to || to === this.#data.offset + this.#data.size) inflater.finish();
    if (!isRandomAccess(this.#source) && this.header !== undefined) {
      await this.#readEpilogue(forward, this.header);
    }
  }

  /** Reports the bytes at the end of the data that are not a whole record. */
  #reportLeft(batch: RecordBatch, offset: number, left: number): void {
    this.stats.skippedBytes += left;
    const whole = left >= PERF_EVENT_HEADER_SIZE;
    this.reportDamage(
      `record: ${left} bytes left of the data, expected ${
        whole ? recordSize(batch.view, 0, this.littleEndian) : "a record header of 8"
      }`,
      {
        offset,
        code: "cut",
        ...(whole
          ? {
            record: { type: batch.view.getUint32(0, this.littleEndian), index: this.stats.records },
          }
          : {}),
      },
    );
  }

  /** Reports missing data: of a stream that was cut, or of a file that shrinks while it is read. */
  #reportMissing(position: number, to: number): void {
    const missing = to - position;
    if (missing <= 0) return;
    this.stats.skippedBytes += missing;
    this.reportDamage(
      `data: ends at ${hexOffset(position)}, expected ${
        hexOffset(to)
      }; ${missing} bytes are missing`,
      { offset: position, code: "cut" },
    );
  }

  /** Reads events, architecture and dialect from the records of a pipe. */
  #takeMeta(batch: RecordBatch): void {
    const { littleEndian } = this;
    for (let i = 0; i < batch.count; i++) {
      const type = batch.type(i);
      if (type === PERF_RECORD_HEADER_ATTR) {
        const base = batch.offsetOf(i);
        // A stream stored in a file may be read more than once; its events are added once.
        if (this.#attrsTaken.has(base)) continue;
        this.#attrsTaken.add(base);
        try {
          const body = batch.recordBytes(i).subarray(PERF_EVENT_HEADER_SIZE);
          const { value: attr, tail } = decode(perfEventAttr(), body, {
            littleEndian,
            base: base + PERF_EVENT_HEADER_SIZE,
          });
          const ids = decode(array(u64, "rest"), tail ?? new Uint8Array(0), { littleEndian }).value;
          this.events.add(new PerfEvent(attr, ids, () => this.arch));
        } catch (error) {
          if (!(error instanceof PerfDataError)) throw error;
          this.reportDamage(`HEADER_ATTR: ${error.message}`, error);
        }
      } else if (
        type === PERF_RECORD_HEADER_FEATURE && !this.#googleDialect && batch.size(i) > 16
      ) {
        const at = batch.start(i) + PERF_EVENT_HEADER_SIZE;
        if (batch.view.getBigUint64(at, littleEndian) === BigInt(HEADER_ARCH)) {
          this.#setArch(batch.recordBytes(i).subarray(16));
        }
      } else if (type === PERF_RECORD_ID_INDEX && !this.#googleDialect) {
        this.#googleDialect = !isIdIndex(batch, i);
      }
    }
  }

  /** Whether the stream uses the old dialect in which types 69–80 are features such as HOSTNAME. */
  get isGoogleDialect(): boolean {
    return this.#googleDialect;
  }

  async #readEpilogue(forward: ForwardReader, header: PerfFileHeader): Promise<void> {
    const offset = forward.position;
    if (this.#data.offset + this.#data.size !== offset) return;
    const ids = featureIds(header, this.littleEndian);
    const table = new Uint8Array(16 * ids.length);
    const chunks = [table.subarray(0, await forward.readFull(table))];
    const sections = decode(array(perfFileSection, "rest"), table, {
      littleEndian: this.littleEndian,
    }).value.map(sectionRange);
    // Bytes after the last feature are not read: the stream may be endless.
    const end = Math.max(offset, ...sections.map((section) => section.offset + section.size));
    const stop = Math.min(end, offset + MAX_EPILOGUE);
    while (forward.position < stop) {
      const chunk = new Uint8Array(Math.min(1 << 16, stop - forward.position));
      const n = await forward.readFull(chunk);
      chunks.push(chunk.subarray(0, n));
      if (n < chunk.length) break;
    }
    this.#epilogue = {
      offset,
      bytes: new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer()),
    };
    await this.#readFeatureTable(header);
  }
}

function emptyStats(): ReaderStats {
  return {
    records: 0,
    recordBytes: 0,
    payloadBytes: 0,
    skippedBytes: 0,
    inflatedBytes: 0,
    damages: 0,
  };
}
