/** `pt --packets`: shows what packets tell without code. */
import {
  type CallFilter,
  decodePt,
  type DecodePtOptions,
  entryPoints,
  packetsText,
  type PtCounts,
  PtEntries,
  type PtNames,
  type PtTrace,
  shortObject,
  threadObjects,
} from "@perfdata/pt/decode";
import { KERNEL_HIDDEN } from "@perfdata/session";
import { markedName } from "@perfdata/profile";
import { visible } from "@perfdata/format/bytes";

/** Rows of the address table without `--limit`. */
const ROWS = 40;

/** Inputs of {@link packetLines}. */
export interface PacketsWish {
  readonly trace: PtTrace;
  readonly names: PtNames;
  readonly filter: CallFilter;
  readonly options: DecodePtOptions;
  readonly json: boolean;
  /** Maximum rows of the address table. */
  readonly limit: number | undefined;
}

/** Formats a table. The first `left` columns are right-aligned, the others left-aligned. */
function* table(cells: readonly (readonly string[])[], left: number): Generator<string> {
  const widths = (cells[0] ?? []).map((_, i) =>
    Math.min(60, Math.max(...cells.map((row) => row[i]?.length ?? 0)))
  );
  for (const row of cells) {
    yield visible(
      row.map((cell, i) => i < left ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0))
        .join("  ").trimEnd(),
    );
  }
}

/** Decodes packets alone, and returns the lines to print. */
export async function packetLines(
  wish: PacketsWish,
): Promise<{ lines: string[]; counts: PtCounts; note: string }> {
  const { trace, names, filter, json, limit } = wish;
  const { code, clock, sideband } = trace;
  const sink = new PtEntries(trace, filter);
  const options = { ...wish.options, quick: 1 } as const;
  const counts = await decodePt(trace, sink, options);
  await names.resolve();
  const pathOf = (object: number) =>
    code.places.objects[object]?.path ?? (object <= KERNEL_HIDDEN ? "[kernel]" : "[unknown]");
  const objects = threadObjects(sink, pathOf, sideband.threads);
  const all = entryPoints(sink, names);
  const note = packetsText(counts);
  const points = all.slice(0, limit ?? (json ? Infinity : ROWS));
  if (objects.length === 0) return { lines: [], counts, note };
  if (json) {
    const lines = [
      ...objects.map((row) => JSON.stringify({ event: "object", ...row })),
      ...points.map((row) => JSON.stringify({ event: "address", ...row })),
    ];
    return { lines, counts, note };
  }
  const time = objects.reduce((sum, row) => sum + row.time, 0);
  const seen = objects.reduce((sum, row) => sum + row.seen, 0);
  const figures = (row: { time: number; entries: number; seen: number }) => [
    `${(100 * (time > 0 ? row.time / time : row.seen / Math.max(1, seen))).toFixed(2)}%`,
    clock.known ? (row.time / 1e6).toFixed(3) : "-",
    String(row.entries),
    String(row.seen),
  ];
  const head = ["SHARE", "TIME ms", "ENTERED", "SEEN"];
  const left = all.length - points.length;
  const lines = [
    ...table([
      [...head, "THREAD", "OBJECT"],
      ...objects.map((row) => [
        ...figures(row),
        `${row.comm ?? ""} ${row.tid}`.trim(),
        shortObject({ path: row.object }),
      ]),
    ], 4),
    "",
    ...table([
      [...head, "FUNCTION OR ADDRESS", "OBJECT"],
      ...points.map((
        row,
      ) => [
        ...figures(row),
        markedName({ ...row, name: row.function }),
        shortObject({ path: row.object }),
      ]),
    ], 4),
    ...(left > 0 ? [`${left} more: --limit ${all.length}`] : []),
  ];
  return { lines, counts, note };
}
