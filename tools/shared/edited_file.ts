/** Shared by commands that write recordings. */
import { type CopyStats, FileOutput, PipeOutput, type RecordingOutput } from "@perfdata/edit";
import type { ByteSink, ByteSource, RandomAccessSource, TempFile } from "@perfdata/format/bytes";
import { newFile, tempFile } from "@perfdata/format/files";
import { about, complain, UsageError, writeOut } from "./cli.ts";
import type { OUTPUT_FLAGS } from "./flag_sets.ts";
import type { FlagsOf } from "./flag_table.ts";
import { spooled } from "@perfdata/format/records";

/** What the user gave of the flags that say where a recording goes. */
type OutputWish = FlagsOf<typeof OUTPUT_FLAGS>;

/** Standard output. */
const stdoutSink: ByteSink = { write: writeOut };

/** Where the new recording goes. */
export interface Target {
  readonly output: RecordingOutput;
  /** Takes bytes as they are, in place of `output`. */
  readonly sink: ByteSink;
  /** Whether it is to be in pipe format. */
  readonly isPipe: boolean;
  /** Its path; `undefined` for standard output. */
  readonly path: string | undefined;
}

/** perf records for its user alone, too: stacks and names may be anybody's secrets. */
const PRIVATE = 0o600;

/**
 * Runs an action that writes a recording. A file gets its name when the action has succeeded; until
 * then, and where it fails, what was there before stays.
 *
 * @param name The command, for messages.
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

/**
 * A source that can be read at any place: what comes as a stream goes through a file in the system's
 * directory for temporary ones.
 */
export async function rereadable(source: ByteSource): Promise<RandomAccessSource> {
  return await spooled(source, nameless);
}

/** A file in the system's directory for temporary ones, which nobody has to remove. */
export function nameless(): TempFile {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-" });
  const file = tempFile(folder);
  try {
    // The file has lost its name already, where the system allows that.
    Deno.removeSync(folder);
  } catch {
    // It stays with the file in it.
  }
  return file;
}

/** `1 record`, `2 records`, with the share of a whole. */
export function share(part: number, all: number, what: string): string {
  const percent = all === 0 ? 0 : 100 * part / all;
  return `${part} of ${all} ${what} (${percent.toFixed(1)}%)`;
}

/** Says what was written, on standard error where that is a terminal. */
export function summary(
  name: string,
  { kept, replaced }: CopyStats,
  path: string | undefined,
): void {
  if (!Deno.stderr.isTerminal() || path === undefined) return;
  complain(`${name}: ${kept + replaced} records written to ${path}`);
}
