/** The error for a file that was given as a symbol bundle but is something else. */
import { type FileKind, fileKind, KIND_BYTES } from "@perfdata/format/constants";
import { InputError } from "./cli.ts";

/**
 * The kind of a file by its first bytes; `undefined` if it cannot be read. Its reader then reports
 * the error.
 */
function kindOf(path: string): FileKind | undefined {
  const start = new Uint8Array(KIND_BYTES);
  try {
    using file = Deno.openSync(path);
    return fileKind(start.subarray(0, file.readSync(start) ?? 0));
  } catch {
    return undefined;
  }
}

/** Whether a file is a recording, or a directory, as `perf record --kcore` creates it. */
export function isRecording(path: string): boolean {
  try {
    if (Deno.statSync(path).isDirectory) return true;
  } catch {
    return false;
  }
  return kindOf(path) === "recording";
}

/** Whether a file is a tar archive, perhaps compressed, as `perf archive` creates it. */
export function isArchive(path: string): boolean {
  const kind = kindOf(path);
  // For compressed files, the name decides.
  return kind === "tar" ||
    (isCompression(kind) && /\.(tar\.\w+|t[bgx]z2?)$/.test(path));
}

const isCompression = (kind: FileKind | undefined): boolean =>
  kind === "gzip" || kind === "bzip2" || kind === "xz" || kind === "zstd";

/** The error for a file that is no bundle: it may be a recording or an archive. */
export function notBundle(path: string, error: Error): InputError {
  const message = isArchive(path)
    ? `${path}: is an archive, as perf archive makes it, not a symbol bundle: commands that have ` +
      `--symfs take it: --symfs ${path}`
    : isRecording(path)
    ? `${path}: is a recording, not a symbol bundle; make one: perfdata symbols bundle ${path}`
    : error.message.startsWith(path)
    ? error.message
    : `${path}: ${error.message}`;
  return new InputError(message, { cause: error });
}
