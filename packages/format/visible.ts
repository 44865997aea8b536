/**
 * What is not to act on a terminal: controls, among them escape sequences and line ends; line and
 * paragraph separators; marks that change the direction of text. A lone surrogate stands for a byte
 * that is no UTF-8 (see `decodeText`).
 */
const INVISIBLE =
  /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]|(?<![\ud800-\udbff])[\udc80-\udcff]/gu;

const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Makes a name from a recording fit for a table or a message: a command, a path or an event may hold
 * whatever a program chose, among it what moves the cursor, clears the screen or begins a line.
 *
 * @returns The text with `\n`, `\x1b` or `\u202e` in place of what would act.
 *
 * @example
 * ```ts
 * import { visible } from "@perfdata/format/visible";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(visible("a\x1b[2J\nb"), "a\\x1b[2J\\nb");
 * assertEquals(visible("größer"), "größer");
 * ```
 */
export function visible(text: string): string {
  // Nearly all are plain, which is quicker to see.
  if (/^[ -~]*$/.test(text)) return text;
  return text.replace(INVISIBLE, (found) => {
    const code = found.charCodeAt(0);
    if (code >= 0xdc80) return hex(code - 0xdc00);
    return NAMED[found] ?? (code < 0x100 ? hex(code) : `\\u${code.toString(16)}`);
  });
}

/**
 * The same for text of several lines that goes to a terminal: ends of lines and tabs stay.
 *
 * @param bytes UTF-8; a piece of a longer text may begin or end anywhere.
 *
 * @example
 * ```ts
 * import { visibleBytes } from "@perfdata/format/visible";
 * import { assertEquals } from "@std/assert";
 *
 * const text = new TextEncoder().encode("comm: \x1b]0;title\x07\n");
 * assertEquals(new TextDecoder().decode(visibleBytes(text)), "comm: \\x1b]0;title\\x07\n");
 * ```
 */
export function visibleBytes(bytes: Uint8Array): Uint8Array {
  let text = "";
  let from = 0;
  let changed: Uint8Array[] | undefined;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    let end = i + 1;
    if (byte >= 0x20 && byte < 0x7f || byte === 0x0a || byte === 0x09) continue;
    if (byte >= 0x80) {
      // Controls of 8 bits; what continues a character that the piece before began may be one.
      if (byte === 0xc2 && ((bytes[i + 1] ?? 0) & 0xe0) === 0x80) {
        text = hex(bytes[i + 1] as number);
        end = i + 2;
      } else if (i === 0 && byte < 0xa0) text = hex(byte);
      else continue;
    } else text = NAMED[String.fromCharCode(byte)] ?? hex(byte);
    (changed ??= []).push(bytes.subarray(from, i), encoder.encode(text));
    from = end;
    i = end - 1;
  }
  if (changed === undefined) return bytes;
  changed.push(bytes.subarray(from));
  const all = new Uint8Array(changed.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of changed) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/**
 * A cell of CSV that no spreadsheet takes for a formula: text that begins with `=`, `+`, `-` or `@` gets
 * an apostrophe in front, as OWASP recommends. Numbers and a lone sign stay as they are.
 *
 * @example
 * ```ts
 * import { safeCell } from "@perfdata/format/visible";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(["=1+1", "-0.5", "-", "main"].map(safeCell), ["'=1+1", "-0.5", "-", "main"]);
 * ```
 */
export function safeCell(cell: string): string {
  if (!/^[=+\-@\t\r]/.test(cell)) return cell;
  return /^[+-]?(?:\d+(?:\.\d+)?)?$/.test(cell) ? cell : `'${cell}`;
}

const encoder = new TextEncoder();

function hex(code: number): string {
  return `\\x${code.toString(16).padStart(2, "0")}`;
}
