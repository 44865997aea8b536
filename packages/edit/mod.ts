/**
 * Edits recordings: copies in another form, with records left out, replaced or added.
 *
 * @module
 */
export { AddBuildIds } from "./build_ids.ts";
export { ByteOrder } from "./byte_order.ts";
export { type CopyOptions, copyRecording, type CopyStats, DROP, type Edit, KEEP } from "./copy.ts";
export { InjectJit } from "./inject_jit.ts";
export { type MergeOptions, mergeRecordings } from "./merge.ts";
export { FileOutput, PipeOutput } from "./recording_output.ts";
export { Redact, type RedactOptions } from "./redact.ts";
export { repairRecording } from "./repair.ts";
export { Slice, type SliceFilter } from "./slice.ts";
export { SpeSamples } from "./spe_samples.ts";
