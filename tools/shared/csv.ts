/** Rows of CSV that are safe to open in a spreadsheet. */
import { safeCell } from "@perfdata/format/bytes";
import { stringify } from "@std/csv";

/** Rows as CSV (RFC 4180); text that a spreadsheet takes for a formula gets an apostrophe in front. */
export function csvText(rows: readonly (readonly unknown[])[]): string {
  const safe = rows.map((row) =>
    row.map((cell) => typeof cell === "string" ? safeCell(cell) : cell)
  );
  return stringify(safe, { headers: false });
}
