import { dumpRecordName } from "../records/perf_record_names.ts";

/** Numbers of dumped records by kind. */
export interface DumpCounts {
  /** Records by type. */
  readonly byType: ReadonlyMap<number, number>;
  /** Samples by event: its name and their number. */
  readonly samples: readonly { readonly name: string; readonly count: number }[];
  /** Whether the file has AUX data: a note says that what it decodes to is not counted. */
  readonly hasAuxtrace: boolean;
}

/** The statistics that `perf report -D` ends with. */
export function statsText({ byType, samples, hasAuxtrace }: DumpCounts): string {
  const total = [...byType.values()].reduce((sum, n) => sum + n, 0);
  const line = (name: string, n: number, share = ""): string =>
    `${name.padStart(16)} events: ${String(n).padStart(10)}${share}\n`;
  let text = "\nAggregated stats:" +
    (hasAuxtrace
      ? " (excludes AUX area (e.g. instruction trace) decoded / synthesized events)\n"
      : "\n");
  if (total > 0) text += line("TOTAL", total);
  for (const [type, n] of [...byType].sort(([a], [b]) => a - b)) {
    text += line(dumpRecordName(type), n, `  (${percent(n, total)}%)`);
  }
  for (const { name, count } of samples) {
    if (count > 0) text += `${name} stats:\n${line("SAMPLE", count)}`;
  }
  return text;
}

/** A share as C's `%4.1f` prints it: ties go to the even digit. */
function percent(n: number, total: number): string {
  const share = 100 * n / total;
  const tenths = share * 10;
  const tie = tenths - Math.floor(tenths) === 0.5;
  const text = tie
    ? ((Math.floor(tenths) + Math.floor(tenths) % 2) / 10).toFixed(1)
    : share.toFixed(1);
  return text.padStart(4);
}
