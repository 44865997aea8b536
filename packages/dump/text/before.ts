import { type PerfDataReader, RecordCodec } from "@perfdata/format";
import { PERF_RECORD_AUXTRACE_INFO } from "@perfdata/format/record-types";
import { AUXTRACE_INFO } from "@perfdata/user-records";

/** State at the offset where a dump begins, from the records before it. */
export interface Before {
  /**
   * File offset of the record that the byte at the offset belongs to: in its own bytes, or in the
   * payload that follows it. The offset itself if it is outside of the data, or in a stream.
   */
  readonly start: number;
  /** The format of AUX data, as AUXTRACE_INFO says; 0 if it does not. */
  readonly auxtraceType: number;
}

/** Looks at what comes before an offset. A file is read up to there; a stream is read once, and so not. */
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
