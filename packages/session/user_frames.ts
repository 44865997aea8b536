import { enlarge } from "./machine_names.ts";
import type { StackTable } from "./stacks.ts";

/**
 * The user part of a stack that is not in the call chain itself: places and addresses, the innermost
 * first. Addresses are exact: no byte has to be taken from them, as from return addresses, to be in
 * the line of the call.
 */
export class UserFrames {
  /** Number of frames. */
  count: number = 0;
  /** Place of each. */
  places: Int32Array<ArrayBuffer> = new Int32Array(128);
  /** Halves of the address of each, the lower one first. */
  words: Int32Array<ArrayBuffer> = new Int32Array(256);

  /** Adds the caller of the last one. */
  add(place: number, hi: number, lo: number): void {
    const at = this.count++;
    if (at >= this.places.length) {
      this.places = enlarge(this.places, at + 1);
      this.words = enlarge(this.words, 2 * at + 2);
    }
    this.places[at] = place;
    this.words[2 * at] = lo;
    this.words[2 * at + 1] = hi;
  }

  /** Interns them; -1 where there are none. */
  node(stacks: StackTable): number {
    let node = -1;
    for (let i = this.count - 1; i >= 0; i--) node = stacks.child(node, this.places[i] as number);
    return node;
  }
}
