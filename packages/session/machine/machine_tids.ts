import { enlarge } from "@perfdata/format/bytes";

/** Thread ids by index, in the order in which they were added: an open-addressing table. */
export class TidTable {
  /** Number of thread ids. */
  count: number = 0;
  /** The thread ids; only the first {@link TidTable.count} are used. */
  tids: Int32Array = new Int32Array(256);
  /** The index of a thread id by hash, or -1. */
  slots: Int32Array = new Int32Array(512).fill(-1);

  /** The index of a thread id, or -1. */
  find(tid: number): number {
    const { slots, tids } = this;
    const mask = slots.length - 1;
    for (let slot = scatter(tid) & mask;; slot = slot + 1 & mask) {
      const i = slots[slot] as number;
      if (i < 0 || tids[i] === tid) return i;
    }
  }

  /** The index of a thread id; it is added if it is new. */
  add(tid: number): number {
    const known = this.find(tid);
    if (known >= 0) return known;
    const i = this.count++;
    if (i >= this.tids.length) this.tids = enlarge(this.tids as Int32Array<ArrayBuffer>, i + 1);
    this.tids[i] = tid;
    if (this.count * 2 > this.slots.length) this.#rehash();
    else put(this.slots, tid, i);
    return i;
  }

  #rehash(): void {
    const slots = new Int32Array(this.slots.length * 2).fill(-1);
    for (let i = 0; i < this.count; i++) put(slots, this.tids[i] as number, i);
    this.slots = slots;
  }
}

function put(slots: Int32Array, tid: number, i: number): void {
  const mask = slots.length - 1;
  let slot = scatter(tid) & mask;
  while ((slots[slot] as number) >= 0) slot = slot + 1 & mask;
  slots[slot] = i;
}

function scatter(tid: number): number {
  const hash = Math.imul(tid, 0x9e3779b1);
  return hash ^ hash >>> 15;
}
