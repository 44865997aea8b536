// Uses Deno's file system API and environment: this machine's files, and perf's places.

import { SymbolsError } from "../errors.ts";
import { type SearchPlaces, searchPlaces } from "./file_search.ts";
import { openBinaryFile } from "./binary_file.ts";
import type { ClosableSource, SymbolFiles } from "./symbol_files.ts";

/** The files of this machine. */
export const localFiles: SymbolFiles = {
  open: (path) =>
    tolerant(path, (): ClosableSource | undefined => {
      // Directories are ignored, since the build-id cache has some in place of files. A pipe or
      // device, which could block or never end, is refused.
      return Deno.statSync(path).isDirectory ? undefined : openBinaryFile(path);
    }),
  read: (path, limit = Infinity) =>
    tolerant(
      path,
      () => {
        const { isFile, isDirectory, size } = Deno.statSync(path);
        if (isDirectory) return undefined;
        if (!isFile) throw new SymbolsError(0, `${path}: not a regular file`);
        checkLimit(path, size, limit);
        const bytes = Deno.readFileSync(path);
        // The size of a kernel file is known only after reading.
        checkLimit(path, bytes.length, limit);
        return bytes;
      },
      () => readWithCat(path),
    ),
  list: (folder) =>
    tolerant(folder, () =>
      [...Deno.readDirSync(folder)].filter(({ isSymlink }) => !isSymlink)
        .map(({ name, isDirectory }) => ({ name, isFolder: isDirectory }))) ?? [],
  isForeign(path) {
    try {
      const { uid } = Deno.lstatSync(path);
      const reader = readerId();
      return uid !== null && uid !== 0 && reader !== null && uid !== reader;
    } catch {
      return false;
    }
  },
};

/** User id of this process; if access to it is denied, the owner of the home directory. */
function readerId(): number | null {
  if (Deno.permissions.querySync({ name: "sys", kind: "uid" }).state === "granted") {
    return Deno.uid();
  }
  const home = environment("HOME");
  try {
    return home === undefined ? null : Deno.statSync(home).uid;
  } catch {
    return null;
  }
}

function checkLimit(path: string, size: number, limit: number): void {
  if (size <= limit) return;
  throw new SymbolsError(0, `${path} has ${size} bytes, more than the ${limit} that are read`);
}

/** Reads a kernel file with `cat`. Its size does not depend on the recording. */
function readWithCat(path: string): Uint8Array | undefined {
  if (Deno.permissions.querySync({ name: "run", command: "cat" }).state !== "granted") {
    return undefined;
  }
  const { success, stdout } = new Deno.Command("cat", { args: [path], stderr: "null" })
    .outputSync();
  return success ? stdout : undefined;
}

function tolerant<T>(
  path: string,
  read: () => T,
  otherwise: () => T | undefined = () => undefined,
): T | undefined {
  // Deno throws errors of other types for these invalid names.
  if (path === "" || path.includes("\0")) return undefined;
  try {
    return read();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return undefined;
    }
    // Deno needs all permissions for these files; `cat` may be allowed.
    const special = /^\/(?:proc|sys)\//.test(path);
    if (error instanceof Deno.errors.NotCapable && special) return otherwise();
    // /dev has no files with code.
    if (error instanceof Deno.errors.NotCapable && path.startsWith("/dev/")) return undefined;
    if (!(error instanceof Error) || error instanceof SymbolsError) throw error;
    // Convert any error of the operating system, such as for a name that is too long: only this
    // object then has no symbols.
    throw new SymbolsError(0, `${path}: ${error.message}`, { cause: error });
  }
}

/**
 * The default places of `perf` and debuginfod clients, from the environment. Variables without
 * permission count as unset.
 */
export function defaultPlaces(): SearchPlaces {
  return searchPlaces(environment);
}

function environment(variable: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}
