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
import { alignedRows, visible } from "@perfdata/format/bytes";

/** Rows of the address table without `--limit`. */
const ROWS = 40;
/** Titles of the columns with numbers. */
const FIGURES = ["SHARE", "TIME ms", "ENTERED", "SEEN"];
/** Maximum width of a column. */
const WIDEST = 60;

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

/** Formats a table whose first columns are {@link FIGURES}. */
function table(cells: readonly (readonly string[])[]): string[] {
  return alignedRows(cells, (column) => column >= FIGURES.length, WIDEST).map(visible);
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
  const left = all.length - points.length;
  const lines = [
    ...table([
      [...FIGURES, "THREAD", "OBJECT"],
      ...objects.map((row) => [
        ...figures(row),
        `${row.comm ?? ""} ${row.tid}`.trim(),
        shortObject({ path: row.object }),
      ]),
    ]),
    "",
    ...table([
      [...FIGURES, "FUNCTION OR ADDRESS", "OBJECT"],
      ...points.map((
        row,
      ) => [
        ...figures(row),
        markedName({ ...row, name: row.function }),
        shortObject({ path: row.object }),
      ]),
    ]),
    ...(left > 0 ? [`${left} more: --limit ${all.length}`] : []),
  ];
  return { lines, counts, note };
}
