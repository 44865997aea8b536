/** Opens and writes the output of commands that write recordings. */
import { type CopyStats, FileOutput, PipeOutput, type RecordingOutput } from "@perfdata/edit";
import type { ByteSink, ByteSource, RandomAccessSource } from "@perfdata/format/bytes";
import { newFile, tempFile } from "@perfdata/format/files";
import { about, complain, UsageError, writeOut } from "./cli.ts";
import type { OUTPUT_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import { spooled } from "@perfdata/format/records";

type OutputWish = FlagsOf<typeof OUTPUT_FLAGS>;

/** Standard output. */
const stdoutSink: ByteSink = { write: writeOut };

export interface Target {
  readonly output: RecordingOutput;
  /** Receives raw bytes, in place of `output`. */
  readonly sink: ByteSink;
  /** Whether the output is in pipe format. */
  readonly isPipe: boolean;
  /** The path; `undefined` for standard output. */
  readonly path: string | undefined;
}

/** Only the user may read the file, as in perf: stacks and names may be secrets. */
const PRIVATE = 0o600;

/**
 * Runs an action that writes a recording. A file gets its name if the action succeeds; otherwise an
 * existing file stays.
 *
 * @param name The command's name, for messages.
 * @throws {UsageError} If no output is named, or it is a terminal.
 */
export async function writeRecording<T>(
  name: string,
  { on, value }: OutputWish,
  action: (target: Target) => Promise<T>,
): Promise<T> {
  const path = value.output;
  if (path === undefined) throw new UsageError("no output: -o FILE, or -o - for a pipe");
  const lost = (message: string) => complain(`${name}: ${message}`);
  if (path === "-") {
    if (Deno.stdout.isTerminal()) {
      throw new UsageError("-o - is a terminal; name a file, or a pipe to another command");
    }
    const output = new PipeOutput(stdoutSink, lost);
    return await action({ output, sink: stdoutSink, isPipe: true, path: undefined });
  }
  using file = about(path, () => newFile(path, { force: on.force, mode: PRIVATE }));
  const output = on.pipe ? new PipeOutput(file, lost) : new FileOutput(file);
  const result = await action({ output, sink: file, isPipe: on.pipe, path });
  about(path, () => file.commit());
  return result;
}

/** Makes a source seekable: copies a stream to a temporary file. */
export async function rereadable(source: ByteSource): Promise<RandomAccessSource> {
  return await spooled(source, tempFile);
}

/** Formats `part of all what` with the percentage. */
export function share(part: number, all: number, what: string): string {
  const percent = all === 0 ? 0 : 100 * part / all;
  return `${part} of ${all} ${what} (${percent.toFixed(1)}%)`;
}

/** Prints the number of records written to a file, if standard error is a terminal. */
export function summary(
  name: string,
  { kept, replaced }: CopyStats,
  path: string | undefined,
): void {
  if (!Deno.stderr.isTerminal() || path === undefined) return;
  complain(`${name}: ${kept + replaced} records written to ${path}`);
}
