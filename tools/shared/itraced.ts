/** `convert --itrace`: adds samples synthesized from Intel PT to a recording. */
import { type PtSampleRecords, ptSampleRecords } from "@perfdata/edit/slice";
import type { RandomAccessSource } from "@perfdata/format/bytes";
import { parseSampleItrace } from "@perfdata/pt";
import { asUsage, Progress } from "./cli.ts";
import { codeOf, imagesOf, openPt, reportLoss } from "./pt_input.ts";

/** A recording with Intel PT, and the edit that adds the samples. */
export interface ItraceEdit {
  /** The bytes of the recording. */
  readonly source: RandomAccessSource;
  readonly edit: PtSampleRecords;
  /** Prints what could not be decoded. Returns whether all was decoded. */
  readonly report: () => boolean;
}

/**
 * Opens the trace of a recording, and creates the edit that adds samples.
 *
 * @param letters The value of `--itrace`.
 * @throws {UsageError} If a letter is unknown or only for `script`.
 * @throws {PerfDataError} If the recording has no Intel PT.
 */
export async function itraceEdit(
  tool: string,
  name: string,
  letters: string,
): Promise<ItraceEdit> {
  const itrace = asUsage(() => parseSampleItrace(letters), "--");
  const { trace: opened, complaints } = await openPt(tool, name, {
    code: (recorded) => codeOf(recorded, {}, imagesOf(undefined, name)),
  });
  const { timeless = false } = itrace;
  const trace = timeless ? opened.timeless() : opened;
  const progress = new Progress(tool, trace.bytes);
  const edit = await ptSampleRecords(trace, itrace, { progress: progress.add });
  const report = () => {
    progress.finish();
    const { counts } = edit;
    return counts === undefined ||
      reportLoss(tool, name, { counts, trace, complaints, timeless }) === 0;
  };
  return { source: trace.source, edit, report };
}
