// Uses Deno's file system API and node:zlib: a SymbolResolver on the files of this machine.

import type { SymbolBundle } from "./bundle.ts";
import { SymbolsError } from "./errors.ts";
import type { SearchPlaces } from "./file_search.ts";
import { openFileSource } from "./file_source.ts";
import { defaultPlaces } from "./find_file.ts";
import { nodeDecompressors } from "./node_decompressors.ts";
import {
  type ClosableSource,
  type SymbolFiles,
  type SymbolOptions,
  SymbolResolver,
} from "./symbol_resolver.ts";

/** Options of {@linkcode localResolver}. */
export interface LocalResolverOptions extends SymbolOptions {
  /** A bundle, which is asked before any file is. */
  readonly bundle?: SymbolBundle;
  /** Where files are looked for; that of `perf` by default. */
  readonly places?: SearchPlaces;
  /** Release of the recorded kernel. */
  readonly release?: string;
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
  const { places = defaultPlaces(), ...others } = options;
  return new SymbolResolver(localFiles, {
    ...others,
    places,
    elf: { decompressors: nodeDecompressors },
  });
}

/** The files of this machine. */
export const localFiles: SymbolFiles = {
  open: (path) =>
    tolerant(path, (): ClosableSource | undefined => {
      // A pipe or a device would block or never end.
      return Deno.statSync(path).isFile ? openFileSource(path) : undefined;
    }),
  read: (path, limit = Infinity) =>
    tolerant(
      path,
      () => {
        const { isFile, size } = Deno.statSync(path);
        if (!isFile) return undefined;
        checkLimit(path, size, limit);
        const bytes = Deno.readFileSync(path);
        // Files of the kernel have no size before they are read.
        checkLimit(path, bytes.length, limit);
        return bytes;
      },
      () => readWithCat(path),
    ),
};

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
    if (!(error instanceof Error) || error instanceof SymbolsError) throw error;
    // Whatever the operating system has against a name that a recording made up, such as one that
    // is too long: that object has no symbols, and the others are not affected.
    throw new SymbolsError(0, `${path}: ${error.message}`, { cause: error });
  }
}
