/** Escapes in a path segment: `$LT$` and so on (rustc's `legacy` symbol mangling). */
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
  /** Show hashes, crate disambiguators and types of constants, as `c++filt` does; default no. */
  verbose?: boolean;
}

/**
 * Demangles a name of Rust's older scheme: `_ZN`, path segments with their lengths, the last of
 * which is `17h` and a hash of 16 hex digits, `E`.
 *
 * @returns the readable path, or `undefined` if `name` is not of that form
 *
 * @example
 * ```ts
 * import { demangleRustLegacy } from "@perfdata/symbols/demangle";
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
  // A hash has many different digits; a name of C++ that happens to end so does not.
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
  // Control characters and what is no character stay escaped.
  if (point < 0x20 || (point >= 0x7f && point < 0xa0) || point > 0x10ffff) return undefined;
  if (point >= 0xd800 && point <= 0xdfff) return undefined;
  return String.fromCodePoint(point);
}
