/**
 * The profile of a recording, in columns: the source of tables, pictures and the formats of other
 * tools.
 *
 * @module
 */
export {
  type CollectedPart,
  type CollectedSwitch,
  type CollectOptions,
  type SampleKeys,
  type TakenRows,
} from "./collecting/collect_options.ts";
export { CollectedRows, type RowSample } from "./collecting/collected_rows.ts";
export {
  type BuilderFrame,
  type BuilderSample,
  type ProfileAbout,
  ProfileBuilder,
} from "./collecting/profile_builder.ts";
export { ptProfile, type PtProfileSource } from "./collecting/pt_profile.ts";
export {
  profileColumns,
  type ProfileNames,
  type ProfileOptions,
  recordedProfile,
} from "./collecting/recorded_profile.ts";
export { type CodeToName, type CollectedSamples, sampledCode } from "./collecting/sampled_code.ts";
export { SampleCollector } from "./collecting/sample_collector.ts";
export {
  DETAIL_COLUMNS,
  DETAIL_SOURCES,
  type DetailColumn,
  type DetailKeys,
  type DetailsPart,
  type RecordedColumn,
  SampleDetails,
  type TraceTexts,
} from "./collecting/sample_details.ts";
export type { TimedPart } from "./collecting/timed_rows.ts";
export { FloatColumn, IntColumn } from "./columns/columns.ts";
export { FrameTable } from "./columns/frame_table.ts";
export { NodeTable } from "./columns/node_table.ts";
export {
  type FrameColumns,
  FUNCTION_KIND,
  type FunctionColumns,
  functionName,
  functionNames,
  isTimeWeight,
  markedName,
  type PlaceColumns,
  type Profile,
  PROFILE_WEIGHTS,
  type ProfileEvent,
  type ProfileObject,
  type ProfileSwitch,
  type ProfileThread,
  type ProfileTotal,
  type ProfileWeight,
  profileWeight,
  type ProfileWrite,
  type SampleColumns,
  type SampledCode,
  type StackColumns,
  totals,
  UNVERIFIED_MARK,
} from "./columns/profile.ts";
export { type NamesById, type ThreadNames, threadNames } from "./columns/thread_names.ts";
export { ThreadTable } from "./columns/thread_table.ts";
export { comparable, type ComparableProfiles } from "./importing/comparable.ts";
export {
  IMPORTED_KIND_BYTES,
  type ImportedKind,
  importedKind,
  type ImportOptions,
  importProfile,
} from "./importing/import_profile.ts";
export {
  CodeNames,
  functionAt,
  isUnverified,
  type LookedUpCode,
  type NameablePlaces,
  nameCode,
  type NamedCode,
} from "./names/code_names.ts";
export {
  type CodeColumns,
  codeColumns,
  type NamedPlaces,
  type NameLookUp,
  namePlaces,
  type ProfilePlaces,
} from "./names/profile_names.ts";
export { runFunction, runObject } from "./names/run_names.ts";
export {
  type ColorMode,
  type Line,
  painted,
  shareStyle,
  type Span,
  type Style,
} from "./text/colors.ts";
export { shortName, shortNames } from "./text/short_names.ts";
export {
  chooseEvent,
  type ChosenEvent,
  eventCounts,
  eventLabel,
  type JoinedEvents,
  joinedEvents,
  joinPmus,
  mainEventFirst,
  pmuOf,
  shownEvents,
} from "./views/chosen_event.ts";
export { FETCH, remedyText } from "./trust/remedies.ts";
export {
  type CountedSums,
  missingColumns,
  type SumDoubts,
  sumDoubts,
} from "./trust/sample_lines.ts";
export {
  causesText,
  misleadingLines,
  refusedLines,
  trustLines,
  type TrustLinesOptions,
  unverifiedLines,
} from "./trust/trust_lines.ts";
export {
  shareText,
  trustJson,
  trustText,
  type TrustTextOptions,
  type UnwoundStacks,
  unwoundStacks,
  unwoundTable,
} from "./trust/trust_text.ts";
export { filterProfile, pickSamples, type ProfileFilter } from "./views/filter_profile.ts";
export {
  depthFirst,
  type FrameStackOptions,
  type FrameStacks,
  frameStacks,
  ranks,
} from "./views/frame_stacks.ts";
export { groupSamples, type SampleGroup } from "./views/group_samples.ts";
export {
  DROPPED,
  placesOfFunctions,
  type StackTransform,
  type StackTree,
  transformAll,
  type TransformedProfile,
  type TransformedTree,
  type TransformNames,
  transformOf,
  transformProfile,
  transformStacks,
} from "./views/stack_transforms.ts";
export { withStateFrames } from "./views/state_frames.ts";
