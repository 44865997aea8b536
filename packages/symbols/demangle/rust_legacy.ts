/** Escapes in a path segment, such as `$LT$` (rustc's `legacy` symbol mangling). */
const ESCAPES: Readonly<Record<string, string>> = {
  SP: "@",
  BP: "*",
  RF: "&",
  LT: "<",
  GT: ">",
  LP: "(",
  RP: ")",
  C: ",",
};

/** Options of the Rust demanglers. */
export interface RustOptions {
  /**
   * Show hashes, crate disambiguators and types of constants, as `c++filt` does; default `false`.
   */
  verbose?: boolean;
}

/**
 * Demangles a name of Rust's legacy scheme: `_ZN`, path segments with their lengths, `E`. The last
 * segment is `17h` and a hash of 16 hex digits.
 *
 * @returns the readable path, or `undefined` if `name` does not have that form
 *
 * @example
 * ```ts
 * import { demangleRustLegacy } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(
 *   demangleRustLegacy("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"),
 *   "core::fmt::Formatter::pad",
 * );
 * ```
 */
export function demangleRustLegacy(name: string, options: RustOptions = {}): string | undefined {
  const match = /^_?_ZN([\w.:$@]*17h[0-9a-f]{16})E(?:\..*)?$/s.exec(name);
  const body = match?.[1];
  if (body === undefined) return undefined;
  // Real hashes have many different digits. A C++ name may end in something that looks similar.
  if (new Set(body.slice(-16)).size < 5) return undefined;
  const segments: string[] = [];
  let at = 0;
  while (at < body.length) {
    const digits = /^[1-9][0-9]*/.exec(body.slice(at, at + 8))?.[0];
    if (digits === undefined) return undefined;
    at += digits.length;
    const length = Number(digits);
    if (at + length > body.length) return undefined;
    segments.push(unescape(body.slice(at, at + length)));
    at += length;
  }
  if (segments.length < 2) return undefined;
  if (!options.verbose) segments.pop();
  return segments.join("::");
}

function unescape(segment: string): string {
  let text = "";
  let rest = segment.startsWith("_$") ? segment.slice(1) : segment;
  while (rest !== "") {
    if (rest.startsWith("..")) {
      text += "::";
      rest = rest.slice(2);
    } else if (rest.startsWith(".")) {
      text += ".";
      rest = rest.slice(1);
    } else if (rest.startsWith("$")) {
      const end = rest.indexOf("$", 1);
      const char = end < 0 ? undefined : escaped(rest.slice(1, end));
      if (char === undefined) return text + rest;
      text += char;
      rest = rest.slice(end + 1);
    } else {
      const end = rest.search(/[$.]/);
      if (end < 0) return text + rest;
      text += rest.slice(0, end);
      rest = rest.slice(end);
    }
  }
  return text;
}

function escaped(code: string): string | undefined {
  if (Object.hasOwn(ESCAPES, code)) return ESCAPES[code];
  if (!/^u[0-9a-f]{1,6}$/.test(code)) return undefined;
  const point = parseInt(code.slice(1), 16);
  // Control characters and invalid code points stay escaped.
  if (point < 0x20 || (point >= 0x7f && point < 0xa0) || point > 0x10ffff) return undefined;
  if (point >= 0xd800 && point <= 0xdfff) return undefined;
  return String.fromCodePoint(point);
}
