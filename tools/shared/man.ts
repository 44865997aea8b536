/** Manual pages, generated from the tables of commands. */
import { type Described, filled, flagRows, flagText, usageLines } from "./flag_table.ts";

/** The contents of a manual page. */
export interface ManPage extends Described {
  readonly version: string;
  /** Names of other pages. */
  readonly seeAlso: readonly string[];
}

/** Maximum line length in lists. */
const COLUMNS = 75;

/** Generates a manual page in troff: the help text, in the usual sections of manual pages. */
export function manPage(page: ManPage): string {
  const { name, help, flags, version, seeAlso } = page;
  const title = name === "perfdata" ? name : `perfdata-${name}`;
  const options = flagRows(flags).flatMap((row) => [
    ".TP",
    `.B ${plain(flagText(row))}`,
    ...filled(row.about, COLUMNS).map(plain),
  ]);
  const section = (title: string, lines: readonly string[]) => [`.SH ${title}`, ...lines];
  return [
    `.TH ${title.toUpperCase().replaceAll("-", "\\-")} 1 "" "perfdata ${version}"`,
    // Disable hyphenation, so that flags are not split.
    ".nh",
    ".ad l",
    ...section("NAME", [`${plain(title)} \\- ${plain(help.about)}`]),
    ...section("SYNOPSIS", literal(usageLines(page))),
    ...section("DESCRIPTION", paragraphs(`${help.text}\n\n${help.notes ?? ""}`)),
    ...section("OPTIONS", options),
    ...section("EXAMPLES", literal(help.examples)),
    ...section("EXIT STATUS", [".PP", plain(`${help.exit}; 2 wrong usage.`)]),
    ...section(
      "SEE ALSO",
      seeAlso.map((other, i) =>
        `.BR ${other.replaceAll("-", "\\-")} (1)${i < seeAlso.length - 1 ? "," : ""}`
      ),
    ),
  ].join("\n") + "\n";
}

function paragraphs(text: string): string[] {
  return text.trim().split(/\n{2,}/).flatMap((block) => {
    const lines = block.split("\n");
    return lines.some((line) => line.startsWith("  "))
      ? literal(lines)
      : [".PP", ...lines.map(plain)];
  });
}

/** Lines that troff does not fill. */
function literal(lines: readonly string[]): string[] {
  return [".PP", ".nf", ...lines.map(plain), ".fi"];
}

/** A text line in which the characters that troff interprets are escaped. */
function plain(line: string): string {
  const text = line.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll("'", "\\(aq")
    .replaceAll("`", "\\(ga").replaceAll("^", "\\(ha").replaceAll("~", "\\(ti")
    // Some troffs do not read UTF-8.
    .replace(
      /[^ -~]/gu,
      (character) =>
        `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`,
    );
  return text.startsWith(".") ? `\\&${text}` : text;
}
