// Uses Deno's file system API: a SymbolResolver on the files of this machine, and on a bundle.

import { BundleError, SymbolBundle } from "../bundle/bundle.ts";
import { localResolver, type LocalResolverOptions } from "./local_resolver.ts";
import type { SymbolResolver } from "./symbol_resolver.ts";

export { BundleError };

/** Options of {@linkcode openResolver}. */
export interface OpenResolverOptions extends Omit<LocalResolverOptions, "bundle"> {
  /** `--symbols`: path of a symbol bundle. */
  readonly symbols?: string;
}

/**
 * Makes a {@linkcode SymbolResolver} that sees the files of this machine.
 *
 * @throws {BundleError} if the bundle is malformed; its message begins with the path
 * @throws {Deno.errors.NotFound} and the like if the bundle cannot be opened
 *
 * @example
 * ```ts
 * import { openResolver } from "@perfdata/symbols/open-resolver";
 * import { assertEquals } from "@std/assert";
 *
 * const resolver = openResolver({ places: {} });
 * const symbols = await resolver.open({ path: "/no/such/file", kind: "elf" });
 * const [found] = await symbols.find(Float64Array.of(0x1000));
 * assertEquals(found?.cause, "file missing");
 * symbols.close();
 * ```
 */
export function openResolver(options: OpenResolverOptions = {}): SymbolResolver {
  const { symbols, ...others } = options;
  return localResolver(
    symbols === undefined ? others : { ...others, bundle: openBundle(symbols) },
  );
}

/**
 * Reads a symbol bundle from a file.
 *
 * @throws {BundleError} if it is malformed; its message begins with the path
 * @throws {Deno.errors.NotFound} and the like if it cannot be opened
 */
export function openBundle(path: string): SymbolBundle {
  const bytes = Deno.readFileSync(path);
  try {
    return SymbolBundle.open(bytes);
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    throw new BundleError(error.offset, `${path}: ${error.message}`, { cause: error });
  }
}
