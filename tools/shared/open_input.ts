/** Opens the input of a command that shows samples: a recording, or another tool's profile. */
import type { ByteSource } from "@perfdata/format/bytes";
import { type OpenOptions, openSource } from "@perfdata/format/files";
import { inputKind, type InputOfKind } from "@perfdata/perfdata/collect";
import type { SAMPLE_FLAGS, SYMBOL_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import {
  type CommandRecording,
  openRecording,
  type OpenRecordingOptions,
  traceOptions,
} from "./open_recording.ts";
import { parseJobs } from "./record_flags.ts";
import { sampleThreads } from "./sample_threads.ts";
import { symbolOptions, symbolsOf } from "./symbol_flags.ts";

/** Opens a file, or standard input for `-`, and detects other tools' profiles. */
export async function openInput(
  name: string,
  options: OpenOptions = {},
): Promise<InputOfKind<ByteSource>> {
  return await inputKind(openSource(name, options));
}

/** A recording for its samples, or a profile of another tool. */
export type SampleRecording = CommandRecording;

/** Options of {@link openSamples}. */
interface OpenSamplesOptions
  extends
    Pick<OpenRecordingOptions, "turns" | "progress" | "decoding" | "naming" | "itrace">,
    Pick<OpenOptions, "interruptible"> {}

/**
 * Opens a recording with the flags for symbols and threads, or another tool's profile. With
 * `--itrace`, the recording has samples of its Intel PT.
 *
 * @param tool The command's name, for messages.
 */
export async function openSamples(
  tool: string,
  name: string,
  flags: FlagsOf<typeof SYMBOL_FLAGS & typeof SAMPLE_FLAGS> & {
    readonly value: { readonly jobs?: string | undefined };
  },
  { itrace, turns, progress, decoding, naming, interruptible = false }: OpenSamplesOptions,
): Promise<SampleRecording> {
  const { source, kind } = itrace === undefined
    ? { source: openSource(name, { interruptible }) }
    : await openInput(name, { interruptible });
  const { jobs } = flags.value;
  return await openRecording(tool, name, {
    source,
    // The caller refuses samples of another tool's profile.
    itrace: kind === undefined ? itrace : undefined,
    ...traceOptions(name, flags, parseJobs(jobs)),
    symbols: symbolsOf(flags, name, turns?.turn),
    threads: sampleThreads(name, jobs, symbolOptions(flags)),
    turns,
    progress,
    decoding,
    naming,
  });
}
