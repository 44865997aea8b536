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
  /** What the record holds between its header and its `sample_id` trailer. */
  readonly body: Codec<T>;
}

/**
 * Declares a record type.
 *
 * @param type `type` of the record header.
 * @param name The name without its `PERF_RECORD_` prefix.
 * @param body What the record holds between its header and its `sample_id` trailer.
 */
export function record<const N extends string, T>(
  type: number,
  name: N,
  body: Codec<T>,
): RecordDeclaration<N, T> {
  return { type, name, body };
}

/**
 * Where the `sample_id` trailer of a record ends: with the record's last whole word, as perf reads
 * it (`evsel__parse_id_sample` in `tools/perf/util/evsel.c`). The kernel pads all records to words;
 * other writers do not.
 *
 * @param start Where the record starts, as an index into the bytes it is in.
 * @param end Where it ends.
 *
 * @example
 * ```ts
 * import { trailerEnd } from "@perfdata/format/record";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([trailerEnd(100, 148), trailerEnd(100, 152)], [148, 148]);
 * ```
 */
export function trailerEnd(start: number, end: number): number {
  return end - (end - start & 7);
}

/** A record that was decoded by a declaration of the table `D`. */
export type DecodedRecord<D> = D extends RecordDeclaration<infer N, infer T> ? {
    /** `type` of the record header. */
    readonly type: number;
    /** The name without its `PERF_RECORD_` prefix. */
    readonly name: N;
    /** `misc` of the record header. */
    readonly misc: number;
    /** The decoded fields. */
    readonly body: T;
    /** The trailer, where `sample_id_all` is set and the record is the kernel's. */
    readonly sample_id?: SampleId;
    /** Bytes between the declared fields and the trailer. */
    readonly tail?: Uint8Array;
    /** Bytes after the trailer, where the record is no whole number of words. */
    readonly after?: Uint8Array;
    /** Padding that is not the usual zeros. */
    readonly pad?: Residue;
  }
  : never;

/** A record that is kept as bytes: of unknown type, or not what its type says. */
export interface RawRecord {
  /** `type` of the record header. */
  readonly type: number;
  /** Always `"RAW"`; {@link RawRecord.type} has the number. */
  readonly name: "RAW";
  /** `misc` of the record header. */
  readonly misc: number;
  /** What follows the record header. */
  readonly raw: Uint8Array;
  /** Why a record of a known type could not be decoded. */
  readonly error?: PerfDataError;
}
