/** Searches functions by name. */
import { shortName } from "@perfdata/profile";

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

/** Returns start and end of the part of a name that a search matches; `undefined` if none matches. */
export type Finder = (name: string) => readonly [from: number, to: number] | undefined;

/**
 * Creates the finder of a text, ignoring case, or of a regular expression between slashes.
 *
 * @returns `undefined` for an empty search; an error for an invalid expression
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
 * Shortens a name to at most `room` characters. If the short name omits the part that the search matches,
 * returns the text around that part instead.
 */
export function foundName(name: string, room: number, find: Finder | undefined): string {
  const short = shortName(name, room);
  const [from, to] = find?.(name) ?? [0, 0];
  // Each ellipsis takes a character of the room.
  const around = room - (to - from);
  if (short === name || from === to || around < 2 || find?.(short) !== undefined) return short;
  const before = Math.max(0, Math.min(from - (around >> 1), name.length - room));
  const [head, tail] = [before > 0 ? "…" : "", before + room < name.length ? "…" : ""];
  return head + name.slice(before + head.length, before + room - tail.length) + tail;
}
