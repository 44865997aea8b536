import type { Places } from "./places.ts";

/** Number of cached places: as many as fit in a CPU's cache. */
const SLOTS = 1 << 13;
/** Words of each: thread, halves of the address, place. */
const WORDS = 4;

/**
 * Places that were looked for lately. Branches are those of loops: nearly all addresses of a branch stack are
 * in those of the samples before, and what is mapped need not be searched for again.
 */
export class RecentPlaces {
  readonly #places: Places;
  readonly #slots = new Int32Array(SLOTS * WORDS);
  #moment = 0;

  /** Remembers what `places` finds. */
  constructor(places: Places) {
    this.#places = places;
    this.#clear();
  }

  /** Forgets all where something may have been mapped since. */
  at(moment: number): void {
    if (moment === this.#moment) return;
    this.#moment = moment;
    this.#clear();
  }

  /** `Places.find`; a thread has one mode for an address. */
  find(thread: number, mode: number, hi: number, lo: number): number {
    const slots = this.#slots;
    const at = ((Math.imul(lo ^ thread, 0x9e3779b1) >>> 19) & SLOTS - 1) * WORDS;
    if (slots[at + 2] === lo && slots[at + 1] === hi && slots[at] === thread) {
      return slots[at + 3] as number;
    }
    const place = this.#places.find(thread, mode, hi, lo);
    if (place >= 0 && this.#places.hasVersions(place)) return place;
    slots[at] = thread;
    slots[at + 1] = hi;
    slots[at + 2] = lo;
    slots[at + 3] = place;
    return place;
  }

  /** No thread has such a number. */
  #clear(): void {
    for (let at = 0; at < this.#slots.length; at += WORDS) this.#slots[at] = -1;
  }
}
