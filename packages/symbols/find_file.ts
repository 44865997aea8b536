// Uses Deno's file API and environment; see file_source.ts.

import { ElfFile, type ElfOpenOptions } from "./elf/elf_file.ts";
import { SymbolsError } from "./errors.ts";
import {
  type OpenedCandidate,
  type SearchPlaces,
  type SearchResult,
  searchSymbolFiles,
  type WantedFile,
} from "./file_search.ts";
import { type FileSource, openFileSource } from "./file_source.ts";
import { nodeDecompressors } from "./node_decompressors.ts";

/** The files of a search; closing them makes their `ElfFile`s unusable. */
export interface FoundFiles extends SearchResult, Disposable {
  /** Closes the files. */
  close(): void;
}

/**
 * Runs {@linkcode searchSymbolFiles} on the file system. Nothing is downloaded.
 *
 * @throws {Deno.errors.NotCapable} without permission to read a candidate
 *
 * @example
 * ```ts
 * import { findSymbolFiles } from "@perfdata/symbols/find-file";
 * import { assertEquals } from "@std/assert";
 *
 * using found = findSymbolFiles({ path: Deno.execPath() }, {});
 * assertEquals(found.runtime?.path, Deno.execPath());
 * ```
 */
export function findSymbolFiles(
  wanted: WantedFile,
  places: SearchPlaces,
  options: ElfOpenOptions = {},
): FoundFiles {
  const opened = new Map<ElfFile, FileSource>();
  const search = searchSymbolFiles(wanted, places);
  const close = (): void => {
    for (const source of opened.values()) source.close();
  };
  let step = search.next();
  try {
    while (!step.done) {
      const file = open(step.value.path, options);
      if (file !== undefined && !(file instanceof SymbolsError)) opened.set(file.elf, file.source);
      step = search.next(file);
    }
  } catch (error) {
    close();
    throw error;
  }
  const result = step.value;
  const used = new Set([result.symbols?.elf, result.runtime?.elf]);
  for (const [elf, source] of opened) if (!used.has(elf)) source.close();
  return { ...result, close, [Symbol.dispose]: close };
}

function open(
  path: string,
  options: ElfOpenOptions,
): (OpenedCandidate & { source: FileSource }) | SymbolsError | undefined {
  try {
    // A pipe or a device would block or never end.
    if (!Deno.statSync(path).isFile) return undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return undefined;
    }
    if (error instanceof Deno.errors.PermissionDenied) return new SymbolsError(0, error.message);
    throw error;
  }
  let source: FileSource;
  try {
    source = openFileSource(path);
  } catch (error) {
    if (error instanceof Deno.errors.PermissionDenied) return new SymbolsError(0, error.message);
    throw error;
  }
  try {
    return { source, elf: ElfFile.open(source, { decompressors: nodeDecompressors, ...options }) };
  } catch (error) {
    source.close();
    if (error instanceof SymbolsError) return error;
    throw error;
  }
}

/**
 * The places that `perf` and debuginfod clients use by default, from the environment: `HOME`,
 * `PERF_BUILDID_DIR`, `DEBUGINFOD_CACHE_PATH`, `XDG_CACHE_HOME`. What there is no permission for
 * counts as not set.
 */
export function defaultPlaces(): SearchPlaces {
  const home = environment("HOME");
  const cache = environment("XDG_CACHE_HOME") ??
    (home === undefined ? undefined : `${home}/.cache`);
  const debuginfod = environment("DEBUGINFOD_CACHE_PATH") ??
    (cache === undefined ? undefined : `${cache}/debuginfod_client`);
  const buildIds = environment("PERF_BUILDID_DIR") ??
    (home === undefined ? undefined : `${home}/.debug`);
  return {
    debugRoot: "/usr/lib/debug",
    ...(buildIds === undefined ? {} : { buildIdCache: buildIds }),
    ...(debuginfod === undefined ? {} : { debuginfodCache: debuginfod }),
  };
}

function environment(variable: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}
