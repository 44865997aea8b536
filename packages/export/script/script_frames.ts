import { ByteText, enlarge, type Piece, piece, TextPool } from "@perfdata/format/bytes";
import { PLACE_FRAME } from "@perfdata/session";
import type { FrameFields, ScriptPlaces } from "./script_places.ts";

/** Limit of the cache of lines, in words. A full cache is cleared. */
const KEPT = 1 << 23;

/** Marks a place without cached lines. */
const NONE = -1;

/**
 * Writes the lines of call chains in the format of `perf script` (`sample__fprintf_callchain` of
 * tools/perf/util/evsel_fprintf.c). The lines of a place are formatted once and copied afterwards.
 */
export class FrameLines {
  readonly #places: ScriptPlaces;
  readonly #fields: FrameFields;
  /** Index of each place's text. */
  #numbers = new Int32Array(1 << 10).fill(NONE);
  readonly #scratch = new ByteText();
  #pool = new TextPool();
  /** Text after an unmapped address, with the end of the line. */
  readonly #unknown: Piece;

  constructor(places: ScriptPlaces, fields: FrameFields) {
    this.#places = places;
    this.#fields = fields;
    const { sym, dso } = fields;
    this.#unknown = piece(
      `${sym === true ? " [unknown]" : ""}${dso === true ? " ([unknown])" : ""}\n`,
    );
  }

  /** Writes the chain at `start`: the count of its words, followed by words as in `Run.frames`. */
  put(text: ByteText, words: Int32Array, start: number): void {
    const { count } = this.#places;
    if (count > this.#numbers.length) {
      const known = this.#numbers.length;
      this.#numbers = enlarge(this.#numbers, count).fill(NONE, known);
    }
    const numbers = this.#numbers;
    const end = start + 1 + (words[start] as number);
    for (let at = start + 1; at < end; at += 2) {
      const hi = words[at] as number;
      const lo = words[at + 1] as number;
      if (hi !== PLACE_FRAME) {
        text.byte(0x09);
        text.hex16(hi, lo);
        text.piece(this.#unknown);
        continue;
      }
      const known = numbers[lo] as number;
      text.pooled(this.#pool, known === NONE ? this.#add(lo) : known);
    }
  }

  #add(place: number): number {
    if (this.#pool.used > KEPT) {
      this.#pool = new TextPool();
      this.#numbers.fill(NONE);
    }
    const text = this.#scratch;
    const places = this.#places;
    const { sym, symoff, srcline } = this.#fields;
    for (const inlined of places.inlined(place)) {
      text.byte(0x09);
      places.putChainAddress(text, place);
      if (sym === true) {
        text.byte(0x20);
        places.putInlined(text, place, inlined, symoff === true);
      }
      if (srcline === true) places.putLine(text, place);
      text.string(" (inlined)\n");
    }
    text.byte(0x09);
    places.putChainAddress(text, place);
    places.putAfterAddress(text, place, this.#fields);
    text.byte(0x0a);
    return this.#numbers[place] = this.#pool.add(text.lend());
  }
}
