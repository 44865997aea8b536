import type { Diagnostics, RandomAccessSource } from "@perfdata/format/bytes";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import { PerfDataReader } from "@perfdata/format/records";
import { openIntelPt, type TraceCode } from "@perfdata/pt/decode";
import { hasIntelPt } from "@perfdata/session/auxtrace";
import { RecordingTrace, type TraceHost } from "./recording_trace.ts";
import type { OpenCode } from "./trace_question.ts";

export { hasIntelPt };

/** Surroundings of a trace, and its code. */
export interface OpenTraceOptions extends TraceHost {
  /** Opens the code. */
  readonly code: OpenCode;
  /** Receives errors in the recording. Without it, the first one is thrown. */
  readonly diagnostics: Diagnostics | undefined;
}

/**
 * Opens the Intel PT of a recording.
 *
 * @param reader A reader of the source, which has read its header.
 * @throws {PerfDataError} If there is no Intel PT.
 */
export async function openTrace(
  reader: PerfDataReader,
  source: RandomAccessSource,
  { code: openCode, diagnostics, ...host }: OpenTraceOptions,
): Promise<RecordingTrace> {
  const opened: TraceCode[] = [];
  const trace = await openIntelPt(reader, source, {
    diagnostics,
    code: async (recorded) => {
      const code = await openCode(recorded);
      opened.push(code);
      return code;
    },
  });
  const [code] = opened;
  if (code === undefined) throw new Error("the code was not opened");
  return new RecordingTrace({ trace, code, host });
}

/** Whether a recording has Intel PT and no samples. */
export async function isTraceAlone(source: RandomAccessSource): Promise<boolean> {
  if (!await hasIntelPt(source)) return false;
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  for await (const batch of reader.batches({ quiet: true })) {
    for (let i = 0; i < batch.count; i++) {
      if (batch.type(i) === PERF_RECORD_SAMPLE) return false;
    }
  }
  return true;
}
