import { enlarge } from "@perfdata/format/bytes";

/** Number of words of a node in a result. */
const TREE_WORDS = 5;
/** Times are multiples of 2^-16 ns, so their sums are exact up to this one. */
const EXACT = 2 ** 37;

/** Executed code by stack: nodes of a tree, each with a place and its caller's node. */
export class CallTree {
  /** Number of nodes. */
  count = 0;
  /** The caller's node, or -1. */
  parent: Int32Array = new Int32Array(256);
  /** The called place. */
  place: Int32Array = new Int32Array(256);
  /** The thread. */
  tid: Int32Array = new Int32Array(256);
  /** Instructions of the node itself. */
  insns: Float64Array = new Float64Array(256);
  /** ns of the node itself. */
  time: Float64Array = new Float64Array(256);

  readonly #nodes = new Map<number, number>();

  /** The node of a place that was called from another node, or that is a root (-1) of a thread. */
  node(parent: number, place: number, tid: number): number {
    // Places are fewer than 2^24; threads take the negative numbers.
    const key = (parent < 0 ? -1 - tid : parent + 1) * 2 ** 24 + place;
    const known = this.#nodes.get(key);
    if (known !== undefined) return known;
    const n = this.add(parent, place, tid);
    this.#nodes.set(key, n);
    return n;
  }

  /** Adds a node that `node` does not find. */
  add(parent: number, place: number, tid: number): number {
    const n = this.count++;
    if (n === this.parent.length) this.#grow();
    this.parent[n] = parent;
    this.place[n] = place;
    this.tid[n] = tid;
    return n;
  }

  /** Adds instructions to a node, with the ns of each. */
  addTo(node: number, insns: number, nsEach: number): void {
    this.insns[node] = (this.insns[node] as number) + insns;
    this.time[node] = (this.time[node] as number) + insns * nsEach;
  }

  /** Whether all sums are exact, so that they do not depend on the order of addition. */
  get isExact(): boolean {
    return this.time.every((sum) => sum < EXACT);
  }

  /** Returns all nodes and removes them here: parent, place, thread, instructions, ns of each. */
  take(): Float64Array<ArrayBuffer> {
    const { count } = this;
    const words = new Float64Array(TREE_WORDS * count);
    for (let n = 0; n < count; n++) {
      words.set(
        [this.parent[n], this.place[n], this.tid[n], this.insns[n], this.time[n]] as number[],
        TREE_WORDS * n,
      );
    }
    this.count = 0;
    this.#nodes.clear();
    this.insns.fill(0);
    this.time.fill(0);
    return words;
  }

  /**
   * Adds the nodes of another tree.
   *
   * @param rootOf The node here of the other tree's root with this place; -1 if there is none.
   */
  join(words: Float64Array, rootOf: (place: number) => number, placeOf: Int32Array): void {
    const here = new Int32Array(words.length / TREE_WORDS);
    for (let n = 0; n < here.length; n++) {
      const [parent, place, tid, insns, time] = words.subarray(TREE_WORDS * n) as unknown as [
        number,
        number,
        number,
        number,
        number,
      ];
      const node = here[n] = parent < 0
        ? rootOf(place)
        : this.node(here[parent] as number, placeOf[place] as number, tid);
      if (node < 0) continue;
      this.insns[node] = (this.insns[node] as number) + insns;
      this.time[node] = (this.time[node] as number) + time;
    }
  }

  /**
   * The numbers of all nodes, each after its parent, sorted by thread and place. This order does
   * not depend on the order of addition.
   *
   * @param compare The order of two places.
   */
  ordered(compare: (a: number, b: number) => number): Int32Array {
    const children: number[][] = [];
    const roots: number[] = [];
    for (let n = 0; n < this.count; n++) {
      const parent = this.parent[n] as number;
      (parent < 0 ? roots : children[parent] ??= []).push(n);
    }
    const inOrder = (nodes: number[]) =>
      nodes.sort((a, b) =>
        (this.tid[a] as number) - (this.tid[b] as number) ||
        compare(this.place[a] as number, this.place[b] as number)
      );
    const order = new Int32Array(this.count);
    const open = inOrder(roots).reverse();
    for (let n = 0; open.length > 0; n++) {
      const node = order[n] = open.pop() as number;
      for (const child of inOrder(children[node] ?? []).reverse()) open.push(child);
    }
    return order;
  }

  #grow(): void {
    const n = this.count;
    this.parent = enlarge(this.parent, n);
    this.place = enlarge(this.place, n);
    this.tid = enlarge(this.tid, n);
    this.insns = enlarge(this.insns, n);
    this.time = enlarge(this.time, n);
  }
}

/** Intervals in which a node of a {@linkcode CallTree} was innermost: rows in order of time, by thread. */
export class CallTimeline {
  /** Number of rows. */
  count = 0;
  /** The thread. */
  tid: Int32Array = new Int32Array(256);
  /** The node; -1 if the thread does not run. */
  node: Int32Array = new Int32Array(256);
  /** Start time in ns. */
  from: Float64Array = new Float64Array(256);
  /** End time in ns. */
  to: Float64Array = new Float64Array(256);

  /** Adds a row. */
  add(tid: number, node: number, from: number, to: number): void {
    const n = this.count++;
    if (n === this.tid.length) {
      this.tid = enlarge(this.tid, n + 1);
      this.node = enlarge(this.node, n + 1);
      this.from = enlarge(this.from, n + 1);
      this.to = enlarge(this.to, n + 1);
    }
    this.tid[n] = tid;
    this.node[n] = node;
    this.from[n] = from;
    this.to[n] = to;
  }
}
