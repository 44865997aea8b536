/** Reads the tables of `export parquet` as one recording. */
import { filterProfile, type Profile } from "@perfdata/profile";
import { profileOfTables } from "@perfdata/tables";
import { complain, InputError, UsageError } from "./cli.ts";
import { type SAMPLE_FLAGS, SYMBOL_FLAGS } from "./flag_sets.ts";
import { flagRows, type FlagsOf } from "./flag_table.ts";
import { type ReadProfile } from "./open_profile.ts";
import { titleOf } from "./open_recording.ts";
import { nameFilters, numberFilters } from "./sample_flags.ts";
import { decompress, OpenTables } from "./table_files.ts";
import { tableFolders } from "./table_folders.ts";

type TablesFlags = FlagsOf<typeof SAMPLE_FLAGS & typeof SYMBOL_FLAGS>;

/**
 * Reads the profile of a directory of tables, and applies the sample filters.
 *
 * @throws {InputError} If no sample is left.
 */
export async function readTablesProfile(
  tool: string,
  folder: string,
  flags: TablesFlags,
  options: { readonly timed?: boolean },
): Promise<ReadProfile> {
  const all = await tablesProfile(folder, flags, options);
  const profile = filterProfile(all, nameFilters(flags));
  if (profile.samples.length === 0) throw new InputError(`${folder}: no samples`);
  complain(`${tool}: ${folder}: ${profile.trust}`);
  return { profile, isWhole: true, isPt: false };
}

/**
 * Reads the profile of a directory of tables, and applies the sample filters except those by name.
 */
export async function tablesProfile(
  folder: string,
  flags: TablesFlags,
  options: { readonly timed?: boolean },
): Promise<Profile> {
  const { value } = flags;
  const given: Readonly<Record<string, string | undefined>> = value;
  for (const { flag } of flagRows(SYMBOL_FLAGS)) {
    if (given[flag] === undefined) continue;
    throw new UsageError(
      `--${flag} is not for tables, which have their names: perfdata symbols table adds them`,
    );
  }
  if (value.time !== undefined) {
    throw new UsageError("--time is not for tables; perfdata sql chooses rows by ts");
  }
  const filter = numberFilters(flags);
  const isFiltered = Object.values(filter).some((numbers) => numbers !== undefined);
  if (isFiltered && tableFolders(folder).includes("weights")) {
    throw new UsageError("weights have no processes, threads and CPUs to choose by");
  }
  using open = new OpenTables(folder);
  return await profileOfTables({
    files: (table) => open.of(table),
    decompress,
    title: titleOf(folder.replace(/(?<!\/)\/+$/, "")),
    timed: options.timed === true,
    filter,
  });
}
