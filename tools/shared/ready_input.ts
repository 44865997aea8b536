/** Reads inputs that have a profile and no records: tables, and profiles of other tools. */
import type { ReadyKind } from "@perfdata/perfdata";
import { filterProfile, type Profile, type ProfileWeight } from "@perfdata/profile";
import { complain, InputError, UsageError } from "./cli.ts";
import { type SAMPLE_FLAGS, SYMBOL_FLAGS } from "./flag_sets.ts";
import { flagRows, type FlagsOf } from "./flag_table.ts";
import type { ReadProfile } from "./open_profile.ts";
import type { CommandRecording } from "./open_recording.ts";
import { nameFilters, numberFilters } from "./sample_flags.ts";

type ReadyFlags = FlagsOf<typeof SAMPLE_FLAGS & typeof SYMBOL_FLAGS>;

/** A question for which a recording may be needed. */
interface Wanted {
  readonly pt?: boolean | undefined;
  readonly itrace?: string | undefined;
  readonly weight?: ProfileWeight | undefined;
}

/** The input, which has a profile. */
interface ReadyOptions {
  readonly opened: Pick<CommandRecording, "recording" | "progress">;
  readonly timed?: boolean | undefined;
}

/** The messages about what an input lacks. */
interface Lacks {
  /** What the input is, after its name. */
  readonly is: string;
  /** The answer to other questions than for samples. */
  question(wanted: Wanted): string;
  /** The answers to flags. */
  readonly flags: Readonly<Record<string, (flag: string) => string>>;
  /** The reason why there are no samples. */
  samples(profile: Profile): string;
  /** The answer if rows have no column of a sort key. */
  key(key: string, profile: Profile): string;
}

const named = (flag: string): string =>
  `--${flag} is not for tables, which have their names: perfdata symbols table adds them`;

const TABLES: Lacks = {
  is: "has tables",
  question: () => "only periods of samples are read from them",
  flags: {
    ...Object.fromEntries(flagRows(SYMBOL_FLAGS).map(({ flag }) => [flag, named])),
    time: () => "--time is not for tables; perfdata sql chooses rows by ts",
  },
  samples: () => "",
  key: (key) => `--sort ${key} needs tables of one recording: perfdata sql has all`,
};

const IMPORTED: Lacks = {
  is: "is a profile of another tool",
  question: ({ weight = "period" }) =>
    `without --${weight === "period" ? "itrace" : `weight ${weight}`}`,
  flags: { time: () => "--time is for recordings, not for profiles of other tools" },
  samples: ({ trust }) => `: ${trust}`,
  key: (key, { trust }) => `--sort ${key}: the profile does not say it: ${trust}`,
};

/** The messages about what an input of a kind lacks. */
export function lacksOf(kind: ReadyKind | undefined): Lacks {
  return kind === "tables" ? TABLES : IMPORTED;
}

/**
 * Reads the profile of an input, and applies the sample filters. Prints the trust in its names.
 *
 * @param tool The command's name, for messages.
 * @throws {UsageError} If the question needs a recording.
 * @throws {InputError} If no sample is left.
 */
export async function readReadyProfile(
  tool: string,
  name: string,
  flags: ReadyFlags,
  { opened, timed, ...wanted }: Wanted & ReadyOptions,
): Promise<ReadProfile> {
  const { ready } = opened.recording;
  const lacks = lacksOf(ready);
  const { pt = false, itrace, weight = "period" } = wanted;
  if (pt || itrace !== undefined || weight !== "period") {
    throw new UsageError(`${name} ${lacks.is}: ${lacks.question(wanted)}`);
  }
  const all = await readyProfile(flags, { opened, timed });
  const profile = filterProfile(all, nameFilters(flags));
  if (profile.samples.length === 0) {
    throw new InputError(`${name}: no samples${lacks.samples(all)}`);
  }
  complain(`${tool}: ${name}: ${profile.trust}`);
  return { profile, isWhole: true, isPt: false, isImported: ready !== "tables" };
}

/** Reads the profile of an input, and applies the sample filters except those by name. */
export async function readyProfile(
  flags: ReadyFlags,
  { opened: { recording, progress }, timed }: ReadyOptions,
): Promise<Profile> {
  const given: Readonly<Record<string, string | undefined>> = flags.value;
  for (const [flag, about] of Object.entries(lacksOf(recording.ready).flags)) {
    if (given[flag] !== undefined) throw new UsageError(about(flag));
  }
  try {
    return await recording.profile({ timed, filter: numberFilters(flags) });
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error;
  } finally {
    progress.finish();
    recording.close();
  }
}
