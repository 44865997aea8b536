// Uses Deno's file API; everything else in this package runs in any JavaScript runtime.
/**
 * Temporary files, on Deno.
 *
 * @module
 */
import { OutputError, writeAllSync } from "./file_sink.ts";
import type { TempFile } from "./source.ts";

let made = 0;

/**
 * Creates a temporary file that only this process can open. Its name is removed immediately if the system
 * allows that, so that the file disappears however the process ends.
 *
 * @param folder The directory of the file; by default one for temporary files of the system.
 * @throws {OutputError} If the file cannot be created; by `writeAt` if the disk is full.
 *
 * @example
 * ```ts
 * import { tempFile } from "@perfdata/format/files";
 * import { assertEquals } from "@std/assert";
 *
 * const folder = Deno.makeTempDirSync();
 * const file = tempFile(folder);
 * file.writeAt(Uint8Array.of(1, 2), 4);
 * const into = new Uint8Array(4);
 * assertEquals([file.readAt(into, 5), into[0]], [1, 2]);
 * file.close();
 * assertEquals([...Deno.readDirSync(folder)], []);
 * ```
 */
export function tempFile(folder?: string): TempFile {
  if (folder === undefined) return fileInOwnFolder();
  const path = `${folder}/.perfdata.${Deno.pid}.${made++}.tmp`;
  const orOutputError = <T>(action: () => T): T => {
    try {
      return action();
    } catch (error) {
      throw new OutputError(folder, error);
    }
  };
  const file = orOutputError(() =>
    Deno.openSync(path, { read: true, write: true, createNew: true, mode: 0o600 })
  );
  let named = true;
  const remove = (): void => {
    try {
      if (named) Deno.removeSync(path);
      named = false;
    } catch {
      // This system cannot remove an open file.
    }
  };
  remove();
  return {
    writeAt: (bytes, position) =>
      orOutputError(() => {
        file.seekSync(position, Deno.SeekMode.Start);
        writeAllSync(file, bytes);
      }),
    readAt(into, position) {
      file.seekSync(position, Deno.SeekMode.Start);
      let n = 0;
      while (n < into.length) {
        const got = file.readSync(into.subarray(n));
        if (got === null || got === 0) break;
        n += got;
      }
      return n;
    },
    close() {
      file.close();
      remove();
    },
  };
}

/** A file in a directory of its own, which is removed together with the file's name. */
function fileInOwnFolder(): TempFile {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-" });
  const file = tempFile(folder);
  try {
    Deno.removeSync(folder);
  } catch {
    // The directory still contains the file.
  }
  return file;
}
