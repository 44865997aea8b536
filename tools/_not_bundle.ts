/** The error of a file that was named as a symbol bundle and is none. */
import { InputError } from "./_cli.ts";

/** What is wrong with a file that was named as a bundle: it may be a recording. */
export function notBundle(path: string, error: Error): InputError {
  const magic = new Uint8Array(8);
  try {
    using file = Deno.openSync(path);
    file.readSync(magic);
  } catch {
    // The error says what there is to say.
  }
  const isRecording = /^(PERFILE2|2ELIFREP|PERFFILE)$/.test(new TextDecoder().decode(magic));
  const message = isRecording
    ? `${path}: is a recording, not a symbol bundle; make one: perfdata symbols bundle ${path}`
    : error.message.startsWith(path)
    ? error.message
    : `${path}: ${error.message}`;
  return new InputError(message, { cause: error });
}
