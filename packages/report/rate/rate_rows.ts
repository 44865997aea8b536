import { numberAt, snakeKeys } from "@perfdata/format/bytes";
import type { RateIncident, RateReport } from "./rate.ts";
import type { RatePoint, RateStreamSummary } from "./rate_stream.ts";

/** Columns of {@link rateRow}. */
export const RATE_COLUMNS = [
  "event",
  "cpu",
  "tid",
  "time",
  "interval",
  "count",
  "delta",
  "period",
  "rate",
  "frequency",
] as const;

/** A value in a row; `null` if it is not recorded. */
export type RateCell = string | number | bigint | null;

/** A row of the analysis, for a sample and its predecessor. */
export type RateRow = Record<typeof RATE_COLUMNS[number], RateCell>;

const known = (id: number): number | null => id < 0 ? null : id;

/**
 * A point as a row for CSV and NDJSON.
 *
 * @param start Origin of the point's time in ns.
 * @param names Names of the events.
 */
export function rateRow(point: RatePoint, start: bigint, names: readonly string[]): RateRow {
  return {
    event: names[point.event] ?? null,
    cpu: known(point.cpu),
    tid: known(point.tid),
    time: start + BigInt(point.time),
    interval: point.interval,
    count: point.count ?? null,
    delta: point.delta,
    period: point.period ?? null,
    rate: point.rate,
    frequency: point.frequency ?? null,
  };
}

/** A throttling or loss as a row for NDJSON. */
export function incidentRow(
  incident: RateIncident,
  start: bigint,
  names: readonly string[],
): Record<string, RateCell> {
  return {
    type: incident.what,
    event: names[incident.event] ?? null,
    cpu: known(incident.cpu),
    time: incident.time === undefined ? null : start + BigInt(incident.time),
    ...(incident.what.startsWith("lost") ? { lost: incident.lost } : {}),
  };
}

/** The totals of events and counters as rows for NDJSON. */
export function* summaryRows(report: RateReport): Generator<Record<string, unknown>, void, void> {
  for (const { name, ...event } of report.events) {
    yield snakeKeys({ type: "event", event: name, ...event }) as Record<string, unknown>;
  }
  for (const { event, cpu, tid, ...stream } of report.streams) {
    yield snakeKeys({
      type: "counter",
      event: report.events[event]?.name ?? null,
      cpu: known(cpu),
      tid: known(tid),
      ...stream,
    }) as Record<string, unknown>;
  }
  yield { type: "recording", lost_records: report.lostRecords, left_out: report.leftOut };
}

function scaled(value: number | undefined): string {
  if (value === undefined) return "-";
  const units = ["", "k", "M", "G", "T"];
  let unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return unit === 0 && Number.isInteger(value)
    ? String(value)
    : `${value.toPrecision(4).replace(/e\+\d+$/, "")}${units[unit]}`;
}

function tableLines(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, i) =>
    Math.max(title.length, ...rows.map((row) => (row[i] ?? "").length))
  );
  return [head, ...rows].map((row) =>
    row.map((cell, i) => cell.padStart(numberAt(widths, i))).join("  ")
  );
}

/** Limit of an event's counters in the summary. */
const MOST_LINES = 32;

function settledText({ settled, period }: RateStreamSummary): string {
  if (period === undefined) return "-";
  if (period.min === period.max) return "fixed";
  return settled === undefined
    ? "never"
    : `${scaled(settled.period)} after ${settled.samples} (${settled.seconds.toFixed(3)} s)`;
}

/** The counters of an event with the most samples; if they are few, all in order. */
function shownStreams(
  { streams }: RateReport,
  event: number,
): { streams: RateStreamSummary[]; count: number; leftOut: number } {
  const first: RateStreamSummary[] = [];
  const most: RateStreamSummary[] = [];
  let count = 0;
  let leftOut = 0;
  for (const stream of streams) {
    if (stream.event !== event) continue;
    leftOut += stream.leftOut;
    if (count++ < MOST_LINES) first.push(stream);
    const at = most.findIndex(({ samples }) => samples < stream.samples);
    if (at >= 0) most.splice(at, 0, stream);
    else most.push(stream);
    if (most.length > MOST_LINES) most.pop();
  }
  return { streams: count <= MOST_LINES ? first : most, count, leftOut };
}

/** Periods from here on mean never: perf sets 2^62 if another event takes the samples. */
const NEVER = 2 ** 53;

/**
 * The summary as lines of text: a paragraph and a table for each event.
 *
 * Rates are events per second, frequencies samples per second.
 */
export function* rateLines(report: RateReport): Generator<string, void, void> {
  let first = true;
  for (const [i, event] of report.events.entries()) {
    const { streams, count, leftOut } = shownStreams(report, i);
    if (!first) yield "";
    first = false;
    const asked = event.requestedFrequency !== undefined
      ? `${event.requestedFrequency} Hz requested`
      : event.requestedPeriod !== undefined && event.requestedPeriod < NEVER
      ? `a sample every ${event.requestedPeriod} requested`
      : "not sampling by itself";
    yield `${event.name}: ${event.samples} samples, ${event.count} counted, ${asked}`;
    const remarks = [
      event.throttled + event.unthrottled > 0
        ? `throttled ${event.throttled} times, unthrottled ${event.unthrottled} times`
        : "",
      event.lostSamples > 0 ? `${event.lostSamples} samples lost` : "",
      event.readAtExit === undefined ? "" : `${event.readAtExit} read at the end of threads`,
    ].filter((text) => text !== "");
    if (remarks.length > 0) yield `  ${remarks.join("; ")}`;
    if (leftOut > 0) yield `  ${leftOut} pairs of samples left out: time or count did not rise`;
    if (streams.length === 0) continue;
    const threads = report.by === "thread";
    const head = [
      "CPU",
      ...(threads ? ["TID"] : []),
      "SAMPLES",
      "SECONDS",
      "COUNTED",
      "RATE/s",
      "MIN",
      "MAX",
      "FREQ Hz",
      "OF ASKED",
      "PERIOD",
      "MIN",
      "MAX",
      "SETTLED AT",
      "THR",
    ];
    const rows = streams.map((stream) => {
      const { rate, frequency, period } = stream;
      const { requestedFrequency } = event;
      return [
        stream.cpu < 0 ? "-" : String(stream.cpu),
        ...(threads ? [stream.tid < 0 ? "-" : String(stream.tid)] : []),
        String(stream.samples),
        stream.seconds.toFixed(3),
        scaled(stream.count),
        scaled(rate?.mean),
        scaled(rate?.min),
        scaled(rate?.max),
        scaled(frequency?.mean),
        requestedFrequency === undefined || frequency === undefined
          ? "-"
          : `${(frequency.mean / requestedFrequency * 100).toFixed(1)}%`,
        scaled(period?.mean),
        scaled(period?.min),
        scaled(period?.max),
        settledText(stream),
        String(stream.throttled),
      ];
    });
    for (const line of tableLines(head, rows)) yield `  ${line}`;
    if (streams.length < count) {
      yield `  and ${count - streams.length} counters with fewer samples, which --json shows`;
    }
  }
  if (report.lostRecords > 0) {
    yield "";
    yield `${report.lostRecords} records lost, since buffers were full: they may be of any event`;
  }
  if (report.leftOut > 0) {
    yield "";
    yield `${report.leftOut} samples left out: without a time, or of no known event`;
  }
}
