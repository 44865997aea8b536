import { visible } from "@perfdata/format/bytes";
import type { StatCounts, StatGrouping, StatReport, StatRow } from "./stat.ts";
import type { StatMetric } from "./stat_metrics.ts";

/** Widths of columns, as in perf. */
const WIDTH = { count: 18, unit: 4, event: 32, metric: 35 };
/** Heads of the group columns by aggregation. */
const HEADS: Readonly<Record<StatGrouping, string>> = {
  all: "",
  cpu: " CPU    ",
  core: " core            cpus",
  cache: " cache                  cpus",
  die: " die          cpus",
  socket: " socket cpus",
  node: " node   cpus",
  thread: "             comm-pid",
};
/** Number of intervals after which the heading is repeated. */
const HEAD_EVERY = 25;

function groupText({ name, cpus }: StatRow["group"], by: StatGrouping): string {
  const text = visible(name);
  const count = ` ${String(cpus).padStart(4)} `;
  switch (by) {
    case "cpu":
      return name === "" ? "" : `${text.padEnd(10)} `;
    case "core":
    case "die": {
      // The last number has its own column.
      const at = text.lastIndexOf("-") + 2;
      return text.slice(0, at) + text.slice(at).padEnd(8) + count;
    }
    case "cache":
      return text.padEnd(22) + count;
    case "socket":
    case "node":
      return text.padEnd(6) + count;
    case "thread": {
      const at = text.lastIndexOf("-");
      return `${text.slice(0, at).padStart(16)}-${text.slice(at + 1).padEnd(8)} `;
    }
    default:
      return "";
  }
}

/** Formats a metric without the mark before it. */
function metricText({ value, digits, sign }: StatMetric): string {
  const width = { 0: 8, 1: 8, 2: 7, 3: 8 }[digits] ?? 8;
  const text = value.toFixed(digits).padStart(width);
  return `${text}${sign === "%" && digits === 3 ? " " : ""}${sign ?? ""}`;
}

/** Formats seconds with nine decimals. */
function seconds(ns: bigint, width: number): string {
  return `${String(ns / 1_000_000_000n).padStart(width)}.${
    String(ns % 1_000_000_000n).padStart(9, "0")
  }`;
}

/** The lines of a row: its count, and the metrics after the first one. */
function rowLines(row: StatRow, by: StatGrouping, prefix: string, unitWidth: number): string[] {
  const { state, value, unit, name, metrics, enabled, running } = row;
  const group = groupText(row.group, by);
  const count = state !== "counted"
    ? `<${state}>`
    : typeof value === "bigint"
    ? String(value)
    : value.toFixed(2);
  const head = `${prefix}${group}${count.padStart(WIDTH.count)} ${
    visible(unit).padEnd(unitWidth)
  } ${visible(name).padEnd(WIDTH.event)}`;
  const texts = metrics.map((metric) => ` # ${metricText(metric)} ${metric.unit}`);
  const share = running !== enabled
    ? `  (${(100 * Number(running) / Number(enabled)).toFixed(2)}%)`
    : "";
  const more = `${prefix}${group}${by === "cpu" ? " ".repeat(8) : ""}${" ".repeat(49)}`;
  const lines = [head + (texts[0] ?? ""), ...texts.slice(1).map((text) => more + text)];
  const last = lines.pop() ?? "";
  const width = (lines.length === 0 ? head.length : more.length) + WIDTH.metric;
  return [...lines, share === "" ? last : last.padEnd(width) + share];
}

/**
 * The text of `perf stat report` as lines.
 *
 * @example
 * ```ts
 * import { StatText } from "@perfdata/report/figures";
 * import { assertEquals } from "@std/assert";
 *
 * const text = new StatText();
 * const report = { by: "all", interval: 0, command: ["true"] } as const;
 * assertEquals(text.round({ time: 5n, duration: 5, rows: [] }, report), [
 *   "",
 *   " Performance counter stats for 'true':",
 *   "",
 *   "",
 *   "       0.000000005 seconds time elapsed",
 *   "",
 * ]);
 * ```
 */
export class StatText {
  #rounds = 0;

  /** The lines of an interval, or of the total. */
  round(
    { time, duration, rows }: StatCounts,
    { by, interval, command }: Pick<StatReport, "by" | "interval" | "command">,
  ): string[] {
    const lines: string[] = [];
    const unitWidth = Math.max(WIDTH.unit, ...rows.map(({ unit }) => visible(unit).length));
    if (interval === 0) {
      const of = command === undefined ? "pipe" : command.map(visible).join(" ");
      lines.push("", ` Performance counter stats for '${of}':`, "");
    } else if (this.#rounds++ % HEAD_EVERY === 0) {
      const room = by === "cpu" || by === "thread" ? 22 : 19;
      lines.push(
        `#           time${HEADS[by]}${"counts".padStart(room)} ${
          "unit".padStart(unitWidth)
        } events`,
      );
    }
    const prefix = interval === 0 ? "" : `${seconds(time, 6)} `;
    for (const row of rows) {
      for (const line of rowLines(row, by, prefix, unitWidth)) lines.push(line.trimEnd());
    }
    if (interval === 0) {
      lines.push("");
      if (duration !== undefined) lines.push(` ${seconds(time, 7)} seconds time elapsed`, "");
    }
    return lines;
  }
}

/** Columns of CSV. */
export const STAT_COLUMNS = [
  ...["time", "duration", "group", "cpus", "event", "state", "value", "unit", "count"],
  ...["enabled", "running", "metric", "metric_unit"],
] as const;

/** A row of counts as a JSON object; `metrics` has the computed metrics. */
export function statRow(
  { time, duration }: StatCounts,
  row: StatRow,
): Record<string, unknown> {
  const { group, name, state, value, unit, count, enabled, running, metrics } = row;
  const isCounted = state === "counted";
  return {
    time,
    duration,
    group: group.name === "" ? undefined : group.name,
    cpus: group.cpus === 0 ? undefined : group.cpus,
    event: name,
    event_index: row.event,
    state,
    value: isCounted ? value : undefined,
    unit: unit === "" ? undefined : unit,
    count: isCounted ? count : undefined,
    enabled,
    running,
    metrics: metrics.map((metric) => ({ value: metric.value, unit: metric.unit })),
  };
}

/**
 * A row of counts as CSV rows with the columns {@link STAT_COLUMNS}. Each further metric has a row
 * with the state `metric`, without counts.
 */
export function statCells(counts: StatCounts, row: StatRow): unknown[][] {
  const { metrics, event_index: _, ...rest } = statRow(counts, row);
  const [metric, ...more] = metrics as { readonly value: number; readonly unit: string }[];
  const cells = Object.values(rest).map((cell) => typeof cell === "bigint" ? String(cell) : cell);
  const empty = STAT_COLUMNS.slice(6, 11).map(() => undefined);
  return [
    [...cells, metric?.value, metric?.unit],
    ...more.map(({ value, unit }) => [...cells.slice(0, 5), "metric", ...empty, value, unit]),
  ];
}
