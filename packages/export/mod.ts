/**
 * Profiles in the formats of other tools: folded stacks, speedscope, pprof, Firefox Profiler, trace
 * events, Callgrind.
 *
 * @module
 */
export {
  type BinaryBranches,
  binaryBranches,
  bolt,
  type BranchPlaces,
  profgen,
} from "./branches/branch_profile.ts";
export { hasBranches, type RecordedBinary, recordedBinary } from "./branches/recorded_binary.ts";
export { CodeSteps } from "./branches/code_steps.ts";
export {
  type BinarySamples,
  binarySamples,
  boltSamples,
  type PlaceSamples,
} from "./branches/sample_fdata.ts";
export {
  type FunctionSamples,
  type LineSamples,
  locationOf,
  type ProfileDwarf,
  type SampleProfile,
  sampleProfile,
} from "./branches/sample_profile.ts";
export {
  type BranchCoverage,
  type CoverageDwarf,
  type FileCoverage,
  type FunctionCoverage,
  lcov,
  type LineCoverage,
  lineCoverage,
} from "./branches/line_coverage.ts";
export { autofdoBinary } from "./branches/sample_profile_binary.ts";
export { autofdoText } from "./branches/sample_profile_text.ts";
export type { CallWriter } from "./formats/call_writer.ts";
export { callgrind, type CallgrindOptions } from "./formats/callgrind.ts";
export { chrome, type ChromeOptions } from "./formats/chrome.ts";
export { firefox, type FirefoxOptions } from "./formats/firefox.ts";
export { breakpadId } from "./formats/firefox_tables.ts";
export { folded, type FoldedOptions } from "./formats/folded.ts";
export { MessageBytes } from "./formats/message_bytes.ts";
export { otlp, type OtlpOptions } from "./formats/otlp.ts";
export { perfetto, type PerfettoOptions } from "./formats/perfetto.ts";
export { pprof, type PprofOptions } from "./formats/pprof.ts";
export { speedscope, type SpeedscopeOptions } from "./formats/speedscope.ts";
