import {
  array,
  type ByteSource,
  bytesSource,
  type Codec,
  decode,
  enumeration,
  FEATURE_NAMES,
  featureName,
  FEATURES,
  HEADER_TRACING_DATA,
  isRandomAccess,
  KERNEL_RECORDS,
  type Payload,
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PerfDataError,
  PerfDataReader,
  perfEventAttr,
  perfEventHeader,
  perfFileHeader,
  perfFileSection,
  perfPipeFileHeader,
  perfTraceEventType,
  type RandomAccessSource,
  type RecordBatch,
  RecordCodec,
  type Region,
  type StreamSource,
  struct,
  u64,
  USER_RECORD_NAMES,
} from "@perfdata/format";
import { GOOGLE_RECORDS, USER_RECORDS } from "@perfdata/user-records";
import type { AnyRecordCodec } from "./records_plan.ts";
import { type Leaf, LeafTrace, leafValueText } from "./hex_tree.ts";

/** The sections that {@link HexOptions.section} may name. */
export const HEX_SECTIONS = ["header", "attrs", "ids", "data", "features", "aux"] as const;

/** Which bytes of a file are reported. */
export interface HexOptions {
  /** Only what touches the bytes from here on. */
  readonly from?: number;
  /** Only what touches the bytes before here. */
  readonly to?: number;
  /** Only this section. */
  readonly section?: typeof HEX_SECTIONS[number];
  /** Only the record with this number, counted from 0 in file order. */
  readonly record?: number;
  /** Only records of these types, by name without `PERF_RECORD_`. */
  readonly types?: ReadonlySet<string>;
  /** Whether the records inside of COMPRESSED ones follow them. */
  readonly inflate?: boolean;
}

/** A run of bytes that belongs to one thing. */
export interface HexRun {
  /** Offset of the first byte in the file; in the inflated stream where `inflated` is set. */
  readonly offset: number;
  /** How many bytes there are. */
  readonly size: number;
  /**
   * The bytes; valid until the next run is asked for. `undefined` for what a damaged stream had
   * and nobody kept.
   */
  readonly bytes: Uint8Array | undefined;
  /** The structure that the run is part of: `header`, `attrs[0]`, `data[17] SAMPLE`. */
  readonly owner: string;
  /** The field in it: `.callchain[2]`; empty where the run is all there is. */
  readonly field: string;
  /** How deep the field lies in the structure. */
  readonly depth: number;
  /** The field's type as C would write it. */
  readonly type: string;
  /** The field's value as text, where the bytes are not all there is to say. */
  readonly value: string | undefined;
  /** What is wrong here. */
  readonly problems: readonly string[];
  /** Set where the bytes are not in the file but came out of a COMPRESSED record. */
  readonly inflated: boolean;
}

/** Bytes of a run that are handed out at once: a longer one comes in parts. */
const PART = 1 << 16;
/** Largest section or payload that is read into memory to be taken apart. */
const MAX_STRUCTURE = 1 << 28;
/** Most bytes of a file that comes through a pipe: its sections refer to each other. */
const MAX_PIPED_FILE = 1 << 30;

const CODEC: AnyRecordCodec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
const GOOGLE_CODEC: AnyRecordCodec = new RecordCodec([...KERNEL_RECORDS, ...GOOGLE_RECORDS]);
/** Without data: ends the features of a stream, with the number after that of the last one. */
const LAST_FEATURE = struct("feature", { last_feature: u64 });
const FEATURE_ID = struct("feature", { feat_id: enumeration(u64, FEATURE_NAMES) });

/** Where the header says where a section is. */
const DECLARED_AT: Readonly<Record<string, number>> = { attrs: 24, data: 40, event_types: 56 };

/** Where the bytes of the file come from: kept for what no decoder hands out. */
class Origin {
  readonly source: RandomAccessSource | undefined;
  constructor(source: ByteSource) {
    this.source = isRandomAccess(source) ? source : undefined;
  }

  async read(offset: number, size: number): Promise<Uint8Array | undefined> {
    if (this.source === undefined) return undefined;
    const bytes = new Uint8Array(size);
    const got = await this.source.readAt(bytes, offset);
    return bytes.subarray(0, got);
  }
}

/** A stream that begins with bytes that were read already. */
function rejoined(start: Uint8Array, source: StreamSource): StreamSource {
  let at = 0;
  return {
    read(into) {
      if (at >= start.length) return source.read(into);
      const part = start.subarray(at, at + into.length);
      into.set(part);
      at += part.length;
      return part.length;
    },
  };
}

async function readUpTo(source: StreamSource, into: Uint8Array): Promise<number> {
  let n = 0;
  while (n < into.length) {
    const got = await source.read(into.subarray(n));
    if (got === 0) break;
    n += got;
  }
  return n;
}

/** A file that arrives as a stream is taken into memory; a pipe stream goes on as it is. */
async function seekable(source: ByteSource): Promise<ByteSource> {
  if (isRandomAccess(source)) return source;
  const start = new Uint8Array(16);
  const got = await readUpTo(source, start);
  const view = new DataView(start.buffer);
  const isPipe = got < 16 || view.getUint32(8, true) === 16 || view.getUint32(12, false) === 16;
  if (isPipe) return rejoined(start.subarray(0, got), source);
  const chunks: Uint8Array[] = [start];
  let size = start.length;
  for (;;) {
    const chunk = new Uint8Array(1 << 20);
    const n = await readUpTo(source, chunk);
    chunks.push(chunk.subarray(0, n));
    size += n;
    if (n < chunk.length) break;
    if (size > MAX_PIPED_FILE) {
      throw new PerfDataError(`file: more than ${MAX_PIPED_FILE} bytes through a pipe; name it`);
    }
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytesSource(bytes);
}

/** Takes structures apart, and reports each byte once. */
class HexWalk {
  readonly #reader: PerfDataReader;
  readonly #origin: Origin;
  readonly #options: HexOptions;
  /** What is wrong, by offset, and not reported yet. */
  readonly #problems: { offset: number; message: string }[];

  constructor(
    reader: PerfDataReader,
    origin: Origin,
    options: HexOptions,
    problems: { offset: number; message: string }[],
  ) {
    this.#reader = reader;
    this.#origin = origin;
    this.#options = options;
    this.#problems = problems;
  }

  /** Whether anything from `from` to `to` is asked for. */
  #touches(from: number, to: number): boolean {
    return to > (this.#options.from ?? 0) && from < (this.#options.to ?? Infinity);
  }

  #takeProblems(from: number, to: number): string[] {
    const found: string[] = [];
    for (let i = 0; i < this.#problems.length;) {
      const { offset, message } = this.#problems[i] as { offset: number; message: string };
      if (offset >= from && offset < to) {
        found.push(message);
        this.#problems.splice(i, 1);
      } else {
        i++;
      }
    }
    return found;
  }

  /** The runs of a text: its length where it has one, its characters, its padding. */
  #textLeaves(leaf: Leaf, bytes: Uint8Array, base: number): Leaf[] {
    const parts: Leaf[] = [];
    let from = leaf.from;
    const part = (to: number, name: string, type: string, value: unknown) => {
      if (to <= from) return;
      const path = name === "" ? leaf.path : [...leaf.path, name];
      parts.push({ from, to, path, type, codec: undefined, value });
      from = to;
    };
    if (leaf.type === "perf_header_string" && leaf.to - leaf.from >= 4) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const length = view.getUint32(from - base, this.#reader.littleEndian);
      part(from + 4, ".len", "u32", length);
    }
    const stop = bytes.indexOf(0, from - base);
    const textEnd = stop < 0 ? leaf.to : Math.min(leaf.to, stop + base);
    part(textEnd, "", `char[${textEnd - from}]`, leaf.value);
    part(leaf.to, ".padding", `u8[${leaf.to - from}]`, undefined);
    return parts;
  }

  /**
   * The runs of a structure: its leaves, and what is left of its bytes.
   *
   * @param bytes All bytes of the structure.
   * @param base Where they are.
   * @param rest Name of the bytes after the last leaf.
   * @param error Why there are such bytes.
   */
  *structure(
    owner: string,
    bytes: Uint8Array,
    base: number,
    trace: LeafTrace,
    options: { rest?: string; error?: PerfDataError | undefined; inflated?: boolean } = {},
  ): Generator<HexRun, void, void> {
    const { rest = ".tail", error, inflated = false } = options;
    const end = base + bytes.length;
    let at = base;
    const own = error === undefined ? [] : [error.message];
    const place = error?.offset === undefined ? -1 : Number(error.offset);
    const run = (leaf: Leaf): HexRun => {
      at = leaf.to;
      const problems = inflated ? [] : this.#takeProblems(leaf.from, leaf.to);
      if (own.length > 0 && place >= leaf.from && place < leaf.to) problems.push(...own.splice(0));
      return {
        offset: leaf.from,
        size: leaf.to - leaf.from,
        bytes: bytes.subarray(leaf.from - base, leaf.to - base),
        owner,
        field: leaf.path.join(""),
        depth: leaf.path.length,
        type: leaf.type,
        value: leafValueText(leaf),
        problems,
        inflated,
      };
    };
    const unnamed = (to: number, name: string): Leaf => ({
      from: at,
      to,
      path: name === "" ? [] : [name],
      type: `u8[${to - at}]`,
      codec: undefined,
      value: undefined,
    });
    for (const leaf of trace.leaves()) {
      const from = Math.max(leaf.from, at);
      const to = Math.min(leaf.to, end);
      if (to <= from) continue;
      if (from > at) yield* this.#parts(run(unnamed(from, ".between")));
      const clipped = { ...leaf, from, to };
      const parts = leaf.codec?.display.as === "text"
        ? this.#textLeaves(clipped, bytes, base)
        : [clipped];
      for (const part of parts) yield* this.#parts(run(part));
    }
    if (at < end) {
      const last = run(unnamed(end, own.length > 0 ? ".undecoded" : rest));
      yield* this.#parts({ ...last, problems: [...last.problems, ...own.splice(0)] });
    } else if (own.length > 0) {
      yield* this.#parts({ ...run(unnamed(end, ".undecoded")), problems: own });
    }
  }

  /** A run in parts that are not too long. */
  *#parts(run: HexRun): Generator<HexRun, void, void> {
    const { bytes } = run;
    if (bytes === undefined || run.size <= PART) {
      const end = run.offset + Math.max(1, run.size);
      if (run.inflated || this.#touches(run.offset, end)) yield run;
      return;
    }
    for (let at = 0; at < run.size; at += PART) {
      const part = bytes.subarray(at, at + PART);
      const offset = run.offset + at;
      if (!run.inflated && !this.#touches(offset, offset + part.length)) continue;
      yield { ...run, offset, size: part.length, bytes: part, problems: at ? [] : run.problems };
    }
  }

  /** Bytes that are one thing and not taken apart. */
  async *plain(
    owner: string,
    field: string,
    from: number,
    to: number,
  ): AsyncGenerator<Iterable<HexRun>, void, void> {
    for (let at = from; at < to;) {
      const size = Math.min(PART, to - at);
      if (this.#touches(at, at + size)) {
        const bytes = await this.#origin.read(at, size);
        // The file became shorter while it was read.
        if (bytes !== undefined && bytes.length < size) return;
        yield [{
          offset: at,
          size,
          bytes,
          owner,
          field,
          depth: field === "" ? 0 : 1,
          type: `u8[${to - from}]`,
          value: undefined,
          problems: this.#takeProblems(at, at + size),
          inflated: false,
        }];
      }
      at += size;
    }
  }

  /** The runs of a region that is not the data. */
  async *region(region: Region): AsyncGenerator<Iterable<HexRun>, void, void> {
    const { kind, offset, size, index = 0 } = region;
    const end = offset + size;
    if (!this.#touches(offset, end)) return;
    if (kind === "gap" || size > MAX_STRUCTURE) {
      yield* this.plain(kind === "gap" ? "gap" : `${kind}[${index}]`, "", offset, end);
      return;
    }
    const bytes = await this.#reader.readSection(offset, size, kind);
    const { littleEndian } = this.#reader;
    const traced = (
      owner: string,
      from: number,
      to: number,
      decodeTraced: (bytes: Uint8Array, trace: LeafTrace, base: number) => unknown,
    ): Generator<HexRun, void, void> => {
      const part = bytes.subarray(from, to);
      const base = offset + from;
      const trace = new LeafTrace(base);
      let error: PerfDataError | undefined;
      try {
        decodeTraced(part, trace, base);
      } catch (cause) {
        if (!(cause instanceof PerfDataError)) throw cause;
        error = cause;
      }
      return this.structure(owner, part, base, trace, { error });
    };
    switch (kind) {
      case "header": {
        const isPipe = this.#reader.isPipe;
        yield traced(
          "header",
          0,
          size,
          (part, trace, base) =>
            decode(
              isPipe ? perfPipeFileHeader : perfFileHeader,
              part,
              {
                littleEndian,
                base,
                trace,
              } as Parameters<typeof decode>[2],
            ),
        );
        break;
      }
      case "attrs": {
        const entry = Number(this.#reader.header?.attr_size ?? 0);
        let at = 0;
        if (entry >= 24) {
          const file = struct("perf_file_attr", {
            attr: perfEventAttr(entry - 16),
            ids: perfFileSection,
          });
          for (let i = 0; at + entry <= size; i++, at += entry) {
            yield traced(
              `attrs[${i}]`,
              at,
              at + entry,
              (part, trace, base) => decode(file, part, { littleEndian, base, trace }),
            );
          }
        }
        yield traced("attrs", at, size, () => {});
        break;
      }
      case "ids":
        yield traced(
          `ids[${index}]`,
          0,
          size,
          (part, trace, base) => decode(array(u64, "rest"), part, { littleEndian, base, trace }),
        );
        break;
      case "event_types":
        yield traced(
          "event_types",
          0,
          size,
          (part, trace, base) =>
            decode(array(perfTraceEventType, "rest"), part, { littleEndian, base, trace }),
        );
        break;
      case "feature_table":
        for (let i = 0, at = 0; at < size; i++, at += 16) {
          const id = this.#reader.features[i]?.id ?? -1;
          yield traced(
            `feature_table[${i}] ${featureName(id)}`,
            at,
            Math.min(at + 16, size),
            (part, trace, base) => decode(perfFileSection, part, { littleEndian, base, trace }),
          );
        }
        break;
      default:
        yield traced(
          `feature ${featureName(index)}`,
          0,
          size,
          (part, trace, base) => decodeSection(index, part, { littleEndian, base, trace }),
        );
    }
  }

  /** The runs of the data: records, their payloads, and what is no record. */
  async *data(from: number, to: number): AsyncGenerator<Iterable<HexRun>, void, void> {
    const { inflate = false, section, record: wanted, types } = this.#options;
    const reader = this.#reader;
    let at = from;
    let index = -1;
    let inner = 0;
    let inflatedAt = 0;
    const stop = this.#options.to ?? Infinity;
    const all = wanted === undefined && types === undefined && section !== "aux";
    for await (const batch of reader.batches({ inflate })) {
      const codec = reader.isGoogleDialect ? GOOGLE_CODEC : CODEC;
      const inflated = batch.inflatedFrom >= 0;
      for (let i = 0; i < batch.count; i++) {
        const size = batch.size(i);
        if (inflated) inner++;
        else {
          index++;
          inner = 0;
        }
        const name = codec.declaration(batch.type(i))?.name ??
          USER_RECORD_NAMES[batch.type(i)] ?? `TYPE_${batch.type(i)}`;
        const start = inflated ? inflatedAt : batch.offset + batch.start(i);
        // Nothing that is asked for comes later.
        if (!inflated && (start >= stop || (wanted !== undefined && index > wanted))) return;
        if (inflated) inflatedAt += size;
        else {
          // Bytes in front of the region belong to the section before.
          if (start > at && all) yield* this.plain("data", ".not_a_record", at, start);
          at = Math.max(at, start + size);
        }
        const asked = (wanted === undefined || index === wanted) &&
          (types === undefined || types.has(name)) &&
          (section !== "aux") &&
          (inflated
            ? this.#touches(batch.inflatedFrom, batch.inflatedFrom + 1)
            : this.#touches(start, start + size));
        if (!asked) continue;
        const owner = `data[${index}${inflated ? `.${inner - 1}` : ""}] ${name}`;
        const runs = this.#record(owner, codec, batch, i, start, inflated);
        yield inflated ? runs : clip(runs, from, to);
      }
      const payload = batch.payload;
      if (payload !== undefined && !inflated) {
        const name = payload.type === PERF_RECORD_AUXTRACE ? "AUXTRACE" : "HEADER_TRACING_DATA";
        const asked = (wanted === undefined || index === wanted) &&
          (types === undefined || types.has(name)) &&
          (section !== "aux" || payload.type === PERF_RECORD_AUXTRACE) &&
          this.#touches(payload.offset, payload.offset + payload.size);
        const end = Math.min(payload.offset + payload.size, to);
        if (asked) {
          for await (const runs of this.#payload(`data[${index}] ${name}`, payload)) {
            yield clip(runs, from, to);
          }
        }
        at = Math.max(at, end);
      }
    }
    const end = to === Infinity
      ? reader.data.offset + reader.stats.recordBytes + reader.stats.payloadBytes +
        reader.stats.skippedBytes
      : to;
    if (at < end && all) {
      if (this.#origin.source === undefined) yield [this.#lost(at, end)];
      else yield* this.plain("data", ".not_a_record", at, end);
    }
  }

  /** Bytes of a stream that went by. */
  #lost(from: number, to: number): HexRun {
    return {
      offset: from,
      size: to - from,
      bytes: undefined,
      owner: "data",
      field: ".not_a_record",
      depth: 1,
      type: `u8[${to - from}]`,
      value: undefined,
      problems: this.#takeProblems(from, to),
      inflated: false,
    };
  }

  /** The runs of a record. */
  *#record(
    owner: string,
    codec: AnyRecordCodec,
    batch: RecordBatch,
    i: number,
    start: number,
    inflated: boolean,
  ): Generator<HexRun, void, void> {
    const bytes = batch.recordBytes(i);
    const { littleEndian } = batch;
    const trace = new LeafTrace(start);
    traceHeader(bytes, littleEndian, trace);
    const record = codec.decode(bytes, { ...batch.context(i), offset: start, trace });
    let error = "raw" in record ? record.error : undefined;
    let shown = trace;
    if (record.type === PERF_RECORD_HEADER_FEATURE && record.name === "HEADER_FEATURE") {
      // What the feature holds, in place of its bytes.
      shown = new LeafTrace(start);
      traceHeader(bytes, littleEndian, shown);
      const id = Number((record.body as { feat_id: bigint }).feat_id);
      try {
        const empty = bytes.length === 16;
        const field: Codec<unknown> = empty ? LAST_FEATURE : FEATURE_ID;
        decode(field, bytes.subarray(8, 16), { littleEndian, trace: shown.shifted(8) });
        if (!empty) {
          decodeSection(id, bytes.subarray(16), {
            littleEndian,
            base: start + 16,
            trace: shown.shifted(16),
          });
        }
      } catch (cause) {
        if (!(cause instanceof PerfDataError)) throw cause;
        error = cause;
      }
    }
    yield* this.structure(owner, bytes, start, shown, {
      rest: codec.declaration(record.type) === undefined ? ".raw" : ".tail",
      error,
      inflated,
    });
  }

  /** The runs of the bytes that follow a record. */
  async *#payload(owner: string, payload: Payload): AsyncGenerator<Iterable<HexRun>, void, void> {
    const { type, offset, size } = payload;
    if (type === PERF_RECORD_HEADER_TRACING_DATA && size <= MAX_STRUCTURE) {
      const bytes = new Uint8Array(size);
      let n = 0;
      for (let got = -1; got !== 0 && n < size; n += got) {
        got = await payload.read(bytes.subarray(n));
      }
      const part = bytes.subarray(0, n);
      const trace = new LeafTrace(offset);
      let error: PerfDataError | undefined;
      try {
        decodeSection(HEADER_TRACING_DATA, part, {
          littleEndian: this.#reader.littleEndian,
          base: offset,
          trace,
        });
      } catch (cause) {
        if (!(cause instanceof PerfDataError)) throw cause;
        error = cause;
      }
      yield this.structure(`${owner} payload`, part, offset, trace, { error, rest: ".padding" });
      return;
    }
    const buffer = new Uint8Array(PART);
    for (let at = offset;;) {
      const got = await readUpTo({ read: (into) => payload.read(into) }, buffer);
      if (got === 0) return;
      if (this.#touches(at, at + got)) {
        yield [{
          offset: at,
          size: got,
          bytes: buffer.subarray(0, got),
          owner,
          field: ".payload",
          depth: 1,
          type: `u8[${size}]`,
          value: undefined,
          problems: this.#takeProblems(at, at + got),
          inflated: false,
        }];
      }
      at += got;
    }
  }

  /** What is wrong and belongs to no run that was reported: runs without bytes. */
  *left(): Generator<HexRun, void, void> {
    for (const { offset, message } of this.#problems.splice(0)) {
      if (!this.#touches(offset, offset + 1)) continue;
      yield {
        offset,
        size: 0,
        bytes: undefined,
        owner: "file",
        field: "",
        depth: 0,
        type: "",
        value: undefined,
        problems: [message],
        inflated: false,
      };
    }
  }
}

/**
 * Decodes a feature section for its trace. A section that is a single value has no field: it gets
 * one.
 *
 * @throws {PerfDataError} Where the bytes are not such a section.
 */
function decodeSection(id: number, bytes: Uint8Array, options: Parameters<typeof decode>[2]): void {
  const codec = FEATURES.find((feature) => feature.id === id)?.codec as Codec<unknown> | undefined;
  if (codec === undefined) return;
  const { as } = codec.display;
  const fields = as === "struct" || as === "array" ? codec : struct("feature", { value: codec });
  decode(fields as Codec<unknown>, bytes, options);
}

/** What is wrong with where the sections lie, at the place that says where they are. */
function layoutProblems(reader: PerfDataReader): { offset: number; message: string }[] {
  const { header, layout } = reader;
  if (header === undefined) return [];
  const entry = Number(header.attr_size);
  const attrsAt = Number(header.attrs.offset);
  const problems = layout.conflicts.map(({ wanted, reason }) => {
    const { kind, index = 0, offset, size } = wanted;
    const feature = reader.features.findIndex(({ id }) => id === index);
    const at = kind === "ids"
      ? attrsAt + (index + 1) * entry - 16
      : kind === "feature"
      ? reader.data.offset + reader.data.size + 16 * feature
      : DECLARED_AT[kind] ?? offset;
    const name = kind === "feature" ? `feature ${featureName(index)}` : kind;
    return {
      offset: at,
      message: `${name}: ${size} bytes at 0x${offset.toString(16)}: ${reason}`,
    };
  });
  if (entry > 0 && header.attrs.size % header.attr_size !== 0n) {
    problems.push({
      offset: DECLARED_AT["attrs"] as number + 8,
      message: `attrs: ${header.attrs.size} bytes, expected a multiple of attr_size, ${entry}`,
    });
  }
  reader.events.all.forEach(({ attr }, i) => {
    if (attr.size > entry - 16) {
      problems.push({
        offset: attrsAt + i * entry + 4,
        message: `perf_event_attr.size: ${attr.size}, attr_size has room for ${entry - 16}`,
      });
    }
  });
  return problems;
}

const SECTION_OF: Readonly<Record<Region["kind"], typeof HEX_SECTIONS[number] | undefined>> = {
  header: "header",
  attrs: "attrs",
  ids: "ids",
  event_types: "attrs",
  data: "data",
  feature_table: "features",
  feature: "features",
  gap: undefined,
};

/**
 * Tells of every byte of a file what it is: the runs follow each other without gap or overlap from
 * the first byte to the last, unless the options leave some out.
 *
 * Damage does not end the dump: what cannot be decoded is a run of its own that says why. A file
 * that arrives as a stream is read into memory; a pipe stream is not.
 *
 * @param source The file or stream.
 * @param options Which runs.
 * @throws {PerfDataError} Where a file of more than 1 GB comes through a pipe.
 *
 * @example
 * ```ts
 * import { hexRuns } from "@perfdata/dump";
 * import { bytesSource } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24); // a header and a FINISHED_ROUND
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * const runs: string[] = [];
 * for await (const { offset, owner, field, value } of hexRuns(bytesSource(pipe))) {
 *   runs.push(`${offset} ${owner} ${field} ${value}`);
 * }
 * assertEquals(runs, [
 *   "0 header .magic undefined",
 *   "8 header .size 16",
 *   "16 data[0] FINISHED_ROUND .header.type 68",
 *   "20 data[0] FINISHED_ROUND .header.misc 0x0",
 *   "22 data[0] FINISHED_ROUND .header.size 8",
 * ]);
 * ```
 */
export async function* hexRuns(
  source: ByteSource,
  options: HexOptions = {},
): AsyncGenerator<HexRun, void, void> {
  for await (const runs of hexStructures(source, options)) yield* runs;
}

/**
 * The runs of {@link hexRuns}, those of a structure together: to wait for each run takes longer than
 * to make it. All are valid until the next are asked for.
 */
export async function* hexStructures(
  source: ByteSource,
  options: HexOptions = {},
): AsyncGenerator<Iterable<HexRun>, void, void> {
  const input = await seekable(source);
  const problems: { offset: number; message: string }[] = [];
  const note = (error: PerfDataError) =>
    void problems.push({ offset: Number(error.offset ?? 0n), message: error.message });
  const origin = new Origin(input);
  let reader: PerfDataReader;
  try {
    reader = await PerfDataReader.open(input, { diagnostics: note });
  } catch (error) {
    if (!(error instanceof PerfDataError) || origin.source === undefined) throw error;
    for await (const run of unreadable(origin.source, error, options)) yield [run];
    return;
  }
  // Where a section is said to be is a better place to report it than where it would be.
  const outside = new Set(reader.layout.conflicts.map(({ wanted }) => wanted.offset));
  const elsewhere = problems.filter(({ offset }) => !outside.has(offset));
  problems.splice(0, Infinity, ...layoutProblems(reader), ...elsewhere);
  const walk = new HexWalk(reader, origin, options, problems);
  const { section, record, types } = options;
  const dataOnly = record !== undefined || types !== undefined || section === "aux";
  const regions: readonly Region[] = reader.fileSize === undefined
    ? [{ kind: "header", offset: 0, size: reader.headerSize }, {
      kind: "data",
      offset: reader.headerSize,
      size: Infinity,
    }]
    : reader.layout.regions;
  for (const region of regions) {
    if (region.kind === "data") {
      if (section !== undefined && section !== "data" && section !== "aux") continue;
      if (region.offset >= (options.to ?? Infinity)) continue;
      if (region.offset + region.size <= (options.from ?? 0)) continue;
      yield* walk.data(region.offset, region.offset + region.size);
    } else if (!dataOnly && (section === undefined || section === SECTION_OF[region.kind])) {
      yield* walk.region(region);
    }
  }
  yield walk.left();
}

/** A file without a header that can be read. */
async function* unreadable(
  source: RandomAccessSource,
  error: PerfDataError,
  options: HexOptions,
): AsyncGenerator<HexRun, void, void> {
  const end = Math.min(source.size, options.to ?? Infinity);
  for (let offset = options.from ?? 0; offset < end; offset += PART) {
    const bytes = new Uint8Array(Math.min(PART, end - offset));
    await source.readAt(bytes, offset);
    yield {
      offset,
      size: bytes.length,
      bytes,
      owner: "unknown",
      field: "",
      depth: 0,
      type: `u8[${source.size}]`,
      value: undefined,
      problems: offset === (options.from ?? 0) ? [error.message] : [],
      inflated: false,
    };
  }
}

// The names of the header's fields are those of some bodies too: they get one of their own.
const RECORD_HEADER = struct("record", { header: perfEventHeader });

/** Takes a record's header apart. */
function traceHeader(bytes: Uint8Array, littleEndian: boolean, trace: LeafTrace): void {
  decode(RECORD_HEADER, bytes.subarray(0, PERF_EVENT_HEADER_SIZE), { littleEndian, trace });
}

/** The parts of runs that lie in a region. */
function* clip(
  runs: Iterable<HexRun>,
  from: number,
  to: number,
): Generator<HexRun, void, void> {
  for (const run of runs) {
    const start = Math.max(run.offset, from);
    const end = Math.min(run.offset + run.size, to);
    if (run.size === 0 || (start === run.offset && end === run.offset + run.size)) {
      yield run;
    } else if (end > start) {
      const bytes = run.bytes?.subarray(start - run.offset, end - run.offset);
      yield { ...run, offset: start, size: end - start, bytes };
    }
  }
}
