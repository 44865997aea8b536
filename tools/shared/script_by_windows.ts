/** Makes the text of `script`, in this thread or another one. */
import {
  HEADER_CLOCK_DATA,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
} from "@perfdata/format/constants";
import { decodeFeature } from "@perfdata/format/features";
import type { PerfDataReader } from "@perfdata/format/records";
import {
  asksFor,
  type ClockTimes,
  CODE_FIELDS,
  type CodePieces,
  FieldError,
  parseFields,
  SCRIPT_FIELDS,
  ScriptText,
} from "@perfdata/export/script";
import type { Engine, EngineOptions } from "@perfdata/session";
import type { TextWork, WriteText } from "@perfdata/session/workers";
import { ObjectCodeReader } from "@perfdata/session/code";
import type { SymbolResolver } from "@perfdata/symbols";
import { complain, InputError, UsageError } from "./cli.ts";
import type { PROFILE_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import { type NameFilters, nameFilters } from "./sample_flags.ts";
import { resolverOf } from "./symbol_flags.ts";
import type { codeFiles } from "./pt_input.ts";
import { type ShowFlag, shownRecords } from "@perfdata/dump";

const UNWINDS = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

/** What is printed of which recording: what can be sent to another thread. */
export interface ScriptAbout {
  /** The recording. */
  readonly name: string;
  /** The fields that were asked for. */
  readonly fields: string | undefined;
  /** What the user gave. */
  readonly flags: FlagsOf<
    & typeof PROFILE_FLAGS
    & Record<`--${ShowFlag | "hide-call-graph" | "ns" | "no-inline"}`, string>
  >;
  /** Which samples. */
  readonly filter: EngineOptions["filter"];
}

/**
 * Makes what prints the samples of a recording.
 *
 * @param names The filters by name: who has them knows afterwards what they were asked.
 */
export async function makeScript(
  reader: PerfDataReader,
  { name, fields, flags, filter }: ScriptAbout,
  write: WriteText,
  names: NameFilters = nameFilters(flags),
): Promise<ScriptText> {
  const { on } = flags;
  const wish = fieldError(() => fields === undefined ? undefined : parseFields(fields));
  const lines = asksFor(wish, "srcline");
  const chains = !on["hide-call-graph"];
  // perf expands inlined functions in stacks that it unwinds.
  const unwinds = reader.events.all.some(({ layout }) => (layout.sampleType & UNWINDS) === UNWINDS);
  const isFiltered = names.comm !== undefined || names.dso !== undefined ||
    names.symbol !== undefined;
  let known: Promise<SymbolResolver> | undefined;
  const resolver = ({ recorded }: Engine) =>
    known ??= resolverOf(flags, name, {
      machine: recorded,
      parameters: false,
      debugInformation: (!on["no-inline"] && unwinds) || lines,
    });
  const { isPipe, fileSize } = reader;
  return new ScriptText(
    reader.events.all,
    {
      wish,
      chains,
      nanoseconds: on.ns,
      unmapped: on.verbose,
      wants: { inline: unwinds && !on["no-inline"] && chains, lines },
      clock: asksFor(wish, "tod") ? await clockOf(reader) : undefined,
      shown: shownRecords(on, filter?.cpus),
      options: { filter, unwind: resolver },
      resolver,
      code: CODE_FIELDS.some((field) => asksFor(wish, field))
        ? (engine) => codeReader(engine, name, flags.value)
        : undefined,
      keep: !isFiltered
        ? undefined
        : (places, comm, place) =>
          (names.comm?.(comm) ?? true) && (names.dso?.(places.shortDso(place)) ?? true) &&
          (names.symbol?.(places.symbol(place)) ?? true),
    },
    write,
    !isPipe && fileSize !== undefined,
  );
}

/** Reads code of a recording's objects. */
export async function codeReader(
  { reader: { arch }, recorded }: Engine,
  name: string,
  value: Parameters<typeof codeFiles>[1],
): Promise<ObjectCodeReader> {
  if (arch !== undefined && !/^(?:x86_64|x86|i[3-6]86)$/.test(arch)) {
    throw new InputError(`${name}: instructions of ${arch} are not decoded: of x86 alone`);
  }
  const { objectCode } = await import("./pt_input.ts");
  return await objectCode(recorded, value, name);
}

/** Says how much of the code between branches could not be read. */
export function reportCode(name: string, { wanted, missing }: CodePieces): void {
  if (missing === 0) return;
  complain(
    `script: ${name}: ${missing} of ${wanted} pieces of code between branches ` +
      `(${(100 * missing / wanted).toFixed(2)}%) cannot be read, and are left out`,
  );
}

/** What was printed. */
export interface ScriptMade {
  /** What has printed it. */
  readonly script: ScriptText;
  /** What was found on the way. */
  readonly engine: Engine;
}

/** How text is made by windows. */
export type ByWindows = Pick<
  TextWork<ScriptAbout>,
  "jobs" | "write" | "windowBytes" | "progress" | "diagnostics"
>;

/**
 * Prints the samples of a file by windows, in one thread or several: the text is the same.
 *
 * @returns `undefined`, with nothing written, where that cannot be done.
 */
export async function scriptByWindows(
  reader: PerfDataReader,
  about: ScriptAbout,
  how: ByWindows,
): Promise<ScriptMade | undefined> {
  const { isPipe, fileSize, events } = reader;
  // What a group counted is compared with the sample before.
  const hasGroups = events.all.some(({ layout }) => (layout.sampleType & PERF_SAMPLE_READ) !== 0);
  if (isPipe || fileSize === undefined || hasGroups) return undefined;
  const { textOfFile } = await import("@perfdata/session/workers");
  const made = await textOfFile<ScriptAbout>({
    ...how,
    reader,
    path: about.name,
    start: () => new Worker(new URL("./script_worker.ts", import.meta.url), { type: "module" }),
    about,
    make: makeScript,
    notWith: [PERF_RECORD_HEADER_ATTR, PERF_RECORD_HEADER_TRACING_DATA],
    machine: true,
    time: about.filter?.time,
  });
  return made && { script: made.consumer as ScriptText, engine: made.engine };
}

/** What turns times into times of day, if the recording has it. */
async function clockOf(reader: PerfDataReader): Promise<ClockTimes | undefined> {
  const section = reader.features.find(({ id }) => id === HEADER_CLOCK_DATA)?.section;
  if (section === undefined) return undefined;
  const { offset, size } = section;
  const bytes = await reader.readSection(Number(offset), Number(size), "CLOCK_DATA");
  const { littleEndian } = reader;
  const feature = decodeFeature(HEADER_CLOCK_DATA, bytes, { littleEndian });
  return feature.name === "CLOCK_DATA" ? feature.value : undefined;
}

/** Makes wrong fields wrong usage. */
export function fieldError<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw wrongField(error);
  }
}

/** What is thrown for an error: for wrong fields, wrong usage. */
export function wrongField(error: unknown): unknown {
  if (!(error instanceof FieldError)) return error;
  return new UsageError(`--fields: ${error.message}`, { word: error.word, known: SCRIPT_FIELDS });
}
