/** Tables of recordings, as `export parquet` wrote them, read as one recording. */
import { filterProfile } from "@perfdata/profile/filter-profile";
import type { Profile } from "@perfdata/profile/profile";
import { profileOfTables } from "@perfdata/tables/tables-profile";
import { complain, type Flags, InputError, parseNumbers, UsageError } from "./cli.ts";
import { type ReadProfile, titleOf } from "./open_profile.ts";
import { nameFilters, type SAMPLE_FLAGS } from "./sample_flags.ts";
import { decompress, OpenTables } from "./table_files.ts";
import { tableFolders } from "./table_folders.ts";

/** Flags that say where names are looked up. */
const NAMING = [
  ...["symbols", "symfs", "vmlinux", "kallsyms"] as const,
  ...["guest-vmlinux", "guest-kallsyms", "guestmount"] as const,
];

type TablesFlags = Flags<string, typeof SAMPLE_FLAGS.string[number] | typeof NAMING[number]>;

/**
 * Reads the profile of a directory of tables.
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
  const profile = filterProfile(all, nameFilters({ on: {}, value: flags.value } as never));
  if (profile.samples.length === 0) throw new InputError(`${folder}: no samples`);
  complain(`${tool}: ${folder}: ${profile.trust}`);
  return { profile, isWhole: true, isPt: false };
}

/** Reads the profile of a directory of tables, whatever names samples have. */
export async function tablesProfile(
  folder: string,
  { value }: TablesFlags,
  options: { readonly timed?: boolean },
): Promise<Profile> {
  for (const flag of NAMING) {
    if (value[flag] === undefined) continue;
    throw new UsageError(
      `--${flag} is not for tables, which have their names: perfdata symbols table adds them`,
    );
  }
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
  return await profileOfTables({
    files: (table) => open.of(table),
    decompress,
    title: titleOf(folder.replace(/(?<!\/)\/+$/, "")),
    timed: options.timed === true,
    filter,
  });
}
