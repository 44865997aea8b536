import { enlarge } from "@perfdata/format/bytes";
import type { Places } from "../places/places.ts";

/** New stacks of one thread: see {@link StackTable.part}. */
export interface StacksPart {
  /** Index of the first node. */
  readonly first: number;
  /** Caller of each node, or -1. */
  readonly parent: Int32Array<ArrayBuffer>;
  /** Place of each node. */
  readonly place: Int32Array<ArrayBuffer>;
}

/**
 * Interned stacks. A node is a place with its caller's node, so that stacks with the same outermost
 * callers share nodes: memory grows with the code that ran, not with the number of samples. The
 * index of a stack is that of its innermost node. A parent comes before its children.
 *
 * @example
 * ```ts
 * import { StackTable } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const stacks = new StackTable();
 * const [main, work] = [5, 9]; // places
 * const outer = stacks.child(-1, main);
 * const inner = stacks.child(outer, work);
 * assertEquals(stacks.child(outer, work), inner);
 * assertEquals([stacks.parent[inner], stacks.place[inner], stacks.count], [outer, work, 2]);
 * ```
 */
export class StackTable {
  /** Number of nodes. */
  count: number = 0;
  /** Caller of each node: a node before it, or -1. */
  parent: Int32Array<ArrayBuffer> = new Int32Array(1 << 10);
  /** Place of each node. */
  place: Int32Array<ArrayBuffer> = new Int32Array(1 << 10);
  #slots = new Int32Array(1 << 12).fill(-1);

  /**
   * The node of a place that was called from `parent`; it is added if it is new.
   *
   * @param parent A node, or -1.
   */
  child(parent: number, place: number): number {
    if (this.#slots.length === 0) this.#rehash();
    const mask = this.#slots.length - 1;
    let slot = hash(parent, place) & mask;
    for (;;) {
      const found = this.#slots[slot] as number;
      if (found < 0) break;
      if (this.parent[found] === parent && this.place[found] === place) return found;
      slot = (slot + 1) & mask;
    }
    const added = this.count++;
    if (added >= this.parent.length) {
      this.parent = enlarge(this.parent, added + 1);
      this.place = enlarge(this.place, added + 1);
    }
    this.parent[added] = parent;
    this.place[added] = place;
    this.#slots[slot] = added;
    if (this.count * 2 > this.#slots.length) this.#rehash();
    return added;
  }

  /** Copies the nodes from a number on, for sending to another thread and joining there. */
  part(from: number): StacksPart {
    const { count } = this;
    const [parent, place] = [this.parent.slice(from, count), this.place.slice(from, count)];
    return { first: from, parent, place };
  }

  /** Clears all nodes and keeps the memory. */
  reset(): void {
    this.count = 0;
    this.#slots.fill(-1);
  }

  /**
   * Adds the nodes of a part of another thread for the same recording.
   *
   * @param places Indices in this thread of the other thread's places.
   * @param numbers Index here of each node of the other thread. Has the earlier nodes; new nodes are
   * added.
   */
  join(
    { first, parent, place }: StacksPart,
    places: Int32Array,
    numbers: Int32Array,
  ): void {
    for (let i = 0; i < parent.length; i++) {
      const caller = parent[i] as number;
      numbers[first + i] = this.child(
        caller < 0 ? -1 : numbers[caller] as number,
        places[place[i] as number] as number,
      );
    }
  }

  /** Frees the hash table; the next look-up makes it again. */
  seal(): void {
    this.#slots = new Int32Array(0);
  }

  #rehash(): void {
    const size = 2 ** Math.ceil(Math.log2(Math.max(1 << 11, this.count * 2) + 1));
    const slots = new Int32Array(size).fill(-1);
    const mask = slots.length - 1;
    for (let node = 0; node < this.count; node++) {
      let slot = hash(this.parent[node] as number, this.place[node] as number) & mask;
      while ((slots[slot] as number) >= 0) slot = (slot + 1) & mask;
      slots[slot] = node;
    }
    this.#slots = slots;
  }
}

/**
 * The user part of a stack that is not in the call chain: places and addresses, innermost first.
 */
export class UserFrames {
  /** Number of frames. */
  count: number = 0;
  /**
   * Whether addresses are in the call instructions, because they were unwound or recorded as
   * branches. If not, they are return addresses, and one byte less is in the line of the call.
   */
  isExact: boolean = true;
  /** Place of each frame. */
  places: Int32Array<ArrayBuffer> = new Int32Array(128);
  /** Halves of the address of each frame, the lower one first. */
  words: Int32Array<ArrayBuffer> = new Int32Array(256);
  /** Places of the last interned frames, outermost first. */
  #known: Int32Array<ArrayBuffer> = new Int32Array(128);
  /** Their nodes. */
  #nodes: Int32Array<ArrayBuffer> = new Int32Array(128);
  #length = 0;

  /** Adds the caller of the last frame. */
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

  /** Forgets the nodes of the last frames, after the stacks were cleared. */
  forget(): void {
    this.#length = 0;
  }

  /**
   * Interns the frames; returns -1 if there are none. Successive stacks often share their outermost
   * callers, which are then not looked up again.
   *
   * @param stacks The same for each call.
   * @param calls Places in which callers get the place of their call; without it, they keep the
   * recorded place.
   */
  node(stacks: StackTable, calls?: Places): number {
    const { count, places } = this;
    if (count > this.#known.length) {
      this.#known = enlarge(this.#known, count);
      this.#nodes = enlarge(this.#nodes, count);
    }
    const [known, nodes] = [this.#known, this.#nodes];
    let same = this.#length;
    let node = -1;
    for (let depth = 0; depth < count; depth++) {
      const i = count - 1 - depth;
      const recorded = places[i] as number;
      const isReturn = calls !== undefined && !this.isExact && i > 0;
      const place = isReturn ? calls.call(recorded) : recorded;
      if (depth >= same || known[depth] !== place) {
        same = 0;
        known[depth] = place;
        nodes[depth] = stacks.child(node, place);
      }
      node = nodes[depth] as number;
    }
    this.#length = count;
    return node;
  }
}

function hash(parent: number, place: number): number {
  let h = Math.imul(parent, 0x9e3779b1) + place | 0;
  h = Math.imul(h ^ h >>> 15, 0x85ebca6b);
  h = Math.imul(h ^ h >>> 13, 0xc2b2ae35);
  return h ^ h >>> 16;
}
