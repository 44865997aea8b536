/** The flags that choose samples, the same in all commands that count or show samples. */
import type { PerfDataReader } from "@perfdata/format/reader";
import type { EngineOptions } from "@perfdata/session/engine";
import { type NameTest, nameTest } from "@perfdata/session/name-words";
import { parseNumbers, UsageError } from "./cli.ts";
import type { SAMPLE_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import { parseTime, resolveTime, sampleSpan } from "./time_flag.ts";

/** What the user gave of the flags that choose samples. */
export type SampleFlags = FlagsOf<typeof SAMPLE_FLAGS>;

/** Whether a name is one of those that were asked for. */
export type { NameTest };

/** Names that were asked for; `undefined` for all. */
export interface NameFilters {
  /** Of commands. */
  readonly comm: NameTest | undefined;
  /** Of objects. */
  readonly dso: NameTest | undefined;
  /** Of functions. */
  readonly symbol: NameTest | undefined;
}

/**
 * Reads a list of names: parted by commas, except those in brackets as of `map<int, int>`; one
 * between slashes is a regular expression.
 *
 * @throws {UsageError} If an expression is none.
 */
export function parseNames(flag: string, text: string): NameTest {
  const names = new Set<string>();
  const expressions: RegExp[] = [];
  for (const part of flag === "event" ? splitEvents(text) : splitNames(text)) {
    const expression = /^\/(.+)\/(i?)$/.exec(part);
    if (expression === null) {
      names.add(part);
      continue;
    }
    try {
      // deno-lint-ignore perfdata-expressions/backtracking -- the user's own
      expressions.push(new RegExp(expression[1] as string, expression[2]));
    } catch (error) {
      throw new UsageError(`--${flag}: ${part}: ${error instanceof Error ? error.message : error}`);
    }
  }
  const seen: NamesSeen = { matched: false, others: new Set() };
  const test = nameTest({ names, expressions }, (name, matches) => {
    if (matches) seen.matched = true;
    else if (seen.others.size < MOST_SEEN) seen.others.add(name);
  });
  SEEN.set(test, seen);
  return test;
}

/** What a test was asked about. */
interface NamesSeen {
  /** Whether one of the names matched. */
  matched: boolean;
  /** Names that did not; not all of very many. */
  readonly others: Set<string>;
}

/** Names that did not match are kept for a message, up to so many. */
const MOST_SEEN = 10_000;
const SEEN = new WeakMap<NameTest, NamesSeen>();

/** What a test of {@link parseNames} was asked about so far. */
export function namesSeen(test: NameTest | undefined): NamesSeen | undefined {
  return test && SEEN.get(test);
}

/** Names of events, or expressions: those between slashes keep their commas, as of `cpu/event=1,umask=2/`. */
export function splitEvents(text: string): string[] {
  return text.match(/(?:\/[^/]*\/|[^,])+/g) ?? [text];
}

function splitNames(text: string): string[] {
  const parts: string[] = [];
  let from = 0, depth = 0;
  for (let i = 0; i <= text.length; i++) {
    const c = text[i];
    if (i === from && c === "/") {
      // To the slash that ends it: the last one that a comma or the end follows.
      const rest = /^\/.+?\/i?(?=,|$)/.exec(text.slice(i));
      if (rest !== null) {
        i += rest[0].length - 1;
        continue;
      }
    }
    if (c === "<" || c === "(" || c === "[" || c === "{") depth++;
    // `operator>` and `->` close nothing.
    else if ((c === ">" || c === ")" || c === "]" || c === "}") && depth > 0) depth--;
    if (c !== undefined && (c !== "," || depth > 0)) continue;
    if (i > from) parts.push(text.slice(from, i).trim());
    from = i + 1;
  }
  return parts;
}

/** The filters by name. */
export function nameFilters({ value }: SampleFlags): NameFilters {
  const test = (flag: "comm" | "dso" | "symbol"): NameTest | undefined =>
    value[flag] === undefined ? undefined : parseNames(flag, value[flag]);
  return { comm: test("comm"), dso: test("dso"), symbol: test("symbol") };
}

/** The filters by number and time, for `runEngine`. */
export async function sampleFilter(
  { value }: SampleFlags,
  reader: PerfDataReader,
): Promise<NonNullable<EngineOptions["filter"]>> {
  const numbers = (flag: "pid" | "tid" | "cpu") =>
    value[flag] === undefined ? undefined : parseNumbers(flag, value[flag]);
  const [pids, tids, cpus] = [numbers("pid"), numbers("tid"), numbers("cpu")];
  const range = value.time === undefined ? undefined : parseTime(value.time);
  const time = range && await resolveTime(range, () => sampleSpan(reader));
  return { pids, tids, cpus, time };
}

/** The filters that were given, by their flags. */
export function givenFilters({ value }: SampleFlags): SampleFlags["value"] {
  const { comm, pid, tid, cpu, time, dso, symbol } = value;
  return { comm, pid, tid, cpu, time, dso, symbol };
}

/** Whether any of the flags was given. */
export function choosesSamples(flags: SampleFlags): boolean {
  return Object.values(givenFilters(flags)).some((value) => value !== undefined);
}
