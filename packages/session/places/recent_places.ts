import type { Places } from "./places.ts";

/** Number of cached places: as many as fit in a CPU's cache. */
const SLOTS = 1 << 13;
/** Words of a slot: thread, halves of the address, place. */
const WORDS = 4;

/**
 * A cache of places. Nearly all addresses of a branch stack are from loops, so that they are in the
 * branch stacks of previous samples, too, and need no search in the mappings.
 */
export class RecentPlaces {
  readonly #places: Places;
  readonly #slots = new Int32Array(SLOTS * WORDS);
  #moment = 0;

  /** Caches the results of `places`. */
  constructor(places: Places) {
    this.#places = places;
    this.#clear();
  }

  /** Clears the cache if a mapping may have changed. */
  at(moment: number): void {
    if (moment === this.#moment) return;
    this.#moment = moment;
    this.#clear();
  }

  /** `Places.find` with the cache. An address in a thread always has the same mode. */
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

  /** Marks all slots as empty: no thread has the number -1. */
  #clear(): void {
    for (let at = 0; at < this.#slots.length; at += WORDS) this.#slots[at] = -1;
  }
}
