/** Opens recordings for commands: errors and progress go to standard error. */
import { open, type OpenOptions, type Recording, type ShareWork } from "@perfdata/perfdata";
import { type ByteSource, EventLoopTurns } from "@perfdata/format/bytes";
import { openSource } from "@perfdata/format/files";
import { sampleJobs } from "@perfdata/session";
import { Complaints, Progress } from "./cli.ts";
import { parseJobs } from "./record_flags.ts";
import { resolverOf, type SymbolFlags, symbolOptions } from "./symbol_flags.ts";

/** A recording, with its errors so far. */
export interface CommandRecording {
  readonly recording: Recording;
  /** Errors in the recording. */
  readonly complaints: Complaints;
  /** The progress line. */
  readonly progress: Progress;
}

/** Options of {@linkcode openRecording}. */
interface OpenRecordingOptions extends Omit<OpenOptions, "diagnostics"> {
  /** The bytes; by default those of the file. */
  readonly source?: ByteSource;
}

/** A command that does nothing else needs no turns of the event loop. */
const NO_TURNS = new EventLoopTurns(undefined, Infinity);

/**
 * Opens a recording.
 *
 * @param tool The command's name, for messages.
 */
export async function openRecording(
  tool: string,
  name: string,
  { source = openSource(name), ...options }: OpenRecordingOptions = {},
): Promise<CommandRecording> {
  const complaints = new Complaints(`${tool}: ${name}`);
  const progress = new Progress(tool, undefined);
  const recording = await open(source, {
    turns: NO_TURNS,
    ...options,
    name: titleOf(name),
    diagnostics: complaints.take,
    progress(share, bytes, all) {
      progress.reach(bytes, all);
      options.progress?.(share, bytes, all);
    },
    naming(done, all) {
      progress.names(done, all);
      options.naming?.(done, all);
    },
  });
  return { recording, complaints, progress };
}

/** The title of a recording: its file name without directories. */
export function titleOf(name: string): string {
  return name === "-" ? "standard input" : name.slice(name.lastIndexOf("/") + 1);
}

/** Opens the symbols that the flags name. */
export function symbolsOf(
  flags: SymbolFlags,
  name: string,
  turn?: EventLoopTurns["turn"],
): Exclude<OpenOptions["symbols"], string | undefined> {
  return ({ machine, lines }) =>
    resolverOf(flags, name, { machine, parameters: false, debugInformation: lines, turn });
}

/** Starts the threads of `--jobs`, or as many as a recording is worth. */
export function sampleThreads(
  flags: SymbolFlags & { readonly value: { readonly jobs?: string | undefined } },
  name: string,
): ShareWork {
  const asked = parseJobs(flags.value.jobs);
  return async ({ collect, reader, isScanned, isShared }) => {
    const jobs = await sampleJobs(asked, reader, undefined, isScanned);
    if (jobs === 1) return undefined;
    const about = { collect, symbols: { ...symbolOptions(flags), parameters: false } };
    return isShared
      ? (await import("@perfdata/report/workers")).infoCollectWorkers(name, jobs, about)
      : (await import("@perfdata/profile/workers")).collectWorkers(name, jobs, about);
  };
}
