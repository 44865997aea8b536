/** Rows of CSV that are safe to open in a spreadsheet. */
import { safeCell } from "@perfdata/format/bytes";
import { stringify } from "@std/csv";

/**
 * Formats rows as CSV (RFC 4180). Text that spreadsheets would evaluate as a formula gets a leading
 * apostrophe.
 */
export function csvText(rows: readonly (readonly unknown[])[]): string {
  const safe = rows.map((row) =>
    row.map((cell) => typeof cell === "string" ? safeCell(cell) : cell)
  );
  return stringify(safe, { headers: false });
}
