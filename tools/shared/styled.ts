/** Writes styled lines to standard output, with colors if that is a terminal. */
import { visible } from "@perfdata/format/bytes";
import { type ColorMode, painted, shareStyle } from "@perfdata/profile";
import { type Line, textOf } from "../../view/terminal/lines.ts";
import { colorMode, writeLines, writeOut } from "./cli.ts";

/** Patterns of a table row (bar, shares, rest) and of a heading. */
const SHARES = /^([█▏▎▍▌▋▊▉][█▏▎▍▌▋▊▉ ]{9} )?((?: *\d+\.\d\d%)+)(.*)$/s;
const HEADING = /^ *[A-Z%]{2,}(?: +(?:[A-Z%0-9]{2,}|[mnu]s))*$/;

/**
 * Writes a table. Escapes control characters in names. On a terminal, shares get perf's colors, and
 * headings are bold.
 */
export function writeTable(text: string, mode: ColorMode = colorMode()): void {
  if (mode === "none") return writeOut(text);
  writeOut(text.split("\n").map((line) => paintedRow(line, mode)).join("\n"), true);
}

/** Writes one line of a table. Escapes control characters, including line breaks. */
export function writeRow(line: string): void {
  writeTable(`${visible(line)}\n`);
}

export function paintedRow(line: string, mode: ColorMode): string {
  if (HEADING.test(line)) return painted(line, "head", mode);
  const [, bar = "", shares, rest] = SHARES.exec(line) ?? [];
  if (shares === undefined) return line;
  const cells = shares.match(/(?<![ \d]) *\d+\.\d\d%/g) ?? [];
  const styles = cells.map((cell) => shareStyle(parseFloat(cell)));
  return painted(bar, styles[0] ?? "plain", mode) +
    cells.map((cell, i) => painted(cell, styles[i] ?? "plain", mode)).join("") + rest;
}

/** Writes styled lines. Escapes control characters in names. */
export function writeStyled(lines: readonly Line[]): void {
  const mode = colorMode();
  if (mode === "none") return writeLines(lines.map(textOf));
  for (const line of lines) {
    const spans = line.map(({ text, style = "plain" }) => painted(visible(text), style, mode));
    writeOut(`${spans.join("").trimEnd()}\n`, true);
  }
}
