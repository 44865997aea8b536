import { type PerfDataReader, RecordCodec } from "@perfdata/format/records";
import { PERF_RECORD_AUXTRACE_INFO } from "@perfdata/format/constants";
import { AUXTRACE_INFO } from "@perfdata/user-records";

/** Facts that a dump needs from the records before its first one. */
export interface Before {
  /**
   * File offset of the record with the byte at the offset, in the record or its payload. The offset
   * itself outside of the data and in a stream.
   */
  readonly start: number;
  /** Format of AUX data in AUXTRACE_INFO; 0 if there is none. */
  readonly auxtraceType: number;
}

/** Reads the records before an offset. A stream can be read only once, so it has none. */
export async function readBefore(reader: PerfDataReader, offset: number): Promise<Before> {
  const { data, littleEndian } = reader;
  let start = offset;
  let auxtraceType = 0;
  const isInside = offset >= data.offset && offset < data.offset + data.size;
  if (reader.isPipe || reader.fileSize === undefined || !isInside) return { start, auxtraceType };
  const codec = new RecordCodec([AUXTRACE_INFO]);
  for await (const batch of reader.batches({ inflate: false, quiet: true })) {
    for (let i = 0; i < batch.count; i++) {
      const at = batch.offset + batch.start(i);
      if (at > offset) return { start, auxtraceType };
      start = at;
      if (batch.type(i) !== PERF_RECORD_AUXTRACE_INFO || reader.isGoogleDialect) continue;
      const record = codec.decode(batch.recordBytes(i), { littleEndian });
      if (record.name === "AUXTRACE_INFO") auxtraceType = record.body.type;
    }
  }
  return { start, auxtraceType };
}
