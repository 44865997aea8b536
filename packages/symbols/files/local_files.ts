// Uses Deno's file system API and environment: the files of this machine, and perf's places for them.

import { SymbolsError } from "../errors.ts";
import { type SearchPlaces, searchPlaces } from "./file_search.ts";
import { openBinaryFile } from "./binary_file.ts";
import type { ClosableSource, SymbolFiles } from "./symbol_files.ts";

/** The files of this machine. */
export const localFiles: SymbolFiles = {
  open: (path) =>
    tolerant(path, (): ClosableSource | undefined => {
      // A directory stands for no file there: so is the cache of build ids laid out. A pipe or a device,
      // which would block or never end, is refused.
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
        // Files of the kernel have no size before they are read.
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

/** Who reads: the user of this process, or where that may not be asked, the owner of the home directory. */
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

/** Reads a file of the kernel, whose size is the kernel's choice, not that of a recording. */
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
  // Neither names a file, and Deno has errors of their own for them.
  if (path === "" || path.includes("\0")) return undefined;
  try {
    return read();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return undefined;
    }
    // Deno opens what is there only with all permissions; `cat` may be allowed.
    const special = /^\/(?:proc|sys)\//.test(path);
    if (error instanceof Deno.errors.NotCapable && special) return otherwise();
    // What is in there is no file of code.
    if (error instanceof Deno.errors.NotCapable && path.startsWith("/dev/")) return undefined;
    if (!(error instanceof Error) || error instanceof SymbolsError) throw error;
    // Whatever the operating system has against a name that a recording made up, such as one that
    // is too long: that object has no symbols, and the others are not affected.
    throw new SymbolsError(0, `${path}: ${error.message}`, { cause: error });
  }
}

/** Where `perf` and clients of debuginfod look, by the environment; what may not be read counts as not set. */
export function defaultPlaces(): SearchPlaces {
  return searchPlaces(environment);
}

function environment(variable: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}
