/** `--weight`: the unit of counting, and messages about context switches. */
import { PROFILE_WEIGHTS, type ProfileWeight } from "@perfdata/profile";
import type { SwitchesSeen } from "@perfdata/session";
import { complainAll, InputError, parseWord } from "./cli.ts";

/** Parses `--weight`. */
export function parseWeight(text: string | undefined): ProfileWeight {
  return parseWord("weight", text, PROFILE_WEIGHTS) ?? "period";
}

/**
 * Reports context switches that are missing for off-CPU times or parallelism.
 *
 * @throws {InputError} If the recording has no context switches.
 */
export async function reportSwitches(
  tool: string,
  name: string,
  seen: SwitchesSeen,
): Promise<void> {
  if (seen.intervals === undefined && seen.parallelism === undefined) return;
  const { missingSwitches } = await import("@perfdata/session");
  const { none, lines } = missingSwitches(seen);
  if (none !== undefined) throw new InputError(`${name}: ${none}`);
  complainAll(`${tool}: ${name}`, lines);
}
