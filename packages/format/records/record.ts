import type { Codec } from "../struct/mod.ts";
import type { PerfDataError } from "../error.ts";
import type { Residue } from "../struct/cursor.ts";
import type { SampleId } from "../sample/sample.ts";

/** The declaration of a record type: the fields after the 8-byte `perf_event_header`. */
export interface RecordDeclaration<N extends string, T> {
  /** `type` of the record header. */
  readonly type: number;
  /** The name without its `PERF_RECORD_` prefix. */
  readonly name: N;
  /** Codec of the bytes between the header and the `sample_id` trailer. */
  readonly body: Codec<T>;
}

/**
 * Declares a record type.
 *
 * @param type `type` of the record header.
 * @param name The name without its `PERF_RECORD_` prefix.
 * @param body Codec of the bytes between the header and the `sample_id` trailer.
 */
export function record<const N extends string, T>(
  type: number,
  name: N,
  body: Codec<T>,
): RecordDeclaration<N, T> {
  return { type, name, body };
}

/**
 * Returns the end of a record's `sample_id` trailer: the end of the record's last whole word, as perf reads
 * it (`evsel__parse_id_sample` in `tools/perf/util/evsel.c`). The kernel pads all records to words;
 * other writers do not.
 *
 * @param start Start of the record, as an index into its bytes.
 * @param end End of the record.
 *
 * @example
 * ```ts
 * import { trailerEnd } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([trailerEnd(100, 148), trailerEnd(100, 152)], [148, 148]);
 * ```
 */
export function trailerEnd(start: number, end: number): number {
  return end - (end - start & 7);
}

/** A record that a declaration in `D` decoded. */
export type DecodedRecord<D> = D extends RecordDeclaration<infer N, infer T> ? {
    /** `type` of the record header. */
    readonly type: number;
    /** The name without its `PERF_RECORD_` prefix. */
    readonly name: N;
    /** `misc` of the record header. */
    readonly misc: number;
    /** The decoded fields. */
    readonly body: T;
    /** The trailer of a kernel record, if the attr has `sample_id_all`. */
    readonly sample_id?: SampleId;
    /** Bytes between the declared fields and the trailer. */
    readonly tail?: Uint8Array;
    /** Bytes after the trailer, if the record's size is no multiple of 8. */
    readonly after?: Uint8Array;
    /** Padding, unless it is all zeros. */
    readonly pad?: Residue;
  }
  : never;

/** A record that is kept as bytes: its type is unknown, or it violates its declaration. */
export interface RawRecord {
  /** `type` of the record header. */
  readonly type: number;
  /** Always `"RAW"`; {@link RawRecord.type} has the number. */
  readonly name: "RAW";
  /** `misc` of the record header. */
  readonly misc: number;
  /** Bytes after the record header. */
  readonly raw: Uint8Array;
  /** The error, if the type is known and the record could not be decoded. */
  readonly error?: PerfDataError;
}
