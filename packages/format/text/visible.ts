import { decodeText, encodeText } from "./text.ts";

/**
 * Characters that must not act on a terminal: controls, including escape sequences and line ends; line
 * and paragraph separators; marks that change the direction of text. A lone surrogate stands for a byte
 * that is not UTF-8 (see `decodeText`).
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
 * The same for text of several lines that goes to a terminal in pieces: ends of lines and tabs stay.
 *
 * A piece may end within a character, whose bytes then wait for the next piece: what they are is not
 * known before. The pieces together give what all of the text would.
 *
 * @example
 * ```ts
 * import { VisibleText } from "@perfdata/format/visible";
 * import { assertEquals } from "@std/assert";
 *
 * const text = new VisibleText();
 * const shown = text.take(new TextEncoder().encode("comm: \x1b]0;title\x07\n"));
 * assertEquals(new TextDecoder().decode(shown), "comm: \\x1b]0;title\\x07\n");
 * ```
 */
export class VisibleText {
  #held: Uint8Array = new Uint8Array(0);

  /** Takes a piece of UTF-8; returns what can be shown by now. */
  take(bytes: Uint8Array): Uint8Array {
    if (this.#held.length === 0 && isPlain(bytes)) return bytes;
    const all = new Uint8Array(this.#held.length + bytes.length);
    all.set(this.#held);
    all.set(bytes, this.#held.length);
    const end = all.length - unfinished(all);
    this.#held = all.slice(end);
    return shown(all.subarray(0, end));
  }

  /** Returns what is left: bytes of a character that did not end. */
  end(): Uint8Array {
    const rest = shown(this.#held);
    this.#held = new Uint8Array(0);
    return rest;
  }
}

/** Whether there is nothing but ASCII that can be seen, ends of lines and tabs: nearly all text. */
function isPlain(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if ((byte < 0x20 && byte !== 0x0a && byte !== 0x09) || byte >= 0x7f) return false;
  }
  return true;
}

/** How many bytes at the end may be the beginning of a character. */
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
 * The bytes of a name that stays in its line, in text that is as perf's otherwise: an end of line in it is
 * written as `\\n`.
 *
 * @example
 * ```ts
 * import { inLine } from "@perfdata/format/visible";
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

function hex(code: number): string {
  return `\\x${code.toString(16).padStart(2, "0")}`;
}
