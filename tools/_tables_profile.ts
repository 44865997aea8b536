/** Tables of recordings, as `export parquet` wrote them, read as one recording. */
import { filterProfile } from "@perfdata/profile/filter-profile";
import { profileOfTables } from "@perfdata/tables/tables-profile";
import { complain, type Flags, InputError, parseNumbers, UsageError } from "./_cli.ts";
import { type ReadProfile, titleOf } from "./_profile.ts";
import { nameFilters, type SAMPLE_FLAGS } from "./_sample_flags.ts";
import { decompress, OpenTables } from "./_table_files.ts";
import { tableFolders } from "./_table_folders.ts";

/**
 * Reads the profile of a directory of tables.
 *
 * @throws {InputError} Where no sample is left.
 */
export async function readTablesProfile(
  tool: string,
  folder: string,
  { value }: Flags<string, typeof SAMPLE_FLAGS.string[number]>,
  options: { readonly timed?: boolean },
): Promise<ReadProfile> {
  if (value.time !== undefined) {
    throw new UsageError("--time is not for tables; perfdata sql chooses rows by ts");
  }
  const numbers = (flag: "pid" | "tid" | "cpu") =>
    value[flag] === undefined ? undefined : parseNumbers(flag, value[flag]);
  const filter = { pids: numbers("pid"), tids: numbers("tid"), cpus: numbers("cpu") };
  const isFiltered = Object.values(filter).some((numbers) => numbers !== undefined);
  if (isFiltered && tableFolders(folder).includes("weights")) {
    throw new UsageError("weights have no processes, threads and CPUs to choose by");
  }
  using open = new OpenTables(folder);
  const all = await profileOfTables({
    files: (table) => open.of(table),
    decompress,
    title: titleOf(folder.replace(/\/+$/, "")),
    timed: options.timed === true,
    filter,
  });
  const profile = filterProfile(all, nameFilters({ on: {}, value } as never));
  if (profile.samples.length === 0) throw new InputError(`${folder}: no samples`);
  complain(`${tool}: ${folder}: ${profile.trust}`);
  return { profile, isWhole: true, isPt: false };
}
