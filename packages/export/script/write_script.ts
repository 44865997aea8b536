import {
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
} from "@perfdata/format/constants";
import type { PerfDataReader } from "@perfdata/format/records";
import {
  type Engine,
  type EngineOptions,
  type NameTests,
  runEngine,
  SentTests,
  type SentWords,
  sentWords,
} from "@perfdata/session";
import type { ObjectCodeReader } from "@perfdata/session/code";
import type { TextThreads, WriteText } from "@perfdata/session/workers";
import type { SymbolResolver } from "@perfdata/symbols";
import { asksFor, CODE_FIELDS, parseFields } from "./script_fields.ts";
import type { ShownRecords } from "./script_rows.ts";
import { type ScriptName, ScriptText, type ScriptTextOptions } from "./script_text.ts";
import { clockTimes } from "./time_of_day.ts";

const UNWINDS = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

/** Fields and form of the text of samples. */
export interface ScriptWish {
  /** Fields as in `perf script -F`; those of perf by default. */
  readonly fields?: string | undefined;
  /** Whether call chains are printed; true by default. */
  readonly chains?: boolean | undefined;
  /** Whether unwound stacks have inlined functions; true by default. */
  readonly inline?: boolean | undefined;
  /** Whether times have nanoseconds. */
  readonly nanoseconds?: boolean | undefined;
  /** Whether unmapped addresses in call chains count as unnamed. */
  readonly unmapped?: boolean | undefined;
  /** Selection of samples. */
  readonly filter?: EngineOptions["filter"];
}

/** Symbols and code for the text of samples. */
export interface ScriptHost {
  /** Opens the symbols; `lines`: whether source lines and inlined functions are looked up. */
  readonly symbols: (engine: Engine, lines: boolean) => SymbolResolver | Promise<SymbolResolver>;
  /** Opens the code for fields such as `brstackinsn`. */
  readonly code?: ((engine: Engine) => Promise<ObjectCodeReader>) | undefined;
}

/** Options of {@linkcode writeScript}. */
export interface WriteScriptOptions extends ScriptWish {
  /** Selection of samples by the names of their command, object and function. */
  readonly names?: NameTests<ScriptName> | undefined;
  /** Whether call stacks from branch records are joined with those of previous samples. */
  readonly stitchLbr?: boolean | undefined;
  /** Other records that are printed among the samples. */
  readonly shown?: ShownRecords | undefined;
  /** Called with the number of bytes read since the last call, and of further ones. */
  readonly progress?: EngineOptions["progress"];
  /** Receives errors in damaged recordings. Without it, they are thrown. */
  readonly diagnostics?: EngineOptions["diagnostics"];
}

/** Threads of {@linkcode writeScript}. */
export interface ScriptThreads extends TextThreads {
  /** Path of the recording, which each thread opens. */
  readonly path: string;
  /** What each thread needs to find symbols and code, for sending. */
  readonly given?: unknown;
}

/** Input of another thread: the argument of {@linkcode makeScript}. */
export interface SentScript {
  /** Fields and form. */
  readonly wish: ScriptWish;
  /** Selection of samples by name. */
  readonly words: SentWords<ScriptName>;
  /** As in {@linkcode ScriptThreads}. */
  readonly given: unknown;
}

/** Text that was written. */
export interface WrittenScript {
  /** The writer, with its counts. */
  readonly script: ScriptText;
  /** The engine, with its places and statistics. */
  readonly engine: Engine;
}

/**
 * Writes the samples of a recording as `perf script` prints them. A file is written by windows of
 * time, in several threads if there are any. The text does not depend on the number of threads.
 *
 * @param write Receives the text; the bytes are valid during the call only.
 * @throws {FieldError} If a field is unknown, or no event has it.
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 */
export async function writeScript(
  reader: PerfDataReader,
  write: WriteText,
  options: WriteScriptOptions,
  host: ScriptHost,
  threads?: ScriptThreads,
): Promise<WrittenScript> {
  const { names = {}, stitchLbr = false, shown, progress, diagnostics, ...wish } = options;
  if (!stitchLbr && shown === undefined) {
    const written = await scriptByWindows(reader, write, options, host, threads);
    if (written !== undefined) return written;
  }
  const script = await scriptText(reader, write, wish, host, { names, shown });
  const engine = await runEngine(reader, [script], {
    ...script.options,
    stitchLbr,
    progress,
    diagnostics,
  });
  return { script, engine };
}

/**
 * Writes the samples of a file by windows.
 *
 * @returns `undefined`, with nothing written, if the recording cannot be split.
 */
export async function scriptByWindows(
  reader: PerfDataReader,
  write: WriteText,
  { names = {}, stitchLbr: _, shown: __, progress, diagnostics, ...wish }: WriteScriptOptions,
  host: ScriptHost,
  threads: ScriptThreads = ALONE,
): Promise<WrittenScript | undefined> {
  const { isPipe, fileSize, events } = reader;
  // READ values of a group are printed as differences to the previous sample, so windows are not
  // independent.
  const hasGroups = events.all.some(({ layout }) => (layout.sampleType & PERF_SAMPLE_READ) !== 0);
  if (isPipe || fileSize === undefined || hasGroups) return undefined;
  const words = sentWords<ScriptName>(names);
  const isSent = words !== undefined && wish.filter?.records === undefined;
  if (!isSent && threads.jobs > 1) return undefined;
  const { textOfFile } = await import("@perfdata/session/workers");
  const made = await textOfFile<SentScript>({
    ...threads,
    reader,
    about: { wish, words: words ?? {}, given: threads.given },
    make: (reader, { wish }, write) => scriptText(reader, write, wish, host, { names }),
    write,
    notWith: [PERF_RECORD_HEADER_ATTR, PERF_RECORD_HEADER_TRACING_DATA],
    machine: true,
    time: wish.filter?.time,
    progress,
    diagnostics: diagnostics ?? fail,
  });
  return made && { script: made.consumer as ScriptText, engine: made.engine };
}

const ALONE: ScriptThreads = { jobs: 1, path: "", start: fail };

function fail(error: Error = new TypeError("one thread starts no other")): never {
  throw error;
}

/** Creates the writer of a window's text in another thread. */
export async function makeScript(
  reader: PerfDataReader,
  { wish, words }: SentScript,
  write: WriteText,
  host: ScriptHost,
): Promise<ScriptText> {
  const sent = new SentTests(words);
  return await scriptText(reader, write, wish, host, { sent, names: sent.tests });
}

async function scriptText(
  reader: PerfDataReader,
  write: WriteText,
  { fields, chains = true, inline = true, nanoseconds = false, unmapped = false, filter }:
    ScriptWish,
  host: ScriptHost,
  selected: Pick<ScriptTextOptions, "names" | "sent" | "shown">,
): Promise<ScriptText> {
  const wish = fields === undefined ? undefined : parseFields(fields);
  const lines = asksFor(wish, "srcline");
  const { isPipe, fileSize, events } = reader;
  // perf expands inlined functions only in stacks that it unwinds.
  const expands = inline &&
    events.all.some(({ layout }) => (layout.sampleType & UNWINDS) === UNWINDS);
  let known: Promise<SymbolResolver> | undefined;
  const resolver = (engine: Engine) =>
    known ??= Promise.resolve(host.symbols(engine, expands || lines));
  return new ScriptText(
    events.all,
    {
      wish,
      chains,
      nanoseconds,
      unmapped,
      wants: { inline: expands && chains, lines },
      clock: asksFor(wish, "tod") ? await clockTimes(reader) : undefined,
      options: { filter, unwind: resolver },
      resolver,
      code: CODE_FIELDS.some((field) => asksFor(wish, field)) ? host.code : undefined,
      ...selected,
    },
    write,
    !isPipe && fileSize !== undefined,
  );
}
