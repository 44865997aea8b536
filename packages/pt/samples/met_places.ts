import { enlarge } from "@perfdata/format/bytes";
import { type PtSampleRows, SAMPLE_WORD, SAMPLE_WORDS } from "./pt_sample_rows.ts";

/** The places in rows: those of samples, and the targets of their branches. */
export class MetPlaces {
  #is = new Uint8Array(1024);
  #list: number[] = [];

  /** Adds the places of rows. */
  take({ words, count }: PtSampleRows): void {
    for (let at = 0; at < count * SAMPLE_WORDS; at += SAMPLE_WORDS) {
      this.add(words[at + SAMPLE_WORD.FROM] ?? -1);
      this.add(words[at + SAMPLE_WORD.TO] ?? -1);
    }
  }

  /** Adds a place; a negative one means no place. */
  add(place: number): void {
    if (place < 0) return;
    if (place >= this.#is.length) this.#is = enlarge(this.#is, place + 1);
    if (this.#is[place] === 1) return;
    this.#is[place] = 1;
    this.#list.push(place);
  }

  /** Returns the places and removes them here. */
  takeList(): Int32Array<ArrayBuffer> {
    const list = Int32Array.from(this.#list);
    this.#list = [];
    for (const place of list) this.#is[place] = 0;
    return list;
  }

  /** 1 for each added place, out of `count` places. */
  of(count: number): Uint8Array {
    const met = new Uint8Array(count);
    for (const place of this.#list) met[place] = 1;
    return met;
  }
}
