/** Opens the input of a command that shows samples: a recording, tables, or another tool's profile. */
import type { ByteSource } from "@perfdata/format/bytes";
import { type OpenOptions, openSource } from "@perfdata/format/files";
import type { TableFiles } from "@perfdata/perfdata";
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

/** Opens a file, tables, or standard input for `-`, and detects which it is. */
export async function openInput(
  name: string,
  options: OpenOptions = {},
): Promise<InputOfKind<ByteSource>> {
  return await inputKind(await openTables(name) ?? openSource(name, options));
}

/** Opens a directory of tables; `undefined` for other input. */
export async function openTables(name: string): Promise<TableFiles | undefined> {
  try {
    if (!Deno.statSync(name).isDirectory) return undefined;
  } catch {
    // Who opens it says why.
    return undefined;
  }
  return (await import("@perfdata/perfdata/files")).tableFolder(name);
}

/** A recording for its samples, tables, or a profile of another tool. */
export type SampleRecording = CommandRecording;

/** Options of {@link openSamples}. */
interface OpenSamplesOptions
  extends
    Pick<OpenRecordingOptions, "turns" | "progress" | "decoding" | "naming" | "itrace">,
    Pick<OpenOptions, "interruptible"> {}

/**
 * Opens a recording with the flags for symbols and threads, tables, or another tool's profile. With
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
  const { jobs } = flags.value;
  const source = await openTables(name) ?? openSource(name, { interruptible });
  const input = itrace === undefined ? { source } : await inputKind(source);
  return await openRecording(tool, name, {
    source: input.source,
    // The caller refuses samples of other input.
    itrace: "kind" in input && input.kind !== undefined ? undefined : itrace,
    ...traceOptions(name, flags, parseJobs(jobs)),
    symbols: symbolsOf(flags, name, turns?.turn),
    threads: sampleThreads(name, jobs, symbolOptions(flags)),
    turns,
    progress,
    decoding,
    naming,
  });
}
