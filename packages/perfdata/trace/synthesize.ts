import { copyRecording, FileOutput } from "@perfdata/edit";
import { ptSampleRecords } from "@perfdata/edit/slice";
import type { ByteSource, Diagnostics, RandomAccessSource, TempFile } from "@perfdata/format/bytes";
import { held, memoryFile, PerfDataReader, tempStore } from "@perfdata/format/records";
import { parseSampleItrace } from "@perfdata/pt";
import { openIntelPt } from "@perfdata/pt/decode";
import { ptLoss } from "@perfdata/pt/decode";
import type { DecodedBytes, OpenCode, SynthesizedSamples } from "./trace_question.ts";

/** Inputs of {@linkcode synthesize}. */
export interface Synthesis {
  /** The letters of `--itrace`. */
  readonly letters: string;
  /** Opens the code that the trace executed. */
  readonly code: OpenCode;
  /** Receives errors in the recording. Without it, the first one is thrown. */
  readonly diagnostics?: Diagnostics | undefined;
  /** Called while the trace is decoded. */
  readonly decoding: DecodedBytes;
  /** Opens a temporary file for the copy; by default that of the source, or memory. */
  readonly temp?: (() => TempFile) | undefined;
}

/** A recording with the samples. */
export interface Synthesized {
  /** The recording as it was, seekable. */
  readonly recorded: RandomAccessSource;
  /** The recording with the samples, without the trace. */
  readonly source: RandomAccessSource;
  /** Facts about the samples. */
  readonly made: SynthesizedSamples;
}

/**
 * Copies a recording with samples synthesized from its Intel PT: to memory, or to the folder of
 * temporary files that the source names.
 *
 * @throws {RangeError} If a letter is unknown, or no letter is for samples.
 * @throws {PerfDataError} If there is no Intel PT.
 */
export async function synthesize(
  input: ByteSource,
  { letters, code, diagnostics, decoding, temp }: Synthesis,
): Promise<Synthesized> {
  const itrace = parseSampleItrace(letters);
  const { timeless = false } = itrace;
  const recorded = await held(input);
  const reader = await PerfDataReader.open(recorded, diagnostics && { diagnostics });
  const opened = await openIntelPt(reader, recorded, { code, diagnostics });
  const trace = timeless ? opened.timeless() : opened;
  const { bytes } = trace;
  const edit = await ptSampleRecords(trace, itrace, { progress: (done) => decoding(done, bytes) });
  const source = tempStore((temp ?? input.temp ?? memoryFile)());
  // The first read of the records has reported their errors.
  const again = await PerfDataReader.open(recorded, { diagnostics: () => {} });
  await copyRecording(again, new FileOutput(source), { edit, lostFeature: () => {} });
  const { counts, samples, names } = edit;
  if (counts === undefined) throw new Error("the trace was not decoded");
  const loss = ptLoss(counts, trace, undefined, timeless);
  return { recorded, source, made: { samples, events: names, loss } };
}
