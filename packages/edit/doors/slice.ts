/**
 * Parts of recordings, several as one, and records that are added or cut away.
 *
 * @module
 */
export {
  type AuxPlan,
  hasAuxtrace,
  type NotCut,
  type PayloadPart,
  planAuxCut,
} from "../copy/aux_cut.ts";
export {
  findJitdumps,
  InjectJit,
  type JitdumpsOf,
  type JitInjection,
  type JittedFile,
  jittedFiles,
  type JittedMap,
  type NamedJitdump,
} from "../inject/inject_jit.ts";
export { ptSampleRecords } from "../inject/lazy_pt_sample_records.ts";
export type { PtSampleRecords } from "../inject/pt_sample_records.ts";
export { SpeSamples } from "../inject/spe_samples.ts";
export {
  type MergedInput,
  type MergeOptions,
  mergeRecordings,
  type MergeReport,
} from "../merge/merge.ts";
export type { MergeInput } from "../merge/merge_part.ts";
export {
  chooseSamples,
  type ChosenSamples,
  type NameConditions,
  type ResolverOf,
} from "../slice/choose.ts";
export { isCompressed, plainCopy } from "../slice/plain_copy.ts";
export { Slice, type SliceFilter, type SliceStats } from "../slice/slice.ts";
