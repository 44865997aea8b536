/** Flags that filter samples, the same in all commands that count or show samples. */
import type { Recording } from "@perfdata/perfdata";
import type { PerfDataReader } from "@perfdata/format/records";
import {
  type EngineOptions,
  nameList,
  type NameTest,
  numberList,
  resolveTime,
  splitEvents,
  splitNames,
} from "@perfdata/session";
import { asUsage } from "./cli.ts";
import type { SAMPLE_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import { parseTime, sampleSpan } from "./time_flag.ts";

/** The parsed sample filters. */
export type SampleFlags = FlagsOf<typeof SAMPLE_FLAGS>;

/** Name filters; `undefined` passes all. */
export interface NameFilters {
  readonly comm: NameTest | undefined;
  readonly dso: NameTest | undefined;
  readonly symbol: NameTest | undefined;
}

/**
 * Parses a list of names.
 *
 * @throws {UsageError} If a regular expression is invalid.
 */
export function parseNames(flag: string, text: string): NameTest {
  return asUsage(() => nameList(text, flag === "event" ? splitEvents : splitNames), `--${flag}: `);
}

/**
 * Parses a list of numbers and ranges: `0,3` or `0-3,8`.
 *
 * @throws {UsageError} If the text is not such a list.
 */
export function parseNumbers(flag: string, text: string): Set<number> {
  return asUsage(() => numberList(text), `--${flag} is `);
}

export function nameFilters({ value }: SampleFlags): NameFilters {
  const test = (flag: "comm" | "dso" | "symbol"): NameTest | undefined =>
    value[flag] === undefined ? undefined : parseNames(flag, value[flag]);
  return { comm: test("comm"), dso: test("dso"), symbol: test("symbol") };
}

/** The filters by process, thread and CPU. */
export function numberFilters(
  { value }: SampleFlags,
): Pick<NonNullable<EngineOptions["filter"]>, "pids" | "tids" | "cpus"> {
  const numbers = (flag: "pid" | "tid" | "cpu") =>
    value[flag] === undefined ? undefined : parseNumbers(flag, value[flag]);
  return { pids: numbers("pid"), tids: numbers("tid"), cpus: numbers("cpu") };
}

/** The filters by thread, CPU and time, for `runEngine`. */
export async function sampleFilter(
  flags: SampleFlags,
  of: PerfDataReader | Pick<Recording, "span">,
): Promise<NonNullable<EngineOptions["filter"]>> {
  const filters = numberFilters(flags);
  const { time } = flags.value;
  const range = time === undefined ? undefined : parseTime(time);
  return { ...filters, time: range && await resolveTime(range, () => sampleSpan(of)) };
}

/** {@link sampleFilter}, and the filters by name, which read the recording before. */
export async function chosenFilter(
  flags: SampleFlags,
  recording: Recording,
  names: NameFilters,
): Promise<NonNullable<EngineOptions["filter"]>> {
  const numbers = await sampleFilter(flags, recording);
  const isNamed = (names.comm ?? names.dso ?? names.symbol) !== undefined;
  return isNamed ? await recording.chosen(names, numbers) : numbers;
}

export function givenFilters({ value }: SampleFlags): SampleFlags["value"] {
  const { comm, pid, tid, cpu, time, dso, symbol } = value;
  return { comm, pid, tid, cpu, time, dso, symbol };
}

export function choosesSamples(flags: SampleFlags): boolean {
  return Object.values(givenFilters(flags)).some((value) => value !== undefined);
}
