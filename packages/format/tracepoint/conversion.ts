import { TracepointSyntaxError } from "./tokens.ts";

/** Maximum width and number of digits of a conversion. The kernel's formats have at most 2 digits. */
const MAX_WIDTH = 1024;

/** A part of a print format: text, or the conversion of an argument. */
export type FormatPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "conversion"; readonly conversion: Conversion };

/** A `printf` conversion, including the kernel's extensions of `%p`. */
export interface Conversion {
  /** `d`, `u`, `x`, `X`, `o`, `c`, `s` or `p`. */
  readonly letter: string;
  /** The letters after `%p`: `S`, `I4`, `ISpc`, `M`, `Ub`, `h`. */
  readonly pointer: string;
  readonly bits: 8 | 16 | 32 | 64;
  /** `-` */
  readonly left: boolean;
  /** `0` */
  readonly zeros: boolean;
  /** `#` */
  readonly alternate: boolean;
  /** `+` */
  readonly plus: boolean;
  /** ` `: a space before numbers that are not negative. */
  readonly space: boolean;
  /** Minimum number of characters; `undefined` if an argument has it. */
  readonly width: number | undefined;
  /** Minimum number of digits, or maximum number of characters; -1 if unset, `undefined` if an argument has it. */
  readonly precision: number | undefined;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

// %p[FfSs], %p[Mm][RF], %p[Ii]4[hnlb], %p[Ii]6c, %p[Ii]S[pfs…][hnlb]c, %pU[LlBb], %ph[CDN], %*pb[l]
const POINTER =
  /^(?:[FfSs](?!w)|[Mm][RF]?|[Ii](?:4[hnlb]?|6c?|S[pfsc]*[hnlb]?c?)|U[LlBb]?|h[CDN]?|bl?)/;

/**
 * Parses a print format.
 *
 * @throws {TracepointSyntaxError} If the format has an unknown conversion.
 *
 * @example
 * ```ts
 * import { parseFormat } from "./conversion.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const [text, number] = parseFormat("pid=%5d");
 * assertEquals(text, { kind: "text", text: "pid=" });
 * assertEquals(number?.kind === "conversion" && number.conversion.width, 5);
 * ```
 */
export function parseFormat(format: string): FormatPart[] {
  const parts: FormatPart[] = [];
  let text = "";
  let at = 0;
  while (at < format.length) {
    const c = format[at++] as string;
    if (c === "\\" && at < format.length) {
      const escaped = format[at++] as string;
      text += ESCAPES[escaped] ?? escaped;
    } else if (c !== "%") text += c;
    else if (format[at] === "%") {
      text += "%";
      at++;
    } else {
      const [conversion, size] = parseConversion(format.slice(at, at + 40));
      if (text !== "") parts.push({ kind: "text", text });
      text = "";
      parts.push({ kind: "conversion", conversion });
      at += size;
    }
  }
  if (text !== "") parts.push({ kind: "text", text });
  return parts;
}

function parseConversion(text: string): readonly [Conversion, number] {
  const match = /^([-+ #0]*)([1-9]\d*|\*)?(?:\.(\d*|\*))?(hh|h|ll|l|L|z|Z|t)?([diuxXocsp])/.exec(
    text,
  );
  if (match === null) throw new TracepointSyntaxError(`unknown conversion %${text}`);
  const [whole, flags = "", width = "0", precision, size = "", letter = ""] = match;
  const pointer = letter === "p" ? POINTER.exec(text.slice(whole.length))?.[0] ?? "" : "";
  return [{
    letter: letter === "i" ? "d" : letter,
    pointer,
    bits: size === "hh" ? 8 : size === "h" ? 16 : size === "" ? 32 : 64,
    left: flags.includes("-"),
    zeros: flags.includes("0"),
    alternate: flags.includes("#"),
    plus: flags.includes("+"),
    space: flags.includes(" "),
    width: width === "*" ? undefined : limited(width),
    precision: precision === undefined ? -1 : precision === "*" ? undefined : limited(precision),
  }, whole.length + pointer.length];
}

function limited(digits: string): number {
  const value = Number(digits);
  if (value > MAX_WIDTH) throw new TracepointSyntaxError(`a width of ${digits}`);
  return value;
}

/** Limits a width or precision that comes from an argument. */
export function limitedWidth(value: bigint): number {
  const width = Number(BigInt.asIntN(32, value));
  return Math.max(-1, Math.min(width, MAX_WIDTH));
}

/** Formats a number like `printf`. */
export function formatNumber(
  value: bigint,
  { letter, bits, left, zeros, alternate, plus, space }: Conversion,
  width: number,
  precision: number,
): string {
  const signed = letter === "d";
  const exact = signed ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
  const absolute = exact < 0n ? -exact : exact;
  let digits = absolute.toString(letter === "x" || letter === "X" ? 16 : letter === "o" ? 8 : 10);
  if (precision === 0 && exact === 0n) digits = "";
  digits = digits.padStart(precision, "0");
  let sign = exact < 0n ? "-" : signed && plus ? "+" : signed && space ? " " : "";
  if (alternate && exact !== 0n) {
    if (letter === "x" || letter === "X") sign = `0${letter}`;
    else if (letter === "o" && !digits.startsWith("0")) digits = `0${digits}`;
  }
  if (letter === "X") digits = digits.toUpperCase();
  if (left) return (sign + digits).padEnd(width);
  if (zeros && precision < 0) return sign + digits.padStart(width - sign.length, "0");
  return (sign + digits).padStart(width);
}
