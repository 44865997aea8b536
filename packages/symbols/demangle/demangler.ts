import { demangleItanium } from "./itanium.ts";
import { demangleRustLegacy } from "./rust_legacy.ts";
import { demangleRustV0 } from "./rust_v0.ts";

/** Options of {@linkcode demangle} and {@linkcode Demangler}. */
export interface DemangleOptions {
  /**
   * Show the parameters and the return type of C++ functions; default `true`. `perf` omits them.
   */
  params?: boolean;
  /**
   * Show details that are usually hidden: the template behind `std::string`, hashes of Rust names;
   * default `false`. The text equals that of `c++filt`, without the option that of `c++filt -i`.
   */
  verbose?: boolean;
}

/**
 * Demangles a symbol name of C++ (Itanium ABI) or Rust (legacy and v0). A suffix `@plt` or a symbol
 * version (`@GLIBC_2.34`) is kept. Other names, like those of D and Swift, are returned unchanged.
 *
 * @example
 * ```ts
 * import { demangle } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(demangle("_ZNSt6vectorIiSaIiEE9push_backERKi", { params: false }),
 *   "std::vector<int, std::allocator<int> >::push_back");
 * assertEquals(demangle("_Z3foov@plt"), "foo()@plt");
 * assertEquals(demangle("main"), "main");
 * ```
 */
export function demangle(name: string, options: DemangleOptions = {}): string {
  if (!name.startsWith("_")) return name;
  const at = name.indexOf("@");
  const mangled = at > 0 ? name.slice(0, at) : name;
  const suffix = at > 0 ? name.slice(at) : "";
  const readable = demangleRustV0(mangled, options) ?? demangleRustLegacy(mangled, options) ??
    demangleItanium(mangled, options);
  return readable === undefined ? name : readable + suffix;
}

/**
 * {@linkcode demangle} with a cache: each distinct name is demangled once.
 *
 * @example
 * ```ts
 * import { Demangler } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const demangler = new Demangler({ params: false });
 * assertEquals(demangler.demangle("_Z3fooi"), "foo");
 * assertEquals(demangler.demangle("_Z3fooi"), "foo");
 * ```
 */
export class Demangler {
  readonly #options: DemangleOptions;
  readonly #limit: number;
  #known = new Map<string, string>();

  /**
   * Creates an empty cache.
   *
   * @param options display options
   * @param limit number of cached names; if it is exceeded, the cache is cleared
   */
  constructor(options: DemangleOptions = {}, limit = 1 << 18) {
    this.#options = options;
    this.#limit = limit;
  }

  /** Demangles `name`, or returns the cached result. */
  demangle(name: string): string {
    if (!name.startsWith("_")) return name;
    let readable = this.#known.get(name);
    if (readable === undefined) {
      readable = demangle(name, this.#options);
      if (this.#known.size >= this.#limit) this.#known.clear();
      this.#known.set(name, readable);
    }
    return readable;
  }
}
