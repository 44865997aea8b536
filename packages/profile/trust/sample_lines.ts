/** Lines about collected samples that tables, trees and pictures of them do not show. */
import type { PerfEvent } from "@perfdata/format/records";
import { roundedPeriods, rulingPeriodText } from "@perfdata/session";
import type { SampleCollector } from "../collecting/sample_collector.ts";
import { DETAIL_SOURCES } from "../collecting/sample_details.ts";
import type { ProfileEvent, ProfileTotal } from "../columns/profile.ts";

/** Columns by which samples are grouped, and that the recording has of no sample: a line each. */
export function missingColumns({ options, engine, sockets }: SampleCollector): string[] {
  const { details, sockets: bySocket = false } = options.keys ?? {};
  const lines: string[] = [];
  for (const column of details?.columns ?? []) {
    if (column === "parallelism" || column === "machine" || column === "pmu") continue;
    const { types, recordedBy } = DETAIL_SOURCES[column];
    const { all } = engine.reader.events;
    if (all.some(({ layout }) => (layout.sampleType & types) !== 0)) continue;
    lines.push(`no sample has ${column}: perf record ${recordedBy} records it`);
  }
  if (bySocket && (sockets ?? []).length === 0) {
    lines.push("the recording does not say which socket a CPU is of");
  }
  return lines;
}

/** Doubts about the sums of samples. */
export interface SumDoubts {
  /** A line if sums are so large that they may be rounded. */
  readonly rounded: string[];
  /** A line for each event of which one sample has most of the sum. */
  readonly ruling: string[];
}

/** The counts whose sums are in doubt: those of a {@linkcode SampleCollector}. */
export interface CountedSums
  extends Pick<SampleCollector, "largest">, Partial<Pick<SampleCollector, "kind">> {
  /** The engine that read the events. */
  readonly engine: {
    readonly reader: { readonly events: { readonly all: readonly PerfEvent[] } };
  };
}

/** Doubts about the sums of each event, as lines. */
export function sumDoubts(
  { engine, largest, kind = "samples" }: CountedSums,
  events: readonly ProfileEvent[],
  totals: readonly ProfileTotal[],
): SumDoubts {
  const what = kind === "accesses" ? "weight" : "period";
  const ruling = totals.map(({ samples, period }, number) => {
    const name = events[number]?.name ?? "";
    const of = { name, samples, period, largest: largest.periods[number] ?? 0, what } as const;
    return rulingPeriodText(of, engine.reader.events.all[number]);
  });
  const rounded = roundedPeriods(Math.max(0, ...totals.map(({ period }) => period)));
  return {
    rounded: rounded === undefined ? [] : [rounded],
    ruling: ruling.filter((line) => line !== undefined),
  };
}
