import { intAt } from "@perfdata/format/bytes";

/** Texts by index. Rows have indices, and each text is stored once. */
export class Texts {
  readonly #texts: string[] = [];
  readonly #numbers = new Map<string, number>();

  /** Returns the index of a text, and adds it if it is new. */
  numberOf(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#texts.push(text) - 1;
      this.#numbers.set(text, number);
    }
    return number;
  }

  /** The text of a number. */
  text(number: number): string {
    return this.#texts[number] ?? "";
  }
}

/**
 * Rank of each number's text, by code units.
 *
 * @param numbers The used numbers; others have no rank.
 */
export function textRanks(numbers: Int32Array, text: (number: number) => string): Float64Array {
  const known = distinct(numbers);
  const ranks = new Float64Array((known.at(-1) ?? -1) + 1);
  const texts = known.map(text);
  const rankOf = new Map([...new Set(texts)].sort().map((text, rank) => [text, rank]));
  known.forEach((number, i) => ranks[number] = rankOf.get(texts[i] as string) as number);
  return ranks;
}

/** The distinct numbers, sorted. */
export function distinct(numbers: Int32Array): number[] {
  let count = 0;
  for (let i = 0; i < numbers.length; i++) count = Math.max(count, intAt(numbers, i) + 1);
  const seen = new Uint8Array(count);
  for (let i = 0; i < numbers.length; i++) seen[intAt(numbers, i)] = 1;
  const found: number[] = [];
  for (let number = 0; number < count; number++) if (seen[number] === 1) found.push(number);
  return found;
}
