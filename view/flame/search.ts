/** Searches functions by name. */
import { shortName } from "@perfdata/profile/short-names";

/**
 * Returns for each function whether its name matches: contains the text, ignoring case, or matches a regular
 * expression between slashes.
 *
 * @returns `undefined` for an empty search; an error for an invalid expression
 */
export function searchNames(
  names: readonly string[],
  query: string,
): Uint8Array | Error | undefined {
  const find = finderOf(query);
  return typeof find === "function"
    ? Uint8Array.from(names, (name) => find(name) === undefined ? 0 : 1)
    : find;
}

/** Finds the part of a name that a search matches: where it begins and ends; `undefined` if none does. */
export type Finder = (name: string) => readonly [from: number, to: number] | undefined;

/**
 * What finds a text or an expression in names.
 *
 * @returns `undefined` for nothing to search, or an error for an expression that is none
 */
export function finderOf(query: string): Finder | Error | undefined {
  if (query === "" || query === "/") return undefined;
  const expression = /^\/(.*?)(?:\/([imsu]*))?$/s.exec(query);
  if (expression !== null) {
    try {
      // deno-lint-ignore perfdata-expressions/backtracking -- the user's own
      const pattern = new RegExp(expression[1] ?? "", expression[2] ?? "");
      return (name) => {
        const found = pattern.exec(name);
        return found === null ? undefined : [found.index, found.index + found[0].length];
      };
    } catch (error) {
      return error as Error;
    }
  } else {
    const part = query.toLowerCase();
    return (name) => {
      const at = name.toLowerCase().indexOf(part);
      return at < 0 ? undefined : [at, at + part.length];
    };
  }
}

/**
 * A name in this many characters: shortened as everywhere, unless that would leave out what was searched for.
 * Then it is the part around that.
 */
export function foundName(name: string, room: number, find: Finder | undefined): string {
  const short = shortName(name, room);
  const [from, to] = find?.(name) ?? [0, 0];
  // An ellipsis on each side takes a character.
  const around = room - (to - from);
  if (short === name || from === to || around < 2 || find?.(short) !== undefined) return short;
  const before = Math.max(0, Math.min(from - (around >> 1), name.length - room));
  const [head, tail] = [before > 0 ? "…" : "", before + room < name.length ? "…" : ""];
  return head + name.slice(before + head.length, before + room - tail.length) + tail;
}
