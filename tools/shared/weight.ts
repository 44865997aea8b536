/** `--weight`: what commands count, and their messages about context switches. */
import { PROFILE_WEIGHTS, type ProfileWeight } from "@perfdata/profile";
import type { Parallelism, ThreadIntervals } from "@perfdata/session";
import { complain, InputError, parseWord } from "./cli.ts";

/** What counts, as `--weight` says. */
export function parseWeight(text: string | undefined): ProfileWeight {
  return parseWord("weight", text, PROFILE_WEIGHTS) ?? "period";
}

/**
 * Says what is missing of times without a CPU, or of how many threads had one.
 *
 * @throws {InputError} If the recording has no context switches.
 */
export async function reportSwitches(
  tool: string,
  name: string,
  { intervals, parallelism }: {
    readonly intervals: ThreadIntervals | undefined;
    readonly parallelism: Parallelism | undefined;
  },
): Promise<void> {
  if (intervals === undefined && parallelism === undefined) return;
  const { HOW_TO_RECORD, HOW_TO_RECORD_SWITCHES, intervalLines, undescribedLine } = await import(
    "@perfdata/session"
  );
  const undescribed = undescribedLine((intervals ?? parallelism)?.undescribed ?? []);
  /** Context switches that cannot be read are not such that were not recorded. */
  const none = (how: string): InputError =>
    new InputError(
      `${name}: ${undescribed ?? `no context switches were recorded: ${how}`}`,
    );
  if (parallelism !== undefined) {
    if (!parallelism.hasSwitches) {
      throw none(HOW_TO_RECORD_SWITCHES);
    }
    if (parallelism.lostRecords > 0) {
      complain(
        `${tool}: ${name}: ${parallelism.lostRecords} records were lost: how many threads had a CPU is not ` +
          "sure after that; record with a larger buffer (-m)",
      );
    }
  }
  if (intervals === undefined) return;
  if (!intervals.hasSwitches && !intervals.hasSums) {
    throw none(HOW_TO_RECORD);
  }
  for (const line of intervalLines(intervals)) complain(`${tool}: ${name}: ${line}`);
}
