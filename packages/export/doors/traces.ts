/**
 * Calls, branches and samples of Intel PT traces in the formats of other tools and as text.
 *
 * @module
 */
export { TraceBranches } from "../branches/branch_trace.ts";
export { ChromeCalls } from "../formats/chrome_calls.ts";
export { PerfettoCalls } from "../formats/perfetto_calls.ts";
export { type BranchCounters } from "../script/branch_counters.ts";
export { type PtScriptOptions, PtScriptWriter } from "../script/script_pt.ts";
export {
  hasManyLines,
  type PtScriptOrder,
  type PtScriptWhole,
  type ScriptSamplesOptions,
  scriptWhole,
  writePtScript,
  type WrittenPtScript,
} from "../script/script_pt_join.ts";
export { type FirstPeriod, type PtScriptPart } from "../script/script_pt_maker.ts";
export { ScriptTraces, type TraceNames } from "../script/script_traces.ts";
export {
  recordedBetween,
  recordedSamples,
  type TraceScript,
  traceScript,
  type TraceScriptWish,
} from "../script/trace_script.ts";
export { CallJson, type CallJsonOptions } from "../tree/call_json.ts";
export { CallText } from "../tree/call_text.ts";
