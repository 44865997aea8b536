/** Reads profiles of other tools like recordings. */
import { filterProfile, type Profile } from "@perfdata/profile";
import { complain, InputError, UsageError } from "./cli.ts";
import type { SAMPLE_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import { type ReadProfile } from "./open_profile.ts";
import type { CommandRecording } from "./open_recording.ts";
import { nameFilters, numberFilters } from "./sample_flags.ts";

type ImportFlags = FlagsOf<typeof SAMPLE_FLAGS>;

interface ImportOptions {
  readonly opened: Pick<CommandRecording, "recording" | "progress">;
  readonly timed?: boolean | undefined;
}

/**
 * Reads a profile of another tool, and applies the sample filters.
 *
 * @throws {InputError} If no sample is left.
 */
export async function readImportedProfile(
  tool: string,
  name: string,
  flags: ImportFlags,
  options: ImportOptions,
): Promise<ReadProfile> {
  const all = await importedProfile(flags, options);
  const profile = filterProfile(all, nameFilters(flags));
  if (profile.samples.length === 0) throw new InputError(`${name}: no samples: ${all.trust}`);
  complain(`${tool}: ${name}: ${profile.trust}`);
  return { profile, isWhole: true, isPt: false, isImported: true };
}

/** Reads a profile of another tool, and applies the sample filters except those by name. */
export async function importedProfile(
  flags: ImportFlags,
  { opened: { recording, progress }, timed }: ImportOptions,
): Promise<Profile> {
  if (flags.value.time !== undefined) {
    throw new UsageError("--time is for recordings, not for profiles of other tools");
  }
  const profile = await recording.profile({ timed, filter: numberFilters(flags) });
  progress.finish();
  return profile;
}
