/** Opens the Intel PT of recordings for commands. */
import type { OpenOptions, Recording } from "@perfdata/perfdata";
import type { EngineOptions } from "@perfdata/session";
import type { Complaints, Progress } from "./cli.ts";
import { openRecording, traceOptions } from "./open_recording.ts";
import { sampleFilter, type SampleFlags } from "./sample_flags.ts";
import { type SymbolFlags, symbolsOf } from "./symbol_flags.ts";

/** The Intel PT of a recording, and the part that the flags choose. */
export interface CommandTrace {
  readonly trace: Awaited<ReturnType<Recording["trace"]>>;
  /** The filter of the flags. */
  readonly filter: NonNullable<EngineOptions["filter"]>;
  /** Errors in the recording. */
  readonly complaints: Complaints;
  readonly progress: Progress;
}

/**
 * Opens the Intel PT of a recording.
 *
 * @param tool The command's name, for messages.
 * @param options `jobs`: the number of threads.
 * @throws {PerfDataError} If it has no Intel PT.
 */
export async function openTrace(
  tool: string,
  name: string,
  flags: SampleFlags & SymbolFlags,
  { jobs, ...options }: Pick<OpenOptions, "decoding"> & { readonly jobs?: number | undefined } = {},
): Promise<CommandTrace> {
  const { recording, complaints, progress } = await openRecording(tool, name, {
    symbols: symbolsOf(flags, name),
    ...traceOptions(name, flags, jobs),
    ...options,
  });
  const trace = await recording.trace();
  return { trace, filter: await sampleFilter(flags, trace), complaints, progress };
}
