/** Opens recordings for commands: errors and progress go to standard error. */
import {
  open,
  type OpenOptions,
  type OpenSymbols,
  type Recording,
  type RecordingInput,
} from "@perfdata/perfdata";
import { EventLoopTurns } from "@perfdata/format/bytes";
import { openSource } from "@perfdata/format/files";
import type { PtLoss } from "@perfdata/pt/decode";
import { asUsage, complain, Complaints, Progress } from "./cli.ts";
import type { codeFiles } from "./pt_input.ts";
import type { SymbolFlags } from "./symbol_flags.ts";

/** A recording, with its errors so far. */
export interface CommandRecording {
  readonly recording: Recording;
  readonly complaints: Complaints;
  readonly progress: Progress;
}

/** Options of {@link openRecording}. */
export interface OpenRecordingOptions
  extends
    Omit<OpenOptions, "decoding" | "diagnostics" | "naming" | "progress" | "threads" | "turns"> {
  /** The input; by default the file. */
  readonly source?: RecordingInput | undefined;
  /** Called while the recording is read: see {@link OpenOptions}. */
  readonly progress?: OpenOptions["progress"] | undefined;
  /** Called while Intel PT is decoded. */
  readonly decoding?: OpenOptions["decoding"] | undefined;
  /** Called while names are looked up. */
  readonly naming?: OpenOptions["naming"] | undefined;
  /** Starts other threads. */
  readonly threads?: OpenOptions["threads"] | undefined;
  /** The progress line; by default one of its own. */
  readonly line?: Progress;
  /** Yields to the event loop; by default never, since most commands do nothing else. */
  readonly turns?: EventLoopTurns | undefined;
}

const NO_TURNS = new EventLoopTurns(undefined, Infinity);

/**
 * Opens a recording. Prints the number of samples from its Intel PT, if there are any.
 *
 * @param tool The command's name, for messages.
 * @throws {UsageError} If a letter of `--itrace` is unknown.
 */
export async function openRecording(
  tool: string,
  name: string,
  { source = openSource(name), turns = NO_TURNS, line, ...options }: OpenRecordingOptions = {},
): Promise<CommandRecording> {
  const complaints = new Complaints(`${tool}: ${name}`);
  const progress = line ?? new Progress(tool, undefined);
  const { itrace } = options;
  if (itrace !== undefined) {
    const { parseSampleItrace } = await import("@perfdata/pt");
    asUsage(() => parseSampleItrace(itrace), "--");
  }
  let decoded = 0;
  const recording = await open(source, {
    ...options,
    turns,
    name: titleOf(name),
    diagnostics: complaints.take,
    progress(share, bytes, all) {
      progress.reach(bytes, all);
      options.progress?.(share, bytes, all);
    },
    decoding(bytes, all) {
      decoded += bytes;
      progress.reach(decoded, all);
      return options.decoding?.(bytes, all);
    },
    naming(done, all) {
      progress.names(done, all);
      options.naming?.(done, all);
    },
  });
  if (recording.synthesized !== undefined) {
    const { samples, events } = recording.synthesized;
    complain(`${tool}: ${name}: ${samples} samples of ${events.join(", ")} from its Intel PT`);
  }
  return { recording, complaints, progress };
}

/**
 * Opens the symbols that the flags name, as `symbolsOf` does. Its module is loaded if symbols are
 * needed, because it makes startup slower.
 */
export function symbolsLater(flags: SymbolFlags, file: string): OpenSymbols {
  return async (wanted) => (await import("./symbol_flags.ts")).symbolsOf(flags, file)(wanted);
}

/**
 * Opens the code that the flags name, and the memory that `perf record --kcore` copied.
 *
 * @param name The recording.
 */
export function codeOpener(
  where: Parameters<typeof codeFiles>[1],
  name: string,
): NonNullable<OpenOptions["code"]> {
  return async (recorded) => {
    const { codeOf, imagesOf } = await import("./pt_input.ts");
    return await codeOf(recorded, where, imagesOf(undefined, name));
  };
}

/**
 * Options for decoding Intel PT.
 *
 * @param name The recording, which each thread opens.
 * @param jobs The number of threads; by default, what a trace is worth.
 */
export function traceOptions(
  name: string,
  flags: SymbolFlags,
  jobs: number | undefined,
): Pick<OpenOptions, "code" | "traceThreads"> {
  return {
    code: codeOpener(flags.value, name),
    async traceThreads({ bytes, progress, ...work }) {
      if (jobs === 1) return undefined;
      const { ptJobs, ptWorkers } = await import("./pt_workers.ts");
      const threads = ptJobs(name, jobs, bytes);
      const about = { name, flags, image: undefined, guestImage: undefined, ...work };
      return threads === 1 ? undefined : ptWorkers(threads, about, progress);
    },
  };
}

/** Prints what could not be decoded for `--itrace`. Returns whether all was decoded. */
export async function printItraceLoss(
  tool: string,
  name: string,
  { synthesized }: Recording,
): Promise<boolean> {
  return synthesized === undefined || await printTraceLoss(tool, name, synthesized.loss);
}

/** Prints what could not be decoded of Intel PT. Returns whether all was decoded. */
export async function printTraceLoss(tool: string, name: string, loss: PtLoss): Promise<boolean> {
  const { printLoss } = await import("./trace_loss.ts");
  return printLoss(tool, name, loss);
}

/** The title of a recording: the name of its file or directory, without those above. */
export function titleOf(name: string): string {
  if (name === "-") return "standard input";
  const path = name.replace(/(?<!\/)\/+$/, "");
  return path.slice(path.lastIndexOf("/") + 1);
}
