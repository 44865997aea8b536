/** Formats the text of `script`, in this thread or a worker. */
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

/** Options of `script` that can be sent to workers. */
export interface ScriptAbout {
  readonly name: string;
  /** The value of `--fields`. */
  readonly fields: string | undefined;
  readonly flags: FlagsOf<
    & typeof PROFILE_FLAGS
    & Record<`--${ShowFlag | "hide-call-graph" | "ns" | "no-inline"}`, string>
  >;
  readonly filter: EngineOptions["filter"];
}

/**
 * Creates the writer that prints the samples of a recording.
 *
 * @param names The name filters. The caller reads from them which names matched.
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
  // perf expands inlined functions only in stacks that it unwinds.
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

/** Reports how much of the code between branches could not be read. */
export function reportCode(name: string, { wanted, missing }: CodePieces): void {
  if (missing === 0) return;
  complain(
    `script: ${name}: ${missing} of ${wanted} pieces of code between branches ` +
      `(${(100 * missing / wanted).toFixed(2)}%) cannot be read, and are left out`,
  );
}

/** The result of printing. */
export interface ScriptMade {
  readonly script: ScriptText;
  readonly engine: Engine;
}

/** Options for formatting by windows. */
export type ByWindows = Pick<
  TextWork<ScriptAbout>,
  "jobs" | "write" | "windowBytes" | "progress" | "diagnostics"
>;

/**
 * Prints the samples of a file by windows, in one or several threads. The text does not depend on
 * the number of threads.
 *
 * @returns `undefined`, with nothing written, if the recording cannot be split.
 */
export async function scriptByWindows(
  reader: PerfDataReader,
  about: ScriptAbout,
  how: ByWindows,
): Promise<ScriptMade | undefined> {
  const { isPipe, fileSize, events } = reader;
  // READ values of a group are printed as differences to the previous sample, so windows are not
  // independent.
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

/** Reads the clock for times of day, if the recording has it. */
async function clockOf(reader: PerfDataReader): Promise<ClockTimes | undefined> {
  const section = reader.features.find(({ id }) => id === HEADER_CLOCK_DATA)?.section;
  if (section === undefined) return undefined;
  const { offset, size } = section;
  const bytes = await reader.readSection(Number(offset), Number(size), "CLOCK_DATA");
  const { littleEndian } = reader;
  const feature = decodeFeature(HEADER_CLOCK_DATA, bytes, { littleEndian });
  return feature.name === "CLOCK_DATA" ? feature.value : undefined;
}

/** Turns errors about fields into wrong usage. */
export function fieldError<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw wrongField(error);
  }
}

/** The {@link UsageError} for an error about fields; other errors unchanged. */
export function wrongField(error: unknown): unknown {
  if (!(error instanceof FieldError)) return error;
  return new UsageError(`--fields: ${error.message}`, { word: error.word, known: SCRIPT_FIELDS });
}
