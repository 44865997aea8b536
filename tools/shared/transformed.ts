/** The flags that transform stacks: `--focus`, `--drop`, `--merge`, `--collapse`, `--only`, `--collapse-recursion`. */
import { type Profile, transformProfile } from "@perfdata/profile";
import { namesSeen, type NameTest } from "@perfdata/session";
import { complain, InputError, parseWord } from "./cli.ts";
import type { TRANSFORM_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import { parseNames } from "./sample_flags.ts";

type TransformFlags = Pick<FlagsOf<typeof TRANSFORM_FLAGS>, "on" | "value"> & {
  readonly on: { readonly "no-inline": boolean };
  readonly value: { readonly focus?: string | undefined };
};

export interface Wanted {
  readonly flag: string;
  readonly text: string;
  /** The names that the user wrote, with the parsed test. */
  readonly names?: string;
  readonly test?: NameTest;
}

/** The transforms of the flags, in the order of their application. */
export function wantedTransforms({ on, value }: TransformFlags): readonly Wanted[] {
  const only = parseWord("only", value.only, ["user", "kernel"]);
  const named = (flag: "drop" | "focus" | "merge" | "collapse"): readonly Wanted[] => {
    const names = value[flag];
    return names === undefined
      ? []
      : [{ flag, text: `${flag}:${names}`, names, test: parseNames(flag, names) }];
  };
  return [
    ...named("drop"),
    ...named("focus"),
    ...only === undefined ? [] : [{ flag: "only", text: `only:${only}` }],
    ...named("merge"),
    ...named("collapse"),
    ...on["collapse-recursion"] ? [{ flag: "collapse-recursion", text: "recursion:" }] : [],
  ];
}

/**
 * Applies the transforms of the flags to a profile, and prints the share of the period that they
 * drop.
 *
 * @param tool The command's name, for messages.
 * @param name The recording.
 * @throws {InputError} If nothing is left.
 */
export function transformed(
  tool: string,
  name: string,
  flags: TransformFlags,
  profile: Profile,
): Profile {
  const { on } = flags;
  const transforms = wantedTransforms(flags);
  if (transforms.length === 0) return profile;
  const made = transformProfile(profile, transforms, !on["no-inline"]);
  reportTransforms(`${tool}: ${name}`, transforms, {
    dropped: made.dropped.map(({ period, of }, event) => ({
      event: profile.events[event]?.name ?? "",
      share: of === 0 ? 0 : period / of,
    })),
    isEmpty: made.profile.samples.length === 0,
  });
  return made.profile;
}

/**
 * Prints the names of flags that match no function or object, and, for each event, the share of the
 * period that transforms drop.
 *
 * @throws {InputError} If no sample is left.
 */
export function reportTransforms(
  prefix: string,
  transforms: readonly Wanted[],
  { dropped, isEmpty }: {
    readonly dropped: readonly { readonly event: string; readonly share: number }[];
    readonly isEmpty: boolean;
  },
): void {
  for (const { flag, names, test } of transforms) {
    if (test === undefined || namesSeen(test)?.matched === true) continue;
    const what = flag === "collapse" ? "object" : "function";
    complain(`${prefix}: --${flag}: no ${what} is called ${names}`);
  }
  const list = transforms.map(({ flag }) => `--${flag}`).join(", ");
  for (const { event, share } of dropped) {
    if (share === 0) continue;
    complain(
      `${prefix}: ${event}: ${(100 * share).toFixed(2)}% of the period is dropped (${list})`,
    );
  }
  if (isEmpty) {
    throw new InputError(`${prefix.replace(/^[^:]*: /, "")}: no samples are left (${list})`);
  }
}
