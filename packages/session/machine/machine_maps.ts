import { enlarge } from "@perfdata/format/bytes";

/** Addresses and file offset of a map. */
export interface MapRange {
  /** First address, upper half. */
  readonly startHi: number;
  /** First address, lower half. */
  readonly startLo: number;
  /** First address after it, upper half. */
  readonly endHi: number;
  /** First address after it, lower half. */
  readonly endLo: number;
  /** Offset in the file of its first byte, upper half. */
  readonly pgoffHi: number;
  /** Offset in the file of its first byte, lower half. */
  readonly pgoffLo: number;
}

/**
 * The mappings of any number of address spaces.
 *
 * An address space is a number: the root of a binary search tree over start addresses (a treap, so that
 * it stays balanced in whatever order maps come). Shared parts of trees are never changed: the nodes on
 * the path to a change are copied. A fork therefore copies one number.
 *
 * Addresses are pairs of 32-bit halves, since kernel addresses do not fit into a double.
 */
export class AddressSpaces {
  /** Number of maps. */
  mapCount: number = 0;
  /** First address of each map, high half. */
  startHi: Uint32Array<ArrayBuffer> = new Uint32Array(256);
  /** First address of each map, low half. */
  startLo: Uint32Array<ArrayBuffer> = new Uint32Array(256);
  /** First address after each map, high half. */
  endHi: Uint32Array<ArrayBuffer> = new Uint32Array(256);
  /** First address after each map, low half. */
  endLo: Uint32Array<ArrayBuffer> = new Uint32Array(256);
  /** File offset of the first byte of each map, high half. */
  pgoffHi: Uint32Array<ArrayBuffer> = new Uint32Array(256);
  /** File offset of the first byte of each map, low half. */
  pgoffLo: Uint32Array<ArrayBuffer> = new Uint32Array(256);
  /** Origin of each map: a number from the caller, kept if a map is split. */
  source: Int32Array<ArrayBuffer> = new Int32Array(256);

  /** Number of tree nodes; node 0 is the empty tree. */
  nodeCount: number = 1;
  /** Left subtree of each node. */
  left: Int32Array<ArrayBuffer> = new Int32Array(1024);
  /** Right subtree of each node. */
  right: Int32Array<ArrayBuffer> = new Int32Array(1024);
  /** Map of each node. */
  map: Int32Array<ArrayBuffer> = new Int32Array(1024);
  /**
   * Whether the last {@link AddressSpaces.insert} replaced a map by a different one. False if it
   * only extended a map, as when memory without a file grows.
   */
  replaced: boolean = false;
  /** Owner of each node: only changes with the same owner may alter it in place. */
  #owner = new Int32Array(1024);
  #me = 0;
  #splitLeft = 0;
  #splitRight = 0;

  /**
   * Maps a range in the tree `root`, as `mmap(2)` does: maps that overlap the range are cut, and
   * their other parts stay mapped.
   *
   * @param owner Index of the state that is being made. Nodes with the same owner are altered in
   * place; all others may be shared and are copied.
   * @returns The new root.
   */
  insert(root: number, owner: number, range: MapRange, source: number): number {
    const { startHi, startLo, endHi, endLo } = range;
    this.#me = owner;
    let same = true;
    this.#split(root, startHi, startLo);
    let before = this.#splitLeft;
    const rest = this.#splitRight;
    // A map that starts before the range may overlap it, and even end behind it.
    let after = -1;
    const last = this.#last(before);
    if (last >= 0 && this.#above(this.endHi, this.endLo, last, startHi, startLo)) {
      if (this.#above(this.endHi, this.endLo, last, endHi, endLo)) {
        after = this.#cutStart(last, endHi, endLo);
      }
      before = this.#replaceLast(before, this.#cutEnd(last, startHi, startLo));
      same &&= this.#continues(last, range, source);
    }
    this.#split(rest, endHi, endLo);
    const covered = this.#last(this.#splitLeft);
    this.forEach(this.#splitLeft, (map) => {
      same &&= this.#continues(map, range, source);
    });
    this.replaced = !same;
    let later = this.#splitRight;
    if (covered >= 0 && this.#above(this.endHi, this.endLo, covered, endHi, endLo)) {
      after = this.#cutStart(covered, endHi, endLo);
    }
    if (after >= 0) later = this.#merge(this.#node(after), later);
    if (startHi !== endHi || startLo !== endLo) {
      before = this.#merge(before, this.#node(this.addMap(range, source)));
    }
    return this.#merge(before, later);
  }

  /** Adds a map to the tree `root` without cutting others; returns the new root. */
  add(root: number, owner: number, map: number): number {
    this.#me = owner;
    const hi = this.startHi[map] as number;
    const lo = this.startLo[map] as number;
    // After all maps with the same start address.
    this.#split(root, lo === 0xffff_ffff ? hi + 1 : hi, (lo + 1) >>> 0);
    const rest = this.#splitRight;
    return this.#merge(this.#merge(this.#splitLeft, this.#node(map)), rest);
  }

  /** Removes a map from the tree `root`; returns the new root. */
  remove(root: number, owner: number, map: number): number {
    this.#me = owner;
    const kept: number[] = [];
    this.forEach(root, (other) => void (other === map || kept.push(other)));
    let result = 0;
    for (const other of kept) result = this.#merge(result, this.#node(other));
    return result;
  }

  /**
   * The map at an address in the tree `root`, or -1. The halves of the address may be signed: only
   * their bits count.
   *
   * If maps overlap, which only kernel maps can, the one that starts last is returned.
   */
  find(root: number, hi: number, lo: number): number {
    const { left, right, map, startHi, startLo } = this;
    hi >>>= 0;
    lo >>>= 0;
    let node = root;
    let found = -1;
    while (node !== 0) {
      const m = map[node] as number;
      const h = startHi[m] as number;
      if (h < hi || (h === hi && (startLo[m] as number) <= lo)) {
        found = m;
        node = right[node] as number;
      } else {
        node = left[node] as number;
      }
    }
    if (found < 0) return -1;
    const h = this.endHi[found] as number;
    return hi < h || (hi === h && lo < (this.endLo[found] as number)) ? found : -1;
  }

  /** Calls `f` with each map of the tree `root`, sorted by start address. */
  forEach(root: number, f: (map: number) => void): void {
    if (root === 0) return;
    this.forEach(this.left[root] as number, f);
    f(this.map[root] as number);
    this.forEach(this.right[root] as number, f);
  }

  /** The maps of the tree `root`, sorted by start address. */
  maps(root: number): number[] {
    const maps: number[] = [];
    this.forEach(root, (map) => void maps.push(map));
    return maps;
  }

  /** Adds a map outside of any tree; returns its number. */
  addMap(range: MapRange, source: number): number {
    const id = this.mapCount++;
    if (id >= this.source.length) {
      this.startHi = enlarge(this.startHi, id + 1);
      this.startLo = enlarge(this.startLo, id + 1);
      this.endHi = enlarge(this.endHi, id + 1);
      this.endLo = enlarge(this.endLo, id + 1);
      this.pgoffHi = enlarge(this.pgoffHi, id + 1);
      this.pgoffLo = enlarge(this.pgoffLo, id + 1);
      this.source = enlarge(this.source, id + 1);
    }
    this.startHi[id] = range.startHi;
    this.startLo[id] = range.startLo;
    this.endHi[id] = range.endHi;
    this.endLo[id] = range.endLo;
    this.pgoffHi[id] = range.pgoffHi;
    this.pgoffLo[id] = range.pgoffLo;
    this.source[id] = source;
    return id;
  }

  /** The range of a map. */
  rangeOf(map: number): MapRange {
    return {
      startHi: this.startHi[map] as number,
      startLo: this.startLo[map] as number,
      endHi: this.endHi[map] as number,
      endLo: this.endLo[map] as number,
      pgoffHi: this.pgoffHi[map] as number,
      pgoffLo: this.pgoffLo[map] as number,
    };
  }

  /**
   * Drops all nodes and maps that none of `roots` reaches, and renumbers the others.
   *
   * @param roots Roots to keep; overwritten with their new numbers.
   * @param maps Maps to keep even if no root reaches them; overwritten as well.
   */
  compact(roots: Int32Array, maps: Int32Array): void {
    const next = new AddressSpaces();
    const nodes = new Int32Array(this.nodeCount);
    const moved = new Int32Array(this.mapCount).fill(-1);
    const moveMap = (map: number): number => {
      if ((moved[map] as number) < 0) {
        moved[map] = next.addMap(this.rangeOf(map), this.source[map] as number);
      }
      return moved[map] as number;
    };
    const moveNode = (node: number): number => {
      if (node === 0 || nodes[node] !== 0) return nodes[node] as number;
      const l = moveNode(this.left[node] as number);
      const r = moveNode(this.right[node] as number);
      next.#me = this.#owner[node] as number;
      const copy = next.#node(moveMap(this.map[node] as number));
      next.left[copy] = l;
      next.right[copy] = r;
      nodes[node] = copy;
      return copy;
    };
    for (let i = 0; i < roots.length; i++) roots[i] = moveNode(roots[i] as number);
    for (let i = 0; i < maps.length; i++) {
      if ((maps[i] as number) >= 0) maps[i] = moveMap(maps[i] as number);
    }
    this.mapCount = next.mapCount;
    this.startHi = next.startHi;
    this.startLo = next.startLo;
    this.endHi = next.endHi;
    this.endLo = next.endLo;
    this.pgoffHi = next.pgoffHi;
    this.pgoffLo = next.pgoffLo;
    this.source = next.source;
    this.nodeCount = next.nodeCount;
    this.left = next.left;
    this.right = next.right;
    this.map = next.map;
    this.#owner = next.#owner;
  }

  #above(his: Uint32Array, los: Uint32Array, map: number, hi: number, lo: number): boolean {
    const h = his[map] as number;
    return h > hi || (h === hi && (los[map] as number) > lo);
  }

  /**
   * Whether a new range continues a map: same source, and the same file offset for each address.
   */
  #continues(map: number, range: MapRange, source: number): boolean {
    const { startHi, startLo, pgoffHi, pgoffLo } = range;
    const low = startLo - (this.startLo[map] as number) -
      (pgoffLo - (this.pgoffLo[map] as number));
    const high = startHi - (this.startHi[map] as number) -
      (pgoffHi - (this.pgoffHi[map] as number));
    // deno-lint-ignore perfdata/halves -- only compared with 0
    return this.source[map] === source && high * 2 ** 32 + low === 0;
  }

  /** Adds the part of a map before an address; returns its number. */
  #cutEnd(map: number, hi: number, lo: number): number {
    const range = { ...this.rangeOf(map), endHi: hi, endLo: lo };
    return this.addMap(range, this.source[map] as number);
  }

  /** Adds the part of a map from an address on; returns its number. */
  #cutStart(map: number, hi: number, lo: number): number {
    const range = this.rangeOf(map);
    let skipLo = lo - range.startLo;
    const borrow = skipLo < 0 ? 1 : 0;
    skipLo += borrow * 2 ** 32;
    const skipHi = hi - range.startHi - borrow;
    const sum = range.pgoffLo + skipLo;
    const cut = {
      ...range,
      startHi: hi,
      startLo: lo,
      pgoffHi: (range.pgoffHi + skipHi + (sum >= 2 ** 32 ? 1 : 0)) >>> 0,
      pgoffLo: sum >>> 0,
    };
    return this.addMap(cut, this.source[map] as number);
  }

  #node(map: number): number {
    const id = this.nodeCount++;
    if (id >= this.map.length) {
      this.left = enlarge(this.left, id + 1);
      this.right = enlarge(this.right, id + 1);
      this.map = enlarge(this.map, id + 1);
      this.#owner = enlarge(this.#owner, id + 1);
    }
    this.map[id] = map;
    this.left[id] = 0;
    this.right[id] = 0;
    this.#owner[id] = this.#me;
    return id;
  }

  /** The node if it may be altered in place, otherwise a copy. */
  #mine(node: number): number {
    if (this.#owner[node] === this.#me) return node;
    const copy = this.#node(this.map[node] as number);
    this.left[copy] = this.left[node] as number;
    this.right[copy] = this.right[node] as number;
    return copy;
  }

  /**
   * Whether node `a` is the parent of node `b`: by a hash of their maps, so that trees stay
   * balanced.
   */
  #outranks(a: number, b: number): boolean {
    return scramble(this.map[a] as number) > scramble(this.map[b] as number);
  }

  #merge(a: number, b: number): number {
    if (a === 0) return b;
    if (b === 0) return a;
    if (this.#outranks(a, b)) {
      const top = this.#mine(a);
      const sub = this.#merge(this.right[top] as number, b);
      this.right[top] = sub;
      return top;
    }
    const top = this.#mine(b);
    const sub = this.#merge(a, this.left[top] as number);
    this.left[top] = sub;
    return top;
  }

  /** Splits into the maps that start before an address, and the others. */
  #split(node: number, hi: number, lo: number): void {
    if (node === 0) {
      this.#splitLeft = this.#splitRight = 0;
      return;
    }
    const top = this.#mine(node);
    const map = this.map[top] as number;
    const h = this.startHi[map] as number;
    if (h < hi || (h === hi && (this.startLo[map] as number) < lo)) {
      this.#split(this.right[top] as number, hi, lo);
      this.right[top] = this.#splitLeft;
      this.#splitLeft = top;
    } else {
      this.#split(this.left[top] as number, hi, lo);
      this.left[top] = this.#splitRight;
      this.#splitRight = top;
    }
  }

  /** The map with the highest start address, or -1. */
  #last(node: number): number {
    if (node === 0) return -1;
    while (this.right[node] !== 0) node = this.right[node] as number;
    return this.map[node] as number;
  }

  /** Replaces the map with the highest start address. */
  #replaceLast(node: number, map: number): number {
    const top = this.#mine(node);
    const right = this.right[top] as number;
    if (right === 0) return this.#merge(this.left[top] as number, this.#node(map));
    const sub = this.#replaceLast(right, map);
    this.right[top] = sub;
    // The new map may outrank its parent: rotate on the way up.
    if (this.#outranks(sub, top)) {
      this.right[top] = this.left[sub] as number;
      this.left[sub] = top;
      return sub;
    }
    return top;
  }
}

function scramble(n: number): number {
  let h = Math.imul(n + 1, 0x9e3779b1);
  h = Math.imul(h ^ h >>> 16, 0x85ebca6b);
  return (h ^ h >>> 13) >>> 0;
}
