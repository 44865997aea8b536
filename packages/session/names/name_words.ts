/** Names to filter by, in a form that can be sent to another thread. */
export interface NameWords {
  /** Whole names. */
  readonly names: ReadonlySet<string>;
  /** Expressions. */
  readonly expressions: readonly RegExp[];
}

/** Says whether a name is asked for. */
export interface NameTest {
  (name: string): boolean;
  /** What it is made of, where it can be made again in another thread. */
  readonly words?: NameWords;
}

/**
 * Makes a test of words.
 *
 * @param tested Called with each name that is tested, and whether it is asked for.
 *
 * @example
 * ```ts
 * import { nameTest } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const test = nameTest({ names: new Set(["cc1"]), expressions: [/^as$/] });
 * assertEquals(["cc1", "as", "gas"].map(test), [true, true, false]);
 * ```
 */
export function nameTest(
  words: NameWords,
  tested?: (name: string, matches: boolean) => void,
): NameTest {
  const { names, expressions } = words;
  return Object.assign((name: string): boolean => {
    const matches = names.has(name) || expressions.some((expression) => expression.test(name));
    tested?.(name, matches);
    return matches;
  }, { words });
}
