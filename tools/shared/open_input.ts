/** Opens the input of a command that shows samples: a recording, or another tool's profile. */
import type { ByteSource } from "@perfdata/format/bytes";
import { type OpenOptions, openSource } from "@perfdata/format/files";
import { inputKind, type InputOfKind } from "@perfdata/perfdata/collect";
import type { SAMPLE_FLAGS, SYMBOL_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import type { Itraced } from "./itraced.ts";
import {
  type CommandRecording,
  openRecording,
  type OpenRecordingOptions,
} from "./open_recording.ts";
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
export interface SampleRecording extends CommandRecording {
  /** The result of `--itrace`, if it is given and the input is a recording. */
  readonly itraced: Itraced | undefined;
}

/** Options of {@link openSamples}. */
interface OpenSamplesOptions
  extends
    Pick<OpenRecordingOptions, "turns" | "progress" | "naming">,
    Pick<OpenOptions, "interruptible"> {
  /** The value of `--itrace`. */
  readonly itrace: string | undefined;
}

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
  { itrace, interruptible = false, ...options }: OpenSamplesOptions,
): Promise<SampleRecording> {
  const { source, kind } = itrace === undefined
    ? { source: openSource(name, { interruptible }) }
    : await openInput(name, { interruptible });
  const itraced = itrace === undefined || kind !== undefined
    ? undefined
    : await (await import("./itraced.ts")).itraced(tool, name, {
      letters: itrace,
      where: flags.value,
      opened: source,
    });
  const opened = await openRecording(tool, name, {
    ...options,
    source: itraced?.source ?? source,
    symbols: symbolsOf(flags, name, options.turns?.turn),
    // Threads open the recording by its name.
    threads: itraced === undefined
      ? sampleThreads(name, flags.value.jobs, symbolOptions(flags))
      : undefined,
  });
  return { ...opened, itraced };
}
