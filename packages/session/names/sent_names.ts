import { type NameTest, nameTest, type NameWords } from "./name_words.ts";

/** Filters by name, by what the names are of. */
export type NameTests<K extends string> = { readonly [what in K]?: NameTest | undefined };

/** Filters by name in a form that can be sent to another thread. */
export type SentWords<K extends string> = { readonly [what in K]?: NameWords };

/** Names that a thread's filters tested. */
export type AskedNames<K extends string> = { readonly [what in K]?: readonly string[] };

/** Converts filters by name to words; `undefined` if one of them cannot be sent. */
export function sentWords<K extends string>(tests: NameTests<K>): SentWords<K> | undefined {
  const words: { [what in K]?: NameWords } = {};
  for (const what in tests) {
    const test = tests[what];
    if (test === undefined) continue;
    if (test.words === undefined) return undefined;
    words[what] = test.words;
  }
  return words;
}

/** Limit of the names that a thread reports, which are only used in a message. */
const MOST_ASKED = 1000;

/**
 * Filters made from words, in the thread that received them.
 *
 * @example
 * ```ts
 * import { askAgain, nameTest, SentTests, sentWords } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const seen: string[] = [];
 * const comm = nameTest({ names: new Set(["cc1"]), expressions: [] }, (name) => seen.push(name));
 * const sent = new SentTests(sentWords({ comm }) ?? {});
 * assertEquals([sent.tests.comm?.("cc1"), sent.tests.comm?.("as")], [true, false]);
 * askAgain({ comm }, sent.asked());
 * assertEquals(seen, ["cc1", "as"]);
 * ```
 */
export class SentTests<K extends string> {
  /** The filters. */
  readonly tests: NameTests<K>;
  readonly #asked: { [what in K]?: Set<string> } = {};

  /** Makes filters of words. */
  constructor(words: SentWords<K>) {
    const tests: { [what in K]?: NameTest } = {};
    for (const what in words) {
      const own = words[what];
      if (own === undefined) continue;
      const asked = this.#asked[what] = new Set();
      tests[what] = nameTest(own, (name) => void (asked.size < MOST_ASKED && asked.add(name)));
    }
    this.tests = tests;
  }

  /** The names that were tested. */
  asked(): AskedNames<K> {
    const names: { [what in K]?: readonly string[] } = {};
    for (const what in this.#asked) names[what] = [...this.#asked[what] ?? []];
    return names;
  }
}

/** Repeats another thread's tests, so that the filters know all names that were tested. */
export function askAgain<K extends string>(tests: NameTests<K>, asked: AskedNames<K>): void {
  for (const what in asked) asked[what]?.forEach((name) => tests[what]?.(name));
}
