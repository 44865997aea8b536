/** Lists of names and numbers in users' arguments. */
import { type NameTest, nameTest } from "./name_words.ts";

/**
 * Parses a list of names, separated by commas outside of brackets (`map<int, int>` is one name). A
 * part between slashes is a regular expression.
 *
 * @param split Splits the list: {@linkcode splitNames}, or {@linkcode splitEvents} for events.
 * @throws {RangeError} If a regular expression is invalid.
 */
export function nameList(
  text: string,
  split: (text: string) => readonly string[] = splitNames,
): NameTest {
  const names = new Set<string>();
  const expressions: RegExp[] = [];
  for (const part of split(text)) {
    const expression = /^\/(.+)\/(i?)$/.exec(part);
    if (expression === null) {
      names.add(part);
      continue;
    }
    try {
      // deno-lint-ignore perfdata-expressions/backtracking -- the user's own
      expressions.push(new RegExp(expression[1] as string, expression[2]));
    } catch (error) {
      throw new RangeError(`${part}: ${error instanceof Error ? error.message : error}`);
    }
  }
  const seen: NamesSeen = { matched: false, others: new Set() };
  const test = nameTest({ names, expressions }, (name, matches) => {
    if (matches) seen.matched = true;
    else if (seen.others.size < MOST_SEEN) seen.others.add(name);
  });
  SEEN.set(test, seen);
  return test;
}

/** Names that a test of {@linkcode nameList} has seen. */
export interface NamesSeen {
  /** Whether one of the names matched. */
  matched: boolean;
  /** Names that did not match; incomplete if there are very many. */
  readonly others: Set<string>;
}

/** Limit of the kept names that did not match, which are for a message. */
const MOST_SEEN = 10_000;
const SEEN = new WeakMap<NameTest, NamesSeen>();

/** The names that a test of {@linkcode nameList} has seen. */
export function namesSeen(test: NameTest | undefined): NamesSeen | undefined {
  return test && SEEN.get(test);
}

/**
 * Splits names of events, or expressions. Commas between slashes do not split, as in
 * `cpu/event=1,umask=2/`.
 */
export function splitEvents(text: string): string[] {
  return text.match(/(?:\/[^/]*\/|[^,])+/g) ?? [text];
}

/** Splits names at commas outside of brackets and expressions. */
export function splitNames(text: string): string[] {
  const parts: string[] = [];
  let from = 0, depth = 0;
  for (let i = 0; i <= text.length; i++) {
    const c = text[i];
    if (i === from && c === "/") {
      // The expression ends at the last slash before a comma or the end.
      const rest = /^\/.+?\/i?(?=,|$)/.exec(text.slice(i));
      if (rest !== null) {
        i += rest[0].length - 1;
        continue;
      }
    }
    if (c === "<" || c === "(" || c === "[" || c === "{") depth++;
    // `operator>` and `->` close no bracket.
    else if ((c === ">" || c === ")" || c === "]" || c === "}") && depth > 0) depth--;
    if (c !== undefined && (c !== "," || depth > 0)) continue;
    if (i > from) parts.push(text.slice(from, i).trim());
    from = i + 1;
  }
  return parts;
}

/**
 * Parses a list of numbers and ranges: `0,3` or `0-3,8`.
 *
 * @throws {RangeError} If the text is not such a list.
 */
export function numberList(text: string): Set<number> {
  const numbers = new Set<number>();
  for (const part of text.split(",")) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? first);
    if (match === null || last < first || last - first > 1 << 20) {
      throw new RangeError(`${text}, expected numbers such as 0,3 or 0-3`);
    }
    for (let n = first; n <= last; n++) numbers.add(n);
  }
  return numbers;
}
