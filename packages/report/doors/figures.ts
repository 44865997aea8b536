/**
 * Figures about a recording: its summary, rates, counts of `perf stat`, processes, branches of Intel PT.
 *
 * @module
 */
export { type Advice, adviceOf, adviceOfTrust } from "../info/advice.ts";
export {
  type InfoCounter,
  infoCounter,
  type ObjectInfo,
  type RecordingHead,
  recordingHead,
  type RecordingInfo,
  recordingInfo,
} from "../info/info.ts";
export type { EventInfo, StackInfo } from "../info/info_counts.ts";
export { headLines, infoLines } from "../info/info_text.ts";
export { TraceBranchSamples } from "../functions/trace_branches.ts";
export {
  type GivenFilters,
  whyNoSamples,
  whyNothing,
  type WhyNothingOptions,
} from "../nothing/why_nothing.ts";
export { Overview, type OverviewRow, type ProcessRow, type TypeCount } from "../processes.ts";
export {
  analyzeRate,
  type RateBy,
  type RateEvent,
  type RateEventSummary,
  type RateIncident,
  type RateOptions,
  type RateReport,
} from "../rate/rate.ts";
export { RatePlot } from "../rate/rate_plot.ts";
export {
  incidentRow,
  RATE_COLUMNS,
  type RateCell,
  rateLines,
  type RateRow,
  rateRow,
  summaryRows,
} from "../rate/rate_rows.ts";
export {
  type RatePoint,
  RateStream,
  type RateStreamSummary,
  type Settled,
  type Spread,
} from "../rate/rate_stream.ts";
export { RateStreams } from "../rate/rate_streams.ts";
export {
  analyzeStat,
  STAT_GROUPINGS,
  type StatCounts,
  type StatGroup,
  type StatGrouping,
  type StatOptions,
  type StatReport,
  type StatRow,
} from "../stat/stat.ts";
export {
  type MetricEvent,
  metricsOf,
  type MetricSums,
  metricSums,
  type StatMetric,
  statRole,
} from "../stat/stat_metrics.ts";
export { StatPlot } from "../stat/stat_plot.ts";
export { STAT_COLUMNS, statCells, statRow, StatText } from "../stat/stat_text.ts";
export { type PlotPanel, type PlotSeries, type TimePlot, timePlot } from "../time_plot.ts";
