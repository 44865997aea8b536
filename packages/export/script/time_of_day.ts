import { HEADER_CLOCK_DATA } from "@perfdata/format/constants";
import { decodeFeature } from "@perfdata/format/features";
import type { PerfDataReader } from "@perfdata/format/records";

/** A time of the recording's clock with its time of day, from CLOCK_DATA. */
export interface ClockTimes {
  /** Time of day in ns since 1970, UTC. */
  readonly wall_clock_ns: bigint;
  /** Time of the recording's clock in ns at that moment. */
  readonly clockid_time_ns: bigint;
}

/**
 * Formats a time of the recording as time of day in this machine's zone; `disabled` without
 * CLOCK_DATA, as in perf.
 *
 * @example
 * ```ts
 * import { timeOfDay } from "./time_of_day.ts";
 * import { assertMatch } from "@std/assert";
 *
 * const clock = { wall_clock_ns: 1_600_000_000_000_000_000n, clockid_time_ns: 5_000n };
 * assertMatch(timeOfDay(7_000n, clock, false), /^2020-09-1[23] \d\d:\d\d:\d\d\.000002$/);
 * ```
 */
export function timeOfDay(
  time: bigint,
  clock: ClockTimes | undefined,
  nanoseconds: boolean,
): string {
  if (clock === undefined) return "disabled";
  const ns = clock.wall_clock_ns + time - clock.clockid_time_ns;
  const date = new Date(Number(ns / 1_000_000n));
  const two = (part: number) => String(part).padStart(2, "0");
  const rest = ns % 1_000_000_000n;
  const fraction = nanoseconds
    ? String(rest).padStart(9, "0")
    : String(rest / 1000n).padStart(6, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${
    [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":")
  }.${fraction}`;
}

/** Reads the clock for times of day, if the recording has it. */
export async function clockTimes(reader: PerfDataReader): Promise<ClockTimes | undefined> {
  const section = reader.features.find(({ id }) => id === HEADER_CLOCK_DATA)?.section;
  if (section === undefined) return undefined;
  const { offset, size } = section;
  const bytes = await reader.readSection(Number(offset), Number(size), "CLOCK_DATA");
  const { littleEndian } = reader;
  const feature = decodeFeature(HEADER_CLOCK_DATA, bytes, { littleEndian });
  return feature.name === "CLOCK_DATA" ? feature.value : undefined;
}
