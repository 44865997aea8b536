/** Names to filter by, in a form that can be sent to another thread. */
export interface NameWords {
  /** Whole names. */
  readonly names: ReadonlySet<string>;
  /** Expressions. */
  readonly expressions: readonly RegExp[];
}

/** Tests whether a name is requested. */
export interface NameTest {
  (name: string): boolean;
  /** The names and expressions, if the test can be made again in another thread. */
  readonly words?: NameWords;
}

/**
 * Creates a test of names.
 *
 * @param tested Called with each tested name and the result.
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
