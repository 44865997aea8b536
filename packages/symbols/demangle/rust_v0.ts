import type { RustOptions } from "./rust_legacy.ts";

/** Thrown for an invalid name. */
class NotMangled extends Error {}

const FAIL = new NotMangled("not a mangled name");

const MAX_DEPTH = 300;
/** Limits against names that back references make grow exponentially. */
const MAX_LENGTH = 1 << 16;
const MAX_STEPS = 1 << 17;
const MAX_MANGLED = 1 << 16;

/** `<basic-type>` (RFC 2603). */
const BASIC_TYPES: Readonly<Record<string, string>> = {
  a: "i8",
  b: "bool",
  c: "char",
  d: "f64",
  e: "str",
  f: "f32",
  h: "u8",
  i: "isize",
  j: "usize",
  l: "i32",
  m: "u32",
  n: "i128",
  o: "u128",
  p: "_",
  s: "i16",
  t: "u16",
  u: "()",
  v: "...",
  x: "i64",
  y: "u64",
  z: "!",
};

/**
 * Demangles a name of Rust's `v0` scheme (RFC 2603): `_R…`.
 *
 * Time and memory are bounded for any input.
 *
 * @returns the readable path, or `undefined` if `name` does not have that form
 *
 * @example
 * ```ts
 * import { demangleRustV0 } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(demangleRustV0("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
 * ```
 */
export function demangleRustV0(name: string, options: RustOptions = {}): string | undefined {
  if (name.length > MAX_MANGLED) return undefined;
  const match = /^_?_R([A-Z][A-Za-z0-9_]*)(?:\..*)?$/.exec(name);
  const body = match?.[1];
  if (body === undefined) return undefined;
  try {
    return new Demangler(body, options.verbose ?? false).demangle();
  } catch (error) {
    if (error instanceof NotMangled) return undefined;
    throw error;
  }
}

/**
 * Parses and prints in one pass. Each method has the name of its production in RFC 2603. They are
 * one class because back references restart any of them elsewhere in the name.
 */
class Demangler {
  readonly #text: string;
  readonly #verbose: boolean;
  #at = 0;
  #out = "";
  #silent = 0;
  #depth = 0;
  #steps = 0;
  #boundLifetimes = 0;

  constructor(text: string, verbose: boolean) {
    this.#text = text;
    this.#verbose = verbose;
  }

  demangle(): string {
    this.#path(true);
    // The instantiating crate is not printed.
    if (this.#at < this.#text.length) this.#silently(() => this.#path(false));
    if (this.#at < this.#text.length) throw FAIL;
    return this.#out;
  }

  #print(text: string): void {
    if (this.#silent > 0) return;
    this.#out += text;
    if (this.#out.length > MAX_LENGTH) throw FAIL;
  }

  #silently(parse: () => void): void {
    this.#silent++;
    parse();
    this.#silent--;
  }

  #enter(): void {
    if (++this.#depth > MAX_DEPTH || ++this.#steps > MAX_STEPS) throw FAIL;
  }

  #next(): string {
    const char = this.#text.charAt(this.#at);
    if (char === "") throw FAIL;
    this.#at++;
    return char;
  }

  #accept(char: string): boolean {
    if (this.#text.charAt(this.#at) !== char) return false;
    this.#at++;
    return true;
  }

  /** `<base-62-number>`: `_` is 0, `0_` is 1 and so on. */
  #base62(): bigint {
    if (this.#accept("_")) return 0n;
    let value = 0n;
    while (true) {
      const char = this.#next();
      if (char === "_") return value + 1n;
      const digit = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".indexOf(char);
      value = value * 62n + BigInt(digit);
      if (value >= 1n << 64n) throw FAIL;
    }
  }

  #optionalBase62(tag: string): bigint {
    return this.#accept(tag) ? this.#base62() + 1n : 0n;
  }

  #identifier(): string {
    const punycode = this.#accept("u");
    const digits = /^(?:0|[1-9][0-9]*)/.exec(this.#text.slice(this.#at, this.#at + 8))?.[0];
    if (digits === undefined) throw FAIL;
    this.#at += digits.length;
    this.#accept("_");
    const end = this.#at + Number(digits);
    if (end > this.#text.length) throw FAIL;
    const text = this.#text.slice(this.#at, end);
    this.#at = end;
    return punycode ? decodePunycode(text) : text;
  }

  /** Parses again at an earlier position. */
  #backReference(parse: () => void): void {
    const target = Number(this.#base62());
    // Positions count from after `_R`, and must precede this reference.
    const resume = this.#at;
    if (target >= resume - 1) throw FAIL;
    if (this.#silent === 0) {
      this.#at = target;
      parse();
      this.#at = resume;
    }
  }

  #path(inValue: boolean): void {
    this.#enter();
    const tag = this.#next();
    switch (tag) {
      case "C": {
        const disambiguator = this.#optionalBase62("s");
        this.#print(this.#identifier());
        if (this.#verbose) this.#print(`[${disambiguator.toString(16)}]`);
        break;
      }
      case "N": {
        const namespace = this.#next();
        if (!/[A-Za-z]/.test(namespace)) throw FAIL;
        this.#path(inValue);
        const disambiguator = this.#optionalBase62("s");
        const name = this.#identifier();
        if (/[A-Z]/.test(namespace)) {
          const what = namespace === "C" ? "closure" : namespace === "S" ? "shim" : namespace;
          this.#print(`::{${what}${name === "" ? "" : ":" + name}#${disambiguator}}`);
        } else if (name !== "") this.#print("::" + name);
        break;
      }
      case "M":
      case "X":
        // The path of the impl block is not printed.
        this.#optionalBase62("s");
        this.#silently(() => this.#path(inValue));
        this.#qualifiedSelf(tag === "X");
        break;
      case "Y":
        this.#qualifiedSelf(true);
        break;
      case "I":
        this.#path(inValue);
        this.#print(inValue ? "::<" : "<");
        this.#list(() => this.#genericArg());
        this.#print(">");
        break;
      case "B":
        this.#backReference(() => this.#path(inValue));
        break;
      default:
        throw FAIL;
    }
    this.#depth--;
  }

  #qualifiedSelf(ofTrait: boolean): void {
    this.#print("<");
    this.#type();
    if (ofTrait) {
      this.#print(" as ");
      this.#path(false);
    }
    this.#print(">");
  }

  /** Prints comma-separated items up to `E`. Returns their count. */
  #list(item: () => void): number {
    let count = 0;
    while (!this.#accept("E")) {
      if (count > 0) this.#print(", ");
      item();
      count++;
    }
    return count;
  }

  #genericArg(): void {
    if (this.#accept("L")) this.#lifetime(this.#base62());
    else if (this.#accept("K")) this.#const();
    else this.#type();
  }

  #lifetime(index: bigint): void {
    this.#print("'");
    if (index === 0n) return this.#print("_");
    const depth = this.#boundLifetimes - Number(index);
    if (depth < 0) throw FAIL;
    this.#print(depth < 26 ? String.fromCharCode(97 + depth) : `_${depth}`);
  }

  /** `<binder>` and the type that uses its lifetimes. */
  #binder(parse: () => void): void {
    const outer = this.#boundLifetimes;
    const bound = Number(this.#optionalBase62("G"));
    if (bound > 0) {
      if (bound > 1000) throw FAIL;
      this.#print("for<");
      for (let i = 0; i < bound; i++) {
        if (i > 0) this.#print(", ");
        this.#boundLifetimes++;
        this.#lifetime(1n);
      }
      this.#print("> ");
    }
    parse();
    this.#boundLifetimes = outer;
  }

  #type(): void {
    this.#enter();
    const tag = this.#next();
    const basic = BASIC_TYPES[tag];
    if (basic !== undefined) this.#print(basic);
    else this.#compoundType(tag);
    this.#depth--;
  }

  #compoundType(tag: string): void {
    switch (tag) {
      case "R":
      case "Q":
        this.#print("&");
        if (this.#accept("L")) {
          const lifetime = this.#base62();
          if (lifetime !== 0n) {
            this.#lifetime(lifetime);
            this.#print(" ");
          }
        }
        if (tag === "Q") this.#print("mut ");
        return this.#type();
      case "P":
        this.#print("*const ");
        return this.#type();
      case "O":
        this.#print("*mut ");
        return this.#type();
      case "A":
        this.#print("[");
        this.#type();
        this.#print("; ");
        this.#const();
        return this.#print("]");
      case "S":
        this.#print("[");
        this.#type();
        return this.#print("]");
      case "T": {
        this.#print("(");
        const count = this.#list(() => this.#type());
        return this.#print(count === 1 ? ",)" : ")");
      }
      case "F":
        return this.#binder(() => this.#functionType());
      case "D": {
        this.#print("dyn ");
        this.#binder(() => {
          let count = 0;
          while (!this.#accept("E")) {
            if (count++ > 0) this.#print(" + ");
            this.#dynTrait();
          }
        });
        if (!this.#accept("L")) throw FAIL;
        const lifetime = this.#base62();
        if (lifetime !== 0n) {
          this.#print(" + ");
          this.#lifetime(lifetime);
        }
        return;
      }
      case "B":
        return this.#backReference(() => this.#type());
      default:
        this.#at--;
        return this.#path(false);
    }
  }

  #functionType(): void {
    if (this.#accept("U")) this.#print("unsafe ");
    if (this.#accept("K")) {
      const abi = this.#accept("C") ? "C" : this.#identifier().replaceAll("_", "-");
      this.#print(`extern "${abi}" `);
    }
    this.#print("fn(");
    this.#list(() => this.#type());
    this.#print(")");
    if (this.#accept("u")) return; // The return type () is not printed.
    this.#print(" -> ");
    this.#type();
  }

  #dynTrait(): void {
    let open = this.#pathWithOpenGenerics();
    while (this.#accept("p")) {
      this.#print(open ? ", " : "<");
      open = true;
      this.#print(this.#identifier() + " = ");
      this.#type();
    }
    if (open) this.#print(">");
  }

  /**
   * A path whose list of generic arguments stays open, for associated types. Returns whether it is
   * open.
   */
  #pathWithOpenGenerics(): boolean {
    this.#enter();
    let open = false;
    if (this.#accept("B")) {
      this.#backReference(() => open = this.#pathWithOpenGenerics());
    } else if (this.#accept("I")) {
      this.#path(false);
      this.#print("<");
      this.#list(() => this.#genericArg());
      open = true;
    } else this.#path(false);
    this.#depth--;
    return open;
  }

  #const(): void {
    this.#enter();
    if (this.#accept("B")) {
      this.#backReference(() => this.#const());
      this.#depth--;
      return;
    }
    const type = this.#next();
    switch (type) {
      case "p":
        this.#print("_");
        break;
      case "a":
      case "s":
      case "l":
      case "x":
      case "n":
      case "i":
        if (this.#accept("n")) this.#print("-");
        this.#integer();
        break;
      case "h":
      case "t":
      case "m":
      case "y":
      case "o":
      case "j":
        this.#integer();
        break;
      case "b": {
        const digits = this.#hex();
        if (digits !== "0" && digits !== "1") throw FAIL;
        this.#print(digits === "1" ? "true" : "false");
        break;
      }
      case "c":
        this.#print(quoteChar(parseInt(this.#hex(), 16)));
        break;
      default:
        throw FAIL;
    }
    if (this.#verbose && type !== "p") this.#print(": " + BASIC_TYPES[type]);
    this.#depth--;
  }

  /** Hex digits up to `_`. */
  #hex(): string {
    const end = this.#text.indexOf("_", this.#at);
    const digits = this.#text.slice(this.#at, end);
    if (end < 0 || !/^[0-9a-f]+$/.test(digits)) throw FAIL;
    this.#at = end + 1;
    return digits;
  }

  #integer(): void {
    const digits = this.#hex();
    this.#print(digits.length > 16 ? "0x" + digits : BigInt("0x" + digits).toString());
  }
}

function quoteChar(point: number): string {
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) throw FAIL;
  const escapes: Readonly<Record<number, string>> = {
    9: "\\t",
    10: "\\n",
    13: "\\r",
    39: "\\'",
    92: "\\\\",
  };
  const escape = escapes[point];
  if (escape !== undefined) return `'${escape}'`;
  const printable = point >= 0x20 && point < 0x7f;
  return printable ? `'${String.fromCodePoint(point)}'` : `'\\u{${point.toString(16)}}'`;
}

/** Punycode (RFC 3492) with `_` in the place of `-`. */
function decodePunycode(text: string): string {
  const split = text.lastIndexOf("_");
  const points = Array.from(split > 0 ? text.slice(0, split) : "", (c) => c.charCodeAt(0));
  const digits = split >= 0 ? text.slice(split + 1) : text;
  let code = 128;
  let bias = 72;
  let index = 0;
  let at = 0;
  let first = true;
  while (at < digits.length) {
    const before = index;
    let weight = 1;
    for (let k = 36;; k += 36) {
      const digit = "abcdefghijklmnopqrstuvwxyz0123456789".indexOf(digits.charAt(at++) || "!");
      if (digit < 0) throw FAIL;
      index += digit * weight;
      const threshold = Math.min(Math.max(k - bias, 1), 26);
      if (digit < threshold) break;
      weight *= 36 - threshold;
      if (weight > 2 ** 40) throw FAIL;
    }
    const count = points.length + 1;
    let delta = first ? Math.floor((index - before) / 700) : Math.floor((index - before) / 2);
    first = false;
    delta += Math.floor(delta / count);
    let k = 0;
    for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
    bias = k + Math.floor((36 * delta) / (delta + 38));
    code += Math.floor(index / count);
    index %= count;
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw FAIL;
    points.splice(index, 0, code);
    index++;
  }
  return String.fromCodePoint(...points);
}
