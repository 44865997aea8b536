/** Explains filters that match nothing by the names, ids and times that a recording has. */
import { intAt } from "@perfdata/format/bytes";
import {
  HEADER_STAT,
  KERNEL_RECORD_NAMES,
  PERF_RECORD_SAMPLE,
  USER_RECORD_NAMES,
} from "@perfdata/format/constants";
import type { PerfDataReader } from "@perfdata/format/records";
import { namesSeen, type NameTest, numberList, type Run, runEngine } from "@perfdata/session";

/** Maximum number of names or ranges in a message. */
const LISTED = 6;

/** The given filters by the name of their flag. */
export type GivenFilters = Readonly<
  Partial<
    Record<
      "comm" | "dso" | "symbol" | "event" | "pid" | "tid" | "cpu" | "time" | "type" | "from",
      string
    >
  >
>;

const NUMBERS = ["pid", "tid", "cpu"] as const;

/** Ids of processes, threads and CPUs. */
interface Numbers {
  readonly pid: Set<number>;
  readonly tid: Set<number>;
  readonly cpu: Set<number>;
}

/** The ids, record types and times in a recording. */
class Present {
  readonly needs = { order: "file", machine: false } as const;
  /** Ids of samples. */
  readonly samples: Numbers = { pid: new Set(), tid: new Set(), cpu: new Set() };
  /** Ids of other records: a recording with Intel PT may have no samples. */
  readonly others: Numbers = { pid: new Set(), tid: new Set(), cpu: new Set() };
  readonly types = new Set<number>();
  /** Times of the first and last sample, and of the first and last other record; 0 without one. */
  first = 0n;
  last = 0n;
  firstOther = 0n;
  lastOther = 0n;

  rows(run: Run): void {
    for (let i = 0; i < run.count; i++) {
      const isSample = run.type[i] === PERF_RECORD_SAMPLE;
      this.types.add(intAt(run.type, i));
      const into = isSample ? this.samples : this.others;
      for (const what of NUMBERS) {
        const number = intAt(run[what], i);
        if (number >= 0) into[what].add(number);
      }
      const time = run.time(i);
      if (time === 0n) continue;
      if (isSample) {
        if (this.first === 0n || time < this.first) this.first = time;
        if (time > this.last) this.last = time;
      } else {
        if (this.firstOther === 0n || time < this.firstOther) this.firstOther = time;
        if (time > this.lastOther) this.lastOther = time;
      }
    }
  }

  numbersOf(what: typeof NUMBERS[number]): ReadonlySet<number> {
    return this.samples[what].size > 0 ? this.samples[what] : this.others[what];
  }
}

/** Options of {@link whyNothing}. */
export interface WhyNothingOptions {
  /** The name filters, which have stored the names that they rejected. */
  readonly names: Readonly<
    Partial<Record<"comm" | "dso" | "symbol" | "event", NameTest | undefined>>
  >;
  /** Returns the distance of a name from the wanted one, to list near names first. */
  readonly near: (wanted: string) => (name: string) => number;
}

/**
 * The reason why no sample passes the filters: the filter that matches nothing, and the values that
 * exist.
 *
 * @param reader The recording, opened again. Without it (a stream), only names are explained.
 * @param filters The given filters.
 * @param options The name filters after the pass, and the order of names.
 */
export async function whyNothing(
  reader: PerfDataReader | undefined,
  filters: GivenFilters,
  { names, near }: WhyNothingOptions,
): Promise<string> {
  const present = reader && await presentIn(reader);
  if (present !== undefined) {
    for (const what of NUMBERS) {
      const text = filters[what];
      if (text === undefined || isOneOf(numberList(text), present.numbersOf(what))) continue;
      const there = present.numbersOf(what).size === 0
        ? `its samples have no ${what}`
        : `there ${areNumbers(present.numbersOf(what))}`;
      return `--${what} ${text} matches nothing; ${there}`;
    }
    if (filters.type !== undefined) {
      const types = [...present.types].map((type) =>
        KERNEL_RECORD_NAMES[type] ?? USER_RECORD_NAMES[type] ?? String(type)
      );
      const wanted = filters.type.toUpperCase().split(",");
      if (!wanted.some((type) => types.includes(type.replace(/^PERF_RECORD_/, "")))) {
        return `--type ${filters.type} matches nothing; there ${areNames(types)}`;
      }
    }
  }
  for (const what of ["event", "comm", "dso", "symbol"] as const) {
    const text = filters[what];
    const seen = namesSeen(names[what]);
    if (text === undefined || seen === undefined || seen.matched || seen.others.size === 0) {
      continue;
    }
    // Unnamed threads have an empty name. Object filters also saw paths, which are listed only if
    // the filter has a slash.
    const isPath = (name: string) => what === "dso" && !text.includes("/") && name.includes("/");
    const there = [...seen.others].filter((name) => name !== "" && !isPath(name));
    const others = there.length === 0
      ? `no sample has a ${what}`
      : `there ${areNames(there, near(text))}`;
    return `--${what} ${text} matches nothing; ${others}`;
  }
  const given = Object.entries(filters).flatMap(([flag, text]) =>
    text === undefined ? [] : [`--${flag} ${text}`]
  );
  const span = filters.time === undefined || present === undefined ? "" : spanOf(present);
  if (given.length === 0) return `nothing was recorded${span}`;
  if (given.length === 1) return `${given[0]} matches nothing${span}`;
  return `nothing matches ${given.slice(0, -1).join(", ")} and ${given.at(-1)} together${span}`;
}

/**
 * The hint for a recording without samples, as the end of a line: the command that shows its counts
 * or AUX data. Empty if it has neither.
 *
 * @param reader The recording, from a seekable source.
 */
export async function whyNoSamples(reader: PerfDataReader): Promise<string> {
  if (reader.features.some(({ id }) => id === HEADER_STAT)) {
    return "; it has counts: perfdata stat prints them";
  }
  // Imported here because most recordings have samples.
  const { PERF_AUXTRACE_ARM_SPE, PERF_AUXTRACE_INTEL_PT } = await import("@perfdata/user-records");
  const { readAuxTrace } = await import("@perfdata/session/auxtrace");
  const { streams, type, typeName } = await readAuxTrace(reader, { diagnostics: () => {} });
  if (streams.length === 0) return "";
  if (type === PERF_AUXTRACE_ARM_SPE) {
    return `; perfdata convert --spe makes samples of its AUX data of type ${typeName}`;
  }
  return type === PERF_AUXTRACE_INTEL_PT
    ? "; what ran is in its Intel PT: perfdata pt, tree, or script --itrace"
    : `; what ran is in its AUX data of type ${typeName}, which is not decoded: ` +
      "extract-pt --all-aux extracts it";
}

async function presentIn(reader: PerfDataReader): Promise<Present> {
  const present = new Present();
  await runEngine(reader, [present], { diagnostics: () => {} });
  return present;
}

function isOneOf(wanted: ReadonlySet<number>, there: ReadonlySet<number>): boolean {
  return [...wanted].some((number) => there.has(number));
}

/** Lists numbers: `is 3`, `are 0-3, 8`, with the number of further ones at the end. */
function areNumbers(numbers: ReadonlySet<number>): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  const ranges: [first: number, last: number][] = [];
  for (const number of sorted) {
    const range = ranges.at(-1);
    if (range !== undefined && range[1] === number - 1) range[1] = number;
    else ranges.push([number, number]);
  }
  const shown = ranges.slice(0, LISTED);
  const left = ranges.slice(LISTED).reduce((sum, [first, last]) => sum + last - first + 1, 0);
  const text = shown.map(([first, last]) => first === last ? `${first}` : `${first}-${last}`);
  return `${sorted.length > 1 ? "are" : "is"} ${text.join(", ")}${
    left > 0 ? ` and ${left} more` : ""
  }`;
}

/** Lists names, the nearest to the wanted one first. */
function areNames(names: readonly string[], far: (name: string) => number = () => 0): string {
  const sorted = names.map((name) => ({ name, far: far(name) }))
    .sort((a, b) => a.far - b.far || (a.name < b.name ? -1 : 1));
  const shown = sorted.slice(0, LISTED).map(({ name }) => name).join(", ");
  const left = names.length - LISTED;
  return `${names.length > 1 ? "are" : "is"} ${shown}${left > 0 ? ` and ${left} more` : ""}`;
}

/** The time span of the samples, or of other records if there are no samples, as with Intel PT. */
function spanOf({ first, last, firstOther, lastOther }: Present): string {
  if (last > 0n) return `; samples are from ${seconds(first)} to ${seconds(last)}`;
  return lastOther > 0n
    ? `; there are no samples, other records are from ${seconds(firstOther)} to ${
      seconds(lastOther)
    }`
    : "";
}

/** A time in seconds of the recording's clock, in the format of `--time`. */
function seconds(time: bigint): string {
  const text = String(time).padStart(10, "0");
  return `${text.slice(0, -9)}.${text.slice(-9, -3)}`;
}
