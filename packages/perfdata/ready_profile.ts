import { type ByteSource, PerfDataError } from "@perfdata/format/bytes";
import type { ImportedKind, ImportOptions, Profile } from "@perfdata/profile";
import type { TableFile } from "@perfdata/tables";

/**
 * Tables of recordings, as `perfdata export parquet` writes them: an input of {@linkcode open} where there
 * are no directories. `tableFolder` of `@perfdata/perfdata/files` opens a directory.
 */
export interface TableFiles {
  /** The files of a table; none if it does not exist. */
  files(table: string): readonly TableFile[];
  /** Closes the files. */
  close?(): void;
}

/** An input that has samples with names, and no records: tables, or a profile of another tool. */
export type ReadyInput =
  | { readonly source: TableFiles; readonly kind: "tables" }
  | { readonly source: ByteSource; readonly kind: ImportedKind };

/** The kind of an input that is no recording: tables, or the format of another tool's profile. */
export type ReadyKind = ReadyInput["kind"];

/** Options of {@linkcode readyProfile}. */
export interface ReadyOptions extends Omit<ImportOptions, "filter"> {
  /** Filter; all samples pass by default. */
  readonly filter?: (ImportOptions["filter"] & { readonly time?: unknown }) | undefined;
}

/** Whether an input is tables. */
export function areTables<T>(input: T | TableFiles): input is TableFiles {
  return typeof (input as Partial<TableFiles> | null | undefined)?.files === "function";
}

/**
 * Reads the profile that an input has.
 *
 * @throws {RangeError} If the filter is one that the input cannot answer.
 * @throws {PerfDataError} If the input is damaged.
 */
export async function readyProfile(
  { source, kind }: ReadyInput,
  { filter, ...options }: ReadyOptions,
): Promise<Profile> {
  if (filter?.time !== undefined) {
    const what = kind === "tables" ? kind : "profiles of other tools";
    throw new RangeError(`time is for recordings, not for ${what}`);
  }
  if (kind === "tables") {
    const { profileOfTables } = await import("./table_calls.ts");
    return await profileOfTables({ ...options, files: (table) => source.files(table), filter });
  }
  const { importProfile } = await import("./profile_calls.ts");
  return await importProfile(kind, source, { ...options, filter });
}

/** The error for a question about records to tables. */
export function noRecords(): PerfDataError {
  return new PerfDataError(
    "tables have no records: profile, functions, samples, callTree and exportAs answer",
    { code: "not-perf-data" },
  );
}
