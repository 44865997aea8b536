/** Values of `--type`. */
import { isRecordName, recordNames } from "@perfdata/dump";
import { UsageError } from "./cli.ts";

/**
 * Parses names of record types: `SAMPLE,MMAP2`.
 *
 * @throws {UsageError} If a name is unknown.
 */
export function parseTypes(text: string | undefined): ReadonlySet<string> | undefined {
  if (text === undefined) return undefined;
  const names = text.toUpperCase().split(",").map((name) => name.replace(/^PERF_RECORD_/, ""));
  for (const name of names) {
    if (isRecordName(name)) continue;
    throw new UsageError(`--type: unknown record type ${name === "" ? "''" : name}`, {
      word: name,
      known: recordNames(),
    });
  }
  return new Set(names);
}
