// Uses Deno's file system API and node:zlib: a SymbolResolver on this machine's files.

import type { SymbolBundle } from "../bundle/bundle.ts";
import type { SearchPlaces } from "../files/file_search.ts";
import { defaultPlaces, localFiles } from "../files/local_files.ts";
import { nodeDecompressors } from "../files/node_decompressors.ts";
import type { RecordedMachine, ResolverOptions, SymbolOptions } from "./options.ts";
import type { SymbolFiles } from "../files/symbol_files.ts";
import { SymbolResolver } from "./symbol_resolver.ts";

/** Options of {@linkcode localResolver}. */
export interface LocalResolverOptions extends SymbolOptions {
  /** A bundle, which is searched before files. */
  readonly bundle?: SymbolBundle;
  /** Places to search; by default those of `perf`. */
  readonly places?: SearchPlaces;
  /** Access to files; by default this machine's. */
  readonly files?: SymbolFiles;
  /** The recorded machine, read whenever an object is opened. */
  readonly machine?: RecordedMachine;
  /** Called between parts of the work, and awaited if it returns a promise. */
  readonly turn?: ResolverOptions["turn"];
}

/**
 * Creates a {@linkcode SymbolResolver} on this machine's files. Unlike `openResolver`, this module
 * does not load the reader of bundles, which takes longer than counting a short recording.
 *
 * @example
 * ```ts
 * import { localResolver } from "@perfdata/symbols/files";
 * import { assertEquals } from "@std/assert";
 *
 * const resolver = localResolver({ places: {} });
 * const symbols = await resolver.open({ path: "/no/such/file", kind: "elf" });
 * const [found] = await symbols.find(Float64Array.of(0x1000));
 * assertEquals(found?.cause, "file missing");
 * symbols.close();
 * ```
 */
export function localResolver(options: LocalResolverOptions = {}): SymbolResolver {
  const { places = defaultPlaces(), files = localFiles, ...others } = options;
  return new SymbolResolver(files, {
    ...others,
    places,
    elf: { decompressors: nodeDecompressors },
  });
}
