import {
  type AnyRecord,
  KERNEL_RECORDS,
  type PerfDataReader,
  type PerfEvent,
  RecordCodec,
} from "@perfdata/format";
import { USER_RECORDS } from "./user_records.ts";

/** The declarations of all known record types: the kernel's and perf's own. */
export const ALL_RECORDS: readonly KnownDeclaration[] = [...KERNEL_RECORDS, ...USER_RECORDS];

/** A declaration out of {@link ALL_RECORDS}. */
export type KnownDeclaration = typeof KERNEL_RECORDS[number] | typeof USER_RECORDS[number];

/** A record of a recording, decoded, with where it is. */
export type LocatedRecord = AnyRecord<KnownDeclaration> & {
  /** File offset; of a record that was compressed, that of the COMPRESSED record. */
  readonly offset: number;
  /** The event that it belongs to, where its id is known. */
  readonly event: PerfEvent | undefined;
};

/**
 * The records of a recording in file order, decoded one by one.
 *
 * This is the simplest way to look at records, not the fastest: a program that counts millions of samples
 * takes {@link PerfDataReader.batches}, or the engine of `@perfdata/session`.
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
      // The batch is overwritten, what was decoded of it is not.
      yield { ...codec.decode(batch.recordBytes(i).slice(), context), offset, event };
    }
  }
}
