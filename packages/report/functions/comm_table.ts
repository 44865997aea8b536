import { floatAt, intAt } from "@perfdata/format/elements";
import { TidTable } from "@perfdata/session/machine-tids";
import { textRanks, Texts } from "../numbered_texts.ts";

/**
 * Commands of rows, by number: even numbers are names; odd ones are threads without a name, called
 * `:tid`, of which there may be millions.
 */
export class CommTable {
  readonly #names = new Texts();
  readonly #tids = new TidTable();

  /**
   * The number of a command: one for each text.
   *
   * @param name Its name, if it has one.
   * @param tid The thread that has none.
   */
  of(name: string | undefined, tid: number): number {
    if (name === undefined) return 2 * this.#tids.add(tid) + 1;
    const called = /^:(-?\d{1,10})$/.exec(name)?.[1];
    // A name may say what a thread without one is called.
    return called !== undefined && `${Number(called) | 0}` === called
      ? 2 * this.#tids.add(Number(called)) + 1
      : 2 * this.#names.of(name);
  }

  /** The text of a number. */
  text(number: number): string {
    return (number & 1) === 0 ? this.#names.text(number >> 1) : `:${this.#tids.tids[number >> 1]}`;
  }

  /**
   * Columns by number that say where its text stands among others, the first decides first; threads without
   * a name stand together, and need no texts.
   *
   * @param numbers Those that occur; others have no place.
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
    // A name may stand between two of them.
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

/** A number that is in the order of the texts of numbers: 1, 10, 100, 2. */
function digitsRank(tid: number): number {
  const size = Math.abs(tid);
  const digits = size < 10 ? 1 : Math.floor(Math.log10(size) + 1e-12) + 1;
  // What has a sign comes first.
  return (tid < 0 ? 0 : 1e12) + size * 10 ** (10 - digits) * 16 + digits;
}
