/** Lines of a screen: pieces of text with their styles. */
import { visible } from "@perfdata/format/bytes";
import { type ColorMode, type Line, painted, type Span } from "@perfdata/profile";

export type { Line, Span };

/** Whether a character is two cells wide: those of East Asia, and most emojis. */
function isWide(code: number): boolean {
  return code >= 0x1100 && (code <= 0x115f || (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd));
}

/** Returns the number of cells of a text on a terminal. */
export function cells(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let sum = 0;
  for (const character of text) {
    if (/\p{M}/u.test(character)) continue;
    sum += isWide(character.codePointAt(0) as number) ? 2 : 1;
  }
  return sum;
}

/** Cuts a text to at most `room` cells. */
export function cut(text: string, room: number): string {
  if (cells(text) <= room) return text;
  let [end, sum] = [0, 0];
  for (const character of text) {
    const own = cells(character);
    if (sum + own > room) break;
    sum += own;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Cuts or pads a text to exactly `room` cells. */
export function left(text: string, room: number): string {
  if (room <= 0) return "";
  const short = cut(text, room);
  return short + " ".repeat(room - cells(short));
}

/** Returns the text of a line without styles. */
export function textOf(line: Line): string {
  return line.map(({ text }) => text).join("").trimEnd();
}

/** Returns a line with escape sequences, cut or padded to `columns` cells. */
export function paintedLine(line: Line, columns: number, mode: ColorMode): string {
  let room = columns;
  let all = "";
  for (const { text, style = "plain" } of line) {
    if (room <= 0) break;
    const shown = cut(visible(text), room);
    room -= cells(shown);
    all += painted(shown, style, mode);
  }
  return all;
}

/** Returns a bar for a share of a whole, with a resolution of an eighth of a cell. */
export function bar(share: number, room: number): string {
  const eighths = Math.max(share > 0 ? 1 : 0, Math.round(8 * room * Math.min(1, share)));
  const full = "█".repeat(eighths >> 3);
  const rest = eighths & 7;
  return (full + (rest > 0 ? "▏▎▍▌▋▊▉"[rest - 1] : "")).padEnd(room);
}
