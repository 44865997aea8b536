/** Writes styled lines to standard output, with colors if that is a terminal. */
import { visible } from "@perfdata/format/bytes";
import { type ColorMode, painted, shareStyle } from "@perfdata/profile";
import { type Line, textOf } from "../../view/terminal/lines.ts";
import { colorMode, writeLines, writeOut } from "./cli.ts";

/** Bars, and shares that begin a line; the headings of columns. */
const SHARES = /^([█▏▎▍▌▋▊▉][█▏▎▍▌▋▊▉ ]{9} )?((?: *\d+\.\d\d%)+)(.*)$/s;
const HEADING = /^ *[A-Z%]{2,}(?: +(?:[A-Z%0-9]{2,}|[mnu]s))*$/;

/**
 * Writes text whose names act on no terminal: a table. On a terminal, the shares at the beginning of its
 * lines have the colors of perf, and headings stand out.
 */
export function writeTable(text: string, mode: ColorMode = colorMode()): void {
  if (mode === "none") return writeOut(text);
  writeOut(text.split("\n").map((line) => paintedRow(line, mode)).join("\n"), true);
}

/** Writes one row of a table, or a line before or after it: it stays one line, and acts on no terminal. */
export function writeRow(line: string, mode: ColorMode = colorMode()): void {
  writeTable(`${visible(line)}\n`, mode);
}

/** A row of a table in colors. */
export function paintedRow(line: string, mode: ColorMode): string {
  if (HEADING.test(line)) return painted(line, "head", mode);
  const [, bar = "", shares, rest] = SHARES.exec(line) ?? [];
  if (shares === undefined) return line;
  const cells = shares.match(/(?<![ \d]) *\d+\.\d\d%/g) ?? [];
  const styles = cells.map((cell) => shareStyle(parseFloat(cell)));
  return painted(bar, styles[0] ?? "plain", mode) +
    cells.map((cell, i) => painted(cell, styles[i] ?? "plain", mode)).join("") + rest;
}

/** Writes lines; names in them act on no terminal. */
export function writeStyled(lines: readonly Line[], mode: ColorMode = colorMode()): void {
  if (mode === "none") return writeLines(lines.map(textOf));
  for (const line of lines) {
    const spans = line.map(({ text, style = "plain" }) => painted(visible(text), style, mode));
    writeOut(`${spans.join("").trimEnd()}\n`, true);
  }
}
