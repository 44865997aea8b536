/** The error for a file that was given as a symbol bundle and is not one. */
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

/** Whether a file is an archive, as perf archive makes it: tar, perhaps compressed. */
export function isArchive(path: string): boolean {
  const start = new Uint8Array(262);
  try {
    using file = Deno.openSync(path);
    file.readSync(start);
  } catch {
    // Who opens it says what there is to say.
  }
  const text = String.fromCharCode(...start);
  // tar; bzip2, xz, gzip and zstd, where the name says that it is one of these.
  const isPacked = ["BZh", "\xfd7zXZ", "\x1f\x8b", "\x28\xb5\x2f\xfd"].some((magic) =>
    text.startsWith(magic)
  );
  return text.slice(257) === "ustar" || (isPacked && /\.(tar\.\w+|t[bgx]z2?)$/.test(path));
}

/** What is wrong with a file that was named as a bundle: it may be a recording, or an archive. */
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
