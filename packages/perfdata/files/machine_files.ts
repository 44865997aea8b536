import {
  type SearchPlaces,
  searchPlaces,
  SymbolsError,
  windowedSource,
} from "@perfdata/symbols/resolver";
import type { SymbolFiles } from "@perfdata/symbols";
import { nodeFs, ownProcess, type Stats } from "./node_fs.ts";
import { pathSource } from "./path_source.ts";

/** The files of this machine, for the symbol resolver. */
export const machineFiles: SymbolFiles = {
  open: (path) =>
    whereThere(path, (stats) => {
      // A directory is not a file: the cache of build ids has directories of the same names.
      if (stats.isDirectory()) return undefined;
      if (!stats.isFile()) throw new SymbolsError(0, `${path}: not a regular file`);
      return windowed(path);
    }),
  read: (path, limit = Infinity) =>
    whereThere(path, (stats) => {
      if (stats.isDirectory()) return undefined;
      if (!stats.isFile()) throw new SymbolsError(0, `${path}: not a regular file`);
      checkLimit(path, stats.size, limit);
      const bytes = nodeFs().readFileSync(path);
      // Kernel files report size 0, so check the limit after reading.
      checkLimit(path, bytes.length, limit);
      return bytes;
    }),
  isForeign(path) {
    try {
      const { uid } = nodeFs().lstatSync(path);
      const reader = ownProcess()?.getuid?.();
      return uid !== 0 && reader !== undefined && uid !== reader;
    } catch {
      return false;
    }
  },
};

/** The search paths of perf and debuginfod clients, from environment variables. */
export function machinePlaces(): SearchPlaces {
  return searchPlaces(environment);
}

/** The value of an environment variable; `undefined` if reading it is not permitted. */
function environment(name: string): string | undefined {
  try {
    return ownProcess()?.env[name];
  } catch {
    return undefined;
  }
}

function checkLimit(path: string, size: number, limit: number): void {
  if (size <= limit) return;
  throw new SymbolsError(0, `${path} has ${size} bytes, more than the ${limit} that are read`);
}

function whereThere<T>(path: string, read: (stats: Stats) => T): T | undefined {
  if (path === "" || path.includes("\0")) return undefined;
  try {
    return read(nodeFs().statSync(path));
  } catch (error) {
    if (!(error instanceof Error) || error instanceof SymbolsError) throw error;
    const { code } = error as { readonly code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    // A damaged recording may contain names that the operating system rejects, such as too long
    // ones. Only that object then has no symbols.
    throw new SymbolsError(0, `${path}: ${error.message}`, { cause: error });
  }
}

function windowed(path: string): ReturnType<SymbolFiles["open"]> {
  const file = pathSource(path);
  return { ...windowedSource(path, file.size, file.readAt), close: file.close };
}
