/** Wraps messages for terminals. */

/** Maximum length of a line on standard error. */
export const MOST_COLUMNS = 120;

/** Indentation of continuation lines. */
const INDENT = "    ";

/** Do not break at a clause before this column: the line would be too short. */
const LEAST_COLUMNS = 60;

/**
 * Wraps a message into lines of at most {@link MOST_COLUMNS} characters, preferably after a clause,
 * else between words. Longer words, such as paths, stay whole.
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

/**
 * The position of the blank where a line ends: after the last clause that fits, else after the last word
 * that fits, else after the first word; -1 if the rest is one word.
 */
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

/** Whether the blank at a position separates two words. */
function isBreak(line: string, at: number): boolean {
  return line[at] === " " && line[at - 1] !== " " && at + 1 < line.length && line[at + 1] !== " ";
}
