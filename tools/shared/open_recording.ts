/** Opens recordings for commands: errors and progress go to standard error. */
import { open, type OpenOptions, type OpenSymbols, type Recording } from "@perfdata/perfdata";
import { type ByteSource, EventLoopTurns } from "@perfdata/format/bytes";
import { openSource } from "@perfdata/format/files";
import { Complaints, Progress } from "./cli.ts";
import type { SymbolFlags } from "./symbol_flags.ts";

/** A recording, with its errors so far. */
export interface CommandRecording {
  readonly recording: Recording;
  readonly complaints: Complaints;
  readonly progress: Progress;
}

/** Options of {@link openRecording}. */
export interface OpenRecordingOptions
  extends Omit<OpenOptions, "diagnostics" | "naming" | "progress" | "threads" | "turns"> {
  /** The bytes; by default those of the file. */
  readonly source?: ByteSource | undefined;
  /** Called while the recording is read: see {@link OpenOptions}. */
  readonly progress?: OpenOptions["progress"] | undefined;
  /** Called while names are looked up. */
  readonly naming?: OpenOptions["naming"] | undefined;
  /** Starts other threads. */
  readonly threads?: OpenOptions["threads"] | undefined;
  /** Yields to the event loop; by default never, since most commands do nothing else. */
  readonly turns?: EventLoopTurns | undefined;
}

const NO_TURNS = new EventLoopTurns(undefined, Infinity);

/**
 * Opens a recording.
 *
 * @param tool The command's name, for messages.
 */
export async function openRecording(
  tool: string,
  name: string,
  { source = openSource(name), turns = NO_TURNS, ...options }: OpenRecordingOptions = {},
): Promise<CommandRecording> {
  const complaints = new Complaints(`${tool}: ${name}`);
  const progress = new Progress(tool, undefined);
  const recording = await open(source, {
    ...options,
    turns,
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

/**
 * Opens the symbols that the flags name, as `symbolsOf` does. Its module is loaded if symbols are
 * needed, because it makes startup slower.
 */
export function symbolsLater(flags: SymbolFlags, file: string): OpenSymbols {
  return async (wanted) => (await import("./symbol_flags.ts")).symbolsOf(flags, file)(wanted);
}

/** The title of a recording: its file name without directories. */
export function titleOf(name: string): string {
  return name === "-" ? "standard input" : name.slice(name.lastIndexOf("/") + 1);
}
