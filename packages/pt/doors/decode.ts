/**
 * Decoding traces, also with several threads: the executed code with its names, branches, calls, samples,
 * lists of instructions.
 *
 * @module
 */
export {
  CALL_ROW,
  type CallEventPart,
  CallEvents,
  type JoinedRows,
} from "../calls/pt_call_events.ts";
export { type CallRows, PLACE_ROWS } from "../calls/pt_call_log.ts";
export { CallTimeline, CallTree } from "../calls/pt_call_tree.ts";
export { type CallFilter, type CallOptions, PtCalls } from "../calls/pt_calls.ts";
export { type CallPart, type JoinedCalls } from "../calls/pt_joined_calls.ts";
export {
  type CallStats,
  type LatencyPart,
  LatencyTable,
  type SlowCall,
} from "../calls/pt_latency.ts";
export { PlaceSums } from "../calls/pt_place_sums.ts";
export { bundledCode, bundlePlaces, CodeRecorder } from "../code/pt_bundle.ts";
export { PtCode, ThreadCode } from "../code/pt_code.ts";
export { missingCode, type PtFunction, PtNames, shortObject } from "../code/pt_names.ts";
export { type CounterEvent, PtSideband, Switches } from "../code/pt_sideband.ts";
export { PtThreads } from "../code/pt_threads.ts";
export { openIntelPt, type OpenPtOptions, PtTrace, type TraceCode } from "../code/pt_trace.ts";
export type { InsnText } from "../decode/pt_block_insns.ts";
export { type PtCounts } from "../decode/pt_counts.ts";
export { decodePt } from "../decode/pt_run.ts";
export { type PtCut, type PtGrowth, PtSeeker } from "../decode/pt_seek.ts";
export type { DecodePtOptions, PtBuffer, PtPartSink, PtSink } from "../decode/pt_sink.ts";
export { snapshotTimes } from "../decode/pt_snapshots.ts";
export { ptSpan } from "../decode/pt_span.ts";
export { TimeOrigin } from "../decode/pt_time.ts";
export { type ObjectTime, PtEntries } from "../lists/pt_entries.ts";
export {
  type EntryPoint,
  entryPoints,
  type ThreadObject,
  threadObjects,
} from "../lists/pt_entries_text.ts";
export { type PtLoss, ptLoss } from "../lists/pt_loss.ts";
export { FlowRows, type ListFollower, type ListOptions, PtList, ROW } from "../lists/pt_list.ts";
export {
  addressText,
  callRowsOf,
  durationText,
  eventText,
  functionRows,
  type FunctionTime,
  functionTimes,
  latencyJson,
  latencyLines,
  lossText,
  type NameFilter,
  packetsText,
  rowLines,
  type RowTextOptions,
  unsureText,
} from "../lists/pt_text.ts";
export { type JoinedPt, joinRanges, type PtJoiner, type PtWorkers } from "../parallel/pt_join.ts";
export {
  callWhole,
  joinCalls,
  type JoinedPtCalls,
  listCalls,
  type ListedPtCalls,
  type PtCallWhole,
} from "../parallel/pt_join_calls.ts";
export {
  type JoinedPtList,
  joinList,
  type ListPart,
  type ListTextOptions,
  listWhole,
  type PtListWhole,
} from "../parallel/pt_join_list.ts";
export { type PtRange, type PtRangePart, type PtWhole } from "../parallel/pt_ranges.ts";
export { type PtOrder, servePt } from "../parallel/serve_pt.ts";
export { MetPlaces } from "../samples/met_places.ts";
export { AddedLists, type RecordedSamples } from "../samples/pt_added_lists.ts";
export type { LeftOut } from "../samples/pt_event_samples.ts";

export type { PebsEvents } from "../samples/pt_pebs.ts";
export type { SamplesOptions } from "../samples/pt_sample_maker.ts";
export { areLocal, type PartEnd, PtSamples } from "../samples/pt_samples.ts";
export {
  type Direction,
  gapText,
  type Moved,
  Replay,
  type ReplayOptions,
  type Step,
} from "../replay/replay.ts";
export type { LoadedSteps, StepThread } from "../replay/load_steps.ts";
export type { StepCursor, StepRows } from "../replay/step_rows.ts";
export {
  type Around,
  EventTimes,
  momentOf,
  type MomentSource,
  ofCpus,
  parseAround,
  snapshotsText,
  traceFilter,
  type TracePart,
  tracePart,
  type TracePartChoice,
} from "../lists/trace_part.ts";
