import { searchNames } from "../flame/search.ts";

/** Returns for each function whether its name matches; `undefined` without a search. */
export function matches(names: readonly string[], query: string): Uint8Array | undefined {
  const found = searchNames(names, query);
  return found instanceof Error ? undefined : found;
}

/** Returns the error of an invalid search expression. */
export function searchError(query: string): string | undefined {
  const found = searchNames([], query);
  return found instanceof Error ? found.message : undefined;
}
