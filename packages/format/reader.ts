import { perfEventAttr } from "./attr.ts";
import { type Payload, payloadBlocks, RecordBatch } from "./batch.ts";
import { type Diagnostics, type ErrorPlace, PerfDataError } from "./error.ts";
import { EventTable, PerfEvent } from "./events.ts";
import {
  decodeFileHeader,
  featureIds,
  headerSize,
  type PerfFileHeader,
  type PerfFileSection,
  perfFileSection,
} from "./header.ts";
import { type FileLayout, fileLayout, type FileSections, sectionRange } from "./layout.ts";
import { HEADER_ARCH } from "./features/names.ts";
import {
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_ID_INDEX,
} from "./record_types.ts";
import { type ByteSource, ForwardReader, isRandomAccess } from "./source.ts";
import { array, decode, headerString, u64 } from "./struct.ts";
import { type ZstdStream, zstdStream } from "./zstd.ts";

/** Bytes read at once; also bounds the memory that a batch takes. */
const BLOCK = 1 << 19;
/**
 * Bytes read after a payload that was stepped over: the next one may follow at once, and what is
 * read of that is read for nothing.
 */
const FIRST_BLOCK = 1 << 13;
/** Room for a record that began in the block before: no record is longer than 64 KB. */
const CAPACITY = BLOCK + (1 << 16);
/**
 * Most bytes that a COMPRESSED record, which has at most 64 KB, inflates to: a thousand times as many.
 * perf gives it the size of the ring buffer that it was filled from.
 */
const MAX_INFLATED = 2 ** 26;
/** Most bytes of header, attrs and ids that are read into memory from a stream. */
const MAX_PROLOGUE = 1 << 28;
/** Most bytes of features that are kept of a stream. */
const MAX_EPILOGUE = 1 << 28;

/** How to read. */
export interface ReaderOptions {
  /**
   * Makes the reader tolerant: what is damaged is reported here and skipped. Without it the first
   * damage throws.
   */
  readonly diagnostics?: Diagnostics;
  /** Inflates COMPRESSED records; by default with `fzstd`, in any runtime. */
  readonly zstd?: () => ZstdStream;
}

/** What a pass over the records found. */
export interface ReaderStats {
  /** Records, COMPRESSED ones and what came out of them included. */
  records: number;
  /** Bytes of records in the file. */
  recordBytes: number;
  /** Bytes of payloads that follow records. */
  payloadBytes: number;
  /** Bytes of the data section that are no whole record. */
  skippedBytes: number;
  /** Bytes that came out of COMPRESSED records. */
  inflatedBytes: number;
}

/** Which records {@link PerfDataReader.batches} gives. */
export interface BatchOptions {
  /** File offset of the first record; the start of the data by default. */
  readonly from?: number;
  /** File offset at which to stop; the end of the data by default. */
  readonly to?: number;
  /** Whether records come out of COMPRESSED ones; true by default. */
  readonly inflate?: boolean;
  /**
   * Whether a tolerant reader passes over damage without a word; false by default. For a pass that
   * looks ahead of the one in which damage is told.
   */
  readonly quiet?: boolean;
}

/**
 * Reads a `perf.data` file or pipe stream of any size in bounded memory.
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
export class PerfDataReader {
  /** 1: `PERFFILE`, 2: `PERFILE2`. */
  readonly version: 1 | 2;
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  /** Whether this is a pipe stream: a 16-byte header and then records only. */
  readonly isPipe: boolean;
  /** Size of the file header in bytes. */
  readonly headerSize: number;
  /** The header of a file; a pipe stream has none. */
  readonly header: PerfFileHeader | undefined;
  /** Size of the file, where it is known. */
  readonly fileSize: number | undefined;
  /** The events. In a pipe stream they come with the records. */
  readonly events: EventTable = new EventTable();
  /** The machine that recorded, as `uname -m` prints it, where the file says so. */
  arch: string | undefined;
  /** What the last pass over the records found. */
  stats: ReaderStats = emptyStats();

  readonly #source: ByteSource;
  readonly #options: ReaderOptions;
  readonly #prologue: Uint8Array;
  #data: { offset: number; size: number } = { offset: 0, size: 0 };
  #features: { id: number; section: PerfFileSection }[] = [];
  #ids: PerfFileSection[] = [];
  #epilogue: { offset: number; bytes: Uint8Array } | undefined;
  #streamUsed = false;
  /** Offsets of the HEADER_ATTR records of a pipe stream that were read. */
  readonly #attrsTaken = new Set<number>();
  #googleDialect = false;
  #quiet = false;

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
   * them, and its features are known after the last batch.
   *
   * @throws {PerfDataError} Where this is no perf.data file, or its headers cannot be read.
   */
  static async open(source: ByteSource, options: ReaderOptions = {}): Promise<PerfDataReader> {
    const forward = new ForwardReader(source);
    const start = new Uint8Array(16);
    const { size, magic } = headerSize(start.subarray(0, await forward.readFull(start)));
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
      throw new PerfDataError(`file header: ${got} bytes, expected ${size}`, { offset: got });
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
        throw new PerfDataError("file header: the stream ends before the data");
      }
    }
    const reader = new PerfDataReader(source, options, prologue, false);
    await reader.#readTables(reader.header as PerfFileHeader);
    return reader;
  }

  /** The part of the file that holds records; its size is `Infinity` for a stream. */
  get data(): { readonly offset: number; readonly size: number } {
    return this.#data;
  }

  /**
   * The feature sections, in the order of the feature table. Those of a file that arrives as a
   * stream are known after its last batch; those of a pipe are HEADER_FEATURE records.
   */
  get features(): readonly { readonly id: number; readonly section: PerfFileSection }[] {
    return this.#features;
  }

  /** Which bytes of the file belong to what. A pipe stream is a header and data. */
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
      features: this.#features,
    };
    return fileLayout(sections, this.fileSize);
  }

  /** Throws in strict mode; reports in tolerant mode. */
  #problem(message: string, place: ErrorPlace): void {
    const error = new PerfDataError(message, place);
    if (this.#options.diagnostics === undefined) throw error;
    if (!this.#quiet) this.#options.diagnostics(error);
  }

  /**
   * Reads a run of bytes of the file: a section that is not part of the data.
   *
   * @throws {PerfDataError} Where the file, or what is left of the stream, does not have them.
   */
  async readSection(offset: number, size: number, what: string): Promise<Uint8Array<ArrayBuffer>> {
    if (this.fileSize !== undefined && offset + size > this.fileSize) {
      throw new PerfDataError(
        `${what}: ${size} bytes at ${
          hexOffset(offset)
        } end beyond the file's ${this.fileSize} bytes`,
        { offset },
      );
    }
    if (isRandomAccess(this.#source)) {
      const bytes = new Uint8Array(size);
      const got = await this.#source.readAt(bytes, offset);
      if (got < size) {
        throw new PerfDataError(`${what}: ${got} bytes, expected ${size}`, { offset });
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

  /** Reads attrs, ids and the feature table. */
  async #readTables(header: PerfFileHeader): Promise<void> {
    const attrs = sectionRange(header.attrs);
    const attrSize = Number(header.attr_size);
    const data = sectionRange(header.data);
    const fileSize = this.fileSize ?? Infinity;
    this.#data = data;
    try {
      await this.#readAttrs(attrs, attrSize);
    } catch (error) {
      if (!(error instanceof PerfDataError)) throw error;
      this.#problem(error.message, error);
    }
    if (data.offset > fileSize) {
      this.#problem(
        `file header: data at ${hexOffset(data.offset)}, beyond the file's end` +
          this.#featuresLost(header),
        { offset: 40 },
      );
      this.#data = { offset: fileSize, size: 0 };
      return;
    }
    if (data.size === 0 && !await this.#isEmptyOnPurpose(header, data.offset)) {
      this.#problem(
        "file header: data size is 0, the recording was not finished; reading to the end of the file",
        { offset: 48 },
      );
      this.#data = { offset: data.offset, size: fileSize - data.offset };
      return;
    }
    if (data.offset + data.size > fileSize) {
      this.#problem(
        `file header: data ends at ${hexOffset(data.offset + data.size)}, ` +
          `the file at ${hexOffset(fileSize)}${this.#featuresLost(header)}`,
        { offset: 48 },
      );
      this.#data = { offset: data.offset, size: fileSize - data.offset };
      return;
    }
    if (isRandomAccess(this.#source)) await this.#readFeatureTable(header);
  }

  /** What goes with the end of the data: the feature table follows it. */
  #featuresLost(header: PerfFileHeader): string {
    const { length } = featureIds(header, this.littleEndian);
    return length === 0 ? "" : `, so that ${length} features are missing`;
  }

  async #readAttrs(table: { offset: number; size: number }, attrSize: number): Promise<void> {
    if (table.size === 0) return;
    // An entry is an attr and the section of its ids.
    if (attrSize < 16 + 8 || attrSize > 1 << 16) {
      throw new PerfDataError(`file header: attr_size is ${attrSize}, expected at least 80`, {
        offset: 16,
      });
    }
    const bytes = await this.readSection(table.offset, table.size, "attr table");
    const { littleEndian } = this;
    // The attrs of a damaged file may all have the same ids, which must not be read for each.
    let idsLeft = this.fileSize ?? this.#prologue.length;
    for (let at = 0; at + attrSize <= bytes.length; at += attrSize) {
      const base = table.offset + at;
      const end = at + attrSize - 16;
      const attr = decode(perfEventAttr(attrSize - 16), bytes.subarray(at, end), {
        littleEndian,
        base,
      }).value;
      const section = decode(perfFileSection, bytes.subarray(end, at + attrSize), {
        littleEndian,
        base: table.offset + end,
      }).value;
      this.#ids.push(section);
      let ids: bigint[] = [];
      try {
        const { offset, size } = sectionRange(section);
        if (size > idsLeft) {
          throw new PerfDataError(
            `event ids: ${size} bytes, more than the file has left for them`,
            {
              offset: base + attrSize - 16,
            },
          );
        }
        idsLeft -= size;
        ids = decode(array(u64, "rest"), await this.readSection(offset, size, "event ids"), {
          littleEndian,
          base: offset,
        }).value;
      } catch (error) {
        if (!(error instanceof PerfDataError)) throw error;
        this.#problem(error.message, error);
      }
      this.events.add(new PerfEvent(attr, ids, () => this.arch));
    }
  }

  /** Whether a data size of 0 is the truth: then a sound feature table follows the header. */
  async #isEmptyOnPurpose(header: PerfFileHeader, offset: number): Promise<boolean> {
    const ids = featureIds(header, this.littleEndian);
    const end = offset + 16 * ids.length;
    if (this.fileSize === undefined || this.fileSize < end) return false;
    if (ids.length === 0) return this.fileSize === offset;
    const sections = decode(
      array(perfFileSection, ids.length),
      await this.readSection(offset, 16 * ids.length, "feature table"),
      { littleEndian: this.littleEndian },
    ).value.map(sectionRange);
    const size = this.fileSize;
    return sections.every((section) =>
      section.size === 0 || (section.offset >= end && section.offset + section.size <= size)
    );
  }

  async #readFeatureTable(header: PerfFileHeader): Promise<void> {
    const ids = featureIds(header, this.littleEndian);
    const offset = this.#data.offset + this.#data.size;
    try {
      const bytes = await this.readSection(offset, 16 * ids.length, "feature table");
      ids.forEach((id, i) => {
        const { value: section } = decode(perfFileSection, bytes.subarray(i * 16, i * 16 + 16), {
          littleEndian: this.littleEndian,
          base: offset + i * 16,
        });
        this.#features.push({ id, section });
      });
      const arch = this.#features.find(({ id }) => id === HEADER_ARCH);
      if (arch !== undefined) {
        const section = sectionRange(arch.section);
        this.#setArch(
          await this.readSection(section.offset, Math.min(section.size, 4096), "feature ARCH"),
        );
      }
    } catch (error) {
      if (!(error instanceof PerfDataError)) throw error;
      this.#problem(error.message, error);
    }
  }

  #setArch(bytes: Uint8Array): void {
    try {
      this.arch = decode(headerString, bytes, { littleEndian: this.littleEndian }).value;
    } catch (error) {
      // Only names of registers depend on it; the feature itself is reported where it is read.
      if (!(error instanceof PerfDataError)) throw error;
    }
  }

  /**
   * The records, in file order, in batches of whole records.
   *
   * A batch ends after a record that a payload follows, and after a COMPRESSED record; what comes
   * out of that is in the batches right after it.
   *
   * A stream can be read once. The batch is overwritten when the next one is asked for.
   *
   * @throws {PerfDataError} In strict mode, where the data is damaged.
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
    const batch = new RecordBatch(CAPACITY, this.littleEndian, this.events);
    const seams = random ? this.#source.seams?.filter((at) => at > from && at < to) ?? [] : [];
    let start = from;
    for (const end of [...seams, to]) {
      yield* this.#run(batch, start, end, options);
      start = end;
    }
  }

  /** The records in `[from, to)`, which begin where no other ends. */
  async *#run(
    batch: RecordBatch,
    from: number,
    to: number,
    options: BatchOptions,
  ): AsyncGenerator<RecordBatch, void, void> {
    const forward = new ForwardReader(this.#source, from);
    const { stats } = this;
    const inflater = new Inflater(this, batch.littleEndian, this.#options.zstd ?? zstdStream);
    let len = 0;
    let block = BLOCK;
    for (;;) {
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
        if (size > 0) {
          const payload = new BufferedPayload(batch, next, len, forward, size, to);
          batch.payload = payload;
          yield batch;
          pos = await payload.finish();
          stats.payloadBytes += payload.taken;
          // Nothing is left in the buffer where the payload went beyond it.
          if (pos === len) block = FIRST_BLOCK;
          if (payload.taken < size) {
            this.#problem(
              `payload: ${payload.taken} bytes left of the data, expected ${size}`,
              { offset: payload.offset, record: { type, index: stats.records - 1 } },
            );
          }
        } else if (
          options.inflate !== false &&
          (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2)
        ) {
          const compressed = batch.recordBytes(last).slice();
          const offset = batch.offsetOf(last);
          yield batch;
          yield* inflater.inflate(compressed, offset);
        } else {
          yield batch;
        }
      }
      if (stop === "bad") {
        const size = batch.view.getUint16(pos + 6, this.littleEndian);
        const type = batch.view.getUint32(pos, this.littleEndian);
        const skipped = len - pos +
          await forward.skip(Math.min(to - forward.position, Number.MAX_SAFE_INTEGER));
        stats.skippedBytes += skipped;
        this.#problem(
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
    inflater.finish();
    if (!isRandomAccess(this.#source) && this.header !== undefined) {
      await this.#readEpilogue(forward, this.header);
    }
  }

  /** Reports the bytes at the end of the data that are no whole record. */
  #reportLeft(batch: RecordBatch, offset: number, left: number): void {
    this.stats.skippedBytes += left;
    const whole = left >= PERF_EVENT_HEADER_SIZE;
    this.#problem(
      `record: ${left} bytes left of the data, expected ${
        whole ? batch.view.getUint16(6, this.littleEndian) : "a record header of 8"
      }`,
      {
        offset,
        ...(whole
          ? {
            record: { type: batch.view.getUint32(0, this.littleEndian), index: this.stats.records },
          }
          : {}),
      },
    );
  }

  /** Reports that the data ends before its end: a stream that was cut, or a file that is being cut. */
  #reportMissing(position: number, to: number): void {
    const missing = to - position;
    if (missing <= 0) return;
    this.stats.skippedBytes += missing;
    this.#problem(
      `data: ends at ${hexOffset(position)}, expected ${
        hexOffset(to)
      }; ${missing} bytes are missing`,
      { offset: position },
    );
  }

  /** Takes from a pipe's records what a file has in its header. */
  #takeMeta(batch: RecordBatch): void {
    const { littleEndian } = this;
    for (let i = 0; i < batch.count; i++) {
      const type = batch.type(i);
      if (type === PERF_RECORD_HEADER_ATTR) {
        const base = batch.offsetOf(i);
        // A stream that is in a file may be read more than once; its events are the same each time.
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
          this.#problem(`HEADER_ATTR: ${error.message}`, error);
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

  /** Whether the stream speaks the old dialect in which types 69–80 are HOSTNAME and so on. */
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
    // What lies after the last feature is not read: there may be no end of it.
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

  /** @ignore Used by the inflater. */
  reportDamage(message: string, place: ErrorPlace): void {
    this.#problem(message, place);
  }
}

function emptyStats(): ReaderStats {
  return { records: 0, recordBytes: 0, payloadBytes: 0, skippedBytes: 0, inflatedBytes: 0 };
}

function hexOffset(offset: number): string {
  return `0x${offset.toString(16)}`;
}

/**
 * Whether a record of type 69 is an ID_INDEX: `nr` entries of 32 bytes, or of 48 in newer kernels.
 * In the pipe dialect of old Chrome OS tools the type means a host name.
 */
function isIdIndex(batch: RecordBatch, i: number): boolean {
  const at = batch.start(i) + PERF_EVENT_HEADER_SIZE;
  const left = batch.size(i) - 16;
  if (left < 0) return false;
  const nr = batch.view.getBigUint64(at, batch.littleEndian);
  return BigInt(left) === nr * 32n || BigInt(left) === nr * 48n;
}

/**
 * The size of the payload behind record `i`; 0 where it has none.
 *
 * perf writes tracing data behind a record of 12 bytes; a longer record, as Android's simpleperf
 * writes it, holds the data itself.
 */
function payloadSize(batch: RecordBatch, i: number): number {
  const size = batch.size(i);
  const at = batch.start(i) + PERF_EVENT_HEADER_SIZE;
  switch (batch.type(i)) {
    case PERF_RECORD_AUXTRACE:
      return size < 16 ? 0 : Number(batch.view.getBigUint64(at, batch.littleEndian));
    case PERF_RECORD_HEADER_TRACING_DATA:
      return size < 12 || size > 16 ? 0 : batch.view.getUint32(at, batch.littleEndian);
    default:
      return 0;
  }
}

/**
 * Why framing stopped: the next record is not whole (`more`), the last one wants to be looked at
 * before the stream goes on (`again`), or the next one is shorter than its header (`bad`).
 */
type Stop = "more" | "again" | "bad";

const MACHINE_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/**
 * Notes where the records in `batch.bytes[from, len)` start.
 *
 * The loop that everything else stands on: it reads two words a record and allocates nothing.
 *
 * @param framing Whether to stop after records that change how the stream goes on.
 */
function frame(batch: RecordBatch, from: number, len: number, framing: boolean): Stop {
  const { starts, view, words, littleEndian } = batch;
  const fast = littleEndian && MACHINE_LITTLE_ENDIAN;
  let pos = from;
  let n = 0;
  let stop: Stop = "more";
  let seen = from;
  while (pos + PERF_EVENT_HEADER_SIZE <= len) {
    const word = fast && (pos & 3) === 0;
    const size = word
      ? (words[(pos >> 2) + 1] as number) >>> 16
      : view.getUint16(pos + 6, littleEndian);
    if (size < PERF_EVENT_HEADER_SIZE) {
      stop = n === 0 ? "bad" : "again";
      break;
    }
    if (pos + size > len) break;
    const type = word ? words[pos >> 2] as number : view.getInt32(pos, littleEndian);
    starts[n++] = pos;
    seen |= pos;
    pos += size;
    if (
      framing && type >= PERF_RECORD_HEADER_TRACING_DATA && type <= PERF_RECORD_COMPRESSED2 &&
      (type === PERF_RECORD_AUXTRACE || type === PERF_RECORD_HEADER_TRACING_DATA ||
        type === PERF_RECORD_COMPRESSED ||
        type === PERF_RECORD_COMPRESSED2 || type === PERF_RECORD_ID_INDEX)
    ) {
      stop = "again";
      break;
    }
  }
  batch.count = n;
  batch.aligned = (seen & 7) === 0;
  return stop;
}

/** A payload of which part may be in the batch's buffer already. */
class BufferedPayload implements Payload {
  readonly type: number;
  readonly offset: number;
  readonly size: number;
  /** Bytes read or skipped so far. */
  taken = 0;
  readonly #batch: RecordBatch;
  readonly #forward: ForwardReader;
  readonly #len: number;
  /** What the data has of it: less than `size` where the file was cut. */
  readonly #available: number;
  #pos: number;

  constructor(
    batch: RecordBatch,
    pos: number,
    len: number,
    forward: ForwardReader,
    size: number,
    to: number,
  ) {
    this.type = batch.type(batch.count - 1);
    this.offset = batch.offset + pos;
    this.size = size;
    this.#available = Math.min(size, to - this.offset);
    this.#batch = batch;
    this.#pos = pos;
    this.#len = len;
    this.#forward = forward;
  }

  async read(into: Uint8Array): Promise<number> {
    const want = Math.min(into.length, this.#available - this.taken);
    if (want === 0) return 0;
    const buffered = Math.min(want, this.#len - this.#pos);
    if (buffered > 0) {
      into.set(this.#batch.bytes.subarray(this.#pos, this.#pos + buffered));
      this.#pos += buffered;
      this.taken += buffered;
      return buffered;
    }
    const n = await this.#forward.read(into.subarray(0, want));
    this.taken += n;
    return n;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return payloadBlocks(this);
  }

  /** Skips what was not read; returns where in the buffer the next record starts. */
  async finish(): Promise<number> {
    const buffered = Math.min(this.#available - this.taken, this.#len - this.#pos);
    this.#pos += buffered;
    this.taken += buffered;
    this.taken += await this.#forward.skip(this.#available - this.taken);
    return this.#pos;
  }
}

/** Turns COMPRESSED records into batches. */
class Inflater {
  readonly #reader: PerfDataReader;
  readonly #littleEndian: boolean;
  readonly #makeStream: () => ZstdStream;
  #stream: ZstdStream | undefined;
  #batch: RecordBatch | undefined;
  #left = 0;
  #broken = false;
  #lastOffset = 0;
  /** Bytes that the record has inflated to so far. */
  #inflated = 0;

  constructor(reader: PerfDataReader, littleEndian: boolean, makeStream: () => ZstdStream) {
    this.#reader = reader;
    this.#littleEndian = littleEndian;
    this.#makeStream = makeStream;
  }

  *inflate(record: Uint8Array, offset: number): Generator<RecordBatch, void, void> {
    this.#lastOffset = offset;
    if (!this.#broken) {
      const stream = this.#stream ??= this.#makeStream();
      this.#inflated = 0;
      const pieces = stream.push(compressedBytes(record, this.#littleEndian))[Symbol.iterator]();
      for (let piece = this.#next(pieces); piece !== undefined; piece = this.#next(pieces)) {
        yield* this.#frame(piece, offset);
      }
    }
    if (this.#broken) {
      this.#reader.stats.skippedBytes += record.length - PERF_EVENT_HEADER_SIZE;
    }
  }

  /** The next inflated piece; `undefined` at the end, and where there can be no more. */
  #next(pieces: Iterator<Uint8Array>): Uint8Array | undefined {
    if (this.#broken) return undefined;
    try {
      const { value, done } = pieces.next();
      if (done === true) return undefined;
      this.#inflated += value.length;
      if (this.#inflated <= MAX_INFLATED) return value;
      this.#breakOff(`zstd: more than ${MAX_INFLATED} bytes in one record`);
    } catch (error) {
      this.#breakOff(`zstd: ${error instanceof Error ? error.message : String(error)}`);
    }
    return undefined;
  }

  #breakOff(reason: string): void {
    this.#broken = true;
    this.#reader.reportDamage(
      `COMPRESSED: ${reason}; this and later compressed records are skipped`,
      { offset: this.#lastOffset, record: { type: PERF_RECORD_COMPRESSED } },
    );
  }

  /** Hands on the whole records; what is left begins the next piece. */
  *#frame(inflated: Uint8Array, offset: number): Generator<RecordBatch, void, void> {
    const stats = this.#reader.stats;
    stats.inflatedBytes += inflated.length;
    const batch = this.#batch ??= new RecordBatch(
      CAPACITY,
      this.#littleEndian,
      this.#reader.events,
    );
    batch.inflatedFrom = offset;
    for (let taken = 0; taken < inflated.length;) {
      const part = inflated.subarray(taken, taken + CAPACITY - this.#left);
      batch.bytes.set(part, this.#left);
      taken += part.length;
      const len = this.#left + part.length;
      let pos = 0;
      let stop: Stop = "again";
      while (stop === "again") {
        batch.firstIndex = stats.records;
        stop = frame(batch, pos, len, false);
        if (batch.count === 0) break;
        pos = batch.start(batch.count - 1) + batch.size(batch.count - 1);
        stats.records += batch.count;
        yield batch;
      }
      batch.bytes.copyWithin(0, pos, len);
      this.#left = len - pos;
      if (stop === "bad") {
        this.#breakOff("a record in the inflated bytes is shorter than its header");
        return;
      }
    }
  }

  /** Reports a record that was begun and never finished. */
  finish(): void {
    if (this.#left > 0 && !this.#broken) {
      this.#reader.reportDamage(
        `COMPRESSED: ${this.#left} inflated bytes left, expected a whole record`,
        { offset: this.#lastOffset, record: { type: PERF_RECORD_COMPRESSED } },
      );
    }
  }
}

/** The zstd bytes in a COMPRESSED or COMPRESSED2 record. */
function compressedBytes(record: Uint8Array, littleEndian: boolean): Uint8Array {
  const view = new DataView(record.buffer, record.byteOffset, record.byteLength);
  if (view.getUint32(0, littleEndian) === PERF_RECORD_COMPRESSED || record.length < 16) {
    return record.subarray(PERF_EVENT_HEADER_SIZE);
  }
  const size = Number(view.getBigUint64(PERF_EVENT_HEADER_SIZE, littleEndian));
  return record.subarray(16, 16 + Math.min(size, record.length - 16));
}
