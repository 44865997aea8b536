import {
  type AnyRecord,
  KERNEL_RECORDS,
  type PerfDataReader,
  type PerfEvent,
  RecordCodec,
} from "@perfdata/format/records";
import { USER_RECORDS } from "./user_records.ts";

/** The declarations of all known record types: the kernel's and perf's own. */
export const ALL_RECORDS: readonly KnownDeclaration[] = [...KERNEL_RECORDS, ...USER_RECORDS];

/** One of the declarations in {@link ALL_RECORDS}. */
export type KnownDeclaration = typeof KERNEL_RECORDS[number] | typeof USER_RECORDS[number];

/** A decoded record with its position and event. */
export type LocatedRecord = AnyRecord<KnownDeclaration> & {
  /** File offset; for an inflated record, that of its COMPRESSED record. */
  readonly offset: number;
  /** The event that the record belongs to, if its id is known. */
  readonly event: PerfEvent | undefined;
};

/**
 * Decodes the records of a recording one by one, in file order.
 *
 * This is the simplest way to read records, not the fastest: a program that counts millions of samples
 * uses {@link PerfDataReader.batches} or the engine of `@perfdata/session`.
 *
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { records } from "@perfdata/user-records";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * const found = [];
 * for await (const { name, offset } of records(await PerfDataReader.open(bytesSource(pipe)))) {
 *   found.push([name, offset]);
 * }
 * assertEquals(found, [["FINISHED_ROUND", 16]]);
 * ```
 */
export async function* records(
  reader: PerfDataReader,
): AsyncGenerator<LocatedRecord, void, void> {
  const codec = new RecordCodec(ALL_RECORDS);
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      const context = batch.context(i);
      const { offset = 0, event } = context;
      // Copied, because the next batch overwrites the buffer.
      yield { ...codec.decode(batch.recordBytes(i).slice(), context), offset, event };
    }
  }
}
