/**
 * A `perf.data` file opened for analysis: the order of its records, the machine that was recorded,
 * its AUX streams.
 *
 * @module
 */
export { Engine, type Extent } from "./engine/engine.ts";
export type { Consumer, Needs } from "./engine/engine_consumer.ts";
export type { EngineOptions } from "./engine/engine_options.ts";
export {
  type CpuCache,
  type CpuPlace,
  recordedCaches,
  recordedCpus,
  recordedMemory,
  recordedNodes,
  type StreamFeatures,
} from "./events/cpu_topology.ts";
export { EventNames } from "./events/event_names.ts";
export { recordedFeatures } from "./events/recorded_features.ts";
export { isLastFeature, type StreamFeature, streamFeature } from "./events/stream_feature.ts";
export { TracepointJson } from "./events/tracepoint_json.ts";
export { type FieldPlace, type Tracepoint, Tracepoints } from "./events/tracepoints.ts";
export { History } from "./history/history.ts";
export type { Applied, HistoryIndex, HistoryOptions } from "./history/history_keeper.ts";
export type { MachineLog } from "./history/machine_log.ts";
export { KeptRecords, type KeptRecordsPart } from "./index/kept_records.ts";
export { Moments, type MomentsPart } from "./index/moments.ts";
export {
  changesMachine,
  type HistoryPart,
  type IndexBlock,
  RecordingIndex,
} from "./index/recording_index.ts";
export { Rounds, type RoundsPart } from "./index/rounds.ts";
export { SeenThreads, type SeenThreadsPart } from "./index/seen_threads.ts";
export {
  type IntervalCounts,
  intervalLines,
  type MissingSwitches,
  missingSwitches,
  STAND_IN_FRAME,
  type SwitchesSeen,
  undescribedLine,
} from "./intervals/interval_text.ts";
export { Parallelism } from "./intervals/parallelism.ts";
export {
  type ContextSwitch,
  SchedulerEvents,
  type SchedulerListener,
} from "./intervals/scheduler_events.ts";
export {
  type HandlerCounts,
  THREAD_STATE,
  type ThreadInterval,
  ThreadIntervals,
} from "./intervals/thread_intervals.ts";
export { GuestMachines, isGuestMode, machineName } from "./machine/guest_machines.ts";
export { type KnownBinary } from "./machine/kernel_maps.ts";
export { Machine } from "./machine/machine.ts";
export { AddressSpaces, type MapRange } from "./machine/machine_maps.ts";
export { NameTable } from "./machine/machine_names.ts";
export { TidTable } from "./machine/machine_tids.ts";
export type { MachineView } from "./machine/machine_view.ts";
export { MAP, type MapSource, MapSources, mmapSize } from "./machine/map_sources.ts";
export { SampleComms } from "./machine/sample_comms.ts";
export {
  type FoundPlaces,
  lookUpPlaces,
  type LookUpRows,
  PlaceLookUps,
  ShownNames,
} from "./names/look_up.ts";
export {
  nameList,
  type NamesSeen,
  namesSeen,
  numberList,
  splitEvents,
  splitNames,
} from "./names/name_list.ts";
export { type NameTest, nameTest, type NameWords } from "./names/name_words.ts";
export {
  askAgain,
  type AskedNames,
  type NameTests,
  SentTests,
  type SentWords,
  sentWords,
} from "./names/sent_names.ts";
export { shortName, withoutReferenceSymbol } from "./names/short_name.ts";
export {
  LookUpOutcomes,
  type LookUpProgress,
  type ObjectOutcome,
  type ObjectTrust,
  type OutcomesPart,
  shownObjects,
  type SymbolizedObject,
  symbolizeWith,
  type SymbolTrust,
  symbolTrust,
  type TrustCount,
  type TrustCounts,
} from "./names/symbolize.ts";
export {
  deliverRuns,
  isTimeOrdered,
  type OrderOptions,
  type OrderStats,
  type RunSink,
} from "./order/order.ts";
export { isKnownTime, RecordTime, TimeColumns } from "./order/record_time.ts";
export { RelativeTime } from "./order/relative_time.ts";
export { BRANCH, CHOSEN, PLACE_FRAME, type RecordBytes, Run } from "./order/run.ts";
export { type TimePart, TimeSpan } from "./order/time_span.ts";
export {
  ADDRESS_USE,
  type AddressedPlaces,
  type AddressTable,
  PlaceUses,
} from "./places/address_table.ts";
export type { JitRecorded, JitVersions } from "./places/jit_versions.ts";
export { JoinedPlaces } from "./places/joined_places.ts";
export { KERNEL_HIDDEN, Places, type PlacesPart, UNMAPPED } from "./places/places.ts";
export { GUEST_KERNEL, type MappedObject, RecordedObjects } from "./places/recorded_objects.ts";
export { type IdentifiedObject, sharedBuildIdTexts } from "./places/shared_build_ids.ts";
export { runEngine } from "./reading/run_engine.ts";
export { type CounterValue, CounterValues, countsPerThread } from "./samples/counter_values.ts";
export { FarTimes, type TimesPart } from "./samples/far_times.ts";
export { LostRecords, lostSamples, type LostSamplesCount } from "./samples/lost_records.ts";
export { roundedPeriods } from "./samples/period_sums.ts";
export type { SampleFilter } from "./samples/resolve.ts";
export type { ResolveNeeds } from "./samples/sample_shape.ts";
export { type EventPeriods, LargestPeriods, rulingPeriodText } from "./samples/ruling_period.ts";
export {
  type HistogramColumns,
  type HistogramPart,
  SampleHistogram,
} from "./samples/sample_histogram.ts";
export { SampleReads } from "./samples/sample_reads.ts";
export { isContextMarker } from "./stacks/chains.ts";
export { type StacksPart, StackTable, UserFrames } from "./stacks/stacks.ts";
export {
  percent,
  stacksText,
  type UnwoundRow,
  unwoundRows,
  unwoundText,
} from "./stacks/unwind_text.ts";
export { DeferredChains } from "./stacks/user_chains.ts";
export {
  parseLength,
  parseTime,
  resolveTime,
  sampleSpan,
  type TimeRange,
} from "./time/time_range.ts";

export { sampleJobs, type SizedReader, textJobs } from "./workers/jobs.ts";
export { SharedConsumers } from "./workers/shared_consumers.ts";
export { type JoinedNumbers, type Shareable } from "./workers/part.ts";
export {
  listQueue,
  Pool,
  type PoolAnswer,
  type PoolMessage,
  type PoolOptions,
  type PoolQueue,
  type PoolScope,
  type PoolServer,
  servePool,
} from "./workers/pool.ts";
export type { ThreadMessage, Workers, WorkerThread } from "./workers/thread.ts";
