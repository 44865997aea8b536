import { joinBytes } from "../columns/enlarge.ts";
import { decodeText, encodeText } from "./text.ts";

/**
 * Characters with an effect on a terminal: control characters, including escape sequences and line ends; line
 * and paragraph separators; marks that change the direction of text. A lone surrogate represents a byte
 * that is not UTF-8 (see `decodeText`).
 */
const INVISIBLE =
  /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]|(?<![\ud800-\udbff])[\udc80-\udcff]/gu;

const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Makes a name from a recording safe for a table or a message. Commands, paths and events may contain
 * any characters, including ones that move the cursor, clear the screen or begin a line.
 *
 * @returns The text with escapes such as `\n`, `\x1b` or `\u202e` for these characters.
 *
 * @example
 * ```ts
 * import { visible } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(visible("a\x1b[2J\nb"), "a\\x1b[2J\\nb");
 * assertEquals(visible("größer"), "größer");
 * ```
 */
export function visible(text: string): string {
  // Nearly all texts are plain ASCII, which this check finds faster.
  if (/^[ -~]*$/.test(text)) return text;
  return text.replace(INVISIBLE, (found) => {
    const code = found.charCodeAt(0);
    if (code >= 0xdc80) return hex(code - 0xdc00);
    return NAMED[found] ?? (code < 0x100 ? hex(code) : `\\u${code.toString(16)}`);
  });
}

/**
 * Makes text of several lines safe for a terminal, piece by piece; keeps line feeds and tabs.
 *
 * A piece may end within a character. Its bytes then wait for the next piece, since their meaning is not yet
 * known. The concatenated output is that of the whole text.
 *
 * @example
 * ```ts
 * import { VisibleText } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * const text = new VisibleText();
 * const shown = text.take(new TextEncoder().encode("comm: \x1b]0;title\x07\n"));
 * assertEquals(new TextDecoder().decode(shown), "comm: \\x1b]0;title\\x07\n");
 * ```
 */
export class VisibleText {
  #held: Uint8Array = new Uint8Array(0);

  /** Adds a piece of UTF-8; returns the text that is complete so far. */
  take(bytes: Uint8Array): Uint8Array {
    if (this.#held.length === 0 && isPlain(bytes)) return bytes;
    const all = joinBytes([this.#held, bytes]);
    const end = all.length - unfinished(all);
    this.#held = all.slice(end);
    return shown(all.subarray(0, end));
  }

  /** Returns the rest: the bytes of an incomplete character. */
  end(): Uint8Array {
    const rest = shown(this.#held);
    this.#held = new Uint8Array(0);
    return rest;
  }
}

/** Whether the bytes are only visible ASCII, line feeds and tabs, as in nearly all text. */
function isPlain(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if ((byte < 0x20 && byte !== 0x0a && byte !== 0x09) || byte >= 0x7f) return false;
  }
  return true;
}

/** Returns the number of bytes at the end that may begin an incomplete character. */
function unfinished(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return length > back ? back : 0;
  }
  return 0;
}

function shown(bytes: Uint8Array): Uint8Array {
  const text = decodeText(bytes);
  return encodeText(text.replace(/[^\n\t]+/g, visible));
}

/**
 * Escapes line feeds in a name as `\\n`, for text whose other characters stay as perf prints them.
 *
 * @example
 * ```ts
 * import { inLine } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * const name = inLine(new TextEncoder().encode("a\nb"));
 * assertEquals(new TextDecoder().decode(name), "a\\nb");
 * ```
 */
export function inLine(name: Uint8Array): Uint8Array {
  if (!name.includes(0x0a)) return name;
  return Uint8Array.from([...name].flatMap((byte) => byte === 0x0a ? [0x5c, 0x6e] : [byte]));
}

/**
 * Protects a CSV cell against evaluation in a spreadsheet: text that begins with `=`, `+`, `-` or `@` gets
 * an apostrophe in front, as OWASP recommends. Numbers and a single sign stay unchanged.
 *
 * @example
 * ```ts
 * import { safeCell } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(["=1+1", "-0.5", "-", "main"].map(safeCell), ["'=1+1", "-0.5", "-", "main"]);
 * ```
 */
export function safeCell(cell: string): string {
  if (!/^[=+\-@\t\r]/.test(cell)) return cell;
  return /^[+-]?(?:\d+(?:\.\d+)?)?$/.test(cell) ? cell : `'${cell}`;
}

function hex(code: number): string {
  return `\\x${code.toString(16).padStart(2, "0")}`;
}

/**
 * Formats a table. Columns are padded to the width of their longest cell, with two spaces between
 * them.
 *
 * @param isLeft Whether a column is left-aligned.
 * @param most Maximum width of a column; longer cells stay as they are.
 *
 * @example
 * ```ts
 * import { alignedRows } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * const rows = [["CALLS", "NAME"], ["7", "main"]];
 * assertEquals(alignedRows(rows, (column) => column === 1), ["CALLS  NAME", "    7  main"]);
 * ```
 */
export function alignedRows(
  rows: readonly (readonly string[])[],
  isLeft: (column: number) => boolean,
  most: number = Infinity,
): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, { length }] of row.entries()) {
      widths[i] = Math.max(widths[i] ?? 0, Math.min(most, length));
    }
  }
  const padded = (cell: string, i: number): string =>
    isLeft(i) ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0);
  return rows.map((row) => row.map(padded).join("  ").trimEnd());
}
