/**
 * Edits recordings: copies them in another form, with records dropped, replaced or added.
 *
 * @module
 */
export { AddBuildIds } from "./copy/build_ids.ts";
export { ByteOrder } from "./copy/byte_order.ts";
export {
  type CopyOptions,
  copyRecording,
  type CopyStats,
  DROP,
  type Edit,
  KEEP,
} from "./copy/copy.ts";
export { InjectJit } from "./inject/inject_jit.ts";
export { type MergeOptions, mergeRecordings } from "./merge/merge.ts";
export { FileOutput, PipeOutput } from "./copy/recording_output.ts";
export { Redact, type RedactOptions } from "./redact/redact.ts";
export { repairRecording } from "./repair/repair.ts";
export { Slice, type SliceFilter } from "./slice/slice.ts";
export { SpeSamples } from "./inject/spe_samples.ts";
