/** Formats a CSV row with line end (RFC 4180). */
export type CsvLine = (cells: readonly string[]) => string;

/** CSV rows by @std/csv, which is loaded only if needed: it takes a tenth of a command's start. */
export async function csvLineFor(
  format: "ndjson" | "csv" | undefined,
): Promise<CsvLine | undefined> {
  if (format !== "csv") return undefined;
  const { stringify } = await import("@std/csv");
  return (row) => stringify([row], { headers: false });
}
