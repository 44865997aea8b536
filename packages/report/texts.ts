/** Texts by number: a row holds the number, and the text is there once. */
export class Texts {
  readonly #texts: string[] = [];
  readonly #numbers = new Map<string, number>();

  /** How many there are. */
  get count(): number {
    return this.#texts.length;
  }

  /** The number of a text; it is added where it is new. */
  of(text: string): number {
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
 * The place of some numbers among all of them in the order of their texts' code units.
 *
 * @param numbers The numbers that occur; others have no place.
 * @param count One more than the highest of them.
 */
export function textRanks(
  numbers: Iterable<number>,
  count: number,
  text: (number: number) => string,
): Float64Array {
  const ranks = new Float64Array(count);
  const known = distinct(numbers, count).map((number) => [text(number), number] as const);
  known.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
  let rank = 0;
  for (const [i, [text, number]] of known.entries()) {
    if (i > 0 && text !== known[i - 1]?.[0]) rank++;
    ranks[number] = rank;
  }
  return ranks;
}

/**
 * The numbers that occur, each once.
 *
 * @param count One more than the highest of them.
 */
export function distinct(numbers: Iterable<number>, count: number): number[] {
  const seen = new Uint8Array(count);
  const found: number[] = [];
  for (const number of numbers) {
    if (seen[number] !== 0) continue;
    seen[number] = 1;
    found.push(number);
  }
  return found;
}
