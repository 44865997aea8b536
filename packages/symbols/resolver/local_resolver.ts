// Uses Deno's file system API and node:zlib: a SymbolResolver on the files of this machine.

import type { SymbolBundle } from "../bundle/bundle.ts";
import type { SearchPlaces } from "../files/file_search.ts";
import { defaultPlaces, localFiles } from "../files/local_files.ts";
import { nodeDecompressors } from "../files/node_decompressors.ts";
import type { RecordedMachine, SymbolOptions } from "./options.ts";
import type { SymbolFiles } from "../files/symbol_files.ts";
import { SymbolResolver } from "./symbol_resolver.ts";

/** Options of {@linkcode localResolver}. */
export interface LocalResolverOptions extends SymbolOptions {
  /** A bundle, which is asked before any file is. */
  readonly bundle?: SymbolBundle;
  /** Where files are looked for; that of `perf` by default. */
  readonly places?: SearchPlaces;
  /** The files that it sees: those of this machine by default. */
  readonly files?: SymbolFiles;
  /** The recorded machine, read whenever an object is opened. */
  readonly machine?: RecordedMachine;
}

/**
 * Makes a {@linkcode SymbolResolver} that sees the files of this machine: `openResolver` without
 * what reads bundles, which takes longer to load than a short recording to count.
 *
 * @example
 * ```ts
 * import { localResolver } from "@perfdata/symbols/local-resolver";
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
