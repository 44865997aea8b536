/** Copies of recordings: a part that is loaded if one is saved, or inflated to list its records. */
import { copyRecording, FileOutput } from "@perfdata/edit";
import { Slice, type SliceFilter } from "@perfdata/edit/slice";
import { memorySink } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";

/** Returns a recording as a file with inflated records; with options, a part of it. */
export async function copied(
  reader: PerfDataReader,
  options?: SliceFilter,
): Promise<Uint8Array<ArrayBuffer>> {
  const sink = memorySink();
  const edit = options === undefined ? {} : { edit: new Slice(reader, options) };
  await copyRecording(reader, new FileOutput(sink), edit);
  return sink.bytes() as Uint8Array<ArrayBuffer>;
}
