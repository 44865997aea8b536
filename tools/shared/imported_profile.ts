/** Reads profiles of other tools like recordings. */
import { filterProfile, type ImportedKind, importProfile, type Profile } from "@perfdata/profile";
import { complain, InputError, Progress, UsageError } from "./cli.ts";
import type { SAMPLE_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import type { OpenedInput } from "./open_input.ts";
import { type ReadProfile } from "./open_profile.ts";
import { titleOf } from "./open_recording.ts";
import { nameFilters, parseNumbers } from "./sample_flags.ts";

type ImportFlags = FlagsOf<typeof SAMPLE_FLAGS>;

/** An opened profile of another tool. */
type ImportedInput = OpenedInput & { readonly kind: ImportedKind };

/**
 * Reads a profile of another tool, and applies the sample filters.
 *
 * @throws {InputError} If no sample is left.
 */
export async function readImportedProfile(
  tool: string,
  name: string,
  flags: ImportFlags,
  options: { readonly timed?: boolean; readonly input: ImportedInput },
): Promise<ReadProfile> {
  const all = await importedProfile(tool, name, flags, options);
  const profile = filterProfile(all, nameFilters(flags));
  if (profile.samples.length === 0) throw new InputError(`${name}: no samples: ${all.trust}`);
  complain(`${tool}: ${name}: ${profile.trust}`);
  return { profile, isWhole: true, isPt: false, isImported: true };
}

/** Reads a profile of another tool, and applies the sample filters except those by name. */
export async function importedProfile(
  tool: string,
  name: string,
  { value }: ImportFlags,
  { timed, input }: { readonly timed?: boolean; readonly input: ImportedInput },
): Promise<Profile> {
  if (value.time !== undefined) {
    throw new UsageError("--time is for recordings, not for profiles of other tools");
  }
  const numbers = (flag: "pid" | "tid" | "cpu") =>
    value[flag] === undefined ? undefined : parseNumbers(flag, value[flag]);
  const { source, kind } = input;
  const progress = new Progress(tool, "size" in source ? source.size : undefined);
  const profile = await importProfile(kind, source, {
    title: titleOf(name),
    timed: timed === true,
    filter: { pids: numbers("pid"), tids: numbers("tid"), cpus: numbers("cpu") },
    progress: (bytes) => progress.add(bytes),
  });
  progress.finish();
  return profile;
}
