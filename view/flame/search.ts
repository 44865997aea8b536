/** Finds the functions that match a search. */

/**
 * By function, whether its name matches: a part of it without regard to case, or a regular
 * expression between slashes.
 *
 * @returns `undefined` for nothing to search, or an error for an expression that is none
 */
export function searchNames(
  names: readonly string[],
  query: string,
): Uint8Array | Error | undefined {
  if (query === "" || query === "/") return undefined;
  let test: (name: string) => boolean;
  const expression = /^\/(.*?)(?:\/([imsu]*))?$/s.exec(query);
  if (expression !== null) {
    try {
      // deno-lint-ignore perfdata-expressions/backtracking -- the user's own
      const pattern = new RegExp(expression[1] ?? "", expression[2] ?? "");
      test = (name) => pattern.test(name);
    } catch (error) {
      return error as Error;
    }
  } else {
    const part = query.toLowerCase();
    test = (name) => name.toLowerCase().includes(part);
  }
  return Uint8Array.from(names, (name) => test(name) ? 1 : 0);
}
