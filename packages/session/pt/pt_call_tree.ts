import { enlarge } from "@perfdata/format/enlarge";

/** What was executed by stack: nodes of a tree, each a place and the node that called it. */
export class CallTree {
  /** Number of nodes. */
  count = 0;
  /** The node that called, or -1. */
  parent: Int32Array = new Int32Array(256);
  /** What was called: a place. */
  place: Int32Array = new Int32Array(256);
  /** The thread. */
  tid: Int32Array = new Int32Array(256);
  /** Instructions of the node itself. */
  insns: Float64Array = new Float64Array(256);
  /** ns of the node itself. */
  time: Float64Array = new Float64Array(256);

  readonly #nodes = new Map<number, number>();

  /** The node of a place that is called from another node, or by a thread from nothing (-1). */
  node(parent: number, place: number, tid: number): number {
    // Places are fewer than 2^24; threads take the negative numbers.
    const key = (parent < 0 ? -1 - tid : parent + 1) * 2 ** 24 + place;
    const known = this.#nodes.get(key);
    if (known !== undefined) return known;
    const n = this.count++;
    if (n === this.parent.length) this.#grow();
    this.parent[n] = parent;
    this.place[n] = place;
    this.tid[n] = tid;
    this.#nodes.set(key, n);
    return n;
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

/** Which node of a {@linkcode CallTree} was innermost from when to when: rows in order of time, by thread. */
export class CallTimeline {
  /** Number of rows. */
  count = 0;
  /** The thread. */
  tid: Int32Array = new Int32Array(256);
  /** The node; -1 where the thread does not run. */
  node: Int32Array = new Int32Array(256);
  /** From when, ns. */
  from: Float64Array = new Float64Array(256);
  /** Until when, ns. */
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
