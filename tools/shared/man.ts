/** Manual pages, made from the help texts. */

/** What a page is of. */
export interface ManPage {
  /** `perfdata`, or `perfdata-funcs`. */
  readonly name: string;
  /** The help text. */
  readonly help: string;
  /** The version, for the foot of the page. */
  readonly version: string;
  /** Other pages. */
  readonly seeAlso: readonly string[];
}

/**
 * The page in the language of `man`: what stands in the help text, in the sections that readers of manual
 * pages expect.
 */
export function manPage({ name, help, version, seeAlso }: ManPage): string {
  const [first = "", ...blocks] = help.trimEnd().split(/\n{2,}/);
  const about = first.replace(/^[\w-]+: /, "");
  const parts: Record<"synopsis" | "description" | "options" | "examples" | "exit", string[]> = {
    synopsis: [],
    description: [],
    options: [],
    examples: [],
    exit: [],
  };
  for (const block of blocks) {
    const lines = block.split("\n");
    if (block.startsWith("usage: ")) {
      const usage = lines.map((line) => line.replace(/^usage: | {7}/, ""));
      parts.synopsis.push(...literal(usage));
    } else if (block.startsWith("examples:")) {
      parts.examples.push(...literal(lines.slice(1).map((line) => line.replace(/^ {2}/, ""))));
    } else if (block.startsWith("Exit codes: ")) {
      parts.exit.push(".PP", plain(lines.join(" ").replace("Exit codes: ", "")));
    } else if (lines.some((line) => FLAG.test(line))) parts.options.push(...options(lines));
    else parts.description.push(...paragraph(lines));
  }
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [`.SH ${title}`, ...lines];
  return [
    `.TH ${name.toUpperCase().replaceAll("-", "\\-")} 1 "" "perfdata ${version}"`,
    // Words of flags are not broken at the ends of lines.
    ".nh",
    ".ad l",
    ...section("NAME", [`${plain(name)} \\- ${plain(about)}`]),
    ...section("SYNOPSIS", parts.synopsis),
    ...section("DESCRIPTION", parts.description),
    ...section("OPTIONS", parts.options),
    ...section("EXAMPLES", parts.examples),
    ...section("EXIT STATUS", parts.exit),
    ...section(
      "SEE ALSO",
      seeAlso.map((other, i) =>
        `.BR ${other.replaceAll("-", "\\-")} (1)${i < seeAlso.length - 1 ? "," : ""}`
      ),
    ),
  ].join("\n") + "\n";
}

/** A line that describes a flag: `  -o, --output FILE      where it goes`, or with the text below. */
const FLAG =
  /^ {2,}((?:-\w, )?--[\w-]+(?:[ =](?:\[?[A-Z]\S*|\w+\|\S+))?)(?:(?: {2,}| (?=[a-z]))(.*))?$/s;

function options(lines: readonly string[]): string[] {
  const text: string[] = [];
  for (const line of lines) {
    const [, flag, about] = FLAG.exec(line) ?? [];
    if (flag !== undefined) {
      text.push(".TP", `.B ${plain(flag)}`);
      if (about !== undefined) text.push(plain(about));
    } else text.push(...(/^ /.test(line) ? [plain(line.trim())] : paragraph([line])));
  }
  return text;
}

function paragraph(lines: readonly string[]): string[] {
  return lines.some((line) => line.startsWith("  "))
    ? literal(lines)
    : [".PP", ...lines.map(plain)];
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
