import { ByteReader, ByteWriter, type Trace } from "../struct/cursor.ts";
import { PerfDataError } from "../error.ts";
import type { PerfEvent } from "../header/events.ts";
import {
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
} from "./record_types.ts";
import {
  type DecodedRecord,
  type RawRecord,
  type RecordDeclaration,
  trailerEnd,
} from "./record.ts";
import type { SampleId } from "../sample/sample.ts";
import { bytes, type Codec, NO_SCOPE } from "../struct/mod.ts";
import { recordMisc, recordSize, setRecordHeader } from "./record_header.ts";

/** Context of a record that {@link RecordCodec} needs in addition to its bytes. */
export interface RecordContext {
  /** Byte order of the file; little-endian by default. */
  readonly littleEndian?: boolean;
  /** The event that the record belongs to. */
  readonly event?: PerfEvent | undefined;
  /** File offset of the record, for error messages. */
  readonly offset?: number;
  /** Receives the byte range of each field. */
  readonly trace?: Trace | undefined;
}

/** Declaration of any record type. */
// deno-lint-ignore no-explicit-any
export type AnyDeclaration = RecordDeclaration<string, any>;

/** A record that a declaration in `D` decoded, or a raw record. */
export type AnyRecord<D extends AnyDeclaration> = DecodedRecord<D> | RawRecord;

/**
 * Decodes and encodes whole records by a set of declarations.
 *
 * `encode(decode(bytes))` is `bytes` for any input: a record of unknown type, or one that violates its
 * declaration, is kept raw.
 *
 * @example
 * ```ts
 * import { KERNEL_RECORDS, RecordCodec } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const codec = new RecordCodec(KERNEL_RECORDS);
 * const bytes = codec.encode({
 *   type: 3,
 *   name: "COMM",
 *   misc: 0x2000,
 *   body: { pid: 7, tid: 7, comm: "true" },
 * });
 * assertEquals(bytes.length, 24);
 * const record = codec.decode(bytes);
 * assertEquals(record.name === "COMM" && record.body.comm, "true");
 * ```
 */
export class RecordCodec<D extends AnyDeclaration> {
  readonly #byType = new Map<number, AnyDeclaration>();

  /**
   * Creates a codec for a set of record types.
   *
   * @param declarations The known record types. A later declaration replaces an earlier one of the same type.
   */
  constructor(declarations: readonly D[]) {
    for (const declaration of declarations) this.#byType.set(declaration.type, declaration);
  }

  /** Returns the declaration of a record type, if it is known. */
  declaration(type: number): RecordDeclaration<string, unknown> | undefined {
    return this.#byType.get(type);
  }

  /** Returns the name of a record type without its prefix, or `TYPE_<n>` if it is unknown. */
  name(type: number): string {
    return this.#byType.get(type)?.name ?? `TYPE_${type}`;
  }

  /**
   * Decodes the record in `bytes`: header, body, trailer.
   *
   * @param bytes Exactly one record.
   * @throws {PerfDataError} If the size in the record header is not the number of bytes.
   */
  decode(bytes: Uint8Array, context: RecordContext = {}): AnyRecord<D> {
    const { littleEndian = true, event, offset = 0, trace } = context;
    if (bytes.length < PERF_EVENT_HEADER_SIZE) {
      throw new PerfDataError(`record header: ${bytes.length} bytes, expected 8`, { offset });
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const type = view.getUint32(0, littleEndian);
    const misc = recordMisc(view, 0, littleEndian);
    const size = recordSize(view, 0, littleEndian);
    if (size !== bytes.length) {
      throw new PerfDataError(`record header: size is ${size}, expected ${bytes.length}`, {
        offset: offset + 6,
        record: { type },
      });
    }
    const declaration = this.#byType.get(type);
    if (declaration === undefined) {
      return { type, name: "RAW", misc, raw: bytes.slice(PERF_EVENT_HEADER_SIZE) };
    }
    try {
      const r = new ByteReader(bytes, {
        littleEndian,
        base: offset,
        trace,
        context: {
          misc,
          ...(event === undefined ? {} : { event }),
        },
      });
      r.pos = PERF_EVENT_HEADER_SIZE;
      const trailer = trailerOf(event, type);
      const end = trailer === undefined ? bytes.length : trailerEnd(0, bytes.length);
      r.end = end - (trailer?.size ?? 0);
      if (r.end < r.pos) throw r.error(`sample_id: ${size - 8} bytes left in the record`);
      const body: unknown = declaration.body.decode(r, NO_SCOPE);
      const pad = r.takeResidue();
      const tail = r.left > 0 ? bytes.slice(r.pos, r.end) : undefined;
      if (tail !== undefined) traceBytes(trace, "tail", r.pos, tail);
      let sampleId: SampleId | undefined;
      if (trailer !== undefined) {
        r.pos = r.end;
        r.end = end;
        trace?.begin("sample_id", trailer as Codec<unknown>, r.pos);
        sampleId = trailer.decode(r, NO_SCOPE);
        trace?.end(r.pos, sampleId);
      }
      const after = end < bytes.length ? bytes.slice(end) : undefined;
      if (after !== undefined) traceBytes(trace, "after", end, after);
      return {
        type,
        name: declaration.name,
        misc,
        body,
        ...(sampleId === undefined ? {} : { sample_id: sampleId }),
        ...(tail === undefined ? {} : { tail }),
        ...(after === undefined ? {} : { after }),
        ...(pad === undefined ? {} : { pad }),
      } as unknown as AnyRecord<D>;
    } catch (cause) {
      if (!(cause instanceof PerfDataError)) throw cause;
      const error = new PerfDataError(`${declaration.name}: ${cause.message}`, {
        offset: cause.offset ?? offset,
        record: { type },
      });
      return { type, name: "RAW", misc, raw: bytes.slice(PERF_EVENT_HEADER_SIZE), error };
    }
  }

  /**
   * Encodes a record: header, body, trailer.
   *
   * @throws {RangeError} If the record is too long for its 16-bit size.
   */
  encode(decoded: AnyRecord<D>, context: RecordContext = {}): Uint8Array<ArrayBuffer> {
    const { littleEndian = true, event } = context;
    const record = decoded as RawRecord | DecodedRecord<RecordDeclaration<string, unknown>>;
    const w = new ByteWriter({
      littleEndian,
      context: {
        misc: record.misc,
        ...(event === undefined ? {} : { event }),
      },
    });
    w.grow(PERF_EVENT_HEADER_SIZE);
    if ("raw" in record) {
      w.put(record.raw);
    } else {
      const declaration = this.#byType.get(record.type);
      if (declaration === undefined) throw new RangeError(`record type ${record.type}: unknown`);
      w.residue = record.pad;
      declaration.body.encode(w, record.body, NO_SCOPE);
      w.residue = undefined;
      if (record.tail !== undefined) w.put(record.tail);
      const trailer = trailerOf(event, record.type);
      if (trailer !== undefined) {
        trailer.encode(w, record.sample_id ?? emptySampleId(event), NO_SCOPE);
        if (record.after !== undefined) w.put(record.after);
      }
    }
    if (w.length > 0xffff) {
      throw new RangeError(`record type ${record.type}: ${w.length} bytes, at most 65535 fit`);
    }
    const { type, misc } = record;
    setRecordHeader(w.view, 0, { type, misc, size: w.length }, littleEndian);
    return w.finish();
  }
}

function traceBytes(trace: Trace | undefined, name: string, at: number, found: Uint8Array): void {
  trace?.begin(name, bytes(found.length) as Codec<unknown>, at);
  trace?.end(at + found.length, found);
}

function trailerOf(event: PerfEvent | undefined, type: number) {
  return event === undefined || type === PERF_RECORD_SAMPLE ||
      type >= PERF_RECORD_USER_TYPE_START || event.layout.trailer.size === 0
    ? undefined
    : event.trailer;
}

/** Returns the event's trailer with all fields zero, as perf writes it in its own records. */
function emptySampleId(event: PerfEvent | undefined): SampleId {
  const size = event?.trailer.size ?? 0;
  return event === undefined
    ? {}
    : event.trailer.decode(new ByteReader(new Uint8Array(size)), NO_SCOPE);
}
