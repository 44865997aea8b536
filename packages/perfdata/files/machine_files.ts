import {
  type SearchPlaces,
  searchPlaces,
  SymbolsError,
  windowedSource,
} from "@perfdata/symbols/resolver";
import type { SymbolFiles } from "@perfdata/symbols";
import { nodeFs, ownProcess, type Stats } from "./node_fs.ts";
import { pathSource } from "./path_source.ts";

/** The files of this machine, for finding symbols. */
export const machineFiles: SymbolFiles = {
  open: (path) =>
    whereThere(path, (stats) => {
      // A directory stands for no file there: so is the cache of build ids laid out.
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
      // Files of the kernel have no size before they are read.
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

/** Where perf and clients of debuginfod look, by the environment. */
export function machinePlaces(): SearchPlaces {
  return searchPlaces(environment);
}

/** A variable; what there is no permission for counts as not set. */
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
    // Whatever the operating system has against a name that a recording made up, such as one that
    // is too long: that object has no symbols, and the others are not affected.
    throw new SymbolsError(0, `${path}: ${error.message}`, { cause: error });
  }
}

function windowed(path: string): ReturnType<SymbolFiles["open"]> {
  const file = pathSource(path);
  return { ...windowedSource(path, file.size, file.readAt), close: file.close };
}
