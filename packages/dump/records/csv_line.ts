import type { CsvLine, RecordsOptions } from "./records.ts";

/** Rows of CSV by @std/csv, loaded where CSV is asked for: that takes a tenth of the start of a command. */
export async function csvLineFor(
  format: "ndjson" | "csv" | undefined,
): Promise<CsvLine | undefined> {
  if (format !== "csv") return undefined;
  const { stringify } = await import("@std/csv");
  return (row) => stringify([row], { headers: false });
}

/** With what makes rows of CSV, where they are asked for. */
export async function withCsv(options: RecordsOptions): Promise<RecordsOptions> {
  const csvLine = options.csvLine ?? await csvLineFor(options.format);
  return csvLine === undefined ? options : { ...options, csvLine };
}
