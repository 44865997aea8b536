/** Messages as lines that a terminal shows whole. */

/** Maximum length of a line on standard error. */
export const MOST_COLUMNS = 120;

/** Begins each line of a message but the first. */
const INDENT = "    ";

/** A clause that begins before this column leaves too short a line. */
const LEAST_COLUMNS = 60;

/**
 * Breaks a message into lines of at most {@link MOST_COLUMNS} characters: after a clause, else between
 * words. A word that is longer, such as a path, stays whole.
 */
export function wrapped(line: string): string[] {
  const lines: string[] = [];
  let indent = "";
  let from = 0;
  while (line.length - from > MOST_COLUMNS - indent.length) {
    const at = breakAt(line, from, from + MOST_COLUMNS - indent.length);
    if (at < 0) break;
    lines.push(indent + line.slice(from, at));
    indent = INDENT;
    from = at + 1;
  }
  lines.push(indent + line.slice(from));
  return lines;
}

/** The blank in place of which a line ends: at `most` or before it, if there is one; -1 if there is none. */
function breakAt(line: string, from: number, most: number): number {
  let word = -1;
  for (let i = most; i > from; i--) {
    if (!isBreak(line, i)) continue;
    if (word < 0) word = i;
    const isClause = ";:,".includes(line.charAt(i - 1));
    if (isClause && i - from >= LEAST_COLUMNS) return i;
  }
  if (word >= 0) return word;
  for (let i = most + 1; i < line.length; i++) if (isBreak(line, i)) return i;
  return -1;
}

/** Whether a blank is there between two words. */
function isBreak(line: string, at: number): boolean {
  return line[at] === " " && line[at - 1] !== " " && at + 1 < line.length && line[at + 1] !== " ";
}
