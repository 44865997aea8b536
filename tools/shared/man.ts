/** Manual pages, made of the tables of commands. */
import { type Described, filled, flagRows, flagText, usageLines } from "./flag_table.ts";

/** What a page is of. */
export interface ManPage extends Described {
  /** The version, for the foot of the page. */
  readonly version: string;
  /** Other pages. */
  readonly seeAlso: readonly string[];
}

/** Lines of a list that are longer than this are broken. */
const COLUMNS = 75;

/**
 * The page in the language of `man`: what stands in the help text, in the sections that readers of manual
 * pages expect.
 */
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
    // Words of flags are not broken at the ends of lines.
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

/** Paragraphs; one that has columns keeps its lines. */
function paragraphs(text: string): string[] {
  return text.trim().split(/\n{2,}/).flatMap((block) => {
    const lines = block.split("\n");
    return lines.some((line) => line.startsWith("  "))
      ? literal(lines)
      : [".PP", ...lines.map(plain)];
  });
}

/** Lines as they are. */
function literal(lines: readonly string[]): string[] {
  return [".PP", ".nf", ...lines.map(plain), ".fi"];
}

/** A line of text in which nothing is a request or an escape sequence. */
function plain(line: string): string {
  const text = line.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll("'", "\\(aq")
    .replaceAll("`", "\\(ga").replaceAll("^", "\\(ha").replaceAll("~", "\\(ti")
    // Not every troff reads UTF-8.
    .replace(
      /[^ -~]/gu,
      (character) =>
        `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`,
    );
  return text.startsWith(".") ? `\\&${text}` : text;
}
