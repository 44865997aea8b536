/**
 * Edits recordings: copies them in another form, with records dropped, replaced or added.
 *
 * @module
 */
export { AddBuildIds, filesWithoutBuildId, KERNEL } from "./copy/build_ids.ts";
export { ByteOrder } from "./copy/byte_order.ts";
export { CompressedOutput } from "./copy/compress.ts";
export {
  type CopyOptions,
  copyRecording,
  type CopyStats,
  DROP,
  type Edit,
  KEEP,
  type Verdict,
} from "./copy/copy.ts";
export { ForPerf, type PerfKnowledge, perfKnowledge } from "./copy/for_perf.ts";
export type { JoinedChains } from "./copy/joined_chains.ts";
export {
  FileOutput,
  type Loss,
  PipeOutput,
  type RecordingHead,
  type RecordingOutput,
} from "./copy/recording_output.ts";
export { formatsOnly } from "./redact/kept_tracing_data.ts";
export { Pseudonyms } from "./redact/pseudonym.ts";
export {
  Redact,
  type Redaction,
  REDACTIONS,
  type RedactOptions,
  type RedactStats,
} from "./redact/redact.ts";
export { TextSearch } from "./redact/search_text.ts";
export { type LostRange, repairRecording, type RepairReport } from "./repair/repair.ts";
