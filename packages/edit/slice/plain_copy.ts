import type { Diagnostics, RandomAccessSource, TempFile } from "@perfdata/format/bytes";
import { PERF_RECORD_COMPRESSED, PERF_RECORD_COMPRESSED2 } from "@perfdata/format/constants";
import { type PerfDataReader, tempStore } from "@perfdata/format/records";
import { copyRecording } from "../copy/copy.ts";
import { FileOutput } from "../copy/recording_output.ts";

/**
 * Copies a recording to a temporary file. Records of the copy are not compressed, so each has an
 * offset, as {@link chooseSamples} needs. The copy of a stream can be read several times.
 *
 * @param lostFeature Receives errors of unreadable features: see `CopyOptions`.
 */
export async function plainCopy(
  reader: PerfDataReader,
  file: TempFile,
  lostFeature?: Diagnostics,
): Promise<RandomAccessSource> {
  const store = tempStore(file);
  await copyRecording(reader, new FileOutput(store), { lostFeature });
  return store;
}

/** Whether a recording has COMPRESSED records. */
export async function isCompressed(reader: PerfDataReader): Promise<boolean> {
  for await (const batch of reader.batches({ inflate: false, quiet: true })) {
    const type = batch.count > 0 ? batch.type(batch.count - 1) : 0;
    if (type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2) return true;
  }
  return false;
}
