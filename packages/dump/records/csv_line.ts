import type { CsvLine, RecordsOptions } from "./records.ts";

/** CSV rows by @std/csv, which is loaded only if needed: it takes a tenth of a command's start. */
export async function csvLineFor(
  format: "ndjson" | "csv" | undefined,
): Promise<CsvLine | undefined> {
  if (format !== "csv") return undefined;
  const { stringify } = await import("@std/csv");
  return (row) => stringify([row], { headers: false });
}

/** Adds `csvLine` to the options if the format is CSV. */
export async function withCsv(options: RecordsOptions): Promise<RecordsOptions> {
  const csvLine = options.csvLine ?? await csvLineFor(options.format);
  return csvLine === undefined ? options : { ...options, csvLine };
}
