/**
 * `--itrace` of commands that read samples: adds samples synthesized from Intel PT to a recording.
 */
import { copyRecording, FileOutput } from "@perfdata/edit";
import { type PtSampleRecords, ptSampleRecords } from "@perfdata/edit/slice";
import type { ByteSource, RandomAccessSource } from "@perfdata/format/bytes";
import { memoryFile, PerfDataReader, tempStore } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { parseSampleItrace } from "@perfdata/pt";
import { asUsage, complain, Progress } from "./cli.ts";
import { type codeFiles, codeOf, imagesOf, openPt, reportLoss } from "./pt_input.ts";

/** A recording with samples synthesized from its Intel PT. */
export interface Itraced {
  /** The bytes of the new recording. */
  readonly source: RandomAccessSource;
  /** Prints what could not be decoded. Returns whether all was decoded. */
  readonly report: () => boolean;
}

/** A recording with Intel PT, and the edit that adds the samples. */
export interface ItraceEdit extends Itraced {
  readonly edit: PtSampleRecords;
}

/** Inputs of {@link itraced}. */
interface ItraceWish {
  /** The value of `--itrace`. */
  readonly letters: string;
  /** Location of code files; by default on this machine. */
  readonly where?: Parameters<typeof codeFiles>[1];
  /** The bytes of the recording, if it is open. */
  readonly opened?: ByteSource | undefined;
}

/**
 * Opens the trace of a recording, and creates the edit that adds samples.
 *
 * @throws {UsageError} If a letter is unknown or only for `script`.
 * @throws {InputError} If the recording has no Intel PT.
 */
export async function itraceEdit(
  tool: string,
  name: string,
  { letters, where = {}, opened: input }: ItraceWish,
): Promise<ItraceEdit> {
  const itrace = asUsage(() => parseSampleItrace(letters), "--");
  const { trace: opened, complaints } = await openPt(tool, name, {
    code: (recorded) => codeOf(recorded, where, imagesOf(undefined, name)),
    opened: input,
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

/** Writes the recording with the samples to memory, or to the folder of temporary files. */
export async function itraced(
  ...[tool, name, wish]: Parameters<typeof itraceEdit>
): Promise<Itraced> {
  const { source: recorded, edit, report } = await itraceEdit(tool, name, wish);
  const { temp = memoryFile } = wish.opened ?? openSource(name);
  const source = tempStore(temp());
  // The first read of the records reported their errors.
  const reader = await PerfDataReader.open(recorded, { diagnostics: () => {} });
  await copyRecording(reader, new FileOutput(source), { edit, lostFeature: () => {} });
  complain(
    `${tool}: ${name}: ${edit.samples} samples of ${edit.names.join(", ")} from its Intel PT`,
  );
  return { source, report };
}
