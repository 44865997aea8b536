/** The error of a file that was named as a symbol bundle and is none. */
import { InputError } from "./_cli.ts";

/** Whether a file begins as recordings do, or is a directory, as `perf record --kcore` makes it. */
export function isRecording(path: string): boolean {
  const magic = new Uint8Array(8);
  try {
    if (Deno.statSync(path).isDirectory) return true;
    using file = Deno.openSync(path);
    file.readSync(magic);
  } catch {
    // Who opens it says what there is to say.
  }
  return /^(PERFILE2|2ELIFREP|PERFFILE)$/.test(new TextDecoder().decode(magic));
}

/** What is wrong with a file that was named as a bundle: it may be a recording. */
export function notBundle(path: string, error: Error): InputError {
  const message = isRecording(path)
    ? `${path}: is a recording, not a symbol bundle; make one: perfdata symbols bundle ${path}`
    : error.message.startsWith(path)
    ? error.message
    : `${path}: ${error.message}`;
  return new InputError(message, { cause: error });
}
