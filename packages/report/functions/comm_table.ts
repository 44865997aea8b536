import { floatAt, intAt } from "@perfdata/format/bytes";
import { TidTable } from "@perfdata/session";
import { textRanks, Texts } from "../numbered_texts.ts";

/**
 * Commands of rows by number. Even numbers are names; odd numbers are unnamed threads, shown as
 * `:tid`, of which there may be millions.
 */
export class CommTable {
  readonly #names = new Texts();
  readonly #tids = new TidTable();

  /**
   * Returns the number of a command, unique for its text.
   *
   * @param name The name, if there is one.
   * @param tid Id of an unnamed thread.
   */
  numberOf(name: string | undefined, tid: number): number {
    if (name === undefined) return 2 * this.#tids.add(tid) + 1;
    const called = /^:(-?\d{1,10})$/.exec(name)?.[1];
    // A name may equal the text of an unnamed thread.
    return called !== undefined && `${Number(called) | 0}` === called
      ? 2 * this.#tids.add(Number(called)) + 1
      : 2 * this.#names.numberOf(name);
  }

  /** Text of a command. */
  text(number: number): string {
    return (number & 1) === 0 ? this.#names.text(number >> 1) : `:${this.#tids.tids[number >> 1]}`;
  }

  /**
   * Columns, most significant first, that order commands by text. Unnamed threads are adjacent, and
   * need no texts.
   *
   * @param numbers The used commands; others have no rank.
   */
  ranks(numbers: Int32Array): [kinds: Uint8Array, values: Float64Array] {
    let most = -1;
    const named: number[] = [];
    const met = new Set<number>();
    for (const number of numbers) {
      if (number > most) most = number;
      if ((number & 1) !== 0 || met.has(number)) continue;
      met.add(number);
      named.push(number);
    }
    // A name may sort between unnamed threads.
    const isMixed = named.some((number) => this.text(number).startsWith(":"));
    const kinds = new Uint8Array(most + 1);
    const values = new Float64Array(most + 1);
    const ranks = textRanks(
      isMixed ? numbers : Int32Array.from(named),
      (number) => this.text(number),
    );
    for (const number of numbers) {
      if (isMixed || (number & 1) === 0) {
        kinds[number] = isMixed || this.text(number) < ":" ? 0 : 2;
        values[number] = floatAt(ranks, number);
      } else {
        kinds[number] = 1;
        values[number] = digitsRank(intAt(this.#tids.tids, number >> 1));
      }
    }
    return [kinds, values];
  }
}

/** A number that sorts like the decimal text: 1, 10, 100, 2. */
function digitsRank(tid: number): number {
  const size = Math.abs(tid);
  const digits = size < 10 ? 1 : Math.floor(Math.log10(size) + 1e-12) + 1;
  // Texts with a sign come first.
  return (tid < 0 ? 0 : 1e12) + size * 10 ** (10 - digits) * 16 + digits;
}
