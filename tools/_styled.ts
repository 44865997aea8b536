/** Lines with styles on standard output: with colors where that is a terminal. */
import { visible } from "@perfdata/format/visible";
import { type ColorMode, painted } from "@perfdata/profile/colors";
import { type Line, textOf } from "../view/terminal/lines.ts";
import { writeLines, writeOut } from "./_cli.ts";

/** Whether standard output gets colors. */
export function colorMode(): ColorMode {
  return !Deno.stdout.isTerminal() ? "none" : Deno.noColor ? "attributes" : "colors";
}

/** Writes lines; names in them act on no terminal. */
export function writeStyled(lines: readonly Line[], mode: ColorMode = colorMode()): void {
  if (mode === "none") return writeLines(lines.map(textOf));
  for (const line of lines) {
    const spans = line.map(({ text, style = "plain" }) => painted(visible(text), style, mode));
    writeOut(`${spans.join("").trimEnd()}\n`, true);
  }
}
