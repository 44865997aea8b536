// Uses Deno's file system API: a SymbolResolver on this machine's files, and on a bundle.

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
 * Creates a {@linkcode SymbolResolver} on this machine's files.
 *
 * @throws {BundleError} If the bundle is malformed; the message begins with the path.
 * @throws {Deno.errors.NotFound} and similar errors if the bundle cannot be opened.
 *
 * @example
 * ```ts
 * import { openResolver } from "@perfdata/symbols/files";
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
 * @throws {BundleError} If it is malformed; the message begins with the path.
 * @throws {Deno.errors.NotFound} and similar errors if it cannot be opened.
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
