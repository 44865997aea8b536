import { dumpRecordName } from "../records/perf_record_names.ts";

export interface DumpCounts {
  /** Records by type. */
  readonly byType: ReadonlyMap<number, number>;
  readonly samples: readonly { readonly name: string; readonly count: number }[];
  /** Whether the file has AUX data. A note then says that its decoded events are not counted. */
  readonly hasAuxtrace: boolean;
}

/** The statistics at the end of `perf report -D`. */
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

/** Formats a share as `%4.1f`: ties go to the even digit. */
function percent(n: number, total: number): string {
  const share = 100 * n / total;
  const tenths = share * 10;
  const tie = tenths - Math.floor(tenths) === 0.5;
  const text = tie
    ? ((Math.floor(tenths) + Math.floor(tenths) % 2) / 10).toFixed(1)
    : share.toFixed(1);
  return text.padStart(4);
}
