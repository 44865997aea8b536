import { enlarge, intAt } from "@perfdata/format/bytes";

/**
 * Nodes of a tree, looked up by parent and value: rows of columns behind an open-addressing hash table.
 * A parent comes before its children.
 *
 * @example
 * ```ts
 * import { NodeTable } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const nodes = new NodeTable();
 * const main = nodes.node(-1, 7);
 * assertEquals(nodes.node(main, 8), 1);
 * assertEquals(nodes.node(-1, 7), main);
 * assertEquals([...nodes.parents()], [-1, 0]);
 * ```
 */
export class NodeTable {
  /** Number of nodes. */
  length: number = 0;
  #parent = new Int32Array(1 << 10);
  #item = new Int32Array(1 << 10);
  #slots = new Int32Array(1 << 11).fill(-1);

  /** The node for `item` under `parent`, -1 for a root; it is added if it is new. */
  node(parent: number, item: number): number {
    const mask = this.#slots.length - 1;
    const slot = this.#slot(parent, item);
    const found = intAt(this.#slots, slot);
    if (found >= 0) return found;
    const added = this.length++;
    if (added === this.#parent.length) {
      this.#parent = enlarge(this.#parent, added + 1);
      this.#item = enlarge(this.#item, added + 1);
    }
    this.#parent[added] = parent;
    this.#item[added] = item;
    this.#slots[slot] = added;
    if (this.length * 2 > mask) this.#rehash();
    return added;
  }

  /** The value of a node. */
  item(node: number): number {
    return intAt(this.#item, node);
  }

  /** The parent of a node; -1 for a root. */
  parent(node: number): number {
    return intAt(this.#parent, node);
  }

  /** The node for `item` under `parent`; -1 if there is none. */
  find(parent: number, item: number): number {
    return intAt(this.#slots, this.#slot(parent, item));
  }

  /** The slot of a node, or the empty slot in which it belongs. */
  #slot(parent: number, item: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = hash(parent, item) & mask;; slot = slot + 1 & mask) {
      const found = intAt(this.#slots, slot);
      if (found < 0 || (this.#item[found] === item && this.#parent[found] === parent)) return slot;
    }
  }

  /** A view of the parent of each node; -1 for a root. */
  parents(): Int32Array<ArrayBuffer> {
    return this.#parent.subarray(0, this.length);
  }

  /** A view of the value of each node. */
  items(): Int32Array<ArrayBuffer> {
    return this.#item.subarray(0, this.length);
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2).fill(-1);
    const mask = slots.length - 1;
    for (let node = 0; node < this.length; node++) {
      let slot = hash(intAt(this.#parent, node), intAt(this.#item, node)) & mask;
      while (intAt(slots, slot) >= 0) slot = slot + 1 & mask;
      slots[slot] = node;
    }
    this.#slots = slots;
  }
}

function hash(parent: number, item: number): number {
  let h = Math.imul(parent, 0x9e3779b1) + Math.imul(item, 0x85ebca6b) | 0;
  h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d);
  return h ^ h >>> 13;
}
