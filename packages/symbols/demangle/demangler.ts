import { demangleItanium } from "./itanium.ts";
import { demangleRustLegacy } from "./rust_legacy.ts";
import { demangleRustV0 } from "./rust_v0.ts";

/** Options of {@linkcode demangle} and {@linkcode Demangler}. */
export interface DemangleOptions {
  /**
   * Show the parameters and the return type of C++ functions; default `true`. `perf` shows names
   * without them.
   */
  params?: boolean;
  /**
   * Show what is usually left out: the template that `std::string` stands for, hashes of Rust
   * names; default `false`. The text is then that of `c++filt`, else that of `c++filt -i`.
   */
  verbose?: boolean;
}

/**
 * Makes a symbol name readable: C++ (Itanium ABI) and Rust (legacy and v0). A suffix `@plt` or of a
 * symbol version (`@GLIBC_2.34`) is kept. Every other name, those of D and Swift among them, comes
 * back as it is.
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
 * {@linkcode demangle} with a memory: each distinct name is demangled once.
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
   * Starts with an empty memory.
   *
   * @param options how names are shown
   * @param limit names remembered; when there are more, all are forgotten
   */
  constructor(options: DemangleOptions = {}, limit = 1 << 18) {
    this.#options = options;
    this.#limit = limit;
  }

  /** The readable form of `name`. */
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
