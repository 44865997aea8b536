import { ItaniumParser, NotMangled } from "./itanium_parser.ts";
import { ItaniumPrinter } from "./itanium_printer.ts";

/** Options of {@linkcode demangleItanium}. */
export interface ItaniumOptions {
  /**
   * Show the parameters and the return type of a function; default `true`. Without them the text
   * equals `c++filt -p` and the names of `perf`.
   */
  params?: boolean;
  /** Expand `std::string` to the template behind it, as `c++filt` does; default `false`. */
  verbose?: boolean;
}

/** Longer mangled names are returned unchanged. */
const MAX_MANGLED = 1 << 16;

/**
 * Demangles a C++ name of the Itanium C++ ABI (`_Z…`) to the text of GNU `c++filt`.
 *
 * Time and memory are bounded for any input.
 *
 * @returns the readable name, or `undefined` if `name` is not mangled
 *
 * @example
 * ```ts
 * import { demangleItanium } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(demangleItanium("_ZN3foo3barEi"), "foo::bar(int)");
 * assertEquals(demangleItanium("_ZN3foo3barEi", { params: false }), "foo::bar");
 * assertEquals(demangleItanium("main"), undefined);
 * ```
 */
export function demangleItanium(name: string, options: ItaniumOptions = {}): string | undefined {
  if (name.length > MAX_MANGLED) return undefined;
  const { params = true, verbose = false } = options;
  try {
    if (name.startsWith("_Z")) {
      return ItaniumPrinter.print(new ItaniumParser(name, { params, verbose }).parse());
    }
    const keyed = /^_GLOBAL_[._$]([DI])_/.exec(name);
    if (keyed === null) return undefined;
    const what = keyed[1] === "I" ? "constructors" : "destructors";
    const key = name.slice(keyed[0].length);
    return `global ${what} keyed to ${demangleItanium(key, options) ?? key}`;
  } catch (error) {
    if (error instanceof NotMangled) return undefined;
    throw error;
  }
}
